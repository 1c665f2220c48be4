#include "harness/scope.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "grainscope/core/error.hpp"
#include "grainscope/core/units.hpp"

namespace grainscope::harness {
namespace {

using Sizes = std::vector<std::uint64_t>;

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

TEST(Sizes, full_takes_every_second_octave_beyond_16_mebibytes_and_paper_every_one) {
  const Scope full = scope_of(Preset::full);
  EXPECT_EQ(full.sizes(4 * kMiB, kGiB), (Sizes{4 * kMiB, 8 * kMiB, 16 * kMiB, 64 * kMiB, 256 * kMiB, kGiB}));
  EXPECT_EQ(full.sizes(8 * kMiB, 128 * kMiB), (Sizes{8 * kMiB, 16 * kMiB, 64 * kMiB, 128 * kMiB}));
  EXPECT_EQ(scope_of(Preset::paper).sizes(8 * kMiB, 64 * kMiB),
            (Sizes{8 * kMiB, 16 * kMiB, 32 * kMiB, 64 * kMiB}));
}

TEST(Sizes, full_and_paper_take_every_octave_of_small_sizes) {
  for (const Preset preset : {Preset::full, Preset::paper}) {
    EXPECT_EQ(scope_of(preset).sizes(256, 4096), (Sizes{256, 512, 1024, 2048, 4096}));
  }
}

TEST(Sizes, quick_takes_every_second_octave_and_the_end) {
  EXPECT_EQ(scope_of(Preset::quick).sizes(256, 4096), (Sizes{256, 1024, 4096}));
  EXPECT_EQ(scope_of(Preset::quick).sizes(256, 2048), (Sizes{256, 1024, 2048}));
}

TEST(Sizes, smoke_takes_two_and_acceptance_three) {
  EXPECT_EQ(scope_of(Preset::smoke).sizes(256, 512 * kMiB), (Sizes{64 * kKiB, kMiB}));
  EXPECT_EQ(scope_of(Preset::acceptance).sizes(256, 512 * kMiB), (Sizes{64 * kKiB, 16 * kMiB, 256 * kMiB}));
}

TEST(Sizes, a_few_sizes_stay_inside_the_range_of_the_family_and_are_not_repeated) {
  EXPECT_EQ(scope_of(Preset::smoke).sizes(4 * kMiB, 8 * kMiB), Sizes{4 * kMiB});
  EXPECT_EQ(scope_of(Preset::acceptance).sizes(256, kMiB), (Sizes{64 * kKiB, kMiB}));
}

TEST(Sizes, the_users_range_cuts_both_ends) {
  Scope scope = scope_of(Preset::full);
  scope.min_bytes = 1000;
  scope.max_bytes = 3000;
  EXPECT_EQ(scope.sizes(256, 4096), (Sizes{1024, 2048}));
  scope.min_bytes = 3000;
  EXPECT_TRUE(scope.sizes(256, 4096).empty());
}

TEST(Sizes, the_users_range_reaches_beyond_the_familys) {
  Scope scope = scope_of(Preset::full);
  scope.max_bytes = 16384;
  EXPECT_EQ(scope.sizes(1024, 4096), (Sizes{1024, 2048, 4096, 8192, 16384}));
}

TEST(Sizes, the_largest_number_there_is_ends) {
  for (const Preset preset : {Preset::quick, Preset::full}) {
    Scope scope = scope_of(preset);
    scope.max_bytes = std::numeric_limits<std::uint64_t>::max();
    const Sizes sizes = scope.sizes(256, 4096);
    EXPECT_LE(sizes.size(), 64U);
    EXPECT_GE(sizes.back(), std::uint64_t{1} << 60);
    EXPECT_TRUE(std::is_sorted(sizes.begin(), sizes.end()));
  }
}

TEST(OneSize, stands_for_its_axis_and_is_smaller_in_smoke) {
  EXPECT_EQ(scope_of(Preset::quick).one_size(64 * kMiB), Sizes{64 * kMiB});
  EXPECT_EQ(scope_of(Preset::smoke).one_size(64 * kMiB), Sizes{kMiB});
  EXPECT_EQ(scope_of(Preset::smoke).one_size(4096), Sizes{4096});
}

TEST(OneSize, goes_when_the_users_range_excludes_it) {
  Scope scope = scope_of(Preset::quick);
  scope.max_bytes = kMiB;
  EXPECT_TRUE(scope.one_size(64 * kMiB).empty());
  EXPECT_EQ(scope.one_size(kMiB), Sizes{kMiB});
  scope.min_bytes = kMiB;
  EXPECT_TRUE(scope.one_size(4096).empty());
}

TEST(OneSize, keeps_what_it_gives_as_it_is) {
  EXPECT_TRUE(scope_of(Preset::quick).keeps(64 * kMiB));
  EXPECT_FALSE(scope_of(Preset::smoke).keeps(64 * kMiB));
  Scope scope = scope_of(Preset::quick);
  scope.max_bytes = kMiB;
  EXPECT_FALSE(scope.keeps(64 * kMiB));
}

TEST(FewOrAll, dense_presets_take_every_octave_smoke_the_first_and_others_the_few) {
  const Sizes few{3 * kMiB, 5 * kMiB, 64 * kMiB};
  EXPECT_EQ(scope_of(Preset::full).few_or_all(kMiB, 4 * kMiB, few), (Sizes{kMiB, 2 * kMiB, 4 * kMiB}));
  EXPECT_EQ(scope_of(Preset::smoke).few_or_all(kMiB, 4 * kMiB, few), Sizes{3 * kMiB});
  EXPECT_EQ(scope_of(Preset::quick).few_or_all(kMiB, 4 * kMiB, few), few);
  Scope scope = scope_of(Preset::quick);
  scope.min_bytes = 4 * kMiB;
  EXPECT_EQ(scope.few_or_all(kMiB, 4 * kMiB, few), (Sizes{5 * kMiB, 64 * kMiB}));
  scope.preset = Preset::smoke;
  EXPECT_EQ(scope.few_or_all(kMiB, 4 * kMiB, few), Sizes{5 * kMiB});
}

TEST(NodesFor, dense_presets_take_all_and_others_the_local_and_one_remote) {
  const GpuTarget gpu{0, "", 2};
  Scope scope = scope_of(Preset::quick);
  scope.nodes = {0, 1, 2, 3};
  EXPECT_EQ(scope.nodes_for(gpu), (std::vector{2, 0}));
  scope.preset = Preset::full;
  EXPECT_EQ(scope.nodes_for(gpu), scope.nodes);
}

TEST(NodesFor, takes_all_where_it_is_not_known_which_is_local) {
  Scope scope = scope_of(Preset::quick);
  scope.nodes = {0, 1, 2};
  EXPECT_EQ(scope.nodes_for({0, "", std::nullopt}), scope.nodes);
}

TEST(NodesFor, two_nodes_are_few_enough) {
  Scope scope = scope_of(Preset::quick);
  scope.nodes = {0, 1};
  EXPECT_EQ(scope.nodes_for({0, "", 1}), scope.nodes);
}

TEST(NearestNode, is_the_gpus_own_where_the_scope_has_it_else_the_first) {
  Scope scope = scope_of(Preset::quick);
  EXPECT_EQ(scope.nearest_node({0, "", 2}), 0);
  scope.nodes = {1, 2, 3};
  EXPECT_EQ(scope.nearest_node({0, "", 2}), 2);
  EXPECT_EQ(scope.nearest_node({0, "", 0}), 1);
  EXPECT_EQ(scope.nearest_node({0, "", std::nullopt}), 1);
}

TEST(MakeScope, quick_and_smoke_take_the_first_gpu_unless_gpus_were_asked_for) {
  const std::vector<GpuTarget> gpus{{0, "", 0}, {1, "", 0}};
  EXPECT_EQ(make_scope(Preset::quick, gpus, false, {}).gpus.size(), 1U);
  EXPECT_EQ(make_scope(Preset::smoke, gpus, false, {}).gpus.size(), 1U);
  EXPECT_EQ(make_scope(Preset::quick, gpus, true, {}).gpus.size(), 2U);
  EXPECT_EQ(make_scope(Preset::full, gpus, false, {}).gpus.size(), 2U);
}

TEST(MakeScope, acceptance_repeats_and_the_others_do_not) {
  EXPECT_EQ(scope_of(Preset::acceptance).repetitions, 5);
  EXPECT_EQ(scope_of(Preset::quick).repetitions, 1);
}

}  // namespace
}  // namespace grainscope::harness
