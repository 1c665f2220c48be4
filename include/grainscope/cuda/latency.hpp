#ifndef GRAINSCOPE_CUDA_LATENCY_HPP
#define GRAINSCOPE_CUDA_LATENCY_HPP

// Latencies as a GPU sees them: a chain of pointers, the round trip of a flag, the touch of a managed
// page.

#include <cstdint>
#include <optional>

#include "grainscope/core/cycle.hpp"
#include "grainscope/core/operation.hpp"
#include "grainscope/cuda/budget.hpp"
#include "grainscope/cuda/compat.hpp"
#include "grainscope/cuda/device.hpp"
#include "grainscope/cuda/gate.hpp"
#include "grainscope/cuda/memory.hpp"
#include "grainscope/cuda/probe.hpp"
#include "grainscope/cuda/verification.hpp"
#include "grainscope/system/numa.hpp"

// Bytes between two nodes of a chain: a line of the GPU's caches.
inline constexpr std::uint64_t kChaseStride = 128;

// Latency as a GPU sees it: a chain of pointers in any memory that it can reach, walked by one thread, each
// load's address the result of the load before. After nvbandwidth's pointer chase.

namespace grainscope::cuda {

class Chase {
 public:
  // Where the chain lies; owned by the caller, and longer-lived.
  struct Memory {
    void* device = nullptr;   // as the walking GPU addresses it
    void* host = nullptr;     // as the CPU addresses it; null: not host memory, and the GPU lays the chain
    std::uint64_t bytes = 0;  // a power of two
  };

  // Lays one cycle through all of the memory, for `gpu`, which is current, to walk. Loads its kernels.
  // Throws UsageError for a size or an alignment that no chain fits.
  Chase(int gpu, const Memory& memory, Cycle::Order order);

  // Follows `steps` links from where the last walk ended, in `kernels` equal parts, each a kernel of its own
  // on another multiprocessor, since the way to memory is not equally long from all of them. Seconds between
  // two events, behind a closed gate. Throws UsageError where the parts are not equal, FailedError where the
  // walk did not end at the node where so many links must lead.
  [[nodiscard]] double walk(std::uint64_t steps, int kernels);

  // Throws FailedError unless the links form one cycle through every node. Call before the first walk: a link
  // that leads out of the memory would end the GPU's context.
  void expect_one_cycle() const;

  [[nodiscard]] std::uint64_t nodes() const noexcept { return cycle_.places(); }

 private:
  void lay_from_host() const;
  void lay_from_gpu() const;
  void expect_end() const;

  Memory memory_;
  Cycle cycle_;
  int gpu_;
  int multiprocessors_;
  Stream stream_;
  GatedStopwatch stopwatch_;
  DeviceBuffer here_;  // a pointer: the node where the next walk begins
  std::uint64_t walked_ = 0;
  unsigned next_block_ = 0;
};

// The round trip of a flag: one side writes the number of the round, the other sees it and writes it back.
struct PingPongPlan {
  std::uint32_t rounds = 1024;
  double timeout_s = 0.3;        // how long either side waits for the other in one round
  std::uint32_t lost_round = 0;  // the answering side is silent in this one; 0: in none. For tests
};

// Between the CPU, which leads, and one thread of a GPU, which answers. Both flags lie in pinned host memory
// of the spec's node, each in a line of its own.
class HostPingPong final : public Operation {
 public:
  // Binds the calling thread to the node, and makes the GPU current, for as long as it lives.
  HostPingPong(const FlagSpec& spec, const Topology& topology, const PingPongPlan& plan = {.rounds = 1024});
  // Seconds on the steady clock for all rounds; the GPU's thread runs before the first. FailedError, well
  // within a second, where a round is lost or out of turn.
  [[nodiscard]] std::optional<double> around_s(double run_s) const override { return run_s; }
  double run() override;
  std::string verify() override;
  [[nodiscard]] Timing timing() const override;
  [[nodiscard]] bool on_callers_thread() const override { return true; }
  void describe(Measurement& measurement) override { measurement.operations = plan_.rounds; }

 private:
  struct Lines;
  [[nodiscard]] Lines& lines() const;
  [[nodiscard]] double lead() const;

