#include <algorithm>
#include <string>

#include "algorithms.hpp"
#include "grainscope/core/error.hpp"
#include "subway_plan.hpp"

namespace grainscope::graph {
namespace {

constexpr std::uint64_t kDefaultShare = 4;        // of all edges and weights, a part this small
constexpr std::uint64_t kLeastDefaultCap = 4096;  // of graphs that are next to nothing

// With the cap told.
SubwayRequest checked(const Csr& graph, SubwayRequest request, Algorithm algorithm) {
  if (request.edge_bytes != 4 && request.edge_bytes != 8) {
    throw UsageError("a neighbour has 4 or 8 bytes, not " + std::to_string(request.edge_bytes));
  }
  if (request.weights && !graph.weighted()) {
    throw UsageError("the graph " + graph.name + " has no weights to gather");
  }
  if (algorithm == Algorithm::sssp && !request.weights) {
    throw UsageError("sssp needs weights, and they were not asked for");
  }
  if (request.cap_bytes == 0) {
    const std::uint64_t bytes = graph.edges() * static_cast<unsigned>(request.edge_bytes) +
                                (request.weights ? graph.weights.bytes() : 0);
    request.cap_bytes = std::max(bytes / kDefaultShare, kLeastDefaultCap);
  }
  return request;
}

}  // namespace

std::unique_ptr<SubwayTraversal> make_subway(const Csr& graph, const SubwayRequest& request,
                                             Algorithm algorithm) {
  const SubwayRequest whole = checked(graph, request, algorithm);
  switch (algorithm) {
    case Algorithm::bfs:
      return make_bfs_subway(graph, whole);
    case Algorithm::sssp:
      return make_sssp_subway(graph, whole);
    case Algorithm::cc:
      return make_cc_subway(graph, whole);
    case Algorithm::pr:
      return make_pr_subway(graph, whole);
  }
  throw UsageError("no such algorithm");
}

}  // namespace grainscope::graph
