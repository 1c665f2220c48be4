// What the budget of managed memory refuses, on GPUs whose free memory the test names:
// tests/golden/managed_refusals.txt.

#include "grainscope/cuda/budget.hpp"

#include <map>

#include "golden_text.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/core/units.hpp"

namespace grainscope::cuda {
namespace {

class ManagedRefusals : public testing::Test {
 protected:
  void title(const std::string& text) { lines_.push_back("# " + text); }
  void reserve(ManagedBudget& budget, int gpu, std::uint64_t bytes) {
    const std::string what = "GPU " + std::to_string(gpu) + " with " + format_bytes(free_[gpu]) + " free, " +
                             format_bytes(bytes) + ": ";
    try {
      budget.reserve(gpu, bytes);
      lines_.push_back(what + "granted, " + format_bytes(budget.available(gpu)) + " left");
    } catch (const SkipError& error) {
      lines_.push_back(what + error.what());
    }
  }

  std::map<int, std::uint64_t> free_{{0, 80 * kGiB}, {1, 24 * kGiB}};
  std::function<std::uint64_t(int)> free_bytes_ = [this](int gpu) { return free_.at(gpu); };
  std::vector<std::string> lines_;
};

TEST_F(ManagedRefusals, on_stand_in_gpus_are_as_they_were) {
  title("at the cap of a quarter, and a byte above");
  {
    ManagedBudget budget(false, free_bytes_);
    reserve(budget, 0, 20 * kGiB + 1);
    reserve(budget, 0, 20 * kGiB);
    reserve(budget, 0, 1);
  }
  title("live allocations count together, each GPU's for itself");
  {
    ManagedBudget budget(false, free_bytes_);
    reserve(budget, 0, 12 * kGiB);
    reserve(budget, 0, 12 * kGiB);
    reserve(budget, 1, 6 * kGiB);
    reserve(budget, 1, kMiB);
    budget.release(0, 12 * kGiB);
    reserve(budget, 0, 12 * kGiB);
  }
  title("another process takes memory meanwhile");
  {
    ManagedBudget budget(false, free_bytes_);
    reserve(budget, 0, 8 * kGiB);
    free_[0] = 32 * kGiB;
    reserve(budget, 0, kKiB);
    free_[0] = 36 * kGiB;
    reserve(budget, 0, kGiB);
    free_[0] = 0;
    reserve(budget, 0, 4);
    free_[0] = 80 * kGiB;
  }
  title("--allow-managed-oversubscription lifts the cap");
  {
    ManagedBudget budget(true, free_bytes_);
    budget.reserve(0, 160 * kGiB);
    lines_.push_back("GPU 0 with 80 GiB free, 160 GiB: granted");
  }
  test::expect_golden("managed_refusals.txt", lines_);
}

}  // namespace
}  // namespace grainscope::cuda
