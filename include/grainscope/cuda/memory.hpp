#ifndef GRAINSCOPE_CUDA_MEMORY_HPP
#define GRAINSCOPE_CUDA_MEMORY_HPP

// Owners of memory that a GPU can reach. Each is move-only and frees in its destructor.

#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "grainscope/core/host_array.hpp"
#include "grainscope/cuda/budget.hpp"
#include "grainscope/cuda/check.hpp"
#include "grainscope/cuda/device.hpp"

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

// Managed memory, counted against a budget.
class ManagedBuffer {
 public:
  ManagedBuffer(ManagedBudget& budget, int gpu, std::uint64_t bytes,
                ManagedUse use = ManagedUse::may_migrate);
  [[nodiscard]] void* data() const noexcept { return data_.get(); }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }

 private:
  struct Free {
    ManagedBudget budget;
    int gpu;
    std::uint64_t bytes;
    ManagedUse use;
    void operator()(void* data) const noexcept;
  };
  std::unique_ptr<void, Free> data_;
  std::uint64_t bytes_;
};

// Values in one GPU's memory; never of no bytes. Throws SkipError where the card has not enough free.
template <class T>
class DeviceArray {
 public:
  DeviceArray(int gpu, std::uint64_t count) : memory_(gpu, std::max<std::uint64_t>(1, count) * sizeof(T)) {}
  [[nodiscard]] T* data() const { return static_cast<T*>(memory_.data()); }
  [[nodiscard]] std::uint64_t bytes() const { return memory_.bytes(); }
  void fill_bytes(int byte, const Stream& stream) const {
    check(cudaMemsetAsync(memory_.data(), byte, memory_.bytes(), stream.get()), "set state on the GPU");
  }
  // The first `count` values, copied to the host.
  [[nodiscard]] std::vector<T> read(std::uint64_t count) const {
    std::vector<T> values;
    values.reserve(count);
    wish_for_huge_pages(values.data(), count * sizeof(T));
    values.resize(count);
    check(cudaMemcpy(values.data(), memory_.data(), count * sizeof(T), cudaMemcpyDefault),
          "read an answer from the GPU");
    return values;
  }

 private:
  DeviceBuffer memory_;
};

// Host memory made by the driver's virtual memory management (cuMemCreate on a NUMA node), which lays it out
// in pages of the driver's own choice: of one node, mapped at one address for a GPU and for the host.
class HostVmmBuffer {
 public:
  // At least `bytes` on `node`, readable and writable by `gpu` and by every CPU. Throws SkipError, with the
  // driver's reason, where it does not make such memory.
  HostVmmBuffer(int gpu, int node, std::uint64_t bytes);
  ~HostVmmBuffer();
  HostVmmBuffer(HostVmmBuffer&& other) noexcept;
  HostVmmBuffer& operator=(HostVmmBuffer&& other) noexcept;

  // The same address on the GPU and on the host.
  [[nodiscard]] void* data() const noexcept;
  // What was asked for, rounded up to the driver's granularity.
  [[nodiscard]] std::uint64_t bytes() const noexcept;

 private:
  struct Mapping;
  std::unique_ptr<Mapping> mapping_;
};

// Memory of several GPUs in turns, at addresses without a gap.
class InterleavedBuffer {
 public:
  // At least `bytes`: piece i of 2 MiB lies on gpus[i % size]. All of them read and write it. Throws
  // SkipError as DeviceBuffer where a card has not its share free, and with the driver's reason where one GPU
  // does not reach another; UsageError for no GPUs.
  InterleavedBuffer(const std::vector<int>& gpus, std::uint64_t bytes);
  ~InterleavedBuffer();
  InterleavedBuffer(InterleavedBuffer&& other) noexcept;
  InterleavedBuffer& operator=(InterleavedBuffer&& other) noexcept;

  // The same address on every GPU.
  [[nodiscard]] void* data() const noexcept;
  // What was asked for, rounded up to whole pieces.
  [[nodiscard]] std::uint64_t bytes() const noexcept;

 private:
  struct Mapping;
  std::unique_ptr<Mapping> mapping_;
};

// Device memory that several processes use: one owns it, others open what it names (CUDA IPC).
// What names it to another process: the bytes of a cudaIpcMemHandle_t.
using IpcHandle = std::array<std::byte, 64>;

// Memory of a GPU for others to open. They must have closed it before it goes.
class SharedBuffer {
 public:
  // At least `bytes`, in whole pieces of 2 MiB: of smaller allocations the driver would share what lies
  // beside them too. Throws as DeviceBuffer; SkipError, with the driver's words, where it shares none.
  SharedBuffer(int gpu, std::uint64_t bytes);
  [[nodiscard]] std::byte* data() const noexcept { return static_cast<std::byte*>(memory_.data()); }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return memory_.bytes(); }
  [[nodiscard]] const IpcHandle& handle() const noexcept { return handle_; }

 private:
  DeviceBuffer memory_;
  IpcHandle handle_;
};

// Another process's, open in this one.
class OpenedBuffer {
 public:
  // For `gpu`, in whose memory it is, or which reads it over peer access. Throws SkipError, with the driver's
  // words, where it cannot be opened.
  OpenedBuffer(int gpu, const IpcHandle& handle);
  [[nodiscard]] std::byte* data() const noexcept { return static_cast<std::byte*>(data_.get()); }

 private:
  struct Close {
    void operator()(void* data) const noexcept;
  };
  std::unique_ptr<void, Close> data_;
};

// An event for which streams of other processes can wait, and the name by which they open it. It takes no
// time.
struct SharedEvent {
  Event event;
  IpcHandle handle;
};
// On `gpu`. Both throw SkipError, with the driver's words, where processes cannot share one.
[[nodiscard]] SharedEvent share_event(int gpu);
[[nodiscard]] Event open_event(int gpu, const IpcHandle& handle);

}  // namespace grainscope::cuda

#endif
