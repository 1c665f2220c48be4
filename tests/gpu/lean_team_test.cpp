// Lean traversals by several GPUs, against oracles and against what one GPU reads.

#include <cstdlib>
#include <memory>
#include <vector>

#include "grainscope/core/error.hpp"
#include "grainscope/graph/generate.hpp"
#include "grainscope/lean/run.hpp"
#include "grainscope/model/lean.hpp"
#include "lean_fixture.hpp"

namespace grainscope::lean {
namespace {

using graph::BothWays;
using graph::Vertex;

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
