#ifndef GRAINSCOPE_CUDA_HOST_VMM_HPP
#define GRAINSCOPE_CUDA_HOST_VMM_HPP

// Host memory made by the driver's virtual memory management (cuMemCreate on a NUMA node), which lays it out
// in pages of the driver's own choice.

#include <cstdint>
#include <memory>

namespace grainscope::cuda {

// Memory of one NUMA node, mapped at one address for a GPU and for the host. Move-only.
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

}  // namespace grainscope::cuda

#endif
