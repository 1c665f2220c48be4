#include "grainscope/cuda/latency.hpp"

#include "gpu_fixture.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/cuda/device.hpp"
#include "grainscope/system/topology.hpp"

namespace grainscope::cuda {
namespace {

class ManagedTouches : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (!IsSkipped() && !runtime().devices[0].concurrent_managed_access) {
      GTEST_SKIP() << "managed memory does not migrate on demand here";
    }
  }

  const int node_ = Topology::read().usable_nodes().front();
  ManagedBudget budget_;
};

TEST_F(ManagedTouches, move_every_page_each_way_over_and_over) {
  for (const bool to_gpu : {true, false}) {
    SCOPED_TRACE(to_gpu ? "to the GPU" : "to the host");
    ManagedTouch touch(budget_, 0, node_, to_gpu, 4);
    EXPECT_EQ(touch.pages(), 16U);
    for (int i = 0; i < 4; ++i) {
      touch.prepare();
      const double seconds = touch.run();
      EXPECT_GT(seconds / 16, 500e-9) << "no fault is answered that fast";
      EXPECT_LT(seconds / 16, 10e-3);
    }
    EXPECT_TRUE(touch.residency_known());
  }
}

TEST_F(ManagedTouches, move_every_page_from_a_peer_and_a_second_sample_is_caught) {
  if (runtime().devices.size() < 2 || !runtime().devices[1].concurrent_managed_access) {
    GTEST_SKIP() << "needs two GPUs whose managed memory migrates on demand";
  }
  ManagedTouch touch(budget_, 0, node_, true, 4, 1);
  for (int i = 0; i < 4; ++i) {
    touch.prepare();
    EXPECT_GT(touch.run() / 16, 500e-9) << "no fault is answered that fast";
  }
  EXPECT_THROW(static_cast<void>(touch.run()), FailedError) << "its pages do not live on the peer";
  EXPECT_THROW(ManagedTouch(budget_, 0, node_, true, 4, 0), UsageError);
  EXPECT_THROW(ManagedTouch(budget_, 0, node_, false, 4, 1), UsageError);
}

TEST_F(ManagedTouches, more_pages_take_longer) {
  for (const bool to_gpu : {true, false}) {
    ManagedTouch few(budget_, 0, node_, to_gpu, 2);
    ManagedTouch many(budget_, 0, node_, to_gpu, 6);
    double few_s = 0;
    double many_s = 0;
    for (int i = 0; i < 5; ++i) {
      few.prepare();
      few_s += few.run();
      many.prepare();
      many_s += many.run();
    }
    EXPECT_GT(many_s, 4 * few_s) << (to_gpu ? "to the GPU" : "to the host");
  }
}

TEST_F(ManagedTouches, a_sample_of_pages_that_are_there_already_is_caught) {
  for (const bool to_gpu : {true, false}) {
    ManagedTouch touch(budget_, 0, node_, to_gpu, 3);
    touch.prepare();
    static_cast<void>(touch.run());
    if (!touch.residency_known()) {
      GTEST_SKIP() << "the system does not tell where pages live";
    }
    EXPECT_THROW(static_cast<void>(touch.run()), FailedError) << (to_gpu ? "to the GPU" : "to the host");
  }
}

TEST_F(ManagedTouches, more_than_the_budget_has_is_skipped) {
  int bits = 0;
  while ((ManagedTouch::kBlockBytes << bits) < memory_info(0).free_bytes) {
    ++bits;
  }
  EXPECT_THROW(ManagedTouch(budget_, 0, node_, true, bits), SkipError);
}

}  // namespace
}  // namespace grainscope::cuda
