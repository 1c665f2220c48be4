// A feature table of one's own: what gather and pipeline/graphsage list with it, and what their rows say.

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "child.hpp"
#include "fakes.hpp"
#include "families.hpp"
#include "gather_sampled.hpp"
#include "gnn/case.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/core/units.hpp"
#include "harness/row.hpp"
#include "harness/run.hpp"
#include "harness/selection.hpp"
#include "npy_files.hpp"
#include "schema_check.hpp"

namespace grainscope::harness {
namespace {

constexpr std::uint32_t kVertices = 4941;  // of the power grid
constexpr Preset kPresets[] = {Preset::smoke, Preset::quick, Preset::full, Preset::paper};

class OwnFeatureFamilies : public testing::Test {
 protected:
  [[nodiscard]] Scope scope_with(const Machine& machine, Preset preset, std::uint32_t rows = kVertices,
                                 std::uint32_t columns = 33, std::uint32_t element = 4) const {
    const auto path = folder_ / "mine.npy";
    test::write_text(path, test::npy_table(rows, columns, element));
    Scope scope = make_scope(preset, gpu_targets(machine, {}), true, node_targets(machine, {}));
    scope.graphs = {graph::parse_graph_spec("power")};
    scope.features = std::make_shared<gnn::NpyFile>(path.string());
    return scope;
  }
  [[nodiscard]] static std::vector<Benchmark> listed(const Machine& machine, const Scope& scope,
                                                     bool sampled_only = true) {
    std::vector<Benchmark> all =
        list_all({gather(), pipeline_graphsage(std::make_shared<GnnGraphCache>())}, machine, scope);
    std::erase_if(all, [&](const Benchmark& each) {
      return sampled_only && each.id.family == "gather" && test::text_of(each, "indices") != "sampled";
    });
    return all;
  }
  [[nodiscard]] Measurement run(const Machine& machine, const Benchmark& benchmark) const {
    LinkPeaks peaks(machine, [](const LinkPeak&, const std::vector<Warning>&) {});
    Session session(machine, {.ci_target = 0.5, .budget_s = 0.01, .warmups = 1}, peaks, nullptr,
                    [] { return false; });
    return benchmark.run(session);
  }

