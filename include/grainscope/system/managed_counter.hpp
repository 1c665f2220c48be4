#ifndef GRAINSCOPE_SYSTEM_MANAGED_COUNTER_HPP
#define GRAINSCOPE_SYSTEM_MANAGED_COUNTER_HPP

// What NVIDIA's driver counts of a process's managed memory: pages that moved, and faults. By the counters of
// /dev/nvidia-uvm-tools (kernel-open/nvidia-uvm/uvm_ioctl.h of NVIDIA's open kernel modules). The driver
// counts only while such a counter lives.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace grainscope {

struct ManagedCounts {
  std::uint64_t to_gpu_bytes = 0;   // copied from the host, whether or not it kept its pages
  std::uint64_t to_host_bytes = 0;  // brought back, or evicted
  std::uint64_t gpu_faults = 0;     // accesses of GPUs that found no page
};

class ManagedCounter {
 public:
  // Counts from now on, for all GPUs of this process together. The CUDA runtime is at work by then. Null
  // where the driver does not let this process count, and then why.
  [[nodiscard]] static std::unique_ptr<ManagedCounter> open(std::string& why_not);
  ~ManagedCounter();
  ManagedCounter(const ManagedCounter&) = delete;
  ManagedCounter& operator=(const ManagedCounter&) = delete;

  // So far. Right once the GPU is idle.
  [[nodiscard]] ManagedCounts read() const;

 private:
  // An address space that the driver keeps for this process.
  class Space {
   public:
    Space(int driver_file, std::string& why_not);
    ~Space();
    Space(const Space&) = delete;
    Space& operator=(const Space&) = delete;

    [[nodiscard]] bool counting() const { return counting_; }
    [[nodiscard]] std::uint64_t count(std::size_t index) const { return counts_[index]; }

   private:
    int tools_ = -1;                    // the driver's file
    volatile std::uint64_t* counts_{};  // a page that the driver writes to
    bool counting_ = false;
  };

  ManagedCounter() = default;

  std::vector<std::unique_ptr<Space>> spaces_;
};

}  // namespace grainscope

#endif
