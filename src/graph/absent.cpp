// What stands in for GPU traversals where the suite is built without CUDA.

#include "grainscope/core/error.hpp"
#include "grainscope/graph/traversal.hpp"

namespace grainscope::graph {

std::unique_ptr<PlacedGraph> place_graph(const Csr& /*graph*/, const PlacementRequest& /*request*/,
                                         const cuda::Surroundings& /*surroundings*/) {
  throw SkipError("built without CUDA");
}

std::unique_ptr<Traversal> make_traversal(const PlacedGraph& /*graph*/, Algorithm /*algorithm*/,
                                          Access /*access*/, Direction /*direction*/) {
  throw SkipError("built without CUDA");
}

std::unique_ptr<Traversal> make_traversal(std::span<const PlacedGraph* const> /*parts*/,
                                          Algorithm /*algorithm*/, Access /*access*/) {
  throw SkipError("built without CUDA");
}

std::unique_ptr<Operation> make_sweep(const PlacedGraph& /*graph*/, Access /*access*/,
                                      std::span<const Vertex> /*active*/, std::uint64_t /*expected*/) {
  throw SkipError("built without CUDA");
}

std::unique_ptr<Traversal> make_subway(const Csr& /*graph*/, const SubwayRequest& /*request*/,
                                       Algorithm /*algorithm*/) {
  throw SkipError("built without CUDA");
}

}  // namespace grainscope::graph