  NodeBinding binding_;
  DeviceGuard guard_;
  PingPongPlan plan_;
  Stream stream_;
  PinnedBuffer memory_;
};

// Between two GPUs, one thread on each; each writes to the other's memory and waits on its own.
class PeerPingPong final : public Operation {
 public:
  // The spec's `gpu`, which is current for as long as it lives, leads; its `peer` answers, and may be the
  // same GPU. Many rounds, since what is timed begins and ends with a kernel. SkipError without peer access.
  explicit PeerPingPong(const FlagSpec& spec, const PingPongPlan& plan = {.rounds = 4096});
  // Seconds between two events around the leading kernel, which starts when the other one runs. FailedError
  // as above.
  [[nodiscard]] std::optional<double> around_s(double run_s) const override { return run_s; }
  double run() override;
  std::string verify() override;
  [[nodiscard]] Timing timing() const override;
  void describe(Measurement& measurement) override { measurement.operations = plan_.rounds; }

 private:
  struct Reports;
  // What one of the two has of it.
  struct Side {
    int gpu;
    Stream stream;
    DeviceBuffer heard;  // the flag that this side waits on, in its own memory
  };
  static Side make_side(int gpu);
  [[nodiscard]] Reports& reports() const;

  std::optional<PeerAccess> there_;
  std::optional<PeerAccess> back_;
  DeviceGuard guard_;
  PingPongPlan plan_;
  PinnedBuffer memory_;
  Side leading_;
  Side answering_;
  GatedStopwatch stopwatch_;
};

// What one touch of a managed page costs when the page lives on the other side, or on a peer: a fault, and
// the migration that answers it. One page is touched in each block of 2 MiB, so that no touch profits from
// another, and its content says which is next, so that one follows the other.
class ManagedTouch final : public Operation {
 public:
  // The unit in which the driver keeps track of managed memory.
  static constexpr std::uint64_t kBlockBytes = std::uint64_t{2} << 20;

  // 2^bits pages between the memory of the spec's node and its GPU. Binds the calling thread to the node, and
  // makes the GPU current, for as long as it lives. Throws SkipError where `budget` has not room for 2^bits
  // blocks, UsageError where the peer is the GPU itself or the CPU touches.
  ManagedTouch(const TouchSpec& spec, const Topology& topology, ManagedBudget& budget, int bits = 6);

  // Brings every page to where it is not touched. Untimed.
  void prepare() override;
  // Seconds for one touch of each page, one after another: of a kernel of one thread between two events,
  // behind a closed gate, or of a loop on the steady clock. FailedError unless the pages lived on the other
  // side before and live here after, and what was read is what was written.
  double run() override;
  // Of a peer's pages looking where they live takes longer than touching them.
  [[nodiscard]] std::optional<double> around_s(double run_s) const override {
    return peer_ ? std::nullopt : std::optional(run_s);
  }
  std::string verify() override;
  [[nodiscard]] Timing timing() const override;
  [[nodiscard]] bool on_callers_thread() const override { return true; }
  void describe(Measurement& measurement) override { measurement.operations = pages(); }

  [[nodiscard]] std::uint64_t pages() const noexcept { return cycle_.places(); }
  // Whether the system tells where pages live: without that, only what was read was checked.
  [[nodiscard]] bool residency_known() const noexcept { return residency_known_; }

 private:
  // How fast pages answer tells on which of two GPUs they live.
  struct Peer {
    int gpu;
    ResidencyProbe there;
    ResidencyProbe here;
  };

  void bring_to_source();
  void prefetch(Location to) const;
  void expect_before();
  void expect_after();
  // Pages that are not on the host, or are, against what is wanted; 0 where the system does not tell.
  [[nodiscard]] std::uint64_t misplaced(bool on_host);
  void expect_pages(bool on_host, const char* when);
  void expect_on_gpu(const ResidencyProbe& probe, const char* when) const;
  [[nodiscard]] std::uint64_t elsewhere(const ResidencyProbe& probe) const;

  NodeBinding binding_;
  DeviceGuard guard_;
  Cycle cycle_;
  int gpu_;
  int node_;
  bool to_gpu_;
  std::optional<Peer> peer_;
  Stream stream_;
  GatedStopwatch stopwatch_;
  ManagedBuffer memory_;
  DeviceBuffer result_;
  std::uint64_t expected_sum_ = 0;
  bool residency_known_ = true;
};

}  // namespace grainscope::cuda

#endif
