// The model's direction-optimising search: depths, what it asks of the link, and when it turns.

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "../../testing/oracles.hpp"
#include "../../testing/sample_graphs.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/graph/csr.hpp"
#include "grainscope/graph/generate.hpp"
#include "grainscope/lean/lists.hpp"
#include "grainscope/model/lean.hpp"
#include "grainscope/model/link.hpp"

namespace grainscope::model {
namespace {

using graph::BothWays;
using graph::Csr;
using graph::Vertex;
using lean::HotTier;
using lean::plan_tier;
using lean::TierPolicy;
using lean::Turning;

constexpr Turning kPushOnly{0};
constexpr Turning kPullFromTheSecondLevelOn{std::numeric_limits<double>::infinity()};
constexpr Turning kUsual{};

TEST(LeanBfsModel, finds_the_depths_of_the_serial_search_whichever_way_it_turns) {
  for (const BothWays& both : graph::all_sample_graphs()) {
    const HotTier tier = plan_tier(both.graph, TierPolicy::heads, both.graph.edges() / 3);
    const HotTier in_tier = plan_tier(both.in_edges(), TierPolicy::lists, both.graph.edges() / 3);
    const lean::CompressedLists packed = lean::compress(both.graph, &tier, false);
    const lean::CompressedLists in_packed = lean::compress(both.in_edges(), &in_tier, false);
    const lean::Firsts in_firsts = lean::first_neighbours(both.in_edges(), nullptr, false);
    const lean::Firsts in_packed_firsts = lean::first_neighbours(both.in_edges(), nullptr, true);
    const lean::Firsts in_cold_firsts = lean::first_neighbours(both.in_edges(), &in_tier, true);
    for (Vertex source = 0; source < both.graph.vertices(); source += 1 + both.graph.vertices() / 4) {
      const auto expected = graph::serial_bfs(both.graph, source);
      for (const Turning& turning : {kPushOnly, kPullFromTheSecondLevelOn, kUsual}) {
        EXPECT_EQ(replay_bfs({&both.graph}, {&both.in_edges()}, source, turning).depths, expected);
        for (const lean::Firsts* firsts : {&in_firsts, &in_packed_firsts}) {
          const TieredLists pulled{&both.in_edges(), nullptr, nullptr, firsts};
          EXPECT_EQ(replay_bfs({&both.graph}, pulled, source, turning).depths, expected);
        }
        EXPECT_EQ(replay_bfs({&both.graph, &tier}, {&both.in_edges(), &in_tier}, source, turning).depths,
                  expected);
        for (const lean::Firsts* firsts : {static_cast<const lean::Firsts*>(nullptr), &in_cold_firsts}) {
          const TieredLists pulled{&both.in_edges(), &in_tier, &in_packed, firsts};
          EXPECT_EQ(replay_bfs({&both.graph, &tier, &packed}, pulled, source, turning).depths, expected);
        }
      }
    }
  }
}

Csr generated(const char* spec) {
  return graph::make_graph(graph::parse_graph_spec(spec), false);
}

TEST(LeanBfsModel, pushing_alone_asks_for_what_an_aligned_walk_does) {
  for (const char* spec : {"kron:12", "urand:12", "web:10"}) {
    const Csr graph = generated(spec);
    const Vertex source = 17;
    Replayer walk(graph, graph::Access::merged_aligned, {4, false, 0, 0});
    graph::run_levels(graph, graph::Algorithm::bfs, source,
                      [&](std::span<const Vertex> active) { walk.level(active); });
    const BfsPrediction pushed = replay_bfs({&graph}, {&graph}, source, kPushOnly);
    const Requests expected = walk.result().total;
    EXPECT_EQ(pushed.total().by_sectors, expected.by_sectors) << spec;
    EXPECT_EQ(pushed.total().elements, expected.elements) << spec;
    for (const LevelPrediction& level : pushed.levels) {
      EXPECT_FALSE(level.pull);
    }
  }
}

TEST(LeanBfsModel, hot_and_link_reads_of_a_push_are_the_lists) {
  const Csr graph = generated("kron:12");
  const HotTier tier = plan_tier(graph, TierPolicy::heads, graph.edges() / 4);
  const BfsPrediction pushed = replay_bfs({&graph, &tier}, {&graph, &tier}, 17, kPushOnly);
  std::uint64_t hot = 0;
  std::uint64_t all = 0;
  for (Vertex v = 0; v < graph.vertices(); ++v) {
    if (pushed.depths[v] != graph::kUnreached) {
      hot += tier.of(v);
      all += graph.degree(v);
    }
  }
  std::uint64_t hot_reads = 0;
  for (const LevelPrediction& level : pushed.levels) {
    hot_reads += level.hot_reads;
  }
  EXPECT_EQ(hot_reads, hot);
  EXPECT_EQ(pushed.total().elements, all - hot);
}

TEST(LeanBfsModel, turning_round_saves_most_of_the_link) {
  for (const char* spec : {"kron:16", "urand:16"}) {
    const Csr graph = generated(spec);
    const Csr hubs_first = graph::relabel(graph, graph::order_of(graph, graph::Order::degree));
    const BfsPrediction push = replay_bfs({&hubs_first}, {&hubs_first}, 3, kPushOnly);
    const BfsPrediction both = replay_bfs({&hubs_first}, {&hubs_first}, 3, kUsual);
    EXPECT_EQ(push.depths, both.depths);
    EXPECT_LT(both.total().bytes(), push.total().bytes() / 2) << spec;
    const HotTier tier = plan_tier(hubs_first, TierPolicy::heads, graph.edges() / 4);
    const BfsPrediction tiered = replay_bfs({&hubs_first, &tier}, {&hubs_first, &tier}, 3, kUsual);
    EXPECT_EQ(push.depths, tiered.depths);
    EXPECT_LT(tiered.total().bytes(), both.total().bytes() * 2 / 3) << spec;
  }
}

TEST(LeanBfsModel, compressed_lists_take_fewer_bytes_whichever_way_it_turns) {
  for (const char* spec : {"kron:16", "urand:16"}) {
    const Csr graph = generated(spec);
    const Csr hubs_first = graph::relabel(graph, graph::order_of(graph, graph::Order::degree));
    const lean::CompressedLists packed = lean::compress(hubs_first, nullptr, false);
    for (const Turning& turning : {kPushOnly, kPullFromTheSecondLevelOn, kUsual}) {
      const BfsPrediction plain = replay_bfs({&hubs_first}, {&hubs_first}, 3, turning);
      const BfsPrediction fewer =
          replay_bfs({&hubs_first, nullptr, &packed}, {&hubs_first, nullptr, &packed}, 3, turning);
      EXPECT_EQ(plain.depths, fewer.depths);
      ASSERT_EQ(plain.levels.size(), fewer.levels.size());
      EXPECT_LT(fewer.total().bytes(), plain.total().bytes()) << spec << ", push " << turning.push;
      EXPECT_LE(fewer.total().count(), plain.total().count()) << spec << ", push " << turning.push;
    }
    const BfsPrediction pushed = replay_bfs({&hubs_first, nullptr, &packed}, {&hubs_first}, 3, kPushOnly);
    std::uint64_t sectors = 0;
    for (Vertex v = 0; v < hubs_first.vertices(); ++v) {
      const lean::ListPlace place = packed.places[v];
      const std::uint64_t last = (place.end() + lean::kSectorElements - 1) / lean::kSectorElements;
      const bool read = pushed.depths[v] != graph::kUnreached && place.end() > place.begin();
      sectors += read ? last - place.begin() / lean::kSectorElements : 0;
    }
    EXPECT_EQ(pushed.total().bytes(), sectors * 32) << "each list that is reached, once";
  }
}

TEST(LeanBfsModel, first_neighbours_side_by_side_answer_most_of_a_pull) {
  const Csr graph = generated("kron:16");
  const Csr hubs_first = graph::relabel(graph, graph::order_of(graph, graph::Order::degree));
  const lean::CompressedLists compressed = lean::compress(hubs_first, nullptr, false);
  for (const lean::CompressedLists* lists :
       {static_cast<const lean::CompressedLists*>(nullptr), &compressed}) {
    const lean::Firsts firsts = lean::first_neighbours(hubs_first, nullptr, lists != nullptr);
    const TieredLists without{&hubs_first, nullptr, lists};
    const BfsPrediction apart = replay_bfs(without, without, 3, kUsual);
    const BfsPrediction beside = replay_bfs(without, {&hubs_first, nullptr, lists, &firsts}, 3, kUsual);
    EXPECT_EQ(apart.depths, beside.depths);
    ASSERT_EQ(apart.levels.size(), beside.levels.size());
    const auto pulled = [](const BfsPrediction& search, const auto& of) {
      double sum = 0;
      for (const LevelPrediction& level : search.levels) {
        sum += level.pull ? static_cast<double>(of(level.link)) : 0;
      }
      return sum;
    };
    const auto bytes = [](const Requests& link) { return link.bytes(); };
    const auto count = [](const Requests& link) { return link.count(); };
    EXPECT_LT(pulled(beside, bytes), pulled(apart, bytes) / 2);
    EXPECT_LT(pulled(beside, count), pulled(apart, count) / 4);
  }
}

// From a leaf of a star to its middle, and from there to 99 leaves: all of them by their first neighbour.
TEST(LeanBfsModel, looks_at_first_neighbours_of_a_word_at_once) {
  std::vector<graph::Triple> edges;
  for (Vertex leaf = 0; leaf < 100; ++leaf) {
    edges.push_back({100, leaf, 1});
  }
  const Csr star = graph::weighted_graph(101, edges, false);
  for (const bool packed : {false, true}) {
    const lean::Firsts firsts = lean::first_neighbours(star, nullptr, packed);
    const BfsPrediction search =
        replay_bfs({&star}, {&star, nullptr, nullptr, &firsts}, 5, kPullFromTheSecondLevelOn);
    ASSERT_EQ(search.levels.size(), 3U);
    const LevelPrediction& level = search.levels[1];
    ASSERT_TRUE(level.pull);
    EXPECT_EQ(level.link.elements, 99U);
    if (packed) {
      EXPECT_EQ(level.link.loads, 1U) << "three words begin with the middle alone, the fourth has it itself";
      EXPECT_EQ(level.link.bytes(), 32U);
    } else {
      EXPECT_EQ(level.link.loads, 4U) << "one for each word of 32 vertices";
      EXPECT_EQ(level.link.bytes(), 13U * 32) << "each sector of eight of them";
    }
  }
}

// Seconds of link that each level of a search takes at least.
std::vector<double> level_seconds(const BfsPrediction& search) {
  const Link link = link_measured(50);
  std::vector<double> seconds;
  for (const LevelPrediction& level : search.levels) {
    seconds.push_back(level.link.count() > 0 ? bound(link, level.link, 0).seconds() : 0);
  }
  return seconds;
}

// The usual rule: pull while the frontier holds more than 1/14 of the unexplored edges, until it shrinks
// below 1/24 of the vertices.
double usual_seconds(const BfsPrediction& search, const Csr& graph, const std::vector<double>& push,
                     const std::vector<double>& pull) {
  double seconds = 0;
  bool pulls = false;
  std::uint64_t unexplored = graph.edges();
  for (std::size_t i = 0; i < search.levels.size(); ++i) {
    const LevelPrediction& level = search.levels[i];
    unexplored -= level.edges;
    if (i > 0 && pulls) {
      pulls = level.active >= search.levels[i - 1].active || level.active * 24 >= graph.vertices();
    } else if (i > 0) {
      pulls = level.edges * 14 > unexplored;
    }
    seconds += pulls ? pull[i] : push[i];
  }
  return seconds;
}

// Whichever way they go, levels have the same frontiers: the cheapest search takes the cheaper way of each.
TEST(LeanBfsModel, turns_where_it_pays) {
  double all_taken = 0;
  double all_usual = 0;
  for (const char* spec : {"kron:16", "urand:16"}) {
    const Csr graph = generated(spec);
    const Csr hubs_first = graph::relabel(graph, graph::order_of(graph, graph::Order::degree));
    const HotTier fewer = plan_tier(hubs_first, TierPolicy::heads, graph.edges() / 100);
    const HotTier few = plan_tier(hubs_first, TierPolicy::heads, graph.edges() / 20);
    const HotTier many = plan_tier(hubs_first, TierPolicy::heads, graph.edges() / 4);
    const lean::CompressedLists packed = lean::compress(hubs_first, nullptr, false);
    const lean::Firsts firsts = lean::first_neighbours(hubs_first, nullptr, false);
    const lean::Firsts packed_firsts = lean::first_neighbours(hubs_first, nullptr, true);
    const lean::Firsts cold_firsts = lean::first_neighbours(hubs_first, &fewer, false);
    const lean::Firsts packed_cold_firsts = lean::first_neighbours(hubs_first, &fewer, true);
    const lean::CompressedLists rest = lean::compress(hubs_first, &fewer, false);
    for (const TieredLists& lists :
         {TieredLists{&hubs_first}, TieredLists{&hubs_first, &few}, TieredLists{&hubs_first, &many},
          TieredLists{&hubs_first, nullptr, &packed}, TieredLists{&hubs_first, nullptr, nullptr, &firsts},
          TieredLists{&hubs_first, nullptr, &packed, &packed_firsts},
          TieredLists{&hubs_first, &fewer, nullptr, &cold_firsts},
          TieredLists{&hubs_first, &fewer, &rest, &packed_cold_firsts}}) {
      const Turning turning = turning_for(lists, lists);
      double taken = 0;
      double cheapest = 0;
      for (const Vertex source : {3U, 300U, 3000U, 9000U, 20000U, 30000U}) {
        const BfsPrediction pushed = replay_bfs(lists, lists, source, kPushOnly);
        const std::vector<double> push = level_seconds(pushed);
        const std::vector<double> pull =
            level_seconds(replay_bfs(lists, lists, source, kPullFromTheSecondLevelOn));
        const std::vector<double> ours = level_seconds(replay_bfs(lists, lists, source, turning));
        for (std::size_t i = 0; i < ours.size(); ++i) {
          taken += ours[i];
          cheapest += std::min(push[i], pull[i]);
        }
        all_usual += usual_seconds(pushed, hubs_first, push, pull);
      }
      // Of compressed edges the price holds what it takes to visit them, which the link's time leaves out.
      const double most = lists.tier != nullptr && lists.compressed != nullptr ? 1.3 : 1.15;
      EXPECT_LE(taken, most * cheapest) << spec << ", hot " << turning.hot << ", push " << turning.push
                                        << (lists.firsts != nullptr ? ", first neighbours side by side" : "");
      all_taken += taken;
    }
  }
  EXPECT_LT(all_taken, all_usual);
}

TEST(LeanBfsModel, what_turns_a_search_is_how_its_lists_lie) {
  const Csr graph = generated("kron:12");
  const HotTier tier = plan_tier(graph, TierPolicy::heads, graph.edges() / 4);
  const lean::CompressedLists packed = lean::compress(graph, &tier, false);
  const Turning cold = turning_for({&graph}, {&graph});
  EXPECT_EQ(cold.push, 1);
  const Turning hot = turning_for({&graph, &tier}, {&graph, &tier});
  EXPECT_NEAR(hot.push, 0.75 + 0.4 * 0.25, 0.01) << "hot edges are visited too";
  EXPECT_EQ(hot.hot, 1) << "every list begins in GPU memory";
  EXPECT_LT(turning_for({&graph, &tier, &packed}, {&graph, &tier, &packed}).push, hot.push);
  EXPECT_FALSE(cold.firsts);
  EXPECT_EQ(cold.hot, 0);
  const lean::Firsts plain_firsts = lean::first_neighbours(graph, nullptr, false);
  const Turning beside = turning_for({&graph}, {&graph, nullptr, nullptr, &plain_firsts});
  EXPECT_TRUE(beside.firsts);
  EXPECT_EQ(beside.first, 1);
  const HotTier few = plan_tier(graph, TierPolicy::heads, 1000);
  const lean::Firsts of_others = lean::first_neighbours(graph, &few, true);
  const Turning some = turning_for({&graph, &few}, {&graph, &few, nullptr, &of_others});
  const auto listed = static_cast<double>(lean::vertices_listed(graph));
  EXPECT_TRUE(some.firsts);
  EXPECT_EQ(some.told, 1);
  EXPECT_NEAR(some.hot, 1000 / listed, 1e-9) << "a neighbour of each of the first thousand lists is hot";
  EXPECT_LT(some.first, 1);
  EXPECT_NEAR(some.first, static_cast<double>(of_others.words.size()) / (listed - 1000), 1e-9);
  const Csr none = graph::weighted_graph(3, {}, false);
  EXPECT_EQ(turning_for({&none}, {&none}).push, 1);
}

TEST(LeanBfsModel, counts_reads_from_the_beginning_of_lists) {
  const Csr graph = generated("kron:12");
  lean::ReadCounts reads = lean::no_reads(graph);
  static_cast<void>(replay_bfs({&graph}, {&graph}, 17, kUsual, &reads));
  std::uint64_t sum = 0;
  for (Vertex v = 0; v < graph.vertices(); ++v) {
    for (std::uint64_t s = reads.before[v]; s + 1 < reads.before[v + std::uint64_t{1}]; ++s) {
      ASSERT_GE(reads.counts[s], reads.counts[s + 1]);
    }
    if (graph.degree(v) > 0) {
      sum += reads.counts[reads.before[v]];
    }
  }
  EXPECT_GT(sum, 0U);
}

TEST(LeanBfsModel, refuses_a_source_that_is_no_vertex) {
  const Csr graph = generated("kron:8");
  EXPECT_THROW(static_cast<void>(replay_bfs({&graph}, {&graph}, 1 << 20, kUsual)), UsageError);
}

}  // namespace
}  // namespace grainscope::model
