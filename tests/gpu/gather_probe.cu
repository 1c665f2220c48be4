#include "gather_probe.hpp"

#include "program.cuh"

namespace grainscope::graph {
namespace {

constexpr std::uint32_t kOpen = 1U << 24;

struct InDegreeProgram : ProgramDefaults {
  std::uint32_t* visits = nullptr;  // [V], device
  bool first = true;

  __device__ bool activate(std::uint32_t /*vertex*/, bool mine, int /*lane*/) const { return mine && first; }
  __device__ std::uint32_t open(const WorkItem& item, Team team) const {
    if (team == Team::thread || threadIdx.x % kWarpLanes == 0) {
      atomicAdd(visits + item.vertex, kOpen);
    }
    return item.vertex;
  }
  __device__ void visit(std::uint32_t /*vertex*/, Vertex neighbour, Weight /*weight*/) const {
    atomicAdd(visits + neighbour, 1U);
  }
  // By what was opened, not by what it is closed with: they must be the same.
  __device__ void close(const WorkItem& /*item*/, std::uint32_t vertex, Team team) const {
    if (team == Team::thread || threadIdx.x % kWarpLanes == 0) {
      atomicSub(visits + vertex, kOpen);
    }
  }
  void next_level() { first = false; }
};

class InDegreeState {
 public:
  using Program = InDegreeProgram;
  explicit InDegreeState(const PlacedGraph& graph) : visits_(graph.request().gpu, graph.view().vertices) {}

  [[nodiscard]] InDegreeProgram program() const {
    InDegreeProgram program;
    program.visits = visits_.data();
    return program;
  }
  void clear(Vertex /*source*/, const cuda::Stream& stream) const { visits_.fill_bytes(0, stream); }
  static std::uint64_t most_levels(Vertex /*vertices*/) { return 2; }
  [[nodiscard]] std::vector<std::uint32_t> answer(Vertex vertices) const { return visits_.read(vertices); }
  [[nodiscard]] static std::vector<float> ranks(Vertex /*vertices*/) {
    throw UsageError("in-degrees are no ranks");
  }
  [[nodiscard]] std::uint64_t gpu_bytes() const { return visits_.bytes(); }

 private:
  DeviceArray<std::uint32_t> visits_;
};

bool refuses(const GatherBoard& board) {
  try {
    board.check();
    return false;
  } catch (const FailedError&) {
    return true;
  }
}

}  // namespace

std::unique_ptr<Traversal> make_in_degrees(const PlacedGraph& graph, Access access) {
  return std::make_unique<ProgramTraversal<InDegreeState>>(graph, access);
}

bool gives_up_waiting(double patience_s) {
  constexpr unsigned kBlocks = 4;
  const cuda::Stream stream;
  const GatherBoard board(0, kBlocks, patience_s);
  board.clear(stream);
  // No lists at all, but one that is open for ever.
  const DeviceArray<std::uint64_t> count(0, 1);
  count.fill_bytes(0, stream);
  WalkInput input;
  input.count = count.data();
  input.gather = board.view();
  const unsigned long long open = 1;
  cuda::check(cudaMemcpyAsync(input.gather.surplus, &open, sizeof(open), cudaMemcpyDefault, stream.get()),
              "plant a list that never gets done");
  InDegreeProgram program;
  void* arguments[] = {&input, &program};
  const void* const kernel =
      reinterpret_cast<const void*>(gather_edges<std::uint32_t, InDegreeProgram, Note::nothing>);
  cuda::check(
      cudaLaunchCooperativeKernel(kernel, dim3(kBlocks), dim3(kWalkThreads), arguments, 0, stream.get()),
      "launch gather_edges");
  stream.synchronize();
  return refuses(board) && !refuses(board);
}

}  // namespace grainscope::graph
