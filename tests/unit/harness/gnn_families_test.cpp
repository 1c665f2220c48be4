// sampling/neighbours, tiering/score and tiering/reorder: what they list, and what their rows say.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "fakes.hpp"
#include "families.hpp"
#include "gnn/case.hpp"
#include "gnn/pipeline_case.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/core/statistics.hpp"
#include "grainscope/cuda/budget.hpp"
#include "grainscope/gnn/pipeline.hpp"
#include "grainscope/system/mps.hpp"
#include "harness/row.hpp"
#include "harness/selection.hpp"

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
  // One graph is small enough for all fan-outs and labels.
  EXPECT_EQ(scores.size(), 1 + 7 * 2 + 2 * 2 + 2 * 2);
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
        EXPECT_TRUE(measurement.limit) << benchmark.id.name();
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
namespace {

// pipeline/graphsage: what it lists, and what its rows say.

std::vector<Family> training() {
  return {pipeline_graphsage(std::make_shared<GnnGraphCache>())};
}

std::vector<Benchmark> training_cases(const Machine& machine, Preset preset, const std::string& graph = {}) {
  return test::listed(training(), machine, preset, true, graph);
}

bool by_processes(const Benchmark& benchmark) {
  const auto& axes = benchmark.id.axes;
  return std::any_of(axes.begin(), axes.end(), [](const Axis& axis) { return axis.key == "processes"; });
}

constexpr Preset kAllPresets[] = {Preset::smoke, Preset::quick, Preset::full, Preset::paper,
                                  Preset::acceptance};

TEST(PipelineGraphsage, lists_the_ways_of_the_dissertation) {
  std::set<std::string> ways;
  for (const Benchmark& benchmark : training_cases(test::machine_with_gpus(1), Preset::full)) {
    ways.insert(text_of(benchmark, "mode") + " " + text_of(benchmark, "store"));
  }
  EXPECT_EQ(ways,
            (std::set<std::string>{"address_ordered mapped", "address_ordered tiered",
                                   "circular_shift mapped", "cpu_gather_dma pinned", "cpu_only pageable",
                                   "masked device", "masked mapped", "masked tiered", "naive mapped"}));
}

TEST(PipelineGraphsage, skips_what_needs_two_gpus_or_mps_alone) {
  for (const Preset preset : kAllPresets) {
    for (const Benchmark& benchmark : training_cases(test::machine_with_gpus(1), preset)) {
      const bool two = text_of(benchmark, "mode") != "cpu_only" && text_of(benchmark, "gpus") == "2";
      const bool no_mps = by_processes(benchmark) && find_program(kMpsControl).empty();
      EXPECT_EQ(benchmark.skip,
                two      ? "needs two GPUs; this machine has one"
                : no_mps ? "nvidia-cuda-mps-control is not in PATH: it comes with the driver's utilities"
                         : "")
          << benchmark.id.name();
    }
  }
}

std::map<std::string, std::size_t> cases_by_gpus(const Machine& machine, Preset preset) {
  std::map<std::string, std::size_t> cases;
  for (const Benchmark& benchmark : training_cases(machine, preset, "kron:12")) {
    const auto& site = benchmark.id.site;
    const bool first = std::any_of(site.begin(), site.end(),
                                   [](const Site& at) { return at.key == "gpu" && at.value == 0; });
    if (first && benchmark.skip.empty() && !by_processes(benchmark)) {
      ++cases[text_of(benchmark, "gpus")];
    }
  }
  return cases;
}

TEST(PipelineGraphsage, trains_on_two_gpus_and_on_all_that_reach_each_other) {
  for (const Preset preset : {Preset::full, Preset::paper}) {
    const auto of_two = cases_by_gpus(test::machine_with_gpus(2), preset);
    auto of_four = cases_by_gpus(test::machine_with_gpus(4), preset);
    EXPECT_EQ(of_four["4"], preset == Preset::full ? 16U : 23U);
    EXPECT_EQ(of_four.erase("4"), 1U);
    EXPECT_EQ(of_four, of_two);
  }
  Machine four = test::machine_with_gpus(4);
  EXPECT_EQ(cases_by_gpus(four, Preset::quick), cases_by_gpus(test::machine_with_gpus(2), Preset::quick));

  // GPU 0 reaches all, GPU 3 only that one.
  std::erase_if(four.runtime.peers, [](const cuda::PeerLink& link) {
    return (link.from == 3 && link.to != 0) || (link.to == 3 && link.from != 0);
  });
  const auto of_torn = cases_by_gpus(four, Preset::full);
  EXPECT_TRUE(of_torn.contains("3"));
  EXPECT_FALSE(of_torn.contains("4"));
}

TEST(PipelineGraphsage, by_two_processes_has_the_shares_of_figure_3_12) {
  const std::vector<std::pair<Preset, std::set<std::string>>> expected{
      {Preset::smoke, {}},
      {Preset::quick, {}},
      {Preset::full, {"2.5", "5", "10", "25", "50"}},
      {Preset::paper, {"2.5", "5", "7.5", "10", "15", "20", "25", "30", "40", "50"}},
      {Preset::acceptance, {}}};
  for (const auto& [preset, shares] : expected) {
    std::set<std::string> found;
    for (const Benchmark& benchmark : training_cases(test::machine_with_gpus(1), preset, "kron:12")) {
      if (by_processes(benchmark) && text_of(benchmark, "processes") == "mps") {
        found.insert(text_of(benchmark, "percent"));
        EXPECT_EQ(text_of(benchmark, "mode") + " " + text_of(benchmark, "store"), "masked mapped");
        EXPECT_TRUE(benchmark.id.name().find("/gpus:1/processes:mps/percent:") != std::string::npos)
            << benchmark.id.name();
        EXPECT_NE(benchmark.explanation.source.find("3.12"), std::string::npos);
      }
    }
    EXPECT_EQ(found, shares);
  }
}

TEST(PipelineGraphsage, has_a_process_for_each_gpu_in_paper) {
  std::set<std::string> found;
  for (const Benchmark& benchmark : training_cases(test::machine_with_gpus(4), Preset::paper, "pareto:12")) {
    if (by_processes(benchmark) && text_of(benchmark, "processes") == "per_gpu") {
      EXPECT_EQ(benchmark.skip, "") << benchmark.id.name();
      found.insert(text_of(benchmark, "mode") + " " + text_of(benchmark, "store") + " " +
                   test::text_if_any(benchmark, "placement") + " " + text_of(benchmark, "gpus"));
      EXPECT_NE(benchmark.explanation.limits.find("each GPU has a process"), std::string::npos);
    }
  }
  EXPECT_EQ(found, (std::set<std::string>{"masked device  2", "masked device  4", "masked mapped  2",
                                          "masked mapped host 2", "masked mapped host 4", "masked mapped  4",
                                          "masked multi_gpu  2", "masked multi_gpu  4",
                                          "cpu_gather_dma pinned  2", "cpu_gather_dma pinned  4",
                                          "cpu_gather_dma pinned host 2", "cpu_gather_dma pinned host 4"}));
}

TEST(PipelineGraphsage, of_two_processes_is_a_kernel_on_one_gpu) {
  gnn::PipelineRequest request;
  EXPECT_NO_THROW(gnn::require_processes(request));
  request.gpus = {0, 1};
  EXPECT_THROW(gnn::require_processes(request), UsageError);
  request.gpus = {0};
  request.lists.reset();
  EXPECT_THROW(gnn::require_processes(request), UsageError);
  request.lists = gnn::ListPlacement::device;
  request.mode = gnn::Mode::cpu_gather_dma;
  request.store = gnn::Store::pinned;
  EXPECT_THROW(gnn::require_processes(request), UsageError);
  request.mode = gnn::Mode::address_ordered;
  request.store = gnn::Store::mapped;
  request.window = 2;
  EXPECT_THROW(gnn::require_processes(request), UsageError);
}

TEST(PipelineGraphsage, without_a_gpu_only_the_cpu_trains) {
  for (const Benchmark& benchmark : training_cases(test::machine_without_gpu(), Preset::quick)) {
    EXPECT_EQ(benchmark.skip.empty(), text_of(benchmark, "mode") == "cpu_only") << benchmark.id.name();
  }
}

// What was asked for in place of the preset's values.
std::vector<Benchmark> asked(const std::vector<std::pair<std::string, std::string>>& axes,
                             std::set<std::string>* left_out = nullptr) {
  const Machine machine = test::machine_with_gpus(2);
  Scope scope = make_scope(Preset::full, gpu_targets(machine, {}), false, {0});
  scope.axes = axes;
  return list_all(training(), machine, scope, left_out);
}

TEST(PipelineGraphsage, has_cases_that_share_a_plan_together) {
  std::string last;
  std::set<std::string> ended;
  for (const Benchmark& benchmark : asked({})) {
    std::string plan;
    for (const char* const axis : {"graph", "fanout", "batch", "row", "hidden"}) {
      plan += text_of(benchmark, axis) + " ";
    }
    if (plan != last) {
      EXPECT_TRUE(ended.insert(plan).second) << benchmark.id.name() << " is made once more";
    }
    last = plan;
  }
  EXPECT_GT(ended.size(), 5U);
}

TEST(PipelineGraphsage, has_the_values_that_axes_are_given) {
  const auto cases = asked({{"store", "tiered"}, {"hot", "3"}, {"graph", "kron:14"}, {"row", "128"}});
  ASSERT_FALSE(cases.empty());
  for (const Benchmark& benchmark : cases) {
    EXPECT_EQ(text_of(benchmark, "store") + " " + text_of(benchmark, "hot"), "tiered 3");
    EXPECT_EQ(text_of(benchmark, "graph") + " " + text_of(benchmark, "row"), "kron14 128");
  }
}

TEST(PipelineGraphsage, says_where_lists_lie_and_what_is_not_bounded) {
  const auto names = [](const std::vector<std::pair<std::string, std::string>>& axes) {
    std::set<std::string> found;
    for (const Benchmark& benchmark : asked(axes)) {
      found.insert(test::text_if_any(benchmark, "placement") + " " + test::text_if_any(benchmark, "bounded"));
    }
    return found;
  };
  using Names = std::set<std::string>;
  EXPECT_EQ(names({}), Names{" "});  // as names were before
  EXPECT_EQ(names({{"mode", "naive"}, {"store", "mapped"}, {"bounded", "on,off"}}), (Names{" ", " off"}));
  EXPECT_EQ(names({{"mode", "masked"},
                   {"store", "mapped"},
                   {"gpus", "2"},
                   {"percent", "none"},
                   {"placement", "host,device,mapped,interleaved"}}),
            (Names{"host ", " ", "mapped ", "interleaved "}));
}

TEST(PipelineGraphsage, uses_every_gpu_that_trains) {
  for (const Benchmark& benchmark :
       asked({{"mode", "masked"}, {"store", "multi_gpu"}, {"gpus", "2"}, {"percent", "none"}})) {
    EXPECT_EQ(benchmark.gpus(), (std::set<int>{0, 1})) << benchmark.id.name();
  }
}

TEST(PipelineGraphsage, takes_less_of_a_gpu_where_the_graph_lies_elsewhere) {
  const auto bytes = [](const std::string& placement, const std::string& store) {
    const auto cases = asked({{"mode", "masked"},
                              {"store", store},
                              {"gpus", "2"},
                              {"percent", "none"},
                              {"hot", "50"},
                              {"fanout", "10x25"},
                              {"batch", "1000"},
                              {"row", "512"},
                              {"graph", "kron:20"},
                              {"placement", placement}});
    return cases.empty() ? 0 : cases.front().needs.device_bytes;
  };
  const std::uint64_t in_gpu = bytes("device", "mapped");
  const std::uint64_t lists = std::uint64_t{2} * 16 * (1 << 20) * 4;
  EXPECT_EQ(in_gpu - bytes("mapped", "mapped"), lists);
  EXPECT_EQ(in_gpu - bytes("host", "mapped"), lists + 16 * (1 << 20));
  EXPECT_EQ(in_gpu - bytes("interleaved", "mapped"), lists / 2 - gnn::kPieceEntries * 4);
  // Half of the rows, on each GPU or on both together.
  const std::uint64_t hot = std::uint64_t{512} * (1 << 20) / 2;
  EXPECT_EQ(bytes("device", "tiered") - in_gpu, hot);
  EXPECT_EQ(bytes("device", "multi_gpu") - in_gpu, hot / 2);
}

TEST(PipelineGraphsage, leaves_out_what_cannot_be_and_says_why) {
  const std::vector<std::pair<std::vector<std::pair<std::string, std::string>>, std::string>> expected{
      {{{"mode", "naive"}, {"store", "pinned"}}, "naive from a table that is pinned is not among its modes"},
      {{{"mode", "circular_shift"}, {"store", "mapped"}, {"row", "512"}, {"percent", "none"}},
       "a circular shift leaves rows of whole lines as they are"},
      {{{"batches", "2"}}, "3 mini-batches at least"},
      {{{"row", "130"}, {"batches", "48"}}, "no whole number of float32 features"},
      {{{"store", "multi_gpu"}, {"mode", "masked"}, {"gpus", "1"}, {"percent", "none"}},
       "rows are spread over GPUs that train together, two or more"},
      {{{"placement", "interleaved"}, {"mode", "masked"}, {"gpus", "1"}, {"percent", "none"}},
       "lists are interleaved over GPUs that train together, two or more"},
      {{{"bounded", "off"}, {"store", "device"}, {"mode", "masked"}, {"percent", "none"}},
       "only a kernel's gathers over the link are bounded"},
      {{{"placement", "host"}, {"mode", "cpu_only"}}, "on the CPU alone the lists are where it samples"},
      {{{"placement", "mapped"}, {"percent", "10"}, {"store", "mapped"}, {"mode", "masked"}},
       "lists are in the GPU's memory, and gathers bounded"}};
  for (const auto& [axes, why] : expected) {
    std::set<std::string> left_out;
    EXPECT_TRUE(asked(axes, &left_out).empty()) << why;
    EXPECT_TRUE(std::any_of(
        left_out.begin(), left_out.end(),
        [&, &why = why](const std::string& reason) { return reason.find(why) != std::string::npos; }))
        << why << " is not in " << (left_out.empty() ? "nothing" : *left_out.begin());
  }
}

TEST(PipelineGraphsage, rows_that_are_no_whole_number_of_features_are_refused) {
  TrainingPoint training{"kron12", {5, 5}};
  for (const std::uint32_t bytes : {0U, 2U, 1030U}) {
    training.row_bytes = bytes;
    EXPECT_THROW(static_cast<void>(training.request()), UsageError) << bytes;
  }
  training.row_bytes = 1028;
  EXPECT_EQ(training.request().shape.features, 257U);
}

TEST(PipelineGraphsage, a_table_beyond_the_hosts_memory_is_skipped_with_the_numbers) {
  Machine machine = test::machine_with_gpus(1);
  machine.environment.memory.available.meminfo_bytes = 2'000'000'000;
  machine.environment.memory.available.cgroup_bytes.reset();
  for (const Benchmark& benchmark : training_cases(machine, Preset::quick, "kron:22")) {
    if (benchmark.id.name().find("processes:") != std::string::npos) {
      continue;  // where MPS is not installed that comes first
    }
    const bool two = text_of(benchmark, "mode") != "cpu_only" && text_of(benchmark, "gpus") == "2";
    EXPECT_NE(benchmark.skip.find(two ? "two GPUs" : "of host memory; 1.9 GiB are available"),
              std::string::npos)
        << benchmark.skip;
  }
}

TEST(PipelineGraphsage, rows_of_the_cpu_tell_stages_and_losses) {
  const Machine machine = test::machine_without_gpu();
  cuda::ManagedBudget managed;
  LinkPeaks peaks(machine, [](const LinkPeak&, const std::vector<Warning>&) {});
  Session session(machine, {.ci_target = 0.1, .budget_s = 0.01, .warmups = 1}, peaks, &managed,
                  [] { return false; });
  int ran = 0;
  for (const Benchmark& benchmark : training_cases(machine, Preset::smoke, "kron:12")) {
    if (!benchmark.skip.empty()) {
      continue;
    }
    ++ran;
    const Measurement measurement = benchmark.run(session);
    EXPECT_EQ(why_impossible(measurement), "");
    EXPECT_TRUE(measurement.limit) << benchmark.id.name();
    nlohmann::json row = outcome_row(benchmark, Status::ok, "");
    add_measurement(row, measurement);
    row["round"] = 1;
    row["visit_s"] = 1;
    row = merged_row({row}, 1);
    EXPECT_EQ(test::row_errors(row), "");
    const auto& counters = measurement.counters;
    EXPECT_LT(counters.at("loss_last"), counters.at("loss_first"));
    EXPECT_NEAR(static_cast<double>(measurement.bytes), counters.at("nodes") * 128, 1);
    EXPECT_FALSE(measurement.link_bytes_least);
    EXPECT_FALSE(counters.contains("overlap"));
    EXPECT_GT(counters.at("sample_s") * counters.at("gather_s") * counters.at("train_s"), 0);
    for (const char* const stage : {"sample_s", "gather_s", "train_s"}) {
      EXPECT_GE(counters.at(std::string("p99_") + stage), counters.at(stage));
    }
    EXPECT_GE(counters.at("p99_batch_s"), measurement.samples.summary.median);
    EXPECT_EQ(measurement.samples.seconds.size(), 11);
    EXPECT_EQ(counters.at("epoch_batches"),
              std::floor(std::round(0.1 * static_cast<double>(measurement.graph->vertices)) / 200));
    EXPECT_FALSE(counters.contains("fill_s"));
    EXPECT_FALSE(measurement.features);
  }
  EXPECT_EQ(ran, 2) << "by plain loops and by tiles";
}

}  // namespace
namespace {

// What the losses of training runs are held against, and what is said of their stages.

using Losses = std::vector<double>;

class PipelineLosses : public testing::Test {
 protected:
  PipelineLosses() {
    work_.reference[1] = {first_[0], first_[1], first_[2]};
    on_gpu_.gpu = GpuTarget{};
    on_gpu_.gpus = {0};
  }

