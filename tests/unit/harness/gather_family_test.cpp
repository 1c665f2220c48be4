#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "fakes.hpp"
#include "families.hpp"
#include "gather_case.hpp"
#include "gather_sampled.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/core/units.hpp"
#include "harness/link_peaks.hpp"

namespace grainscope::harness {
namespace {

using test::text_of;

constexpr Preset kPresets[] = {Preset::smoke, Preset::quick, Preset::full, Preset::paper, Preset::acceptance};

class GatherFamilies : public testing::Test {
 protected:
  [[nodiscard]] static Scope scope_of(const Machine& machine, Preset preset) {
    return make_scope(preset, gpu_targets(machine, {}), false, node_targets(machine, {}));
  }
  [[nodiscard]] static std::vector<Benchmark> listed(const Family& family, const Machine& machine,
                                                     Preset preset) {
    return family.list(machine, scope_of(machine, preset));
  }
  [[nodiscard]] static Machine roomy_machine(int gpus) {
    Machine machine = test::machine_with_gpus(gpus);
    machine.environment.memory.available.meminfo_bytes = 500 * kGiB;
    machine.environment.memory.available.cgroup_bytes.reset();
    return machine;
  }
};

TEST_F(GatherFamilies, every_point_of_every_preset_can_be) {
  const Machine machine = test::machine_without_gpu();
  for (const Preset preset : kPresets) {
    std::vector<GatherPoint> points = gather_points(scope_of(machine, preset), 2);
    EXPECT_FALSE(points.empty());
    std::uint64_t span = 0;
    for (const GatherPoint& point : points) {
      EXPECT_TRUE(gnn::can_read(point.mode, point.store)) << name(point.mode) << ' ' << name(point.store);
      EXPECT_TRUE(!gnn::is_kernel(point.mode) ||
                  gnn::may_load(point.mode, point.row_bytes, point.element, point.width))
          << name(point.mode) << ' ' << point.row_bytes << ' ' << point.width;
      EXPECT_EQ(point.row_bytes % point.element, 0U);
      EXPECT_GE(point.rows, 1U);
      EXPECT_GE(point.span_bytes, span) << "memory grows from case to case";
      span = point.span_bytes;
    }
  }
}

TEST_F(GatherFamilies, full_has_every_mode_store_and_law) {
  const Machine machine = test::machine_without_gpu();
  std::set<gnn::Mode> modes;
  std::set<gnn::Store> stores;
  std::set<int> windows;
  std::set<std::uint32_t> elements;
  for (const GatherPoint& point : gather_points(scope_of(machine, Preset::full), 2)) {
    modes.insert(point.mode);
    stores.insert(point.store);
    windows.insert(point.window);
    elements.insert(point.element);
  }
  EXPECT_EQ(modes.size(), std::size(gnn::kAllModes) - 1);  // cpu_gather is the host's
  EXPECT_EQ(stores.size(), std::size(gnn::kAllStores));
  EXPECT_EQ(windows, (std::set<int>{1, 2, 4, 8, 16}));
  EXPECT_EQ(elements, (std::set<std::uint32_t>{2, 4}));
}

TEST_F(GatherFamilies, lists_that_take_turns_ask_for_more_places_than_translations_are_kept_of) {
  constexpr std::uint64_t kKept = 664 * kMiB / (64 * kKiB);  // of an H200, by results/reference
  for (const std::uint64_t rows : {1024, 4096, 16384, 65536, 1 << 20}) {
    GatherPoint point;
    point.rows = rows;
    const gnn::RowLists lists = drawn_lists(point, 1 << 25);
    EXPECT_EQ(lists.size(), static_cast<std::size_t>(gather_lists(rows)));
    EXPECT_GT((lists.size() - 1) * rows, 4 * kKept) << rows;
    EXPECT_GE(lists.size(), 4U);
    EXPECT_LE(lists.size(), 64U);
    EXPECT_NE(lists.front(), lists.back());
  }
  EXPECT_EQ(gather_lists(0), 64);
}

TEST_F(GatherFamilies, max_bytes_reaches_farther_behind_the_wall) {
  for (const Preset preset : {Preset::quick, Preset::full, Preset::paper, Preset::acceptance}) {
    Scope scope = scope_of(test::machine_without_gpu(), preset);
    const std::vector<GatherPoint> usual = gather_points(scope, 2);
    scope.max_bytes = 200 * kGiB;
    std::vector<GatherPoint> farther = gather_points(scope, 2);
    EXPECT_EQ(farther.back().span_bytes, 128 * kGiB);
    std::erase_if(farther, [&](const GatherPoint& each) {
      return std::find(usual.begin(), usual.end(), each) == usual.end();
    });
    EXPECT_EQ(farther, usual);
  }
}

TEST_F(GatherFamilies, tables_that_max_bytes_adds_are_tried_up_to_the_groups_limit) {
  Machine machine = roomy_machine(1);
  machine.environment.memory.available.cgroup_bytes = 100 * kGiB;
  Scope scope = scope_of(machine, Preset::quick);
  scope.max_bytes = 512 * kGiB;
  std::map<std::string, std::string> skips;
  for (const Benchmark& benchmark : gather().list(machine, scope)) {
    if (text_of(benchmark, "row") == "512") {
      skips[text_of(benchmark, "span")] = benchmark.skip;
    }
  }
  EXPECT_EQ(skips.at(std::to_string(64 * kGiB)), "");
  EXPECT_EQ(skips.at(std::to_string(128 * kGiB)), "needs 128 GiB of host memory; 100 GiB are available");
  EXPECT_EQ(skips.at(std::to_string(512 * kGiB)), "a span is 256 GiB at most");
}

TEST_F(GatherFamilies, full_has_every_mode_and_store_on_one_sampled_trace) {
  std::set<gnn::Mode> modes;
  std::set<gnn::Store> stores;
  for (const SampledPoint& point : sampled_points(scope_of(test::machine_without_gpu(), Preset::full), 2)) {
    const GatherPoint& gather = point.gather;
    EXPECT_TRUE(gnn::can_read(gather.mode, gather.store)) << name(gather.mode) << ' ' << name(gather.store);
    EXPECT_TRUE(!gnn::is_kernel(gather.mode) ||
                gnn::may_load(gather.mode, gather.row_bytes, gather.element, gather.width));
    if (gather.row_bytes == 512) {
      modes.insert(gather.mode);
      stores.insert(gather.store);
      EXPECT_EQ(gather.gpus, gather.store == gnn::Store::multi_gpu ? 2 : 1);
    }
  }
  EXPECT_EQ(modes.size(), std::size(gnn::kAllModes));
  EXPECT_EQ(stores.size(), std::size(gnn::kAllStores));
}

TEST_F(GatherFamilies, sampled_rows_are_shared_by_all_gpus_that_there_are) {
  for (const int gpus : {1, 2, 4}) {
    std::size_t found = 0;
    for (const Benchmark& benchmark : listed(gather(), roomy_machine(gpus), Preset::full)) {
      if (text_of(benchmark, "store") == "multi_gpu" && text_of(benchmark, "indices") == "sampled") {
        ++found;
        EXPECT_EQ(benchmark.skip, gpus == 1 ? "needs two GPUs; this machine has one" : "");
        EXPECT_EQ(text_of(benchmark, "gpus"), gpus == 4 ? "4" : "2");
      }
    }
    EXPECT_GT(found, 0U);
  }
}

TEST_F(GatherFamilies, presets_keep_to_their_size) {
  const Machine machine = test::machine_without_gpu();
  EXPECT_LE(listed(gather(), machine, Preset::smoke).size(), 4U);
  EXPECT_LE(listed(gather(), machine, Preset::quick).size(), 45U);
  EXPECT_LE(listed(gather(), machine, Preset::full).size(), 250U);
  EXPECT_LE(listed(gather_bag(), machine, Preset::quick).size(), 4U);
  EXPECT_LE(listed(model_gather(), machine, Preset::quick).size(), 80U);
}

TEST_F(GatherFamilies, names_read_as_a_sentence) {
  const Machine machine = roomy_machine(1);
  std::set<std::string> names;
  for (const Benchmark& benchmark : listed(gather(), machine, Preset::quick)) {
    names.insert(benchmark.id.name());
  }
  const std::string node = std::to_string(machine.topology.usable_nodes().front());
  EXPECT_TRUE(
      names.contains("gather/masked/mapped/numa:" + node +
                     "/gpu:0/row:1028/rows:261123/span:1073741824/indices:uniform/element:4/width:4"));
  EXPECT_TRUE(names.contains("gather/address_ordered/mapped/numa:" + node +
                             "/gpu:0/row:128/rows:1048576/span:8589934592/indices:uniform/element:4/"
                             "width:16/window:4"));
}

TEST_F(GatherFamilies, several_gpus_share_rows_where_there_are_several) {
  for (const int gpus : {1, 2}) {
    const Machine machine = roomy_machine(gpus);
    for (const Benchmark& benchmark : listed(gather(), machine, Preset::quick)) {
      if (text_of(benchmark, "store") == "multi_gpu") {
        EXPECT_EQ(benchmark.skip, gpus == 1 ? "needs two GPUs; this machine has one" : "");
        EXPECT_EQ(text_of(benchmark, "gpus"), "2");
      }
    }
  }
}

TEST_F(GatherFamilies, tables_beyond_the_hosts_memory_are_skipped_with_the_numbers) {
  Machine machine = roomy_machine(1);
  machine.environment.memory.available.meminfo_bytes = 10 * kGiB;
  std::size_t skipped = 0;
  for (const Benchmark& benchmark : listed(gather(), machine, Preset::quick)) {
    if (text_of(benchmark, "span") == std::to_string(8 * kGiB)) {
      ++skipped;
      EXPECT_NE(benchmark.skip.find("needs 8 GiB of host memory; 5.2 GiB"), std::string::npos)
          << benchmark.skip;
    } else if (text_of(benchmark, "store") == "mapped") {
      EXPECT_EQ(benchmark.skip, "");
    }
  }
  EXPECT_GT(skipped, 3U);
}

TEST_F(GatherFamilies, needs_count_what_lies_where) {
  const Machine machine = roomy_machine(1);
  for (const Benchmark& benchmark : listed(gather(), machine, Preset::quick)) {
    const std::string store = text_of(benchmark, "store");
    const auto span = static_cast<std::uint64_t>(std::get<std::int64_t>(benchmark.id.axis("span")));
    if (!benchmark.skip.empty() || store == "pageable") {
      continue;
    }
    EXPECT_EQ(benchmark.needs.managed_bytes, store == "managed" ? span : 0) << benchmark.id.name();
    EXPECT_EQ(benchmark.needs.shared_host_bytes > 0, store != "managed" && store != "device");
    EXPECT_GE(benchmark.needs.device_bytes, store == "device" ? span : kMiB);
    if (store == "tiered") {
      EXPECT_NEAR(static_cast<double>(benchmark.needs.shared_host_bytes), 0.9 * static_cast<double>(span),
                  4096);
    }
  }
}

TEST_F(GatherFamilies, the_model_runs_without_a_gpu_and_says_what_the_table_says) {
  const Machine machine = test::machine_without_gpu();
  LinkPeaks peaks(machine, [](const LinkPeak&, const std::vector<Warning>&) {});
  Session session(machine, {}, peaks, nullptr, [] { return false; });
  std::map<std::string, double> requests;
  for (const Benchmark& benchmark : listed(model_gather(), machine, Preset::smoke)) {
    if (!benchmark.skip.empty()) {
      continue;
    }
    const Measurement row = benchmark.run(session);
    EXPECT_TRUE(row.modelled);
    EXPECT_EQ(why_impossible(row), "");
    EXPECT_EQ(row.traffic->bytes, *row.link_bytes);
    requests[text_of(benchmark, "mode")] = row.counters.at("requests_per_row");
  }
  ASSERT_EQ(requests.size(), 3U);
  EXPECT_NEAR(requests.at("masked"), 9.0, 0.06);
  EXPECT_NEAR(requests.at("circular_shift"), 10.4, 0.06);
  EXPECT_NEAR(requests.at("naive"), 16.8, 0.06);
}

TEST_F(GatherFamilies, the_cpu_gathers_without_a_gpu) {
  const Machine machine = test::machine_without_gpu();
  LinkPeaks peaks(machine, [](const LinkPeak&, const std::vector<Warning>&) {});
  Session session(machine, {.ci_target = 0.5, .budget_s = 0.01, .warmups = 1}, peaks, nullptr,
                  [] { return false; });
  std::size_t ran = 0;
  for (const Benchmark& benchmark : listed(gather(), machine, Preset::smoke)) {
    if (!benchmark.skip.empty()) {
      continue;
    }
    const Measurement row = benchmark.run(session);
    EXPECT_EQ(why_impossible(row), "") << benchmark.id.name();
    EXPECT_GT(row.counters.at("unique_rows"), 0);
    EXPECT_FALSE(row.link_bytes.has_value());
    ++ran;
  }
  EXPECT_EQ(ran, 1U);
}

TEST(ListsOfTrace, are_windows_in_turn_cut_to_one_length) {
  gnn::Trace trace;
  for (const std::vector<std::uint32_t>& batch :
       {std::vector<std::uint32_t>{1, 2, 3}, std::vector<std::uint32_t>{4, 5},
        std::vector<std::uint32_t>{6, 7, 8}}) {
    trace.add(batch);
  }
  EXPECT_EQ(lists_of_trace(trace, 2, 1), (gnn::RowLists{{1, 2}, {4, 5}}));
  EXPECT_EQ(lists_of_trace(trace, 2, 2), (gnn::RowLists{{1, 2, 3, 4, 5}, {6, 7, 8, 1, 2}}));
  EXPECT_THROW(static_cast<void>(lists_of_trace({}, 2, 1)), UsageError);
}

TEST(MakeTrace, asks_for_rows_of_the_graph_and_for_low_ones_most) {
  const graph::GraphSpec spec = graph::parse_graph_spec("kron:12");
  const auto sampled = make_trace(spec, {spec.name(), "10x25", 20, 8}, {});
  const gnn::Trace* const trace = &sampled->trace;
  ASSERT_EQ(trace->batches(), 8U);
  std::uint64_t hot = 0;
  for (std::size_t b = 0; b < trace->batches(); ++b) {
    const auto batch = trace->batch(b);
    EXPECT_EQ(std::set<std::uint32_t>(batch.begin(), batch.end()).size(), batch.size());
  }
  for (const std::uint32_t row : trace->rows) {
    ASSERT_LT(row, *spec.vertices());
    hot += row < *spec.vertices() / 4 ? 1 : 0;
  }
  EXPECT_GT(hot, trace->rows.size() / 2);
}

TEST(MakeTrace, of_a_graph_so_small_that_nothing_is_labelled_is_refused) {
  const graph::GraphSpec spec = graph::parse_graph_spec("kron:2");
  try {
    static_cast<void>(make_trace(spec, {spec.name(), "10x25", 20, 8}, {}));
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("labels none"), std::string::npos) << error.what();
  }
}

TEST(MakeTrace, with_a_fan_out_of_zero_is_refused) {
  const graph::GraphSpec spec = graph::parse_graph_spec("power");
  EXPECT_THROW(static_cast<void>(make_trace(spec, {spec.name(), "10x0", 20, 8}, {})), UsageError);
}

}  // namespace
}  // namespace grainscope::harness
