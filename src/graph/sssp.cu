// Shortest paths from one source: relaxation of the lists of vertices whose distance fell, after Bellman and
// Ford, in place: what one warp lowers others see at once. EMOGI, section 4. Distances are u32; a path that
// would not fit is not taken, and the certificate would say so.

#include "lowering_state.cuh"
#include "subway_loop.cuh"

namespace grainscope::graph {
namespace {

__global__ void set_distance(std::uint32_t* distances, Vertex source) {
  distances[source] = 0;
}

struct SsspProgram : Lowering {
  static constexpr bool kWeighted = true;

  __device__ void visit(std::uint32_t distance, Vertex neighbour, Weight weight) const {
    const std::uint32_t through = distance + weight;
    if (through >= distance && through < look_up(values + neighbour, over_link)) {
      atomicMin(values + neighbour, through);
    }
  }
  static void begin(const DeviceArray<std::uint32_t>& distances, Vertex /*vertices*/, Vertex source,
                    const cuda::Stream& stream) {
    distances.fill_bytes(0xff, stream);  // kUnreached
    set_distance<<<1, 1, 0, stream.get()>>>(distances.data(), source);
    cuda::check_launch("set_distance");
  }
};

}  // namespace

std::unique_ptr<WalkingTraversal> make_sssp(const PlacedGraph& graph, Access access) {
  if (graph.view().weights == nullptr) {
    throw UsageError("sssp needs weights, and the graph was placed without");
  }
  return std::make_unique<ProgramTraversal<LoweringState<SsspProgram>>>(graph, access);
}

std::unique_ptr<SubwayTraversal> make_sssp_subway(const Csr& graph, const SubwayRequest& request) {
  return std::make_unique<CompactingTraversal<LoweringState<SsspProgram>>>(graph, request);
}

}  // namespace grainscope::graph
