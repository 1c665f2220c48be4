#include "harness/machine.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "grainscope/core/error.hpp"
#include "harness/axes.hpp"

namespace grainscope::harness {
namespace {

Scope scope_of(Preset preset) {
  return make_scope(preset, {}, false, {});
}

TEST(Preset, every_name_reads_back) {
  for (const Preset preset :
       {Preset::smoke, Preset::quick, Preset::full, Preset::paper, Preset::acceptance}) {
    EXPECT_EQ(parse_preset(name(preset)), preset);
  }
}

TEST(Preset, another_name_is_refused_with_those_there_are) {
  for (const char* text : {"", "fast", "Quick", "quick "}) {
    EXPECT_THROW(static_cast<void>(parse_preset(text)), UsageError) << text;
  }
}

TEST(NearAndFar, are_the_local_node_and_one_remote) {
  const GpuTarget gpu{0, "", 2};
  Scope scope = scope_of(Preset::quick);
  scope.nodes = {0, 1, 2, 3};
  EXPECT_EQ(scope.near_and_far(gpu), (std::vector{2, 0}));
}

TEST(NearAndFar, are_all_where_it_is_not_known_which_is_local) {
  Scope scope = scope_of(Preset::quick);
  scope.nodes = {0, 1, 2};
  EXPECT_EQ(scope.near_and_far({0, "", std::nullopt}), scope.nodes);
}

TEST(NearAndFar, are_two_nodes_as_they_are) {
  Scope scope = scope_of(Preset::quick);
  scope.nodes = {0, 1};
  EXPECT_EQ(scope.near_and_far({0, "", 1}), scope.nodes);
}

TEST(NearestNode, is_the_gpus_own_where_the_scope_has_it_else_the_first) {
  Scope scope = scope_of(Preset::quick);
  EXPECT_EQ(scope.nearest_node({0, "", 2}), 0);
  scope.nodes = {1, 2, 3};
  EXPECT_EQ(scope.nearest_node({0, "", 2}), 2);
  EXPECT_EQ(scope.nearest_node({0, "", 0}), 1);
  EXPECT_EQ(scope.nearest_node({0, "", std::nullopt}), 1);
}

TEST(Places, are_the_first_gpu_alone_unless_gpus_were_asked_for) {
  const std::vector<GpuTarget> gpus{{0, "", 0}, {1, "", 0}};
  const std::vector<DeclaredAxis> axes;
  const auto taken = [&](Preset preset, bool asked_for) {
    const Scope scope = make_scope(preset, gpus, asked_for, {0});
    const Grids grids(axes, "transfer/memcpy", scope);
    return grids.gpus(grids.all().front()).size();
  };
  EXPECT_EQ(taken(Preset::quick, false), 1U);
  EXPECT_EQ(taken(Preset::smoke, false), 1U);
  EXPECT_EQ(taken(Preset::quick, true), 2U);
  EXPECT_EQ(taken(Preset::full, false), 2U);
}

TEST(MakeScope, comes_to_a_case_three_times_where_numbers_are_to_hold) {
  EXPECT_EQ(scope_of(Preset::acceptance).visits, 5);
  EXPECT_EQ(scope_of(Preset::quick).visits, 3);
  EXPECT_EQ(scope_of(Preset::full).visits, 3);
  EXPECT_EQ(scope_of(Preset::smoke).visits, 1);
}

}  // namespace
}  // namespace grainscope::harness
