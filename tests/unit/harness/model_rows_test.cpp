#include <gtest/gtest.h>

#include <numeric>

#include "grainscope/core/error.hpp"
#include "model_rows.hpp"

namespace grainscope::harness {
namespace {

using graph::Access;
using graph::Algorithm;

LoadedGraph graph_of(const char* spec) {
  return {graph::parse_graph_spec(spec), graph::Order::original, {}};
}

constexpr WalkRequest kWalk{Access::merged_aligned, 8};
constexpr CardRequest kHalf{8, 50, 4096};
constexpr CardRequest kAll{8, 100, 4096};

TraversalModel model_of(const char* spec, Algorithm algorithm, int sources = 3) {
  ModelRequests requests;
  for (const Access access : graph::kAllAccess) {
    requests.walks.insert({access, 8});
    requests.walks.insert({access, 4});
  }
  requests.reaches.insert({8, 16384, 4096});
  requests.cards = {kHalf, kAll, {8, 50, 2 << 20}};
  return model_traversal_of(graph_of(spec), algorithm, sources, requests);
}

TEST(WalkRow, says_what_is_asked_of_the_link_level_by_level) {
  const TraversalModel model = model_of("kron:10", Algorithm::bfs);
  const Measurement row = walk_row(model, kWalk, model::link_named("pcie3x16"));
  EXPECT_TRUE(row.modelled);
  EXPECT_EQ(why_impossible(row), "");
  ASSERT_EQ(row.trials.size(), 3U);
  EXPECT_TRUE(row.trials[0].label.starts_with("source:"));
  EXPECT_EQ(row.samples.seconds[1], row.trials[1].samples_s.front());
  ASSERT_EQ(row.levels.size(), model.trials[0].active.size());
  double seconds = 0;
  std::uint64_t requests = 0;
  std::uint64_t bytes = 0;
  for (const LevelResult& level : row.levels) {
    seconds += level.seconds;
    requests += level.requests;
    bytes += level.link_bytes;
  }
  EXPECT_DOUBLE_EQ(seconds, row.samples.seconds[0]);
  const model::Requests& total = model.trials[0].walks.at(kWalk).total;
  EXPECT_EQ(requests, total.count());
  EXPECT_EQ(bytes, total.bytes());
}

TEST(WalkRow, traffic_is_the_mean_of_the_trials_and_adds_up) {
  const TraversalModel model = model_of("kron:10", Algorithm::sssp);
  const Measurement row = walk_row(model, kWalk, model::link_named("pcie3x16"));
  std::uint64_t requests = 0;
  std::uint64_t bytes = 0;
  for (const auto& [size, count] : row.traffic->requests_by_size) {
    requests += count;
    bytes += static_cast<std::uint64_t>(size) * count;
  }
  EXPECT_EQ(row.traffic->requests, requests);
  EXPECT_EQ(row.traffic->bytes, bytes);
  EXPECT_FALSE(row.traffic->counted);
  double asked = 0;
  for (const TrialModel& trial : model.trials) {
    asked += static_cast<double>(trial.edges_read()) * 12 / 3;
  }
  EXPECT_NEAR(static_cast<double>(row.bytes), asked, 1);
  EXPECT_GE(row.traffic->amplification, 1);
  EXPECT_LE(row.counters.at("cached_amplification"), row.traffic->amplification);
}

TEST(WalkRow, a_faster_link_is_never_slower_and_causes_bound_the_time) {
  for (const Algorithm algorithm : {Algorithm::bfs, Algorithm::sssp, Algorithm::cc, Algorithm::pr}) {
    const TraversalModel model = model_of("urand:9", algorithm);
    double before = 1e9;
    for (const char* name : {"pcie3x16", "pcie4x16", "pcie5x16", "pcie6x16"}) {
      const Measurement row = walk_row(model, kWalk, model::link_named(name));
      const double mean = std::accumulate(row.samples.seconds.begin(), row.samples.seconds.end(), 0.0) /
                          static_cast<double>(row.samples.seconds.size());
      EXPECT_LE(mean, before);
      EXPECT_GE(mean * 1.0000001, row.counters.at("bytes_s"));
      EXPECT_GE(mean * 1.0000001, row.counters.at("requests_s"));
      before = mean;
    }
  }
}

TEST(WalkRow, misses_of_translation_count_where_the_link_says_its_reach) {
  const TraversalModel model = model_of("kron:10", Algorithm::bfs);
  model::Link link = model::link_named("pcie5x16");
  EXPECT_EQ(walk_row(model, kWalk, link).counters.at("translations_s"), 0);
  link.reach_bytes = 16384;
  link.granule_bytes = 4096;
  link.misses_per_s = 1;
  EXPECT_GE(walk_row(model, kWalk, link).counters.at("translations_s"), 20);
}

TEST(WalkRow, teps_count_undirected_edges_once) {
  const TraversalModel model = model_of("urand:9", Algorithm::cc);
  const Measurement row = walk_row(model, kWalk, model::link_named("pcie3x16"));
  const double entries = row.counters.at("entries");
  EXPECT_DOUBLE_EQ(row.counters.at("teps"), entries / 2 / row.samples.seconds.front());
  EXPECT_EQ(row.trials.front().label, "trial:0");
}

// A row from a model in which something was changed.
template <class Change>
void expect_refused(const Change& change) {
  TraversalModel model = model_of("kron:8", Algorithm::bfs);
  change(model.trials[1]);
  EXPECT_THROW(static_cast<void>(walk_row(model, kWalk, model::link_named("pcie3x16"))), FailedError);
}

TEST(WalkRow, a_count_that_cannot_be_right_fails_the_row) {
  expect_refused([](TrialModel& trial) { ++trial.edges[1]; });
  expect_refused([](TrialModel& trial) { ++trial.active[0]; });
  expect_refused([](TrialModel& trial) { trial.walks.at(kWalk).levels.pop_back(); });
  expect_refused([](TrialModel& trial) { ++trial.walks.at(kWalk).total.by_sectors[3]; });
  expect_refused([](TrialModel& trial) { trial.walks.at(kWalk).cached_bytes = 32; });
  expect_refused([](TrialModel& trial) { trial.walks.at(kWalk).cached_bytes *= 100; });
  expect_refused([](TrialModel& trial) {
    trial.walks.at(kWalk).total.lanes += 1'000'000;
    trial.walks.at(kWalk).levels[0].lanes += 1'000'000;
  });
}

TEST(CardRow, moves_what_the_card_cannot_keep) {
  const TraversalModel model = model_of("kron:12", Algorithm::cc);
  const model::Link link = model::link_named("pcie3x16");
  const Measurement half = card_row(model, kHalf, link);
  const Measurement all = card_row(model, kAll, link);
  EXPECT_EQ(why_impossible(half), "");
  EXPECT_TRUE(half.modelled);
  EXPECT_EQ(all.counters.at("evicted_pages"), 0);
  EXPECT_EQ(all.counters.at("moved_bytes"), all.counters.at("touched_bytes"));
  EXPECT_NEAR(all.counters.at("amplification_data_set"), 1, 0.02);
  EXPECT_GT(half.counters.at("amplification_data_set"), 1.5);
  EXPECT_GT(half.samples.seconds.front(), all.samples.seconds.front());
  EXPECT_NEAR(half.counters.at("moving_s") + half.counters.at("faults_s"), half.samples.seconds.front(),
              1e-9);
}

TEST(CardRow, of_too_few_pages_is_skipped) {
  const TraversalModel model = model_of("kron:8", Algorithm::bfs);
  EXPECT_THROW(static_cast<void>(card_row(model, {8, 50, 2 << 20}, model::link_named("pcie3x16"))),
               SkipError);
}

TEST(CardRow, a_count_that_cannot_be_right_fails_the_row) {
  const auto expect_refused = [](const auto& change) {
    TraversalModel model = model_of("kron:10", Algorithm::bfs);
    change(model.trials[2].cards.at(kHalf));
    EXPECT_THROW(static_cast<void>(card_row(model, kHalf, model::link_named("pcie3x16"))), FailedError);
  };
  expect_refused([](model::Paging& paging) { ++paging.moved_pages; });
  expect_refused([](model::Paging& paging) { ++paging.evicted_pages; });
  expect_refused([](model::Paging& paging) { paging.touched_bytes = 4096; });
  expect_refused([](model::Paging& paging) { paging.moved_pages = paging.evicted_pages = 0; });
}

TEST(ModelTrials, a_directed_graph_has_no_components_to_find) {
  EXPECT_THROW(static_cast<void>(model_of("web:8", Algorithm::cc)), SkipError);
  EXPECT_NO_THROW(static_cast<void>(model_of("web:8", Algorithm::pr)));
}

}  // namespace
}  // namespace grainscope::harness
