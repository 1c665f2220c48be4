#include "algorithms.hpp"
#include "grainscope/core/error.hpp"

namespace grainscope::graph {

std::unique_ptr<WalkingTraversal> make_traversal(const PlacedGraph& graph, Algorithm algorithm,
                                                 Access access) {
  switch (algorithm) {
    case Algorithm::bfs:
      return make_bfs(graph, access);
    case Algorithm::sssp:
      return make_sssp(graph, access);
    case Algorithm::cc:
      return make_cc(graph, access);
    case Algorithm::pr:
      return make_pr(graph, access);
  }
  throw UsageError("no such algorithm");
}

}  // namespace grainscope::graph
