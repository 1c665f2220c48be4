// pipeline/graphsage: what it lists, and what its rows say.

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
#include "grainscope/cuda/managed_budget.hpp"
#include "grainscope/gnn/pipeline_sides.hpp"
#include "grainscope/system/mps.hpp"
#include "harness/row.hpp"
#include "harness/selection.hpp"
#include "schema_check.hpp"

namespace grainscope::harness {
namespace {

using test::text_of;

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
    EXPECT_EQ(of_four["4"], 16U);
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
      if (by_processes(benchmark)) {
        found.insert(text_of(benchmark, "percent"));
        EXPECT_EQ(text_of(benchmark, "processes"), "mps");
        EXPECT_EQ(text_of(benchmark, "mode") + " " + text_of(benchmark, "store"), "masked mapped");
        EXPECT_TRUE(benchmark.id.name().find("/gpus:1/processes:mps/percent:") != std::string::npos)
            << benchmark.id.name();
        EXPECT_NE(benchmark.explanation.source.find("3.12"), std::string::npos);
      }
    }
    EXPECT_EQ(found, shares);
  }
}

TEST(PipelineGraphsage, of_two_processes_is_a_kernel_on_one_gpu) {
  gnn::PipelineRequest request;
  EXPECT_NO_THROW(gnn::require_processes(request));
  request.gpus = {0, 1};
  EXPECT_THROW(gnn::require_processes(request), UsageError);
  request.gpus = {0};
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

TEST(PipelineGraphsage, leaves_out_what_cannot_be_and_says_why) {
  const std::vector<std::pair<std::vector<std::pair<std::string, std::string>>, std::string>> expected{
      {{{"mode", "naive"}, {"store", "pinned"}}, "naive from a table that is pinned is not among its modes"},
      {{{"mode", "circular_shift"}, {"store", "mapped"}, {"row", "512"}, {"percent", "none"}},
       "a circular shift leaves rows of whole lines as they are"},
      {{{"batches", "2"}}, "3 mini-batches at least"},
      {{{"row", "130"}, {"batches", "48"}}, "no whole number of float32 features"}};
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
  EXPECT_EQ(ran, 1);
}

}  // namespace
}  // namespace grainscope::harness
