#ifndef GRAINSCOPE_BENCHMARKS_CERTIFIED_ANSWERS_HPP
#define GRAINSCOPE_BENCHMARKS_CERTIFIED_ANSWERS_HPP

// Answers of a graph that were held to account once: from one source there is one right answer, whoever found
// it, and to be equal to one that was certified is to be right.

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>

#include "grainscope/graph/csr.hpp"
#include "grainscope/graph/frontiers.hpp"

namespace grainscope::harness {

// What an answer amounts to, once it is certified.
struct Verdict {
  std::string sentence;
  std::uint64_t entries = 0;  // of the vertices that were reached: what TEPS counts
  std::uint64_t reached = 0;
};

// 128 bits of an answer and where each of its words is. All threads.
using Digest = std::array<std::uint64_t, 2>;
[[nodiscard]] Digest digest_of(std::span<const std::uint32_t> answer);

class CertifiedAnswers {
 public:
  // Of an equal answer to the same question; null: there is none.
  [[nodiscard]] const Verdict* find(graph::Algorithm algorithm, graph::Vertex source,
                                    const Digest& digest) const;
  void keep(graph::Algorithm algorithm, graph::Vertex source, const Digest& digest, const Verdict& verdict);

 private:
  std::map<std::pair<graph::Algorithm, graph::Vertex>, std::pair<Digest, Verdict>> answers_;
};

}  // namespace grainscope::harness

#endif
