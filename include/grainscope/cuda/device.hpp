#ifndef GRAINSCOPE_CUDA_DEVICE_HPP
#define GRAINSCOPE_CUDA_DEVICE_HPP

// Which GPU is current, and the small handles that belong to one: streams and events.

#include <cuda_runtime_api.h>

#include <cstdint>
#include <memory>

namespace grainscope::cuda {

// Makes a GPU current for the calling thread and restores the previous one. Does nothing where it is current
// already: a context of that GPU which is not the primary one (cuda/sm_partition.hpp) then stays.
class [[nodiscard]] DeviceGuard {
 public:
  explicit DeviceGuard(int gpu);
  ~DeviceGuard();
  DeviceGuard(const DeviceGuard&) = delete;
  DeviceGuard& operator=(const DeviceGuard&) = delete;

 private:
  int previous_;
  bool changed_;
};

// The calling thread's GPU.
[[nodiscard]] int current_gpu();

struct MemoryInfo {
  std::uint64_t free_bytes = 0;
  std::uint64_t total_bytes = 0;
};
[[nodiscard]] MemoryInfo memory_info(int gpu);

// Multiprocessors of a GPU.
[[nodiscard]] int sm_count(int gpu);

// A stream that does not synchronise with the default one, on the GPU current at construction.
class Stream {
 public:
  Stream();
  // Takes over one that something else has made: a green context.
  explicit Stream(cudaStream_t made) : stream_(made) {}
  [[nodiscard]] cudaStream_t get() const noexcept { return stream_.get(); }
  // Waits for all its work; throws FailedError for an error of any of it.
  void synchronize() const;

 private:
  struct Destroy {
    void operator()(cudaStream_t stream) const noexcept;
  };
  std::unique_ptr<CUstream_st, Destroy> stream_;
};

// An event that takes the time, on the GPU current at construction.
class Event {
 public:
  Event();
  [[nodiscard]] cudaEvent_t get() const noexcept { return event_.get(); }
  void record(const Stream& stream) const;
  void synchronize() const;
  // Whether what was recorded last has ended; does not wait. Throws FailedError for an error of it.
  [[nodiscard]] bool done() const;

 private:
  struct Destroy {
    void operator()(cudaEvent_t event) const noexcept;
  };
  std::unique_ptr<CUevent_st, Destroy> event_;
};

// Seconds between two events that have completed.
[[nodiscard]] double elapsed_s(const Event& start, const Event& stop);

}  // namespace grainscope::cuda

#endif
