#ifndef GRAINSCOPE_TESTS_GPU_TRAVERSAL_FIXTURE_HPP
#define GRAINSCOPE_TESTS_GPU_TRAVERSAL_FIXTURE_HPP

#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "../testing/oracles.hpp"
#include "../testing/sample_graphs.hpp"
#include "gpu_fixture.hpp"
#include "grainscope/cuda/budget.hpp"
#include "grainscope/graph/access.hpp"
#include "grainscope/graph/answers.hpp"
#include "grainscope/graph/traversal.hpp"

namespace grainscope::graph {

inline constexpr Algorithm kAllAlgorithms[] = {Algorithm::bfs, Algorithm::sssp, Algorithm::cc, Algorithm::pr};

// A hub with `leaves` neighbours, weighted.
[[nodiscard]] BothWays star(Vertex leaves);
// kron:12, urand:12, web:10 (directed) and the power grid, weighted.
[[nodiscard]] std::vector<BothWays> larger_graphs();

// As trials run: over what is no answer.
inline double run_anew(Traversal& traversal, Vertex source) {
  traversal.spoil();
  return traversal.run(source);
}

class TraversalTest : public GpuTest {
 protected:
  // With weights where the graph has edges.
  [[nodiscard]] std::unique_ptr<PlacedGraph> place(const Csr& graph, EdgePlacement placement, int edge_bytes);
  // A part on each of `gpus`, which may name one several times. Interleaved over all of them.
  [[nodiscard]] std::vector<std::unique_ptr<PlacedGraph>> place_parts(const Csr& graph,
                                                                      EdgePlacement placement, int edge_bytes,
                                                                      const std::vector<int>& gpus,
                                                                      Division division);
  // Whether an algorithm can be run over a graph.
  [[nodiscard]] static bool applies(const Csr& graph, Algorithm algorithm);
  // A vertex with a long list, which many levels follow from.
  [[nodiscard]] static Vertex busiest(const Csr& graph);
  // No answer of a graph with edges stays once it is spoiled.
  static void expect_spoiled(Traversal& traversal, const BothWays& both, Algorithm algorithm, Vertex source);
  // The last run's answer is the oracle's, and of pr holds against its certificate.
  static void expect_right(const BothWays& both, Algorithm algorithm, Vertex source,
                           const Traversal& traversal);
  // Of an algorithm that applies to the graph, from two sources.
  void expect_right_from(const BothWays& both, EdgePlacement placement, int edge_bytes, Algorithm algorithm,
                         Access access);
  // The same by several GPUs together.
  void expect_right_by(const std::vector<int>& gpus, const BothWays& both, EdgePlacement placement,
                       int edge_bytes, Division division, Algorithm algorithm, Access access);

  cuda::ManagedBudget budget_;
};

// How GoogleTest writes what tests of traversals are of.

inline void PrintTo(Algorithm algorithm, std::ostream* out) {
  *out << name(algorithm);
}
inline void PrintTo(Access access, std::ostream* out) {
  *out << name(access);
}

}  // namespace grainscope::graph

#endif
