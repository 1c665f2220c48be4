#include "grainscope/core/error.hpp"
#include "grainscope/graph/generate.hpp"
#include "grainscope/lean/run.hpp"
#include "grainscope/model/lean.hpp"
#include "lean_fixture.hpp"

namespace grainscope::lean {
namespace {

using graph::BothWays;

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

}  // namespace
}  // namespace grainscope::lean
