#include "grainscope/core/error.hpp"
#include "grainscope/graph/generate.hpp"
#include "grainscope/lean/run.hpp"
#include "grainscope/model/lean.hpp"
#include "lean_fixture.hpp"

namespace grainscope::lean {
namespace {

using graph::BothWays;

class LeanComponents : public LeanTest {
 protected:
  static void expect_labels(const BothWays& both, const Lists& lists) {
    const auto placed = lists.place();
    const auto components = make_lean_cc(*placed);
    const model::CcPrediction expected = model::replay_cc(lists.pushed());
    for (int run = 0; run < 3; ++run) {
      const double seconds = components->run(0);
      EXPECT_GT(seconds, 0);
      const std::vector<LevelResult> stages = components->levels();
      double stages_s = 0;
      for (const LevelResult& stage : stages) {
        stages_s += stage.seconds;
      }
      EXPECT_LT(stages_s, seconds);
      EXPECT_GT(stages.at(samples).seconds, 0);
      ASSERT_EQ(components->answer(), graph::serial_cc(both.graph));
      const auto reads = components->count(0);
      for (std::size_t i = 0; i < reads.size(); ++i) {
        SCOPED_TRACE(testing::Message() << "stage " << i);
        expect_equal(reads[i], expected.stages[i].link, expected.stages[i].hot);
      }
    }
  }
  static void expect_labels_over_all_lists(const BothWays& both, int percent = 20) {
    for (const TierPolicy policy : {TierPolicy::heads, TierPolicy::lists}) {
      over_all_lists(both, policy, percent, false, [&](const Lists& lists) { expect_labels(both, lists); });
    }
  }
};

TEST_F(LeanComponents, label_as_the_serial_search_and_read_as_the_model) {
  std::vector<BothWays> graphs = graph::sample_graphs(false);
  for (const BothWays& each : graph::larger_graphs()) {
    if (!each.graph.directed) {
      graphs.push_back(hubs_first(each));
      graphs.push_back(each);
    }
  }
  graphs.push_back(graph::star(100'000));
  for (const BothWays& both : graphs) {
    expect_labels_over_all_lists(both);
  }
}

TEST_F(LeanComponents, are_joined_by_first_neighbours_and_by_whole_lists_where_these_make_trees) {
  for (const char* spec : {"urand:15", "kron:15"}) {
    const BothWays both = hubs_first(BothWays(graph::make_graph(graph::parse_graph_spec(spec), false)));
    const model::CcPrediction expected = model::replay_cc(Lists(both).firsts(true).pushed());
    EXPECT_EQ(expected.stages[early].vertices > 0, spec[0] == 'u') << spec;
    expect_labels_over_all_lists(both);
    expect_labels_over_all_lists(both, 2);
  }
}

TEST_F(LeanComponents, are_found_where_every_list_is_hot) {
  expect_labels_over_all_lists(
      hubs_first(BothWays(graph::make_graph(graph::parse_graph_spec("kron:15"), false))), 100);
}

TEST_F(LeanComponents, whose_largest_is_not_the_first_found) {
  const BothWays both(graph::bridged_parts());
  expect_labels(both, Lists(both).hot(TierPolicy::lists, 24));
}

TEST_F(LeanComponents, of_many_small_parts_are_found) {
  // Rings of five with two chords: no component is large, and nearly all lists are read.
  std::vector<graph::Triple> edges;
  for (std::uint32_t part = 0; part < 5000; ++part) {
    for (std::uint32_t i = 0; i < 5; ++i) {
      edges.push_back({5 * part + i, 5 * part + (i + 1) % 5, 1});
    }
    edges.push_back({5 * part, 5 * part + 2, 1});
    edges.push_back({5 * part + 1, 5 * part + 3, 1});
  }
  expect_labels_over_all_lists(BothWays(graph::weighted_graph(25'000, edges, false)));
}

TEST_F(LeanComponents, refuse_a_directed_graph) {
  const BothWays directed = graph::larger_graphs()[2];
  const auto placed = Lists(directed).place();
  EXPECT_THROW(static_cast<void>(make_lean_cc(*placed)), UsageError);
}

}  // namespace
}  // namespace grainscope::lean
