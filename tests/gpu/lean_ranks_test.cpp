#include "grainscope/lean/run.hpp"

#include "grainscope/model/lean.hpp"
#include "lean_fixture.hpp"

namespace grainscope::lean {
namespace {

using graph::BothWays;

class LeanRanks : public LeanTest {
 protected:
  static void expect_ranks(const BothWays& both, const Lists& lists) {
    const auto placed = lists.place();
    const auto ranks = make_lean_pr(*placed);
    const model::PrPrediction expected = model::replay_pr(lists.pulled(), both.graph);
    for (int run = 0; run < 3; ++run) {
      EXPECT_GT(ranks->run(0), 0);
      EXPECT_NO_THROW(static_cast<void>(graph::certify_pr(both.graph, both.in_edges(), ranks->ranks())));
    }
    const std::vector<LinkReads> reads = ranks->count(0);
    EXPECT_EQ(reads.size(), ranks->levels().size());
    // Warps come in no fixed order: of a small graph all at once.
    EXPECT_LE(reads.size(), 2 * expected.sweeps + 10U);
    for (const LinkReads& sweep : reads) {
      expect_equal(sweep, expected.sweep, expected.hot_reads);
    }
  }
};

TEST_F(LeanRanks, are_what_one_more_step_would_not_change_and_read_as_the_model) {
  std::vector<BothWays> graphs = graph::all_sample_graphs();
  for (const BothWays& each : graph::larger_graphs()) {
    graphs.push_back(hubs_first(each));
    graphs.push_back(each);
  }
  graphs.push_back(graph::star(100'000));
  for (const BothWays& both : graphs) {
    over_all_lists(both, TierPolicy::heads, 20, false,
                   [&](const Lists& lists) { expect_ranks(both, lists); });
  }
}

TEST_F(LeanRanks, are_those_where_every_list_is_hot) {
  const BothWays both = hubs_first(graph::larger_graphs().front());
  over_all_lists(both, TierPolicy::heads, 100, false, [&](const Lists& lists) { expect_ranks(both, lists); });
}

}  // namespace
}  // namespace grainscope::lean
