#ifndef GRAINSCOPE_TESTS_TESTING_SAMPLE_GRAPHS_HPP
#define GRAINSCOPE_TESTS_TESTING_SAMPLE_GRAPHS_HPP

#include <omp.h>

#include <array>
#include <cstdint>
#include <vector>

#include "grainscope/core/error.hpp"
#include "grainscope/graph/answers.hpp"
#include "grainscope/graph/csr.hpp"

// Edge lists for tests, and the slow, obvious way from one to a graph.

namespace grainscope::graph {

using Triple = std::array<std::uint32_t, 3>;  // from, to, weight

[[nodiscard]] EdgeList edge_list(std::uint64_t vertices, const std::vector<Triple>& edges, bool weighted);

// `count` edges between vertices below `vertices`, weights 1..16. With `hubs` the ends crowd at low numbers.
[[nodiscard]] std::vector<Triple> random_edges(std::uint32_t vertices, std::size_t count, std::uint32_t seed,
                                               bool hubs);

// Every entry of a graph in order, weight 0 where it has none.
[[nodiscard]] std::vector<Triple> entries(const Csr& graph);
// Name, kind and entries.
void expect_same(const Csr& one, const Csr& other);
// What entries(build_csr(…)) must be, by a map.
[[nodiscard]] std::vector<Triple> expected_entries(const std::vector<Triple>& edges, bool symmetrise,
                                                   bool weighted);

// Weighted graphs of every shape that answers must come through, and answers by brute force.

// A graph and what its edges look like from the other end; of an undirected graph itself.
struct BothWays {
  Csr graph;
  Csr transposed;  // of directed graphs
  explicit BothWays(Csr out) : graph(std::move(out)) {
    if (graph.directed) {
      transposed = transpose(graph);
    }
  }
  [[nodiscard]] const Csr& in_edges() const { return graph.directed ? transposed : graph; }
};

[[nodiscard]] Csr weighted_graph(Vertex vertices, const std::vector<Triple>& edges, bool directed);

// Without edges, one vertex, path, circle, star, clique, two parts, a tree, random ones with and without
// hubs; with `directed` the same one way.
[[nodiscard]] std::vector<BothWays> sample_graphs(bool directed);
// A ring of 400 vertices, each joined to the 40 next ones, and a clique of 100, which has the longest lists;
// between them a path over vertex 400: from 5, whose last neighbour it is, to 401, whose first it is.
[[nodiscard]] Csr bridged_parts();
// Both ways round.
[[nodiscard]] std::vector<BothWays> all_sample_graphs();

// Every graph of `vertices` vertices, weights drawn from `weights` by a seed.
[[nodiscard]] std::vector<BothWays> every_graph(Vertex vertices, bool directed,
                                                const std::vector<Weight>& weights);

// Distances between all pairs (Floyd, Warshall), kUnreached where there is no path; `unit`: every edge is 1.
[[nodiscard]] std::vector<std::vector<std::uint32_t>> all_pairs(const Csr& graph, bool unit);

// Whether a certificate throws a FailedError.
template <class Certify>
[[nodiscard]] bool refuses(const Certify& certify) {
  try {
    (void)certify();
    return false;
  } catch (const FailedError&) {
    return true;
  }
}

// OpenMP's threads while it lives.
class Threads {
 public:
  explicit Threads(int count) : before_(omp_get_max_threads()) { omp_set_num_threads(count); }
  ~Threads() { omp_set_num_threads(before_); }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

 private:
  int before_;
};

}  // namespace grainscope::graph

#endif
