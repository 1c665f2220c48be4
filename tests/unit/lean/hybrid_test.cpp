#include "grainscope/lean/hybrid.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "../graph/sample_graphs.hpp"
#include "grainscope/graph/generate.hpp"
#include "grainscope/lean/lean_sssp.hpp"
#include "grainscope/model/lean_hybrid.hpp"
#include "grainscope/model/lean_pr.hpp"
#include "grainscope/model/lean_sssp.hpp"

namespace grainscope::model {
namespace {

using graph::Csr;
using graph::Vertex;
using lean::kSegmentsAtOnce;
using lean::kSegmentWords;
using lean::LinkCosts;
using lean::plan_step;
using lean::SegmentDemand;
using lean::SegmentRun;
using lean::StepPlan;

// Reading costs one a sector, copying a word an eighth of that: a segment read whole costs as much either
// way.
LinkCosts even() {
  LinkCosts costs;
  costs.sector_s = 1;
  costs.copied_word_s = 1.0 / lean::kSectorElements;
  return costs;
}
constexpr unsigned long long kAllSectors = kSegmentWords / lean::kSectorElements;

TEST(HybridPlan, copies_what_is_asked_for_more_than_once_and_reads_the_rest) {
  const std::vector<SegmentDemand> demands{{kAllSectors + 1, 1}, {kAllSectors - 1, 1}, {0, 0}, {5, 5}};
  const StepPlan plan = plan_step(demands, 4 * kSegmentWords, even());
  EXPECT_EQ(plan.runs, (std::vector<SegmentRun>{{0, 1, true}, {1, 4, false}}));
  EXPECT_EQ(plan.copied_words, kSegmentWords);
  EXPECT_EQ(plan.read, (SegmentDemand{kAllSectors + 4, 6}));
  EXPECT_DOUBLE_EQ(plan.seconds, static_cast<double>(2 * kAllSectors - 1 + 5));
}

TEST(HybridPlan, cuts_what_is_copied_into_groups) {
  const std::vector<SegmentDemand> demands(kSegmentsAtOnce + 3, {2 * kAllSectors, 1});
  const StepPlan plan = plan_step(demands, demands.size() * kSegmentWords, even());
  EXPECT_EQ(plan.runs, (std::vector<SegmentRun>{{0, kSegmentsAtOnce, true},
                                                {kSegmentsAtOnce, kSegmentsAtOnce + 3, true}}));
}

TEST(HybridPlan, leaves_out_of_copies_what_nothing_is_asked_of) {
  const std::vector<SegmentDemand> demands{{2 * kAllSectors, 1}, {0, 0}, {2 * kAllSectors, 1}};
  EXPECT_EQ(plan_step(demands, 3 * kSegmentWords, even()).runs,
            (std::vector<SegmentRun>{{0, 1, true}, {2, 3, true}}));
}

TEST(HybridPlan, knows_that_the_last_segment_is_shorter) {
  const std::vector<SegmentDemand> demands{{20, 20}};
  EXPECT_TRUE(plan_step(demands, 100, even()).runs.front().copied) << "100 words are 12.5 sectors";
  EXPECT_EQ(plan_step(demands, 100, even()).copied_words, 100U);
  EXPECT_FALSE(plan_step(demands, 1000, even()).runs.front().copied);
}

TEST(HybridPlan, requests_and_what_a_copy_costs_to_submit_count_too) {
  LinkCosts costs = even();
  costs.header_s = 3;
  EXPECT_DOUBLE_EQ(costs.read_s({10, 5}), 25);
  costs.slot_s = 100;
  EXPECT_DOUBLE_EQ(costs.read_s({10, 5}), 500);
  costs.copy_s = 7;
  EXPECT_DOUBLE_EQ(costs.copied_s(16), 9);
}

TEST(HybridPlan, demand_is_the_sectors_and_lines_of_a_list) {
  EXPECT_EQ(lean::demand_of({5, 5}), SegmentDemand{});
  EXPECT_EQ(lean::demand_of({7, 9}), (SegmentDemand{2, 1}));
  EXPECT_EQ(lean::demand_of({31, 33}), (SegmentDemand{2, 2}));
  EXPECT_EQ(lean::demand_of({0, 64}), (SegmentDemand{8, 2}));
}

TEST(HybridModel, rates_are_told_apart) {
  const Link link = link_named("pcie5x16");
  const LinkCosts costs = costs_of(link, {55, 51});
  // Whole lines: a request and four sectors carry 128 bytes.
  EXPECT_NEAR(128 / costs.read_s({4, 1}) / 1e9, 51, 0.5);
  EXPECT_NEAR(4 * 1e6 / (costs.copied_s(1'000'000) - costs.copy_s) / 1e9, 55, 0.01);
}

TEST(HybridModel, reads_or_copies_every_list_of_a_step) {
  const Csr graph = graph::make_graph(graph::parse_graph_spec("urand:18"), false);
  const lean::CompressedLists packed = lean::compress(graph, nullptr, false);
  for (const lean::CompressedLists* compressed :
       {static_cast<const lean::CompressedLists*>(nullptr), &packed}) {
    const TieredLists lists{&graph, nullptr, compressed};
    const LeanPr all = replay_pr(lists, graph);
    LinkCosts never = even();
    never.copy_s = 1e18;
    const HybridStep read = hybrid_step(lists, never);
    EXPECT_EQ(read.plan.copied_words, 0U);
    EXPECT_EQ(read.read, all.sweep);
    EXPECT_EQ(read.plan.read.sectors * kSectorBytes, all.sweep.bytes());
    LinkCosts always = even();
    always.copied_word_s = 0;
    const HybridStep copied = hybrid_step(lists, always);
    EXPECT_EQ(copied.read.count(), 0U);
    EXPECT_EQ(copied.plan.copied_words, compressed != nullptr ? packed.words.size() : graph.edges());
  }
}

TEST(HybridModel, is_told_the_vertices_of_each_step_of_shortest_paths) {
  const Csr graph = graph::make_graph(graph::parse_graph_spec("kron:12"), true);
  std::vector<std::uint64_t> edges;
  const LeanSssp paths =
      replay_sssp({&graph}, 7, lean::usual_delta(graph), [&](std::span<const Vertex> active) {
        EXPECT_TRUE(std::is_sorted(active.begin(), active.end()));
        edges.push_back(std::accumulate(active.begin(), active.end(), std::uint64_t{0},
                                        [&](std::uint64_t sum, Vertex v) { return sum + graph.degree(v); }));
      });
  ASSERT_EQ(edges.size(), paths.steps.size());
  for (std::size_t i = 0; i < edges.size(); ++i) {
    EXPECT_EQ(edges[i], paths.steps[i].edges);
  }
}

}  // namespace
}  // namespace grainscope::model
