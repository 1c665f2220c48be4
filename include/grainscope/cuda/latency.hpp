#ifndef GRAINSCOPE_CUDA_LATENCY_HPP
#define GRAINSCOPE_CUDA_LATENCY_HPP

// Latencies as a GPU sees them: a chain of pointers, the round trip of a flag, the touch of a managed
// page.

#include <cstdint>
#include <optional>

#include "grainscope/core/cycle.hpp"
#include "grainscope/cuda/budget.hpp"
#include "grainscope/cuda/compat.hpp"
#include "grainscope/cuda/device.hpp"
#include "grainscope/cuda/gate.hpp"
#include "grainscope/cuda/memory.hpp"
#include "grainscope/cuda/verification.hpp"

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
// of the node that the constructing thread is bound to, each in a line of its own.
class HostPingPong {
 public:
  // On `gpu`, which is current.
  HostPingPong(int gpu, const PingPongPlan& plan);
  // Seconds on the steady clock for all rounds; the GPU's thread runs before the first. FailedError, well
  // within a second, where a round is lost or out of turn.
  [[nodiscard]] double run();
  // The flags, for who wants to know where they lie.
  [[nodiscard]] const void* data() const noexcept { return memory_.data(); }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return memory_.bytes(); }

 private:
  struct Lines;
  [[nodiscard]] Lines& lines() const;
  [[nodiscard]] double lead() const;

  PingPongPlan plan_;
  Stream stream_;
  PinnedBuffer memory_;
};

// Between two GPUs, one thread on each; each writes to the other's memory and waits on its own. Needs peer
// access both ways, unless both are the same GPU.
class PeerPingPong {
 public:
  // `gpu`, which is current, leads; `peer` answers.
  PeerPingPong(int gpu, int peer, const PingPongPlan& plan);
  // Seconds between two events around the leading kernel, which starts when the other one runs. FailedError
  // as above.
  [[nodiscard]] double run();

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

  PingPongPlan plan_;
  PinnedBuffer memory_;
  Side leading_;
  Side answering_;
  GatedStopwatch stopwatch_;
};

// What one touch of a managed page costs when the page lives on the other side, or on a peer: a fault, and
// the migration that answers it. One page is touched in each block of 2 MiB, so that no touch profits from
// another, and its content says which is next, so that one follows the other.
class ManagedTouch {
 public:
  // The unit in which the driver keeps track of managed memory.
  static constexpr std::uint64_t kBlockBytes = std::uint64_t{2} << 20;

  // 2^bits pages between the memory of NUMA node `node`, to which the calling thread is bound, and of `gpu`,
  // which is current. `to_gpu`: the GPU touches pages that live on the host; else the CPU those on the GPU.
  // `from_peer`: the GPU touches pages that live on that one, not on the host. Throws SkipError where
  // `budget` has not room for 2^bits blocks.
  ManagedTouch(ManagedBudget& budget, int gpu, int node, bool to_gpu, int bits,
               std::optional<int> from_peer = {});

  // Brings every page to where it is not touched. Untimed.
  void prepare();
  // Seconds for one touch of each page, one after another: of a kernel of one thread between two events,
  // behind a closed gate, or of a loop on the steady clock. FailedError unless the pages lived on the other
  // side before and live here after, and what was read is what was written.
  [[nodiscard]] double run();

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
