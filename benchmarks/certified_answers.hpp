#ifndef GRAINSCOPE_BENCHMARKS_CERTIFIED_ANSWERS_HPP
#define GRAINSCOPE_BENCHMARKS_CERTIFIED_ANSWERS_HPP

// Answers of a graph that were held to account once: from one source there is one right answer, whoever found
// it, and to be equal to one that was certified is to be right.

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "grainscope/graph/answers.hpp"
#include "grainscope/graph/csr.hpp"

namespace grainscope::harness {

// What an answer amounts to, once it is certified.
struct Verdict {
  std::string sentence;
  std::uint64_t entries = 0;  // of the vertices that were reached: what TEPS counts
  std::uint64_t reached = 0;
};

class CertifiedAnswers {
 public:
  // Of an equal answer to the same question; null: there is none.
  [[nodiscard]] const Verdict* find(graph::Algorithm algorithm, graph::Vertex source,
                                    const graph::Digest& digest) const;
  void keep(graph::Algorithm algorithm, graph::Vertex source, const graph::Digest& digest,
            const Verdict& verdict);

 private:
  std::map<std::pair<graph::Algorithm, graph::Vertex>, std::pair<graph::Digest, Verdict>> answers_;
};

}  // namespace grainscope::harness

#endif
