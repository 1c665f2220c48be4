// Breadth-first search: the depth of every vertex that a source reaches, level by level, push. EMOGI,
// section 4.
//
// Whether a vertex has been reached is a bit, since every edge asks; its depth is written once, when the
// vertex becomes active. Two arrays of bits: reached so far, and reached before this level.

#include "divided.cuh"
#include "grainscope/graph/answers.hpp"
#include "program.cuh"
#include "subway.cuh"

namespace grainscope::graph {
namespace {

struct BfsProgram : ProgramDefaults {
  std::uint32_t* reached = nullptr;  // [V / 32], device
  std::uint32_t* before = nullptr;   // [V / 32], device
  std::uint32_t* depths = nullptr;   // [V], device
  std::uint32_t level = 0;

  __device__ bool activate(std::uint32_t vertex, bool /*mine*/, int lane) const {
    const std::uint32_t word = vertex / kWarpLanes;
    const std::uint32_t now = reached[word];
    const std::uint32_t fresh = now & ~before[word];
    __syncwarp();
    if (fresh == 0) {
      return false;
    }
    if (lane == 0) {
      before[word] = now;
    }
    const bool active = (fresh >> lane & 1) != 0;
    if (active) {
      depths[vertex] = level;
    }
    return active;
  }
  __device__ void visit(Nothing /*source*/, Vertex neighbour, Weight /*weight*/) const {
    const std::uint32_t bit = 1U << neighbour % kWarpLanes;
    std::uint32_t* word = reached + neighbour / kWarpLanes;
    // A stale answer costs an atomic operation, never a vertex.
    if ((look_up(word, over_link) & bit) == 0) {
      atomicOr(word, bit);
    }
  }
  // 32 vertices at a time.
  static constexpr int kSharedAtOnce = kWarpLanes;
  __device__ void take(Vertex first, const Others<BfsProgram>& others) const {
    const std::uint32_t word = first / kWarpLanes;
    std::uint32_t now = reached[word];
    for (int i = 0; i < others.count; ++i) {
      now |= others.of[i].reached[word];
    }
    reached[word] = now;
  }
  void next_level() { ++level; }
};

// The same by pull: every vertex that is not reached yet looks among its in-neighbours for one that the level
// before reached. Lists are read to their ends: all loads of a piece are on their way before its first edge
// is looked at.
struct BfsPullProgram : BfsProgram {
  static constexpr bool kPulls = true;
  static constexpr bool kMeasuresRest = true;

  struct Found {
    std::uint32_t any = 0;
  };
  // Vertices that the level before reached: without any there is nothing to find.
  __device__ double rest_of(std::uint32_t vertex) const {
    const std::uint32_t word = vertex / kWarpLanes;
    return (reached[word] & ~before[word]) >> vertex % kWarpLanes & 1;
  }
  __device__ bool activate(std::uint32_t vertex, bool mine, int lane) const {
    static_cast<void>(BfsProgram::activate(vertex, mine, lane));
    return mine && (reached[vertex / kWarpLanes] >> lane & 1) == 0;
  }
  __device__ Found open(const WorkItem& /*item*/, Team /*team*/) const { return {}; }
  __device__ void visit(Found& found, Vertex neighbour, Weight /*weight*/) const {
    found.any |= look_up(before + neighbour / kWarpLanes, over_link) >> neighbour % kWarpLanes & 1;
  }
  __device__ void close(const WorkItem& item, const Found& found, Team team) const {
    if (most_of(found.any, team) != 0 && speaks_for(team)) {
      atomicOr(reached + item.vertex / kWarpLanes, 1U << item.vertex % kWarpLanes);
    }
  }
  __device__ void merge(Found& list, const Found& lane) const {
    if (lane.any != 0) {
      list.any = 1;
    }
  }
  __host__ __device__ bool satisfied(const LevelSummary& summary) const {
    return summary.active == 0 || summary.rest == 0;
  }
};

__global__ void reach_source(std::uint32_t* reached, Vertex source) {
  reached[source / kWarpLanes] = 1U << source % kWarpLanes;
}

template <class AnyProgram>
class BfsState {
 public:
  using Program = AnyProgram;
  explicit BfsState(const PlacedGraph& graph)
      : reached_(graph.request().gpu, graph.view().vertices / kWarpLanes + 1),
        before_(graph.request().gpu, graph.view().vertices / kWarpLanes + 1),
        depths_(graph.request().gpu, graph.view().vertices) {}

  [[nodiscard]] Program program() const {
    Program program;
    program.reached = reached_.data();
    program.before = before_.data();
    program.depths = depths_.data();
    return program;
  }
  void clear(Vertex source, const cuda::Stream& stream) const {
    reached_.fill_bytes(0, stream);
    before_.fill_bytes(0, stream);
    depths_.fill_bytes(0xff, stream);  // kUnreached
    reach_source<<<1, 1, 0, stream.get()>>>(reached_.data(), source);
    cuda::check_launch("reach_source");
  }
  void spoil(const cuda::Stream& stream) const { depths_.fill_bytes(kSpoiled, stream); }
  static std::uint64_t most_levels(Vertex vertices) { return std::uint64_t{vertices} + 1; }
  [[nodiscard]] std::vector<std::uint32_t> answer(Vertex vertices) const { return depths_.read(vertices); }
  [[nodiscard]] static std::vector<float> ranks(Vertex /*vertices*/) { throw UsageError("bfs has no ranks"); }
  [[nodiscard]] std::uint64_t gpu_bytes() const {
    return reached_.bytes() + before_.bytes() + depths_.bytes();
  }

 private:
  DeviceArray<std::uint32_t> reached_;
  DeviceArray<std::uint32_t> before_;
  DeviceArray<std::uint32_t> depths_;
};

}  // namespace

std::unique_ptr<Traversal> make_bfs(const PlacedGraph& graph, Access access) {
  return std::make_unique<ProgramTraversal<BfsState<BfsProgram>>>(graph, access);
}

std::unique_ptr<Traversal> make_bfs_pull(const PlacedGraph& graph, Access access) {
  return std::make_unique<ProgramTraversal<BfsState<BfsPullProgram>>>(graph, access);
}

std::unique_ptr<Traversal> make_bfs_divided(Parts parts, Access access) {
  return std::make_unique<DividedTraversal<BfsState<BfsProgram>>>(parts, access);
}

std::unique_ptr<Traversal> make_bfs_subway(const Csr& graph, const SubwayRequest& request) {
  return std::make_unique<CompactingTraversal<BfsState<BfsProgram>>>(graph, request);
}

}  // namespace grainscope::graph
