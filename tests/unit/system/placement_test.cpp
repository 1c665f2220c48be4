#include "grainscope/system/placement.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cerrno>
#include <vector>

#include "grainscope/core/error.hpp"
#include "grainscope/system/host_memory.hpp"
#include "grainscope/system/numa.hpp"
#include "refused_calls.hpp"

namespace grainscope {
namespace {

constexpr std::size_t kPages = 512;

HostMemory make_memory(int touch_threads) {
  HostMemoryRequest wanted;
  wanted.bytes = kPages * base_page_bytes();
  wanted.touch_threads = touch_threads;
  return {Topology::read(), wanted};
}

void touch_pages(const HostMemory& memory, std::size_t count) {
  for (std::size_t page = 0; page < count; ++page) {
    static_cast<volatile char*>(memory.data())[page * base_page_bytes()] = 1;
  }
}

class PlacementTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string why;
    if (!memory_policy_available(&why)) {
      GTEST_SKIP() << why;
    }
  }
};

TEST_F(PlacementTest, untouched_pages_are_absent) {
  const HostMemory memory = make_memory(0);
  const Placement where = placement(memory.data(), memory.bytes());
  EXPECT_EQ(where.absent, kPages);
  EXPECT_TRUE(where.pages_on_node.empty());
}

TEST_F(PlacementTest, every_touched_page_is_on_some_node) {
  const HostMemory memory = make_memory(2);
  const Placement where = placement(memory.data(), memory.bytes());
  std::uint64_t placed = 0;
  for (const auto& [node, count] : where.pages_on_node) {
    placed += count;
  }
  EXPECT_EQ(placed, kPages);
  EXPECT_FALSE(where.sampled);
  EXPECT_EQ(where.looked_at, kPages);
}

TEST_F(PlacementTest, half_touched_is_half_absent) {
  const HostMemory memory = make_memory(0);
  touch_pages(memory, kPages / 2);
  EXPECT_EQ(placement(memory.data(), memory.bytes()).absent, kPages / 2);
}

TEST_F(PlacementTest, a_sample_says_that_it_is_one_and_reaches_both_ends) {
  const HostMemory memory = make_memory(0);
  touch_pages(memory, 1);
  static_cast<volatile char*>(memory.data())[memory.bytes() - 1] = 1;
  const Placement where = placement(memory.data(), memory.bytes(), 16);
  EXPECT_TRUE(where.sampled);
  EXPECT_EQ(where.looked_at, 16U);
  EXPECT_EQ(where.pages, kPages);
  EXPECT_EQ(where.absent, 14U);
  EXPECT_NE(where.text().find("16 of 512 pages"), std::string::npos) << where.text();
}

TEST_F(PlacementTest, a_range_across_a_page_border_has_both_pages) {
  const HostMemory memory = make_memory(1);
  const char* border = memory.as<char>() + base_page_bytes();
  EXPECT_EQ(placement(border - 1, 2).pages, 2U);
  EXPECT_EQ(placement(border, 1).pages, 1U);
  EXPECT_EQ(placement(border, 0).pages, 0U);
}

TEST_F(PlacementTest, verification_passes_on_the_right_node_and_names_the_wrong_one) {
  const HostMemory memory = make_memory(1);
  const int node = placement(memory.data(), 1).pages_on_node.begin()->first;
  const std::size_t one = base_page_bytes();
  EXPECT_EQ(verify_placement(memory.data(), one, node), PlacementCheck::verified);
  try {
    (void)verify_placement(memory.data(), one, node + 1);
    FAIL() << "no error";
  } catch (const FailedError& error) {
    EXPECT_NE(std::string(error.what()).find("1 on node " + std::to_string(node)), std::string::npos)
        << error.what();
  }
}

TEST_F(PlacementTest, verification_fails_for_one_absent_page) {
  const HostMemory memory = make_memory(1);
  const int node = placement(memory.data(), 1).pages_on_node.begin()->first;
  ASSERT_EQ(madvise(memory.as<char>() + 7 * base_page_bytes(), base_page_bytes(), MADV_DONTNEED), 0);
  EXPECT_THROW((void)verify_placement(memory.data(), 8 * base_page_bytes(), node), FailedError);
}

class RefusedPlacement : public testing::TestWithParam<int> {};

TEST_P(RefusedPlacement, is_unknown_and_never_verified) {
  const std::string answer = test::with_memory_policy_refused(GetParam(), [] {
    const HostMemory memory = make_memory(1);
    const Placement where = placement(memory.data(), memory.bytes());
    if (where.known() || where.looked_at != 0 || where.text().rfind("unknown", 0) != 0) {
      return "claims to know: " + where.text();
    }
    const bool unknown = verify_placement(memory.data(), memory.bytes(), 0) == PlacementCheck::unknown;
    return std::string(unknown ? "" : "claims to have verified");
  });
  if (answer == "skipped") {
    GTEST_SKIP() << "no seccomp filter can be set here";
  }
  EXPECT_EQ(answer, "");
}

INSTANTIATE_TEST_SUITE_P(Errors, RefusedPlacement, testing::Values(EPERM, ENOSYS));

TEST(PagesPresent, follow_touching_and_giving_back) {
  const HostMemory memory = make_memory(0);
  touch_pages(memory, kPages / 4);
  const auto some = pages_present(memory.data(), memory.bytes());
  if (!some) {
    GTEST_SKIP() << "/proc/self/pagemap cannot be read";
  }
  EXPECT_EQ(some->present, kPages / 4);
  EXPECT_EQ(some->absent, kPages - kPages / 4);
  ASSERT_EQ(madvise(memory.data(), memory.bytes(), MADV_DONTNEED), 0);
  EXPECT_EQ(pages_present(memory.data(), memory.bytes())->present, 0U);
}

TEST(PagesPresent, a_sample_says_that_it_is_one) {
  const HostMemory memory = make_memory(1);
  const auto some = pages_present(memory.data(), memory.bytes(), 10);
  ASSERT_TRUE(some);
  EXPECT_TRUE(some->sampled);
  EXPECT_EQ(some->present, 10U);
}

TEST(HugeBacking, of_memory_that_is_not_mapped_is_unknown) {
  void* hole = nullptr;
  {
    const HostMemory memory = make_memory(0);
    hole = memory.data();
  }
  EXPECT_EQ(huge_backing(hole, kPages * base_page_bytes()), std::nullopt);
}

// A driver that leaves `left` pages after each of its calls.
std::uint64_t brought(std::vector<std::uint64_t> left, int& calls) {
  return bring_pages([&left, &calls] { return left.at(static_cast<std::size_t>(calls++)); });
}

TEST(BringPages, asks_again_only_while_pages_are_elsewhere) {
  int calls = 0;
  EXPECT_EQ(brought({0, 7, 7}, calls), 0U);
  EXPECT_EQ(calls, 1);
  calls = 0;
  EXPECT_EQ(brought({8, 0, 7}, calls), 0U);
  EXPECT_EQ(calls, 2);
}

TEST(BringPages, says_what_stays_for_good) {
  int calls = 0;
  EXPECT_EQ(brought({9, 8, 7, 0}, calls), 7U);
  EXPECT_EQ(calls, 3);
}

}  // namespace
}  // namespace grainscope