  std::string verify(const Losses& losses, const PipelineSite& site) {
    return verify_losses(losses, losses, work_, site);
  }
  [[nodiscard]] Losses with(std::size_t batch, double share_more) const {
    Losses losses = first_;
    losses[batch] *= 1 + share_more;
    return losses;
  }
  static bool says(const std::string& verification, const char* what) {
    return verification.find(what) != std::string::npos;
  }

  const Losses first_{2.0, 1.9, 1.8, 1.5, 1.2, 1.0, 0.9, 0.01};
  const PipelineSite on_cpu_;
  PipelineSite on_gpu_;
  TrainingWork work_;
};

TEST_F(PipelineLosses, of_the_first_steps_are_those_in_double_precision) {
  EXPECT_TRUE(says(verify(first_, on_cpu_), "double precision within 2e-5"));
  EXPECT_THROW(verify(with(2, 3e-5), on_cpu_), FailedError);
}

TEST_F(PipelineLosses, are_equal_with_and_without_overlap) {
  EXPECT_THROW(static_cast<void>(verify_losses(first_, with(7, 1e-9), work_, on_gpu_)), FailedError);
}

TEST_F(PipelineLosses, of_two_modes_on_a_gpu_agree_to_the_last_mini_batch) {
  EXPECT_FALSE(says(verify(first_, on_gpu_), "other devices")) << "there is none yet";
  EXPECT_NO_THROW(verify(with(7, 0.5e-5), on_gpu_));
  EXPECT_THROW(verify(with(7, 2e-5), on_gpu_), FailedError);
}

TEST_F(PipelineLosses, of_two_devices_agree_to_the_last_mini_batch) {
  verify(first_, on_cpu_);
  EXPECT_TRUE(says(verify(with(6, 0.5e-3), on_gpu_), "within 1e-3 of those on other devices"));
  EXPECT_THROW(verify(with(6, 2e-3), on_cpu_), FailedError);
  EXPECT_NO_THROW(verify(with(7, 5e-3), on_cpu_)) << "small ones may differ as one of a tenth";
  EXPECT_THROW(verify(with(7, 2e-2), on_cpu_), FailedError);
}

TEST_F(PipelineLosses, on_a_share_of_a_gpu_round_as_on_another_device) {
  const Losses share = with(6, 0.5e-3);
  const auto on_a_share = [&](const Losses& losses) {
    return verify_losses(losses, losses, work_, on_gpu_, Multiprocessors::some);
  };
  EXPECT_FALSE(says(on_a_share(share), "1e-3"));
  verify(first_, on_gpu_);  // what ran on a share is nobody's measure
  EXPECT_TRUE(says(on_a_share(share), "within 1e-3 of those on the whole GPU"));
  EXPECT_THROW(on_a_share(with(6, 2e-3)), FailedError);
}

TEST_F(PipelineLosses, of_other_numbers_of_gpus_are_others) {
  verify(first_, on_gpu_);
  PipelineSite two = on_gpu_;
  two.gpus = {0, 1};
  work_.reference[2] = {3.0};
  Losses others = first_;
  others[0] = 3.0;
  EXPECT_NO_THROW(verify(others, two));
}

TEST_F(PipelineLosses, fall) {
  Losses level(8, 2.0);
  work_.reference[1] = {2.0};
  EXPECT_THROW(verify(level, on_cpu_), FailedError);
}

// Stages of 1, 10 and 2, all ten times alike but for the slowest's spread; a pipeline of `run`.
Measurement overlapped(double spread, double run) {
  gnn::StageTimes stages;
  Measurement measurement;
  std::vector<double> runs;
  for (int i = 0; i < 10; ++i) {
    stages.sample_s.push_back(1);
    stages.gather_s.push_back(10 + spread * (i % 2 == 0 ? 1 : -1));
    stages.train_s.push_back(2);
    runs.push_back(run);
  }
  measurement.samples.summary = summarize(runs);
  add_overlap(stages, measurement);
  return measurement;
}

TEST(PipelineOverlap, is_what_is_hidden_of_what_could_be) {
  EXPECT_DOUBLE_EQ(overlapped(0, 10).counters.at("overlap"), 1);
  EXPECT_DOUBLE_EQ(overlapped(0, 13).counters.at("overlap"), 0);
  EXPECT_DOUBLE_EQ(overlapped(0.1, 11.5).counters.at("overlap"), 0.5);
}

TEST(PipelineOverlap, is_not_told_where_the_slowest_stage_hides_it) {
  EXPECT_FALSE(overlapped(2, 10).counters.contains("overlap")) << "give or take 2 of 3";
}

TEST(PipelineOverlap, is_not_told_where_a_pipeline_is_faster_than_its_slowest_stage) {
  EXPECT_FALSE(overlapped(0, 9.5).counters.contains("overlap"));
  EXPECT_DOUBLE_EQ(overlapped(0.1, 9.95).counters.at("overlap"), 1)
      << "as far as it is known, and never more";
}

}  // namespace
}  // namespace grainscope::harness
