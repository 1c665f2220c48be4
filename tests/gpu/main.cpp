#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "gpu_fixture.hpp"
#include "grainscope/system/mps.hpp"
#include "worker_process.hpp"

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

// The tests' own program: it is also what tests start once more as the guard of MPS or as a worker, as the
// program itself does.

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (!words.empty() && words.front() == grainscope::kMpsGuardCommand) {
    return grainscope::guard_mps({words.begin() + 1, words.end()});
  }
  if (!words.empty() && words.front() == grainscope::harness::kWorkerCommand) {
    return grainscope::harness::run_worker({words.begin() + 1, words.end()});
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
