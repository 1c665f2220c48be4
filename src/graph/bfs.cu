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

__global__ void reach_source(std::uint32_t* reached, Vertex source) {
  reached[source / kWarpLanes] = 1U << source % kWarpLanes;
}

class BfsState {
 public:
  using Program = BfsProgram;
  explicit BfsState(const PlacedGraph& graph)
      : reached_(graph.request().gpu, graph.view().vertices / kWarpLanes + 1),
        before_(graph.request().gpu, graph.view().vertices / kWarpLanes + 1),
        depths_(graph.request().gpu, graph.view().vertices) {}

  [[nodiscard]] BfsProgram program() const {
    BfsProgram program;
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
  return std::make_unique<ProgramTraversal<BfsState>>(graph, access);
}

std::unique_ptr<Traversal> make_bfs_divided(Parts parts, Access access) {
  return std::make_unique<DividedTraversal<BfsState>>(parts, access);
}

std::unique_ptr<Traversal> make_bfs_subway(const Csr& graph, const SubwayRequest& request) {
  return std::make_unique<CompactingTraversal<BfsState>>(graph, request);
}

}  // namespace grainscope::graph
