// The two algorithms that lower one number a vertex, shortest paths and components. EMOGI, section 4.

#include "divided.cuh"
#include "program.cuh"
#include "subway.cuh"

namespace grainscope::graph {

// The arrays of an algorithm that lowers one number a vertex. What they begin with is the algorithm's.
template <class LoweringProgram>
class LoweringState {
 public:
  using Program = LoweringProgram;
  explicit LoweringState(const PlacedGraph& graph)
      : vertices_(graph.view().vertices),
        values_(graph.request().gpu, vertices_),
        walked_(graph.request().gpu, vertices_) {}

  [[nodiscard]] Program program() const {
    Program program;
    program.values = values_.data();
    program.walked = walked_.data();
    return program;
  }
  void clear(Vertex source, const cuda::Stream& stream) const {
    walked_.fill_bytes(0xff, stream);
    Program::begin(values_, vertices_, source, stream);
  }
  void spoil(const cuda::Stream& stream) const { values_.fill_bytes(kSpoiled, stream); }
  // A value may fall once a level at least, along a path without repeats.
  static std::uint64_t most_levels(Vertex vertices) { return std::uint64_t{vertices} + 1; }
  [[nodiscard]] std::vector<std::uint32_t> answer(Vertex vertices) const { return values_.read(vertices); }
  [[nodiscard]] static std::vector<float> ranks(Vertex /*vertices*/) {
    throw UsageError("only pr answers with ranks");
  }
  [[nodiscard]] std::uint64_t gpu_bytes() const { return values_.bytes() + walked_.bytes(); }

 private:
  Vertex vertices_;
  DeviceArray<std::uint32_t> values_;
  DeviceArray<std::uint32_t> walked_;
};

// Shortest paths from one source: relaxation of the lists of vertices whose distance fell, after Bellman and
// Ford, in place: what one warp lowers others see at once. EMOGI, section 4. Distances are u32; a path that
// would not fit is not taken, and the certificate would say so.
namespace {

__global__ void set_distance(std::uint32_t* distances, Vertex source) {
  distances[source] = 0;
}

struct SsspProgram : Lowering {
  static constexpr bool kWeighted = true;

  __device__ void visit(std::uint32_t distance, Vertex neighbour, Weight weight) const {
    const std::uint32_t through = distance + weight;
    if (through >= distance && through < look_up(values + neighbour, over_link)) {
      lower(neighbour, through);
    }
  }
  static void begin(const DeviceArray<std::uint32_t>& distances, Vertex /*vertices*/, Vertex source,
                    const cuda::Stream& stream) {
    distances.fill_bytes(0xff, stream);  // kUnreached
    set_distance<<<1, 1, 0, stream.get()>>>(distances.data(), source);
    cuda::check_launch("set_distance");
  }
};

void require_weights(const PlacedGraph& graph) {
  if (!graph.request().weights) {
    throw UsageError("sssp needs weights, and the graph was placed without");
  }
}

}  // namespace

std::unique_ptr<Traversal> make_sssp(const PlacedGraph& graph, Access access) {
  require_weights(graph);
  return std::make_unique<ProgramTraversal<LoweringState<SsspProgram>>>(graph, access);
}

std::unique_ptr<Traversal> make_sssp_divided(Parts parts, Access access) {
  require_weights(*parts.front());
  return std::make_unique<DividedTraversal<LoweringState<SsspProgram>>>(parts, access);
}

std::unique_ptr<Traversal> make_sssp_subway(const Csr& graph, const SubwayRequest& request) {
  return std::make_unique<CompactingTraversal<LoweringState<SsspProgram>>>(graph, request);
}

// Connected components of an undirected graph: the lowest vertex of each, by propagation of the lowest label.
// Labels travel both ways in one walk: an edge's lower label goes to its other end, and that of the other
// end, which is read anyway, to the list's own vertex. EMOGI, section 4, and its public code.
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
      lower(neighbour, labels.own);
    } else {
      labels.lowest = min(labels.lowest, other);
    }
  }
  __device__ void close(const WorkItem& item, const Labels& labels, Team team) const {
    const std::uint32_t lowest = least_of(labels.lowest, team);
    if (lowest < labels.own && speaks_for(team)) {
      lower(item.vertex, lowest);
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

std::unique_ptr<Traversal> make_cc(const PlacedGraph& graph, Access access) {
  return std::make_unique<ProgramTraversal<LoweringState<CcProgram>>>(graph, access);
}

std::unique_ptr<Traversal> make_cc_divided(Parts parts, Access access) {
  return std::make_unique<DividedTraversal<LoweringState<CcProgram>>>(parts, access);
}

std::unique_ptr<Traversal> make_cc_subway(const Csr& graph, const SubwayRequest& request) {
  return std::make_unique<CompactingTraversal<LoweringState<CcProgram>>>(graph, request);
}

}  // namespace grainscope::graph
