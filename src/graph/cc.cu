// Connected components of an undirected graph: the lowest vertex of each, by propagation of the lowest label.
// Labels travel both ways in one walk: an edge's lower label goes to its other end, and that of the other
// end, which is read anyway, to the list's own vertex. EMOGI, section 4, and its public code.

#include "lowering_state.cuh"
#include "subway_loop.cuh"

namespace grainscope::graph {
namespace {

__global__ void label_by_number(std::uint32_t* labels, Vertex vertices) {
  for (std::uint64_t v = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; v < vertices;
       v += std::uint64_t{gridDim.x} * blockDim.x) {
    labels[v] = static_cast<std::uint32_t>(v);
  }
}

struct CcProgram : Lowering {
  struct Labels {
    std::uint32_t own = 0;
    std::uint32_t lowest = 0;  // that this lane saw
  };
  __device__ Labels open(const WorkItem& item, Team team) const {
    const std::uint32_t own = Lowering::open(item, team);
    return {own, own};
  }
  __device__ void visit(Labels& labels, Vertex neighbour, Weight /*weight*/) const {
    const std::uint32_t other = look_up(values + neighbour, over_link);
    if (labels.own < other) {
      atomicMin(values + neighbour, labels.own);
    } else {
      labels.lowest = min(labels.lowest, other);
    }
  }
  __device__ void close(const WorkItem& item, const Labels& labels, Team team) const {
    std::uint32_t lowest = labels.lowest;
    if (team == Team::warp) {
      lowest = __reduce_min_sync(~0U, lowest);
    }
    if (lowest < labels.own && (team == Team::thread || threadIdx.x % kWarpLanes == 0)) {
      atomicMin(values + item.vertex, lowest);
    }
  }
  __device__ void merge(Labels& list, const Labels& lane) const {
    if (lane.lowest < list.lowest) {
      atomicMin(&list.lowest, lane.lowest);
    }
  }
  static void begin(const DeviceArray<std::uint32_t>& labels, Vertex vertices, Vertex /*source*/,
                    const cuda::Stream& stream) {
    label_by_number<<<1024, 256, 0, stream.get()>>>(labels.data(), vertices);
    cuda::check_launch("label_by_number");
  }
};

}  // namespace

std::unique_ptr<WalkingTraversal> make_cc(const PlacedGraph& graph, Access access) {
  return std::make_unique<ProgramTraversal<LoweringState<CcProgram>>>(graph, access);
}

std::unique_ptr<SubwayTraversal> make_cc_subway(const Csr& graph, const SubwayRequest& request) {
  return std::make_unique<CompactingTraversal<LoweringState<CcProgram>>>(graph, request);
}

}  // namespace grainscope::graph
