#include "grainscope/cuda/profile_range.hpp"

#include <nvtx3/nvToolsExt.h>

namespace grainscope::cuda {

ProfileRange::ProfileRange(const char* name) {
  nvtxRangePushA(name);
}

ProfileRange::~ProfileRange() {
  nvtxRangePop();
}

}  // namespace grainscope::cuda
