// A walk of dependent loads by one thread of a GPU, through any memory that it can reach.

#include <cuda_runtime.h>

#include <bit>
#include <string>
#include <vector>

#include "grainscope/core/error.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/cuda/check.hpp"
#include "grainscope/cuda/latency.hpp"
#include "grainscope/cuda/probe.hpp"
#include "grainscope/system/numa.hpp"
#include "grainscope/system/placement.hpp"
#include "launch.cuh"

namespace grainscope::cuda {
namespace {

struct alignas(kChaseStride) Node {
  Node* next;
};

constexpr unsigned kBlocks = 1024;
constexpr unsigned kThreads = 256;
constexpr std::uint32_t kAstray = ~0U;  // a link that leads to no node

// Node `i`'s link, for all nodes.
__global__ void lay(Node* nodes, Cycle cycle) {
  const std::uint64_t stride = std::uint64_t{gridDim.x} * blockDim.x;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < cycle.places();
       i += stride) {
    nodes[i].next = nodes + cycle.next(i);
  }
}

// The links as numbers of nodes.
__global__ void read_links(const Node* nodes, std::uint64_t count, std::uint32_t* links) {
  const std::uint64_t stride = std::uint64_t{gridDim.x} * blockDim.x;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += stride) {
    // As a number: a link before the first node wraps to one that is far too large.
    const std::uint64_t offset =
        reinterpret_cast<std::uintptr_t>(nodes[i].next) - reinterpret_cast<std::uintptr_t>(nodes);
    const bool is_node = offset % kChaseStride == 0 && offset / kChaseStride < count;
    links[i] = is_node ? static_cast<std::uint32_t>(offset / kChaseStride) : kAstray;
  }
}

// One block of the grid, of one thread, walks; the others leave at once. So the walk is on a multiprocessor
// of the host's choice.
__global__ void walk_chain(Node** here, std::uint64_t steps, unsigned walker) {
  if (blockIdx.x != walker) {
    return;
  }
  const Node* node = *here;
  for (std::uint64_t i = 0; i < steps; ++i) {
    node = node->next;
  }
  *here = const_cast<Node*>(node);
}

int bits_of(const Chase::Memory& memory) {
  const std::uint64_t nodes = memory.bytes / kChaseStride;
  const bool aligned = reinterpret_cast<std::uintptr_t>(memory.device) % kChaseStride == 0;
  if (!std::has_single_bit(memory.bytes) || nodes < 2 || nodes >= kAstray || !aligned) {
    throw UsageError("a chain needs aligned memory whose size is a power of two, two lines of " +
                     std::to_string(kChaseStride) + " bytes at least; not " + format_bytes(memory.bytes));
  }
  return std::countr_zero(nodes);
}

}  // namespace

Chase::Chase(int gpu, const Memory& memory, Cycle::Order order)
    : memory_(memory),
      cycle_(order, bits_of(memory)),
      gpu_(gpu),
      multiprocessors_(sm_count(gpu)),
      here_(gpu, sizeof(Node*)) {
  load_kernel(lay, "load the kernel lay");
  load_kernel(read_links, "load the kernel read_links");
  load_kernel(walk_chain, "load the kernel walk_chain");
  if (memory_.host != nullptr) {
    lay_from_host();
  } else {
    lay_from_gpu();
  }
  check(cudaMemcpyAsync(here_.data(), &memory_.device, sizeof(Node*), cudaMemcpyHostToDevice, stream_.get()),
        "write where a walk begins");
  stream_.synchronize();
}

// By the CPU, as a program fills what it gives to a GPU: what its caches hold of it, they hold.
void Chase::lay_from_host() const {
  auto* written = static_cast<Node*>(memory_.host);
  auto* addressed = static_cast<Node*>(memory_.device);
  for (std::uint64_t i = 0; i < cycle_.places(); ++i) {
    written[i].next = addressed + cycle_.next(i);
  }
}

void Chase::lay_from_gpu() const {
  lay<<<kBlocks, kThreads, 0, stream_.get()>>>(static_cast<Node*>(memory_.device), cycle_);
  check_launch("lay");
  stream_.synchronize();
}

double Chase::walk(std::uint64_t steps, int kernels) {
  if (kernels < 1 || steps == 0 || steps % static_cast<std::uint64_t>(kernels) != 0) {
    throw UsageError("a walk of " + std::to_string(steps) + " steps cannot be cut into " +
                     std::to_string(kernels) + " equal parts");
  }
  const auto blocks = static_cast<unsigned>(multiprocessors_);
  const double seconds = stopwatch_.time_s(stream_, [&] {
    for (int i = 0; i < kernels; ++i) {
      walk_chain<<<blocks, 1, 0, stream_.get()>>>(static_cast<Node**>(here_.data()),
                                                  steps / static_cast<std::uint64_t>(kernels), next_block_);
      check_launch("walk_chain");
      next_block_ = (next_block_ + 1) % blocks;
    }
  });
  walked_ += steps;
  expect_end();
  return seconds;
}

