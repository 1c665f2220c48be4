// The probes of latency: a chase, a flag, a touch, each with its memory where it was asked for.

#include <optional>

#include "grainscope/core/units.hpp"
#include "grainscope/cuda/chase.hpp"
#include "grainscope/cuda/flag.hpp"
#include "grainscope/cuda/managed_touch.hpp"
#include "grainscope/cuda/peer_access.hpp"
#include "grainscope/cuda/probe.hpp"
#include "grainscope/system/numa.hpp"
#include "grainscope/system/placement.hpp"

namespace grainscope::cuda {
namespace {

// With one node there is nowhere else to be; the driver's own mappings do not always tell.
void expect_node(const Topology& topology, const void* data, std::uint64_t bytes, int node) {
  if (topology.nodes().size() > 1) {
    verify_placement(data, bytes, node);
  }
}

// How long a sample walks. A kernel's start and end, some 2 us, are to stay below a thousandth or two of it;
// and where a first-level cache may hold the chain, the first lap, which fills that cache, below a hundredth.
struct Length {
  std::uint64_t steps;
  int kernels;
};

Length length_of(const ChaseSpec& spec) {
  constexpr std::uint64_t kMostFirstLevel = 256 * kKiB;
  if (spec.to != ChaseSpec::To::own_memory) {
    return {1 << 14, 8};
  }
  return spec.bytes <= kMostFirstLevel ? Length{1 << 20, 2} : Length{1 << 16, 8};
}

class ChaseProbe final : public Operation {
 public:
  ChaseProbe(const ChaseSpec& spec, const Topology& topology) : length_(length_of(spec)), guard_(spec.gpu) {
    Chase::Memory memory{nullptr, nullptr, spec.bytes};
    switch (spec.to) {
      case ChaseSpec::To::host_memory:
        binding_.emplace(topology, spec.node);
        host_.emplace(spec.bytes, PinnedBuffer::Kind::cached);
        memory.host = host_->data();
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
    if (host_) {
      expect_node(topology, host_->data(), host_->bytes(), spec.node);
    }
    chase_->expect_one_cycle();
  }

  double run() override { return chase_->walk(length_.steps, length_.kernels); }

  std::string verify() override {
    return "the links are one cycle through every line, and each sample's walk ended where as many of them "
           "lead";
  }

  [[nodiscard]] Timing timing() const override {
    return {Clock::event, true, "a walk of dependent loads by one thread, in kernels between two events"};
  }

  void describe(Measurement& measurement) override { measurement.operations = length_.steps; }

 private:
  Length length_;
  DeviceGuard guard_;
  std::optional<NodeBinding> binding_;
  std::optional<PeerAccess> access_;
  std::optional<PinnedBuffer> host_;
  std::optional<DeviceBuffer> device_;
  std::optional<Chase> chase_;
};

constexpr PingPongPlan kWithHost{.rounds = 1024};
// Timed around a kernel, whose start and end are to be little of it.
constexpr PingPongPlan kWithPeer{.rounds = 4096};
constexpr const char* kEveryRound = "both sides heard the number of every round, in turn";

class HostFlagProbe final : public Operation {
 public:
  HostFlagProbe(const FlagSpec& spec, const Topology& topology)
      : binding_(topology, spec.node), guard_(spec.gpu), ping_pong_(spec.gpu, kWithHost) {
    expect_node(topology, ping_pong_.data(), ping_pong_.bytes(), spec.node);
  }

  double run() override { return ping_pong_.run(); }
  std::string verify() override { return kEveryRound; }
  [[nodiscard]] bool on_callers_thread() const override { return true; }
  [[nodiscard]] Timing timing() const override {
    return {Clock::steady, false,
            "round trips of a flag between the CPU and a kernel that runs, by flags in host memory"};
  }
  void describe(Measurement& measurement) override { measurement.operations = kWithHost.rounds; }

 private:
  NodeBinding binding_;
  DeviceGuard guard_;
  HostPingPong ping_pong_;
};

class PeerFlagProbe final : public Operation {
 public:
  explicit PeerFlagProbe(const FlagSpec& spec)
      : there_(spec.gpu, spec.peer),
        back_(spec.peer, spec.gpu),
        guard_(spec.gpu),
        ping_pong_(spec.gpu, spec.peer, kWithPeer) {}

  double run() override { return ping_pong_.run(); }
  std::string verify() override { return kEveryRound; }
  [[nodiscard]] Timing timing() const override {
    return {Clock::event, true,
            "a kernel that leads the round trips of a flag, each side waiting on its own memory, while the "
            "peer's answers"};
  }
  void describe(Measurement& measurement) override { measurement.operations = kWithPeer.rounds; }

 private:
  PeerAccess there_;
  PeerAccess back_;
  DeviceGuard guard_;
  PeerPingPong ping_pong_;
};

class TouchProbe final : public Operation {
 public:
  TouchProbe(const TouchSpec& spec, const Topology& topology, ManagedBudget& budget)
      : to_gpu_(spec.to_gpu),
        from_peer_(spec.from_peer.has_value()),
        binding_(topology, spec.node),
        guard_(spec.gpu),
        touch_(budget, spec.gpu, spec.node, spec.to_gpu, kBits, spec.from_peer) {}

  void prepare() override { touch_.prepare(); }
  double run() override { return touch_.run(); }
  [[nodiscard]] bool on_callers_thread() const override { return true; }

  std::string verify() override {
    if (from_peer_) {
      return "what was read from every page, and by how fast it answers where each lived before and after";
    }
    return touch_.residency_known()
               ? "what was read from every page, and where each lived before and after each sample"
               : "what was read from every page; the system does not tell where pages live";
  }

  [[nodiscard]] Timing timing() const override {
    if (to_gpu_) {
      return {Clock::event, true, "a kernel of one thread that reads one page after another"};
    }
    return {Clock::steady, false, "one CPU thread that reads one page after another"};
  }

  void describe(Measurement& measurement) override { measurement.operations = touch_.pages(); }

 private:
  static constexpr int kBits = 6;  // 64 pages

  bool to_gpu_;
  bool from_peer_;
  NodeBinding binding_;
  DeviceGuard guard_;
  ManagedTouch touch_;
};

}  // namespace

std::unique_ptr<Operation> make_chase(const ChaseSpec& spec, const Topology& topology) {
  return std::make_unique<ChaseProbe>(spec, topology);
}

std::unique_ptr<Operation> make_flag(const FlagSpec& spec, const Topology& topology) {
  if (spec.between_gpus) {
    return std::make_unique<PeerFlagProbe>(spec);
  }
  return std::make_unique<HostFlagProbe>(spec, topology);
}

std::unique_ptr<Operation> make_managed_touch(const TouchSpec& spec, const Topology& topology,
                                              ManagedBudget& budget) {
  return std::make_unique<TouchProbe>(spec, topology, budget);
}

}  // namespace grainscope::cuda
