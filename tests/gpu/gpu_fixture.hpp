#ifndef GRAINSCOPE_TESTS_GPU_GPU_FIXTURE_HPP
#define GRAINSCOPE_TESTS_GPU_GPU_FIXTURE_HPP

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "grainscope/cuda/runtime.hpp"

namespace grainscope {

// Skips its tests, with the reason, where there is no GPU.
class GpuTest : public testing::Test {
 protected:
  void SetUp() override;
  // Read once a program.
  [[nodiscard]] static const cuda::RuntimeReport& runtime();
  // Whether GPU 0 has bulk copies (TMA).
  [[nodiscard]] static bool has_bulk() {
    return runtime().devices[0].compute_major >= cuda::kFirstMajorOfBulk;
  }
  // GPUs that the first reads and that read it, itself among them.
  [[nodiscard]] static std::vector<int> reachable_gpus() {
    std::vector<int> gpus{0};
    for (const cuda::PeerLink& link : runtime().peers) {
      const auto back = [&](const cuda::PeerLink& other) {
        return other.from == link.to && other.to == 0 && other.access;
      };
      if (link.from == 0 && link.access && gpus.size() < 3 &&
          std::any_of(runtime().peers.begin(), runtime().peers.end(), back)) {
        gpus.push_back(link.to);
      }
    }
    return gpus;
  }
};

}  // namespace grainscope

#endif