  const test::TemporaryDirectory folder_;
};

TEST_F(OwnFeatureFamilies, have_the_files_rows_in_every_preset) {
  const Machine machine = test::machine_with_gpus(2);
  for (const Preset preset : kPresets) {
    const Scope scope = scope_with(machine, preset);
    std::set<std::string> families;
    for (const Benchmark& benchmark : listed(machine, scope)) {
      EXPECT_EQ(test::text_of(benchmark, "row"), "132") << benchmark.id.name();
      EXPECT_EQ(test::text_of(benchmark, "features"), "mine") << benchmark.id.name();
      EXPECT_EQ(test::text_of(benchmark, "graph"), "power");
      EXPECT_EQ(benchmark.skip, "") << benchmark.id.name();
      EXPECT_NE(benchmark.explanation.measures.find("mine.npy") == std::string::npos,
                benchmark.explanation.limits.find("mine.npy") == std::string::npos)
          << "--explain names the file once";
      if (benchmark.id.family == "gather") {
        EXPECT_EQ(test::text_of(benchmark, "span"), std::to_string(kVertices * 132));
      }
      families.insert(benchmark.id.family);
    }
    EXPECT_EQ(families, (std::set<std::string>{"gather", "pipeline/graphsage"}));
  }
}

// The stores that a file's rows can be copied to, and the file itself for the CPU; smoke has a mode of each.
TEST_F(OwnFeatureFamilies, are_gathered_from_where_a_file_can_be) {
  const Machine machine = test::machine_with_gpus(2);
  for (const Preset preset : kPresets) {
    std::set<std::string> stores;
    bool by_cpu = false;
    for (const Benchmark& benchmark : listed(machine, scope_with(machine, preset))) {
      if (benchmark.id.family == "gather") {
        stores.insert(test::text_of(benchmark, "store"));
        by_cpu = by_cpu || test::text_of(benchmark, "mode") == "cpu_gather";
      }
    }
    EXPECT_TRUE(by_cpu) << name(preset);
    EXPECT_EQ(stores, preset == Preset::smoke ? (std::set<std::string>{"mapped", "pageable"})
                      : preset == Preset::quick
                          ? (std::set<std::string>{"mapped", "pageable", "tiered"})
                          : (std::set<std::string>{"device", "mapped", "pageable", "pinned", "tiered"}))
        << name(preset);
  }
  Scope scope = scope_with(machine, Preset::full);
  scope.axes = {{"indices", "sampled"}, {"store", "managed"}, {"mode", "masked"}};
  std::set<std::string> left_out;
  EXPECT_TRUE(list_all({gather()}, machine, scope, &left_out).empty());
  EXPECT_TRUE(left_out.contains("a table of --features cannot be managed for masked"));
}

TEST_F(OwnFeatureFamilies, of_float16_are_gathered_and_not_trained_on) {
  const Machine machine = test::machine_with_gpus(1);
  const Scope scope = scope_with(machine, Preset::full, kVertices, 33, 2);
  for (const Benchmark& benchmark : listed(machine, scope)) {
    if (benchmark.id.family == "gather") {
      EXPECT_EQ(test::text_of(benchmark, "element") + " " + test::text_of(benchmark, "row"), "2 66");
    } else {
      EXPECT_NE(benchmark.skip.find("float16"), std::string::npos) << benchmark.id.name();
    }
  }
}

TEST_F(OwnFeatureFamilies, beyond_host_memory_are_skipped_with_the_numbers_unless_only_mapped) {
  Machine machine = test::machine_with_gpus(2);
  machine.environment.memory.available.meminfo_bytes = 400 * kKiB;  // the table has 637
  machine.environment.memory.available.cgroup_bytes.reset();
  std::size_t skipped = 0;
  for (const Benchmark& benchmark : listed(machine, scope_with(machine, Preset::quick))) {
    if (test::text_of(benchmark, "store") != "pageable") {
      ++skipped;
      EXPECT_NE(benchmark.skip.find("of host memory; 400 KiB are available"), std::string::npos)
          << benchmark.id.name() << ": " << benchmark.skip;
    }
  }
  EXPECT_GT(skipped, 8U);
}

TEST_F(OwnFeatureFamilies, are_measured_without_a_gpu_and_held_against_the_file) {
  const Machine machine = test::machine_without_gpu();
  std::set<std::string> ran;
  for (const Benchmark& benchmark : listed(machine, scope_with(machine, Preset::smoke))) {
    if (!benchmark.skip.empty()) {
      continue;
    }
    const Measurement measurement = run(machine, benchmark);
    EXPECT_EQ(why_impossible(measurement), "");
    EXPECT_NE(measurement.verification.find("against the mapped file"), std::string::npos)
        << measurement.verification;
    nlohmann::json row = outcome_row(benchmark, Status::ok, "");
    add_measurement(row, measurement);
    row["round"] = 1;
    row["visit_s"] = 1;
    row = merged_row({row}, 1);
    EXPECT_EQ(test::row_errors(row), "");
    EXPECT_EQ(row["features"], (nlohmann::json{{"rows", kVertices}, {"columns", 33}, {"element", 4}}));
    EXPECT_EQ(row["case"]["axes"]["features"], "mine");
    ran.insert(benchmark.id.family + " " + test::text_of(benchmark, "mode"));
  }
  EXPECT_EQ(ran, (std::set<std::string>{"gather cpu_gather", "pipeline/graphsage cpu_only"}));
}

TEST_F(OwnFeatureFamilies, of_more_or_fewer_rows_than_vertices_are_refused_in_a_sentence) {
  const Machine machine = test::machine_without_gpu();
  for (const std::uint32_t rows : {kVertices - 1, kVertices + 1}) {
    for (const Benchmark& benchmark : listed(machine, scope_with(machine, Preset::smoke, rows))) {
      if (!benchmark.skip.empty()) {
        continue;
      }
      try {
        static_cast<void>(run(machine, benchmark));
        FAIL() << benchmark.id.name();
      } catch (const UsageError& error) {
        const std::string wanted = "mine.npy: " + std::to_string(rows) +
                                   " rows; the graph power has 4941 vertices, and each needs one row";
        EXPECT_NE(std::string(error.what()).find(wanted), std::string::npos) << error.what();
      }
    }
  }
}

TEST_F(OwnFeatureFamilies, leave_drawn_rows_synthetic) {
  const Machine machine = test::machine_without_gpu();
  for (const Benchmark& benchmark : listed(machine, scope_with(machine, Preset::smoke), false)) {
    if (benchmark.id.family == "gather" && test::text_of(benchmark, "indices") != "sampled") {
      EXPECT_EQ(benchmark.id.name().find("features"), std::string::npos);
    }
  }
}

TEST_F(OwnFeatureFamilies, come_from_the_command_line_and_are_read_before_anything_runs) {
  const Machine machine = test::machine_without_gpu();
  const auto path = (folder_ / "mine.npy").string();
  test::write_text(path, test::npy_table(9, 5));
  const Options options = parse_options({"--graph=power", "--features=" + path});
  EXPECT_EQ(scope_of(options, machine).features->rows(), 9U);
  EXPECT_EQ(options.selection_flags.back(), "--features=" + path);
  test::write_text(path, "no table");
  EXPECT_THROW(static_cast<void>(scope_of(options, machine)), UsageError);
}

}  // namespace
}  // namespace grainscope::harness
