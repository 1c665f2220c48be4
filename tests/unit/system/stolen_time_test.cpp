#include "grainscope/system/conditions.hpp"

#include <gtest/gtest.h>

#include "grainscope/system/numa.hpp"
#include "machine_tree.hpp"

namespace grainscope {
namespace {

constexpr const char* kStat =
    "cpu  541040 0 111604 1718443 594 0 1292 56693 0 0\n"
    "cpu0 33815 0 6975 107402 37 0 80 3543 0 0\n"
    "cpu1 33815 0 6975 107402 37 0 80 250 0 0\n"
    "cpu10 33815 0 6975 107402 37 0 80 7 0 0\n"
    "cpu11 33815 0 6975 107402 37\n"
    "intr 12 0 0\n";

TEST(StolenTime, is_that_of_the_cpus_asked_for) {
  test::MachineTree tree;
  tree.file("proc/stat", kStat);
  EXPECT_EQ(stolen_s({0, 1}, tree.path()), 37.93);
  EXPECT_EQ(stolen_s({1}, tree.path()), 2.5);
  EXPECT_EQ(stolen_s({10}, tree.path()), 0.07);
  EXPECT_EQ(stolen_s({}, tree.path()), 0);
}

TEST(StolenTime, is_unknown_where_the_kernel_says_nothing) {
  test::MachineTree tree;
  EXPECT_EQ(stolen_s({0}, tree.path()), std::nullopt);
  tree.file("proc/stat", kStat);
  EXPECT_EQ(stolen_s({2}, tree.path()), std::nullopt);   // no such line
  EXPECT_EQ(stolen_s({11}, tree.path()), std::nullopt);  // a kernel that counts less
  tree.file("proc/stat", "cpu 1 2 x");
  EXPECT_EQ(stolen_s({0}, tree.path()), std::nullopt);
}

TEST(StolenTime, of_this_machine_is_known_and_never_goes_back) {
  const auto before = stolen_s(current_affinity());
  const auto after = stolen_s(current_affinity());
  ASSERT_TRUE(before && after);
  EXPECT_GE(*before, 0);
  EXPECT_GE(*after, *before);
}

}  // namespace
}  // namespace grainscope
