#include "grainscope/cuda/device.hpp"

#include <cuda_runtime_api.h>

#include <optional>
#include <string>

#include "gpu_fixture.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/cuda/check.hpp"
#include "grainscope/cuda/memory.hpp"
#include "grainscope/cuda/verification.hpp"

namespace grainscope::cuda {
namespace {

class PeerAccesses : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped()) {
      return;
    }
    for (const PeerLink& link : runtime().peers) {
      if (link.access) {
        link_ = link;
        return;
      }
    }
  }

  // Whether kernels on the link's first GPU reach the other's memory now. Enabling it once more tells.
  [[nodiscard]] bool is_enabled() const {
    const DeviceGuard guard(link_->from);
    const cudaError_t status = cudaDeviceEnablePeerAccess(link_->to, 0);
    if (status == cudaErrorPeerAccessAlreadyEnabled) {
      static_cast<void>(cudaGetLastError());
      return true;
    }
    check(status, "enable peer access");
    check(cudaDeviceDisablePeerAccess(link_->to), "disable peer access");
    return false;
  }

  std::optional<PeerLink> link_;
};

constexpr const char* kNeedsTwo = "needs two GPUs that can reach each other";

TEST_F(PeerAccesses, a_gpu_is_no_peer_of_itself) {
  try {
    const PeerAccess access(0, 0);
    FAIL() << "access to oneself was enabled";
  } catch (const SkipError& error) {
    EXPECT_NE(std::string(error.what()).find("cudaDeviceCanAccessPeer"), std::string::npos) << error.what();
  }
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

TEST_F(PeerAccesses, a_gpu_that_does_not_exist_is_an_error) {
  EXPECT_THROW(PeerAccess(0, 1000), FailedError);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

TEST_F(PeerAccesses, are_there_while_it_lives_and_gone_after) {
  if (!link_) {
    GTEST_SKIP() << kNeedsTwo;
  }
  EXPECT_FALSE(is_enabled());
  {
    const PeerAccess access(link_->from, link_->to);
    EXPECT_TRUE(access.enabled_here());
    EXPECT_TRUE(is_enabled());
  }
  EXPECT_FALSE(is_enabled());
}

TEST_F(PeerAccesses, what_was_enabled_before_stays_enabled) {
  if (!link_) {
    GTEST_SKIP() << kNeedsTwo;
  }
  const PeerAccess outer(link_->from, link_->to);
  {
    const PeerAccess inner(link_->from, link_->to);
    EXPECT_FALSE(inner.enabled_here());
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  }
  EXPECT_TRUE(is_enabled());
}

TEST_F(PeerAccesses, a_kernel_writes_and_reads_the_peers_memory) {
  if (!link_) {
    GTEST_SKIP() << kNeedsTwo;
  }
  const PeerAccess access(link_->from, link_->to);
  const DeviceBuffer memory(link_->to, 1 << 20);
  auto* words = static_cast<std::uint32_t*>(memory.data());
  {
    const DeviceGuard guard(link_->from);
    const Stream stream;
    fill_pattern(words, (1 << 20) / 4, 5, stream);
  }
  const DeviceGuard guard(link_->to);
  const Stream stream;
  EXPECT_FALSE(find_mismatch(words, (1 << 20) / 4, 5, stream).has_value());
}

TEST_F(PeerAccesses, the_device_that_was_current_stays_current) {
  if (!link_) {
    GTEST_SKIP() << kNeedsTwo;
  }
  const DeviceGuard guard(link_->to);
  { const PeerAccess access(link_->from, link_->to); }
  int current = -1;
  check(cudaGetDevice(&current), "read the current GPU");
  EXPECT_EQ(current, link_->to);
}

}  // namespace
}  // namespace grainscope::cuda
