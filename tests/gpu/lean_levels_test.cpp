// Lean searches, hybrids and the lists that they walk, against oracles.

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <limits>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "grainscope/core/error.hpp"
#include "grainscope/graph/generate.hpp"
#include "grainscope/lean/run.hpp"
#include "grainscope/model/lean.hpp"
#include "lean_fixture.hpp"
#include "probes.hpp"

namespace grainscope::lean {
namespace {

using graph::BothWays;
using graph::Vertex;

class LeanSearches : public LeanTest {
 protected:
  // Depths of the serial search; reads as the model has them, level by level.
  static void expect_right(const BothWays& both, const Lists& lists, Vertex source, const Turning& turning) {
    SCOPED_TRACE(testing::Message() << "push " << turning.push << ", hot " << turning.hot);
    const auto placed = lists.place();
    expect_search(*make_lean_bfs(*placed, turning), both, lists, source, turning);
  }

  static void expect_right_over_all_lists(const BothWays& both, TierPolicy policy, int percent,
                                          Vertex source) {
    over_all_lists(both, policy, percent, false, [&](const Lists& lists) {
      for (const Turning& turning : kTurnings) {
        expect_right(both, lists, source, turning);
      }
      expect_right(both, lists, source, model::turning_for(lists.pushed(), lists.pulled()));
    });
  }
};

TEST_F(LeanSearches, find_depths_and_read_as_the_model_on_small_graphs_of_every_shape) {
  for (const BothWays& both : graph::all_sample_graphs()) {
    expect_right_over_all_lists(both, TierPolicy::heads, 30, busiest(both.graph));
  }
}

TEST_F(LeanSearches, find_depths_and_read_as_the_model_on_generated_and_real_graphs) {
  for (const BothWays& original : graph::larger_graphs()) {
    const BothWays ordered = hubs_first(original);
    for (const BothWays* both : {&original, &ordered}) {
      for (const TierPolicy policy : {TierPolicy::heads, TierPolicy::lists}) {
        expect_right_over_all_lists(*both, policy, 25, busiest(both->graph));
      }
    }
  }
}

TEST_F(LeanSearches, keep_a_parent_of_each_vertex_that_is_one_level_nearer) {
  std::vector<BothWays> graphs = graph::all_sample_graphs();
  for (const BothWays& each : graph::larger_graphs()) {
    graphs.push_back(hubs_first(each));
  }
  for (const BothWays& both : graphs) {
    const Vertex source = busiest(both.graph);
    std::vector<Vertex> same(both.graph.vertices());
    std::iota(same.begin(), same.end(), Vertex{0});
    over_all_lists(both, TierPolicy::heads, 20, false, [&](const Lists& lists) {
      const auto placed = lists.place();
      for (const Turning& turning : kTurnings) {
        const auto search =
            with_callers_numbers(make_lean_bfs(*placed, turning, true), 0, {same, true}, true);
        search->run(source);
        const std::vector<std::uint32_t> depths = search->answer();
        ASSERT_EQ(depths, graph::serial_bfs(both.graph, source));
        EXPECT_NO_THROW(static_cast<void>(
            graph::certify_parents(both.graph, both.in_edges(), source, depths, search->parents())));
        EXPECT_EQ(search->count(source).size(), search->levels().size());
      }
    });
  }
}

TEST_F(LeanSearches, over_managed_memory_on_the_host_are_the_same) {
  for (const BothWays& original : graph::larger_graphs()) {
    const BothWays both = hubs_first(original);
    over_all_lists(both, TierPolicy::heads, 25, false, [&](Lists lists) {
      expect_right(both, lists.managed(budget_), busiest(both.graph), Turning{});
    });
  }
}

TEST_F(LeanSearches, find_depths_where_every_list_is_hot) {
  for (const BothWays& both : graph::larger_graphs()) {
    expect_right_over_all_lists(both, TierPolicy::heads, 100, busiest(both.graph));
  }
}

TEST_F(LeanSearches, cut_long_lists_into_pieces) {
  const BothWays both = graph::star(100'000);
  for (const Vertex source : {Vertex{0}, Vertex{5}}) {
    expect_right_over_all_lists(both, TierPolicy::lists, 10, source);
  }
}

// Prices that are dearer or cheaper turn a search elsewhere; none of them is much the better. Each source by
// every price in turn, of five rounds the fastest.
TEST_F(LeanSearches, turn_where_it_pays) {
  constexpr double kFactors[] = {1, 0, 0.25, 0.5, 2, 4, std::numeric_limits<double>::infinity()};
  constexpr int kSources = 8;
  constexpr int kRounds = 5;
  for (const char* spec : {"kron:20", "urand:20"}) {
    const BothWays both = hubs_first(BothWays(graph::make_graph(graph::parse_graph_spec(spec), false)));
    const std::pair<const char*, Lists> layouts[] = {
        {"plain", Lists(both)},
        {"compressed", Lists(both).compressed()},
        {"first neighbours side by side", Lists(both).firsts(false)},
        {"these packed, and lists compressed", Lists(both).firsts(true).compressed()},
        {"1 % hot, first neighbours packed, lists compressed",
         Lists(both).hot(TierPolicy::heads, 1).firsts(true).compressed()},
        {"5 % hot", Lists(both).hot(TierPolicy::heads, 5)},
        {"5 % hot, the rest compressed", Lists(both).hot(TierPolicy::heads, 5).compressed()},
        {"25 % hot", Lists(both).hot(TierPolicy::heads, 25)},
        {"25 % hot, the rest compressed", Lists(both).hot(TierPolicy::heads, 25).compressed()}};
    for (const auto& [layout, lists] : layouts) {
      const auto placed = lists.place();
      std::vector<std::unique_ptr<graph::Traversal>> searches;
      for (const double factor : kFactors) {
        Turning turning = model::turning_for(lists.pushed(), lists.pulled());
        turning.push *= factor;
        searches.push_back(make_lean_bfs(*placed, turning));
      }
      std::vector<double> seconds(searches.size());
      for (const Vertex source : graph::gap_sources(both.graph, kSources)) {
        std::vector<double> fastest(searches.size(), std::numeric_limits<double>::infinity());
        for (int round = 0; round < kRounds; ++round) {
          for (std::size_t i = 0; i < searches.size(); ++i) {
            fastest[i] = std::min(fastest[i], searches[i]->run(source));
          }
        }
        std::transform(seconds.begin(), seconds.end(), fastest.begin(), seconds.begin(), std::plus<>());
      }
      for (std::size_t i = 1; i < seconds.size(); ++i) {
        const double share = seconds[i] / seconds[0];
        EXPECT_GT(share, 0.85) << spec << ", " << layout << ", push times " << kFactors[i];
        std::cout << spec << ", " << layout << ": push times " << kFactors[i] << " takes " << share
                  << " of the time\n";
      }
    }
  }
}

TEST_F(LeanSearches, go_on_from_source_to_source) {
  const BothWays both = hubs_first(graph::larger_graphs().front());
  const auto placed = Lists(both).hot(TierPolicy::heads, 10).compressed().place();
  const auto search = make_lean_bfs(*placed, {});
  for (Vertex source = 0; source < 200; ++source) {
    static_cast<void>(search->run(source));
    ASSERT_EQ(search->answer(), graph::serial_bfs(both.graph, source)) << source;
  }
  EXPECT_GT(placed->hot_bytes(), 0U);
}

TEST_F(LeanSearches, refuse_what_cannot_be) {
  const BothWays both = graph::star(10);
  const auto placed = Lists(both).place();
  const auto search = make_lean_bfs(*placed, {});
  EXPECT_THROW(static_cast<void>(search->run(11)), UsageError);
  EXPECT_GT(search->run(3), 0);
  const BothWays directed = graph::larger_graphs()[2];
  ASSERT_TRUE(directed.graph.directed);
  LeanPlacement placement;
  placement.graph = &directed.graph;
  EXPECT_THROW(static_cast<void>(place_lean(placement)), UsageError);
  const CompressedLists lists = compress(directed.graph, nullptr, false);
  placement.in_edges = &directed.transposed;
  placement.compressed = &lists;
  EXPECT_THROW(static_cast<void>(place_lean(placement)), UsageError) << "one direction compressed";
  LeanPlacement weighted;
  weighted.graph = &both.graph;
  weighted.weights = true;
  const Firsts firsts = first_neighbours(both.graph, nullptr, false);
  weighted.firsts = &firsts;
  EXPECT_THROW(static_cast<void>(place_lean(weighted)), UsageError) << "first neighbours of weighted lists";
  const HotTier tier = plan_tier(both.graph, TierPolicy::heads, 3);
  LeanPlacement other;
  other.graph = &both.graph;
  other.tier = &tier;
  other.firsts = &firsts;
  EXPECT_THROW(static_cast<void>(place_lean(other)), UsageError) << "of lists that have something hot too";
}

// Everything read, everything copied, and what this machine's own rates say.
std::vector<LinkCosts> costs_to_try(const LeanLists& lists) {
  LinkCosts never;
  never.sector_s = 1;
  never.copy_s = 1e18;
  LinkCosts always;
  always.sector_s = 1;
  const SegmentRates rates = measure_segment_rates(lists);
  EXPECT_GT(rates.copied_gb_s, 0);
  EXPECT_GT(rates.read_gb_s, 0);
  return {never, always, model::costs_of(model::link_measured(rates.copied_gb_s), rates)};
}

class LeanHybrids : public LeanTest {
 protected:
  // Of several segments, hubs first and not, and a small one.
  static std::vector<BothWays> graphs() {
    std::vector<BothWays> graphs;
    for (const char* spec : {"urand:19", "kron:18", "kron:10"}) {
      graphs.emplace_back(graph::make_graph(graph::parse_graph_spec(spec), true));
    }
    graphs.push_back(hubs_first(graphs[1]));
    return graphs;
  }
  // Some of each list hot, whole segments, everything.
  template <class Check>
  static void over_budgets(const BothWays& both, bool weights, const Check& check) {
    over_all_lists(both, TierPolicy::heads, 20, weights, check);
    over_all_lists(both, TierPolicy::lists, 50, weights, check);
    over_all_lists(both, TierPolicy::lists, 100, weights, check);
  }
};

TEST_F(LeanHybrids, rank_as_one_more_step_would_not_change_and_copy_as_the_model) {
  for (const BothWays& both : graphs()) {
    over_budgets(both, false, [&](const Lists& lists) {
      const auto placed = lists.place();
      const std::uint64_t edges = both.graph.edges();
      for (const LinkCosts& costs : costs_to_try(*placed)) {
        const auto ranks = make_hybrid_pr(*placed, costs);
        const model::HybridStep sweep = model::hybrid_step(lists.pulled(), costs);
        for (int run = 0; run < 2; ++run) {
          EXPECT_GT(ranks->run(0), 0);
          EXPECT_NO_THROW(static_cast<void>(graph::certify_pr(both.graph, both.graph, ranks->ranks())));
        }
        const std::vector<LinkReads> reads = ranks->count(0);
        EXPECT_EQ(ranks->levels().size(), reads.size());
        for (const LinkReads& read : reads) {
          EXPECT_EQ(read.sectors, sweep.plan.read.sectors);
          EXPECT_EQ(read.elements + read.hot, edges);
          EXPECT_EQ(read.copied_bytes, sweep.plan.copied_words * sizeof(std::uint32_t));
        }
      }
    });
  }
}

TEST_F(LeanHybrids, find_the_distances_of_dijkstra) {
  for (const BothWays& both : graphs()) {
    const graph::Vertex source = busiest(both.graph);
    const auto expected = graph::serial_sssp(both.graph, source);
    over_budgets(both, true, [&](const Lists& lists) {
      const auto placed = lists.place();
      for (const LinkCosts& costs : costs_to_try(*placed)) {
        const auto paths = make_hybrid_sssp(*placed, usual_delta(both.graph), costs);
        EXPECT_GT(paths->run(source), 0);
        ASSERT_EQ(paths->answer(), expected);
        std::uint64_t edges = 0;
        std::uint64_t read = 0;
        for (const LinkReads& step : paths->count(source)) {
          read += step.elements + step.hot;
        }
        for (const LevelResult& step : paths->levels()) {
          edges += step.edges;
        }
        EXPECT_EQ(read, edges);
        ASSERT_EQ(paths->answer(), expected);
      }
    });
  }
}

TEST_F(LeanHybrids, refuse_weights_in_an_array_of_their_own) {
  BothWays both = graph::larger_graphs().front();
  for (std::uint64_t i = 0; i < both.graph.edges(); ++i) {
    both.graph.weights[i] *= 1 << 20;
  }
  const auto placed = Lists(both).weighted().place();
  EXPECT_THROW(static_cast<void>(make_hybrid_sssp(*placed, 1, {})), SkipError);
  EXPECT_THROW(static_cast<void>(make_hybrid_pr(*placed, {})), UsageError);
}

using graph::Weight;

class LeanListWalks : public LeanTest {
 protected:
  static void expect_lists(const BothWays& both, const Lists& lists, bool weights) {
    const auto placed = lists.place();
    const std::vector<Neighbours> walked = walk_all_lists(*placed, both.graph);
    for (Vertex v = 0; v < both.graph.vertices(); ++v) {
      const auto ids = both.graph.neighbours(v);
      ASSERT_TRUE(std::equal(ids.begin(), ids.end(), walked[v].ids.begin(), walked[v].ids.end())) << v;
      if (weights) {
        const auto expected = both.graph.weights_of(v);
        ASSERT_TRUE(std::equal(expected.begin(), expected.end(), walked[v].weights.begin())) << v;
      }
    }
  }
  static void expect_all_lists(const BothWays& both) {
    for (const bool weights : {false, true}) {
      if (weights && !both.graph.weighted()) {
        continue;
      }
      for (const TierPolicy policy : {TierPolicy::heads, TierPolicy::lists}) {
        over_all_lists(both, policy, 25, weights, [&](Lists lists) { expect_lists(both, lists, weights); });
      }
    }
  }
};

TEST_F(LeanListWalks, find_every_neighbour_and_weight_however_lists_are_placed) {
  for (const BothWays& both : graph::all_sample_graphs()) {
    expect_all_lists(both);
  }
  for (const BothWays& both : graph::larger_graphs()) {
    expect_all_lists(both);
  }
}

// Lists of gaps of every width, near ones and far ones.
graph::Csr of_random_gaps(std::uint64_t seed, const std::vector<Weight>& weights, Vertex vertices) {
  std::mt19937_64 random(seed);
  std::vector<graph::Triple> edges;
  for (Vertex v = 0; v < 200; ++v) {
    const std::uint64_t length = 1 + random() % (1U << v % 12);
    std::uint64_t at = random() % 100;
    const std::uint64_t widest = random() % 14;
    for (std::uint64_t i = 0; i < length; ++i) {
      at += at == v ? 1 : 0;
      if (at >= vertices) {
        break;
      }
      edges.push_back({v, static_cast<Vertex>(at), weights[random() % weights.size()]});
      at += 1 + (random() % 16 == 0 ? random() % (std::uint64_t{1} << widest) : random() % 3);
    }
  }
  return graph::weighted_graph(vertices, edges, true);
}

TEST_F(LeanListWalks, find_weights_of_every_range) {
  constexpr Weight kMost = ~Weight{0};
  const std::vector<std::vector<Weight>> ranges{
      {7}, {7, 8}, {kMost}, {kMost - 1, kMost}, {0, kMost}, {8, 72, 9, 71, 40}, {65'534, 0, 1}, {65'535, 0}};
  std::uint64_t seed = 0;
  for (const std::vector<Weight>& weights : ranges) {
    SCOPED_TRACE(weights.front());
    const BothWays both(of_random_gaps(++seed, weights, 65'536));
    over_all_lists(both, TierPolicy::heads, 10, true, [&](Lists lists) { expect_lists(both, lists, true); });
  }
}

// Lean traversals by several GPUs, against oracles and against what one GPU reads.

class LeanTeams : public LeanTest {
 protected:
  // Every sample graph, and larger ones as they are and with their hubs first.
  static std::vector<BothWays> graphs(bool directed) {
    std::vector<BothWays> all;
    for (const BothWays& each : graph::all_sample_graphs()) {
      all.push_back(each);
    }
    for (const BothWays& each : graph::larger_graphs()) {
      all.push_back(hubs_first(each));
      all.push_back(each);
    }
    all.push_back(graph::star(100'000));
    std::erase_if(all, [&](const BothWays& both) { return both.graph.directed && !directed; });
    return all;
  }
  // `check(lists, team)` over all ways to place lists and several sizes of a team.
  template <class Check>
  static void over_all_teams(const BothWays& both, bool weights, const Check& check) {
    over_all_lists(both, TierPolicy::heads, 20, weights, [&](const Lists& lists) {
      for (const int count : {2, 3}) {
        SCOPED_TRACE(testing::Message() << count << " GPUs");
        const TeamOfLists placed(lists, count);
        check(lists, placed.team());
      }
    });
  }
};

TEST_F(LeanTeams, find_depths_and_read_as_the_model) {
  for (const BothWays& both : graphs(true)) {
    const Vertex source = busiest(both.graph);
    over_all_teams(both, false, [&](const Lists& lists, LeanTeam team) {
      for (const Turning& turning : kTurnings) {
        expect_search(*make_lean_bfs(team, turning), both, lists, source, turning, 2);
      }
    });
  }
}

TEST_F(LeanTeams, label_components_and_read_as_the_model) {
  std::vector<BothWays> all = graphs(false);
  for (const char* spec : {"urand:15", "kron:15"}) {
    all.push_back(hubs_first(BothWays(graph::make_graph(graph::parse_graph_spec(spec), false))));
  }
  all.emplace_back(graph::bridged_parts());
  for (const BothWays& both : all) {
    const std::vector<Vertex> labels = graph::serial_cc(both.graph);
    over_all_teams(both, false, [&](const Lists& lists, LeanTeam team) {
      const auto components = make_lean_cc(team);
      const model::CcPrediction expected = model::replay_cc(lists.pushed());
      for (int run = 0; run < 2; ++run) {
        EXPECT_GT(graph::run_anew(*components, 0), 0);
        ASSERT_EQ(components->answer(), labels);
        const std::vector<LinkReads> reads = components->count(0);
        ASSERT_EQ(reads.size(), std::size_t{kCcStages});
        for (std::size_t i = 0; i < reads.size(); ++i) {
          SCOPED_TRACE(testing::Message() << "stage " << i);
          expect_equal(reads[i], expected.stages[i].link, expected.stages[i].hot);
        }
        ASSERT_EQ(components->answer(), labels) << "after counting";
      }
    });
  }
}

TEST_F(LeanTeams, find_the_distances_of_dijkstra) {
  for (const BothWays& both : graphs(true)) {
    if (!both.graph.weighted()) {
      continue;
    }
    const Vertex source = busiest(both.graph);
    const auto expected = graph::serial_sssp(both.graph, source);
    // Many steps take long.
    std::vector<std::uint32_t> deltas{usual_delta(both.graph), 100'000};
    if (both.graph.vertices() < 500) {
      deltas.push_back(1);
    }
    over_all_teams(both, true, [&](const Lists&, LeanTeam team) {
      for (const std::uint32_t delta : deltas) {
        const auto paths = make_lean_sssp(team, delta);
        EXPECT_GT(graph::run_anew(*paths, source), 0);
        ASSERT_EQ(paths->answer(), expected);
        const std::vector<LinkReads> reads = paths->count(source);
        ASSERT_EQ(paths->answer(), expected);
        ASSERT_EQ(reads.size(), paths->levels().size());
        // Every list of a vertex that is reached is read.
        std::uint64_t read = 0;
        for (const LinkReads& step : reads) {
          read += step.elements + step.hot;
        }
        std::uint64_t listed = 0;
        for (Vertex v = 0; v < both.graph.vertices(); ++v) {
          listed += expected[v] != graph::kUnreached ? both.graph.degree(v) : 0;
        }
        EXPECT_GE(read, listed);
        for (std::size_t i = 0; i < reads.size(); ++i) {
          EXPECT_EQ(reads[i].elements + reads[i].hot, paths->levels()[i].edges) << "step " << i;
        }
      }
    });
  }
}

TEST_F(LeanTeams, rank_as_one_more_step_would_not_change) {
  for (const BothWays& both : graphs(true)) {
    over_all_teams(both, false, [&](const Lists& lists, LeanTeam team) {
      expect_ranks(*make_lean_pr(team), both, lists, 2);
    });
  }
}

TEST_F(LeanTeams, read_managed_memory_that_stays_on_the_host) {
  const BothWays both = hubs_first(graph::larger_graphs().front());
  const Vertex source = busiest(both.graph);
  const TeamOfLists placed(Lists(both).managed(budget_), 2);
  EXPECT_GT(make_lean_bfs(placed.team(), {})->run(source), 0);
  const auto search = make_lean_bfs(placed.team(), {});
  search->run(source);
  EXPECT_EQ(search->answer(), graph::serial_bfs(both.graph, source));
  EXPECT_NO_THROW(placed.team().front()->expect_on_host());
}

TEST_F(LeanTeams, leave_nothing_of_an_answer_that_is_spoiled) {
  const BothWays both = hubs_first(graph::larger_graphs().front());
  const Vertex source = busiest(both.graph);
  const TeamOfLists plain(Lists(both), 2);
  const TeamOfLists weighted(Lists(both).weighted(), 2);
  const auto expect_gone = [&](const std::unique_ptr<graph::Traversal>& traversal,
                               graph::Algorithm algorithm) {
    SCOPED_TRACE(name(algorithm));
    expect_spoiled(*traversal, both, algorithm, source);
  };
  expect_gone(make_lean_bfs(plain.team(), {}), graph::Algorithm::bfs);
  expect_gone(make_lean_cc(plain.team()), graph::Algorithm::cc);
  expect_gone(make_lean_pr(plain.team()), graph::Algorithm::pr);
  expect_gone(make_lean_sssp(weighted.team(), usual_delta(both.graph)), graph::Algorithm::sssp);
}

// A team keeps its answer in parts, one GPU does not.
TEST_F(LeanTeams, of_one_are_what_one_gpu_runs) {
  const BothWays both = hubs_first(graph::larger_graphs().front());
  const TeamOfLists placed(Lists(both), 1);
  EXPECT_NE(make_lean_bfs(placed.team(), {})->answer_on_gpu(), nullptr);
  EXPECT_NE(make_lean_cc(placed.team())->answer_on_gpu(), nullptr);
  EXPECT_NE(make_lean_pr(placed.team())->answer_on_gpu(), nullptr);
  const TeamOfLists weighted(Lists(both).weighted(), 1);
  EXPECT_NE(make_lean_sssp(weighted.team(), 1)->answer_on_gpu(), nullptr);
}

TEST_F(LeanTeams, are_skipped_where_kernels_run_one_by_one) {
  const BothWays both = graph::star(100);
  const TeamOfLists placed(Lists(both), 2);
  for (const char* name : {"CUDA_LAUNCH_BLOCKING", "GRAINSCOPE_COUNT"}) {
    ASSERT_EQ(setenv(name, "1", 1), 0);
    EXPECT_THROW(static_cast<void>(make_lean_bfs(placed.team(), {})), SkipError) << name;
    EXPECT_THROW(static_cast<void>(make_lean_cc(placed.team())), SkipError) << name;
    unsetenv(name);
    EXPECT_NO_THROW(static_cast<void>(make_lean_bfs(placed.team(), {}))) << name;
  }
}

TEST_F(LeanTeams, refuse_lists_that_are_not_shared) {
  const BothWays both = graph::star(100);
  const auto one = Lists(both).place();
  const auto other = Lists(both).place();
  const LeanLists* const apart[] = {one.get(), other.get()};
  EXPECT_THROW(static_cast<void>(make_lean_bfs(apart, {})), UsageError);
  EXPECT_THROW(static_cast<void>(make_lean_cc(apart)), UsageError);
  EXPECT_THROW(static_cast<void>(make_lean_pr(apart)), UsageError);
  const std::vector<const LeanLists*> many(17, one.get());
  EXPECT_THROW(static_cast<void>(make_lean_bfs(many, {})), UsageError);
  const BothWays larger = graph::star(200);
  EXPECT_THROW(static_cast<void>(Lists(larger).place(0, one.get())), UsageError);
  EXPECT_THROW(static_cast<void>(Lists(both).weighted().place(0, one.get())), UsageError);
  for (const Lists& differs :
       {Lists(both).compressed(), Lists(both).firsts(false), Lists(both).hot(TierPolicy::heads, 50)}) {
    EXPECT_THROW(static_cast<void>(differs.place(0, one.get())), UsageError);
  }
  const auto packed = Lists(both).weighted().place();
  EXPECT_THROW(static_cast<void>(Lists(both).apart().place(0, packed.get())), UsageError);
  const TeamOfLists plain(Lists(both), 2);
  EXPECT_THROW(static_cast<void>(make_lean_sssp(plain.team(), 1)), UsageError);
  EXPECT_THROW(static_cast<void>(make_lean_bfs(plain.team(), {})->run(100'000)), UsageError);
  EXPECT_THROW(static_cast<void>(make_lean_bfs(plain.team(), {})->answer_on_gpu()), UsageError);
}

}  // namespace
}  // namespace grainscope::lean
