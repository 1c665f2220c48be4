// Passes over a whole edge list: the walk of a level without the work, as the toy that a traversal is
// compared with, and the widening of neighbours to eight bytes.

#include "grainscope/graph/traversal.hpp"
#include "program.cuh"
#include "traversals.hpp"

namespace grainscope::graph {
namespace {

struct SweepProgram : ProgramDefaults {
  const std::uint32_t* wanted = nullptr;  // [V / 32], device, a bit a vertex
  unsigned long long* total = nullptr;    // device

  __device__ bool activate(std::uint32_t vertex, bool mine, int lane) const {
    return mine && (wanted[vertex / kWarpLanes] >> lane & 1) != 0;
  }
  __device__ std::uint64_t open(const WorkItem& /*item*/, Team /*team*/) const { return 0; }
  __device__ void visit(std::uint64_t& sum, Vertex neighbour, Weight /*weight*/) const { sum += neighbour; }
  __device__ void close(const WorkItem& /*item*/, std::uint64_t sum, Team team) const {
    if (team == Team::thread) {
      atomicAdd(total, static_cast<unsigned long long>(sum));
      return;
    }
    sum = cuda::sum_of_warp(sum);  // of all teams of the warp, for which its first lane speaks
    if (threadIdx.x % kWarpLanes == 0) {
      atomicAdd(total + (blockIdx.x % kTotals), static_cast<unsigned long long>(sum));
    }
  }
  // Where edges are handed out one by one: a list keeps 0, and each thread has its own word.
  __device__ void merge(std::uint64_t& /*list*/, std::uint64_t lane) const {
    atomicAdd(total + ((blockIdx.x * kWalkThreads + threadIdx.x) % kTotals),
              static_cast<unsigned long long>(lane));
  }
  // Blocks add to different words, or all would queue for one.
  static constexpr int kTotals = 1024;
};

class CudaSweep final : public Operation {
 public:
  CudaSweep(const PlacedGraph& graph, Access access, std::span<const Vertex> active, std::uint64_t expected)
      : guard_(graph.request().gpu),
        loop_(graph, access),
        wanted_(graph.request().gpu, graph.view().vertices / kWarpLanes + 1),
        totals_(graph.request().gpu, SweepProgram::kTotals),
        bits_(wanted_.bytes() / sizeof(std::uint32_t)),
        expected_(expected) {
    for (const Vertex v : active) {
      bits_.at(v / kWarpLanes) |= 1U << v % kWarpLanes;
    }
  }

  void prepare() override {
    cuda::check(cudaMemcpy(wanted_.data(), bits_.data(), wanted_.bytes(), cudaMemcpyDefault),
                "copy a frontier to the GPU");
    totals_.fill_bytes(0, loop_.stream());
  }

  double run() override {
    SweepProgram program;
    program.wanted = wanted_.data();
    program.total = totals_.data();
    const double seconds = loop_.time_walk(program);
    std::uint64_t sum = 0;
    for (const unsigned long long total : totals_.read(SweepProgram::kTotals)) {
      sum += total;
    }
    if (sum != expected_) {
      throw FailedError("wrong result: the neighbours that a sweep read add up to " + std::to_string(sum) +
                        ", not " + std::to_string(expected_));
    }
    return seconds;
  }

  std::string verify() override { return "the sum of all neighbours that each sample read"; }
  [[nodiscard]] Timing timing() const override {
    return {Clock::event, false, "one kernel that reads lists, between two events"};
  }

 private:
  cuda::DeviceGuard guard_;
  LevelLoop<SweepProgram> loop_;
  DeviceArray<std::uint32_t> wanted_;
  DeviceArray<unsigned long long> totals_;
  std::vector<std::uint32_t> bits_;
  std::uint64_t expected_;
};

__global__ void widen(const Vertex* from, std::uint64_t* to, std::uint64_t count) {
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count;
       i += std::uint64_t{gridDim.x} * blockDim.x) {
    to[i] = from[i];
  }
}

}  // namespace

void widen_on_gpu(const Vertex* from, std::uint64_t* to, std::uint64_t count) {
  widen<<<1024, 256>>>(from, to, count);
  cuda::check_launch("widen");
  cuda::check(cudaDeviceSynchronize(), "widen edges on the GPU");
}

std::unique_ptr<Operation> make_sweep(const PlacedGraph& graph, Access access, std::span<const Vertex> active,
                                      std::uint64_t expected) {
  return std::make_unique<CudaSweep>(graph, access, active, expected);
}

}  // namespace grainscope::graph
