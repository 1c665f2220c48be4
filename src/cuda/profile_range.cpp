#include "grainscope/cuda/profile_range.hpp"

#include <nvtx3/nvToolsExt.h>

#include <cstdlib>

namespace grainscope::cuda {

ProfileRange::ProfileRange(const char* name) {
  nvtxRangePushA(name);
}

ProfileRange::~ProfileRange() {
  nvtxRangePop();
}

bool is_counted() {
  return std::getenv("GRAINSCOPE_COUNT") != nullptr;
}

}  // namespace grainscope::cuda
