#ifndef GRAINSCOPE_CUDA_MEMORY_HPP
#define GRAINSCOPE_CUDA_MEMORY_HPP

// Owners of memory that a GPU can reach. Each is move-only and frees in its destructor.

#include <cuda_runtime_api.h>

#include <cstdint>
#include <memory>

#include "grainscope/cuda/managed_budget.hpp"

namespace grainscope::cuda {

// Device memory of one GPU. Throws SkipError where the card has not enough free.
class DeviceBuffer {
 public:
  DeviceBuffer(int gpu, std::uint64_t bytes);
  [[nodiscard]] void* data() const noexcept { return data_.get(); }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }

 private:
  struct Free {
    void operator()(void* data) const noexcept;
  };
  std::unique_ptr<void, Free> data_;
  std::uint64_t bytes_;
};

// Page-locked host memory by cudaHostAlloc, mapped into every GPU's address space; the node is where
// the calling thread is bound. Throws FailedError with the remedy where it cannot be locked.
class PinnedBuffer {
 public:
  enum class Kind { cached, write_combined };
  PinnedBuffer(std::uint64_t bytes, Kind kind);
  [[nodiscard]] void* data() const noexcept { return data_.get(); }
  // The same memory as the current GPU addresses it.
  [[nodiscard]] void* device_data() const;
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }

 private:
  struct Free {
    void operator()(void* data) const noexcept;
  };
  std::unique_ptr<void, Free> data_;
  std::uint64_t bytes_;
};

// Page-locks host memory that someone else owns, by cudaHostRegister, for as long as it lives.
class [[nodiscard]] Registration {
 public:
  Registration(void* data, std::uint64_t bytes);
  [[nodiscard]] void* device_data() const;

 private:
  struct Unregister {
    void operator()(void* data) const noexcept;
  };
  std::unique_ptr<void, Unregister> data_;
};

// Managed memory, counted against a budget that must outlive it.
class ManagedBuffer {
 public:
  ManagedBuffer(ManagedBudget& budget, int gpu, std::uint64_t bytes);
  [[nodiscard]] void* data() const noexcept { return data_.get(); }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }

 private:
  struct Free {
    ManagedBudget* budget;
    int gpu;
    std::uint64_t bytes;
    void operator()(void* data) const noexcept;
  };
  std::unique_ptr<void, Free> data_;
  std::uint64_t bytes_;
};

}  // namespace grainscope::cuda

#endif
