#ifndef GRAINSCOPE_CUDA_DEVICE_ARRAY_HPP
#define GRAINSCOPE_CUDA_DEVICE_ARRAY_HPP

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "grainscope/cuda/check.hpp"
#include "grainscope/cuda/device.hpp"
#include "grainscope/cuda/memory.hpp"

namespace grainscope::cuda {

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
    std::vector<T> values(count);
    check(cudaMemcpy(values.data(), memory_.data(), count * sizeof(T), cudaMemcpyDefault),
          "read an answer from the GPU");
    return values;
  }

 private:
  DeviceBuffer memory_;
};

}  // namespace grainscope::cuda

#endif
