#ifndef GRAINSCOPE_SRC_CUDA_DRIVER_ENTRY_POINT_HPP
#define GRAINSCOPE_SRC_CUDA_DRIVER_ENTRY_POINT_HPP

// The driver API without linking libcuda, which would keep the program from starting where there is no
// driver: its functions come from the runtime, by name.

#include <string>

#include "grainscope/core/error.hpp"

namespace grainscope::cuda {

// The driver's function `name` as CUDA `version` (12000 for 12.0) defines it; nullptr where the driver has
// none.
[[nodiscard]] void* driver_entry_point(const char* name, unsigned version) noexcept;

// The same as a function. Throws SkipError, naming it, where the driver has none.
template <class Function>
[[nodiscard]] Function* driver_function(const char* name, unsigned version = 12000) {
  void* const found = driver_entry_point(name, version);
  if (found == nullptr) {
    throw SkipError(std::string("the driver has no ") + name + ": it needs a newer one");
  }
  return reinterpret_cast<Function*>(found);
}

}  // namespace grainscope::cuda

#endif
