// sampling/neighbours, tiering/score and tiering/reorder: what they list, and what their rows say.

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "fakes.hpp"
#include "families.hpp"
#include "gnn/case.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/cuda/managed_budget.hpp"
#include "harness/row.hpp"
#include "schema_check.hpp"

namespace grainscope::harness {
namespace {

using test::text_of;

std::vector<Family> gnn_families() {
  const auto graphs = std::make_shared<GnnGraphCache>();
  return {sampling_neighbours(graphs), tiering_score(graphs), tiering_reorder(graphs)};
}

std::vector<Benchmark> gnn_cases(const Machine& machine, Preset preset, const std::string& graph = {}) {
  return test::listed(gnn_families(), machine, preset, true, graph);
}

std::set<std::string> placements(int gpus, Preset preset) {
  std::set<std::string> found;
  for (const Benchmark& benchmark : gnn_cases(test::machine_with_gpus(gpus), preset)) {
    if (benchmark.id.family == "sampling/neighbours") {
      const bool alone = gpus == 1 && text_of(benchmark, "placement") == "interleaved";
      EXPECT_EQ(benchmark.skip, alone ? "needs two GPUs; this machine has one" : "") << benchmark.id.name();
      found.insert(text_of(benchmark, "by") + " " + text_of(benchmark, "placement"));
    }
  }
  return found;
}

TEST(SamplingNeighbours, lists_every_placement_and_says_which_needs_two_gpus) {
  for (const Preset preset :
       {Preset::smoke, Preset::quick, Preset::full, Preset::paper, Preset::acceptance}) {
    const std::set<std::string> all{"cpu host", "gpu device", "gpu mapped", "gpu interleaved"};
    EXPECT_EQ(placements(1, preset), all);
    EXPECT_EQ(placements(3, preset), all);
  }
}

TEST(TieringScore, lists_every_score_of_every_run) {
  std::map<std::string, std::set<std::string>> scores;
  for (const Benchmark& benchmark : gnn_cases(test::machine_without_gpu(), Preset::paper)) {
    if (benchmark.id.family == "tiering/score") {
      scores[text_of(benchmark, "graph") + text_of(benchmark, "fanout") + text_of(benchmark, "labelled")]
          .insert(text_of(benchmark, "score"));
    }
  }
  EXPECT_EQ(scores.size(), 3 * 7 * 2);
  for (const auto& [run, found] : scores) {
    EXPECT_EQ(found.size(), 5) << run;
  }
}

class GnnRows : public testing::Test {
 protected:
  Measurement run(const Benchmark& benchmark) {
    LinkPeaks peaks(machine_, [](const LinkPeak&, const std::vector<Warning>&) {});
    Session session(machine_, {.ci_target = 0.1, .budget_s = 0.01, .warmups = 1}, peaks, &managed_,
                    [] { return false; });
    return benchmark.run(session);
  }

  // Runs what can run without a GPU, and holds each row against the schema.
  std::map<std::string, Measurement> rows(const std::string& family, const std::string& graph) {
    std::map<std::string, Measurement> result;
    for (const Benchmark& benchmark : gnn_cases(machine_, Preset::smoke, graph)) {
      if (benchmark.id.family == family && benchmark.skip.empty()) {
        const Measurement measurement = run(benchmark);
        EXPECT_EQ(why_impossible(measurement), "") << benchmark.id.name();
        nlohmann::json row = outcome_row(benchmark, Status::ok, "");
        add_measurement(row, measurement);
        row["round"] = 1;
        row["visit_s"] = 1;
        row = merged_row({row}, 1);
        EXPECT_EQ(test::row_errors(row), "") << benchmark.id.name();
        result.emplace(to_string(benchmark.id.axes.front().value), measurement);
      }
    }
    return result;
  }

  Machine machine_ = test::machine_without_gpu();
  cuda::ManagedBudget managed_;
};

TEST_F(GnnRows, of_sampling_count_edges) {
  const Measurement row = rows("sampling/neighbours", "kron:12").at("cpu");
  EXPECT_NEAR(row.counters.at("edges_per_s") * row.samples.summary.median, row.counters.at("sampled_edges"),
              1);
  EXPECT_EQ(row.operations, static_cast<std::uint64_t>(row.counters.at("sampled_edges")));
  EXPECT_GT(row.counters.at("nodes"), 1000);
}

TEST_F(GnnRows, of_sampling_more_seeds_than_vertices_are_skipped) {
  for (const Benchmark& benchmark : gnn_cases(machine_, Preset::smoke, "kron:9")) {
    if (benchmark.id.family == "sampling/neighbours" && benchmark.skip.empty()) {
      EXPECT_THROW(static_cast<void>(run(benchmark)), SkipError);
    }
  }
}

TEST_F(GnnRows, of_scores_tell_hit_rates_below_the_optimal_ones) {
  for (const char* const graph : {"kron:12", "web:12"}) {
    const auto all = rows("tiering/score", graph);
    ASSERT_EQ(all.size(), 5);
    const Measurement& optimal = all.at("optimal");
    for (const auto& [score, row] : all) {
      SCOPED_TRACE(score + ", " + graph);
      EXPECT_EQ(row.hit_curve.back(), (std::pair{1.0, 1.0}));
      EXPECT_TRUE(std::is_sorted(row.hit_curve.begin(), row.hit_curve.end()));
      for (const char* const percent : {"1", "2", "5", "10", "20", "25", "50"}) {
        const double rate = row.counters.at(std::string("hit_rate_") + percent);
        const double best = optimal.counters.at(std::string("hit_rate_") + percent);
        EXPECT_LE(rate, best);
        EXPECT_DOUBLE_EQ(row.counters.at(std::string("of_optimal_") + percent), rate / best);
      }
      EXPECT_GT(row.counters.at("batches"), 0);
      EXPECT_GT(row.counters.at("score_s"), 0);
    }
    EXPECT_EQ(all.at("weighted_reverse_pagerank").counters.at("iterations"), 5);
    EXPECT_LT(all.at("presampled").counters.at("of_optimal_10"), 1);
    EXPECT_EQ(optimal.counters.at("of_optimal_10"), 1);
  }
}

TEST_F(GnnRows, of_reordering_count_entries) {
  const auto all = rows("tiering/reorder", "kron:12");
  ASSERT_EQ(all.size(), 2);
  for (const auto& [lists, row] : all) {
    EXPECT_EQ(row.operations, row.graph->entries) << lists;
    EXPECT_NEAR(row.counters.at("edges_per_s") * row.samples.summary.median,
                static_cast<double>(row.graph->entries), 1)
        << lists;
  }
}

}  // namespace
}  // namespace grainscope::harness