void Chase::expect_end() const {
  const Node* here = nullptr;
  check(cudaMemcpy(&here, here_.data(), sizeof(here), cudaMemcpyDeviceToHost), "read where a walk ended");
  const Node* expected = static_cast<const Node*>(memory_.device) + cycle_.after(walked_);
  if (here != expected) {
    throw FailedError("wrong result: after " + std::to_string(walked_) +
                      " loads the walk is not at the node where as many links lead");
  }
}

void Chase::expect_one_cycle() const {
  const DeviceBuffer device_links(gpu_, nodes() * sizeof(std::uint32_t));
  auto* numbers = static_cast<std::uint32_t*>(device_links.data());
  read_links<<<kBlocks, kThreads, 0, stream_.get()>>>(static_cast<const Node*>(memory_.device), nodes(),
                                                      numbers);
  check_launch("read_links");
  stream_.synchronize();
  std::vector<std::uint32_t> links(nodes());
  check(cudaMemcpy(links.data(), numbers, links.size() * sizeof(std::uint32_t), cudaMemcpyDeviceToHost),
        "read a chain's links");
  std::uint32_t node = 0;
  for (std::uint64_t steps = 1; steps <= nodes(); ++steps) {
    node = links[node];
    if (node == kAstray || (node == 0) != (steps == nodes())) {
      throw FailedError("wrong result: the links do not form one cycle through all of " +
                        std::to_string(nodes()) + " nodes: after " + std::to_string(steps) + " steps " +
                        (node == 0         ? "they are at the first again"
                         : node == kAstray ? "they lead out of the memory"
                                           : "they are not back at the first"));
    }
  }
}

namespace {

// How long a sample walks. A kernel's start and end, some 2 us, are to stay below a thousandth or two of it;
// and where a first-level cache may hold the chain, the first lap, which fills that cache, below a hundredth.
struct Length {
  std::uint64_t steps;
  int kernels;
};

Length length_of(const ChaseSpec& spec) {
  constexpr std::uint64_t kMostFirstLevel = 256 * kKiB;
  if (spec.to != ChaseSpec::To::own_memory) {
    // From 4 KiB on a kernel goes around once at most: what came over the link may stay in a first-level
    // cache until it ends. More kernels do not fit behind the gate.
    constexpr std::uint64_t kSteps = 1 << 14;
    const std::uint64_t lines = std::max<std::uint64_t>(spec.bytes / kChaseStride, 1);
    return {kSteps, static_cast<int>(std::clamp<std::uint64_t>(kSteps / lines, 8, 256))};
  }
  return spec.bytes <= kMostFirstLevel ? Length{1 << 20, 2} : Length{1 << 16, 8};
}

class ChaseProbe final : public Operation {
 public:
  ChaseProbe(const ChaseSpec& spec, const Surroundings& surroundings)
      : length_(length_of(spec)), guard_(spec.gpu) {
    Chase::Memory memory{nullptr, nullptr, spec.bytes};
    switch (spec.to) {
      case ChaseSpec::To::host_memory:
        binding_.emplace(*surroundings.topology, spec.node);
        host_.emplace(MappedRequest{.kind = spec.memory, .gpu = spec.gpu, .home = spec.node}, spec.bytes,
                      surroundings);
        memory.host = host_->host_data();
        memory.device = host_->device_data();
        break;
      case ChaseSpec::To::peer_memory:
        access_.emplace(spec.gpu, spec.peer);
        device_.emplace(spec.peer, spec.bytes);
        memory.device = device_->data();
        break;
      case ChaseSpec::To::own_memory:
        device_.emplace(spec.gpu, spec.bytes);
        memory.device = device_->data();
        break;
    }
    chase_.emplace(spec.gpu, memory, spec.order);
    chase_->expect_one_cycle();
  }

  void prepare() override { expect_on_host(); }
  [[nodiscard]] std::optional<double> around_s(double run_s) const override { return run_s; }
  double run() override {
    const double seconds = chase_->walk(length_.steps, length_.kernels);
    expect_on_host();
    return seconds;
  }

  std::string verify() override {
    return "the links are one cycle through every line, and each sample's walk ended where as many of them "
           "lead";
  }

  [[nodiscard]] Timing timing() const override {
    return {Clock::event, true, "a walk of dependent loads by one thread, in kernels between two events"};
  }

  void describe(Measurement& measurement) override { measurement.operations = length_.steps; }

 private:
  void expect_on_host() const {
    if (host_) {
      host_->expect_on_host();
    }
  }

  Length length_;
  DeviceGuard guard_;
  std::optional<NodeBinding> binding_;
  std::optional<PeerAccess> access_;
  std::optional<MappedMemory> host_;
  std::optional<DeviceBuffer> device_;
  std::optional<Chase> chase_;
};

}  // namespace

std::unique_ptr<Operation> make_chase(const ChaseSpec& spec, const Surroundings& surroundings) {
  return std::make_unique<ChaseProbe>(spec, surroundings);
}

}  // namespace grainscope::cuda
