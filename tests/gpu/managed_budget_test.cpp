#include "grainscope/cuda/budget.hpp"

#include "gpu_fixture.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/cuda/device.hpp"
#include "grainscope/cuda/memory.hpp"

namespace grainscope::cuda {
namespace {

class ManagedBudgets : public GpuTest {};

TEST_F(ManagedBudgets, refuses_more_than_a_quarter_of_what_is_free) {
  ManagedBudget budget;
  const std::uint64_t quarter = memory_info(0).free_bytes / 4;
  EXPECT_THROW(ManagedBuffer(budget, 0, quarter + kMiB), SkipError);
}

TEST_F(ManagedBudgets, counts_all_live_allocations_together) {
  ManagedBudget budget;
  const std::uint64_t part = memory_info(0).free_bytes / 4 / 4 * 3;
  budget.reserve(0, part);
  EXPECT_THROW(budget.reserve(0, part), SkipError);
  budget.release(0, part);
  EXPECT_NO_THROW(budget.reserve(0, part));
}

TEST_F(ManagedBudgets, gets_back_what_a_buffer_held) {
  ManagedBudget budget;
  const std::uint64_t before = budget.available(0);
  { const ManagedBuffer buffer(budget, 0, kMiB); }
  EXPECT_NEAR(static_cast<double>(budget.available(0)), static_cast<double>(before), 8.0 * kMiB);
}

TEST_F(ManagedBudgets, is_lifted_only_on_request) {
  const ManagedBudget lifted(true);
  EXPECT_EQ(lifted.available(0), UINT64_MAX);
}

}  // namespace
}  // namespace grainscope::cuda
