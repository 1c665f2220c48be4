#ifndef GRAINSCOPE_BENCHMARKS_HARNESS_GPU_LOCK_HPP
#define GRAINSCOPE_BENCHMARKS_HARNESS_GPU_LOCK_HPP

// One run a GPU at a time: two would measure each other.

#include <functional>
#include <string>
#include <vector>

namespace grainscope::harness {

// Holds an advisory lock for each GPU, by UUID, in a folder that all users of the machine share. The kernel
// drops it with the process, however that ends.
class [[nodiscard]] GpuLock {
 public:
  // Takes the locks in the order of the UUIDs, so that two runs cannot wait for each other.
  // With `wait` it says on stderr whom it waits for, until `interrupted`; without, it throws
  // EnvironmentError, as it does where the lock file cannot be opened.
  GpuLock(std::vector<std::string> uuids, bool wait, const std::function<bool()>& interrupted);
  ~GpuLock();
  GpuLock(const GpuLock&) = delete;
  GpuLock& operator=(const GpuLock&) = delete;

 private:
  void release() noexcept;
  std::vector<int> files_;
};

}  // namespace grainscope::harness

#endif
