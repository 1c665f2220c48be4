#include "gpu_fixture.hpp"

namespace grainscope {

const cuda::RuntimeReport& GpuTest::runtime() {
  static const cuda::RuntimeReport report = cuda::read_runtime();
  return report;
}

void GpuTest::SetUp() {
  if (runtime().devices.empty()) {
    GTEST_SKIP() << runtime().why_none;
  }
}

}  // namespace grainscope
