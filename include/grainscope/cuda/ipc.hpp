#ifndef GRAINSCOPE_CUDA_IPC_HPP
#define GRAINSCOPE_CUDA_IPC_HPP

// Device memory that several processes use: one owns it, others open what it names (CUDA IPC).

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "grainscope/cuda/memory.hpp"

namespace grainscope::cuda {

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
  // On `gpu`. Throws SkipError, with the driver's words, where it cannot be opened.
  OpenedBuffer(int gpu, const IpcHandle& handle);
  [[nodiscard]] std::byte* data() const noexcept { return static_cast<std::byte*>(data_.get()); }

 private:
  struct Close {
    void operator()(void* data) const noexcept;
  };
  std::unique_ptr<void, Close> data_;
};

}  // namespace grainscope::cuda

#endif
