#ifndef GRAINSCOPE_SRC_LEAN_STATE_HPP
#define GRAINSCOPE_SRC_LEAN_STATE_HPP

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "grainscope/cuda/check.hpp"
#include "grainscope/cuda/device.hpp"
#include "grainscope/cuda/memory.hpp"

namespace grainscope::lean {

// Values in a GPU's memory; never of no bytes.
template <class T>
class DeviceValues {
 public:
  DeviceValues(int gpu, std::uint64_t count) : memory_(gpu, std::max<std::uint64_t>(count, 1) * sizeof(T)) {}
  [[nodiscard]] T* get() const { return static_cast<T*>(memory_.data()); }
  [[nodiscard]] std::uint64_t bytes() const { return memory_.bytes(); }
  [[nodiscard]] std::vector<T> read(std::uint64_t count) const {
    std::vector<T> values(count);
    cuda::check(cudaMemcpy(values.data(), memory_.data(), count * sizeof(T), cudaMemcpyDeviceToHost),
                "read what a traversal found");
    return values;
  }

 private:
  cuda::DeviceBuffer memory_;
};

}  // namespace grainscope::lean

#endif
