#ifndef GRAINSCOPE_CUDA_MANAGED_TOUCH_HPP
#define GRAINSCOPE_CUDA_MANAGED_TOUCH_HPP

// What one touch of a managed page costs when the page lives on the other side, or on a peer: a fault, and
// the migration that answers it. One page is touched in each block of 2 MiB, so that no touch profits from
// another, and its content says which is next, so that one follows the other.

#include <cstdint>
#include <optional>

#include "grainscope/core/cycle.hpp"
#include "grainscope/cuda/compat.hpp"
#include "grainscope/cuda/device.hpp"
#include "grainscope/cuda/gate.hpp"
#include "grainscope/cuda/managed_budget.hpp"
#include "grainscope/cuda/memory.hpp"
#include "grainscope/cuda/residency.hpp"

namespace grainscope::cuda {

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
