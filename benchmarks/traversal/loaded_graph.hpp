#ifndef GRAINSCOPE_BENCHMARKS_TRAVERSAL_LOADED_GRAPH_HPP
#define GRAINSCOPE_BENCHMARKS_TRAVERSAL_LOADED_GRAPH_HPP

// A graph with what all its cases need: sources, weights, the lists of in-neighbours, the number of
// components, and the answers that were certified.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "claim_cache.hpp"
#include "grainscope/core/operation.hpp"
#include "grainscope/graph/answers.hpp"
#include "grainscope/graph/csr.hpp"
#include "grainscope/graph/generate.hpp"
#include "harness/axes.hpp"

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

// As graph::make_graph, but for InputError where a file cannot be used. Where the graph cannot be kept (a
// full disk) that is said on standard error, and it is used all the same.
[[nodiscard]] graph::Csr graph_of_run(const graph::GraphSpec& spec, bool weights,
                                      const std::string& cache_dir);

// Weights that are drawn for a graph that has none: 8 to 72, as EMOGI's papers have them, unless the axis
// `weights` says otherwise.
struct WeightRange {
  graph::Weight least = 8;
  graph::Weight most = 72;
  friend bool operator==(const WeightRange&, const WeightRange&) = default;
};
[[nodiscard]] DeclaredAxis weights_axis();
[[nodiscard]] WeightRange weights_of(const Values& values);

struct GraphKey {
  std::string name;  // of the spec: it tells graphs apart
  graph::Order order = graph::Order::original;
  WeightRange weights = {};
  friend bool operator==(const GraphKey&, const GraphKey&) = default;
};

class LoadedGraph {
 public:
  // Makes or reads it, in the order wanted. A graph whose file has no weights, or none that distances can be
  // added up from, gets some of this range. Throws as make_graph.
  LoadedGraph(const graph::GraphSpec& spec, graph::Order order, const std::string& cache_dir,
              const WeightRange& weights = {});

  [[nodiscard]] const graph::Csr& csr() const { return csr_; }
  // For who reads the weights: throws SkipError where the file has some that are of no use (fractions).
  void require_weights() const;
  // Of an undirected graph the graph itself; of a directed one without weights.
  [[nodiscard]] const graph::Csr& in_edges() const { return in_edges_ ? *in_edges_ : csr_; }
  // GAP's, as the graph was numbered before it was put in another order.
  [[nodiscard]] std::vector<graph::Vertex> sources(int count) const;
  // The numbers that vertices have here which were numbered so before.
  [[nodiscard]] std::vector<graph::Vertex> renumbered(std::vector<graph::Vertex> vertices) const;
  // Of an undirected graph; counted at the first call.
  [[nodiscard]] std::uint64_t components() const;
  // Answers that were certified on it.
  [[nodiscard]] CertifiedAnswers& certified() const { return certified_; }
  [[nodiscard]] double order_s() const { return order_s_; }  // finding the order and relabelling
  // Of a graph in another order: what each vertex was before. Else empty.
  [[nodiscard]] const std::vector<graph::Vertex>& old_of_new() const { return old_of_new_; }
  [[nodiscard]] const GraphFacts& facts() const;  // counted at the first call

 private:
  std::string unusable_weights_;  // why; before the graph, which is read by it
  graph::Csr csr_;
  std::optional<graph::Csr> in_edges_;
  std::vector<graph::Vertex> sources_;  // kMostSources of them
  mutable std::optional<std::uint64_t> components_;
  mutable std::optional<GraphFacts> facts_;
  mutable CertifiedAnswers certified_;
  std::vector<graph::Vertex> old_of_new_;
  double order_s_ = 0;
};

// The most host memory that a case takes that loads such a graph, and has `beside` bytes more once it is
// loaded: making it may take more than it comes to. 0 and `beside` where a file has to be read to be known.
[[nodiscard]] std::uint64_t host_bytes(const graph::GraphSpec& spec, graph::Order order,
                                       std::uint64_t beside);

// Whose weights a graph has, as case names say it: "own", of a file that has some, else "8-72". Throws as
// holds_weights.
[[nodiscard]] std::string weights_of(const graph::GraphSpec& spec, const WeightRange& range = {});
// Why no machine runs this algorithm over this graph, or with weights of this range; empty where one can, or
// where a file has to be read to be known.
[[nodiscard]] std::string why_no_case(const graph::GraphSpec& spec, graph::Algorithm algorithm,
                                      const WeightRange& range = {});

inline constexpr int kMostSources = 1024;

// Why there is no cc of such a graph.
inline constexpr const char* kNoDirectedComponents =
    "the graph is directed: its components are not what propagating labels along edges finds";

using GraphCache = ClaimCache<GraphKey, LoadedGraph>;

}  // namespace grainscope::harness

#endif
