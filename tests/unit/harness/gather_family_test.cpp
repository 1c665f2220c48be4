#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "fakes.hpp"
#include "families.hpp"
#include "gather/case.hpp"
#include "gnn/case.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/core/units.hpp"
#include "harness/link_peaks.hpp"
#include "harness/row.hpp"
#include "harness/run.hpp"
#include "harness/selection.hpp"
#include "npy_files.hpp"

namespace grainscope::harness {
namespace {

using test::text_of;

constexpr Preset kGatherPresets[] = {Preset::smoke, Preset::quick, Preset::full, Preset::paper,
                                     Preset::acceptance};

class GatherFamilies : public testing::Test {
 protected:
  [[nodiscard]] static Scope scope_of(const Machine& machine, Preset preset) {
    return make_scope(preset, gpu_targets(machine, {}), false, node_targets(machine, {}));
  }
  [[nodiscard]] static std::vector<Benchmark> listed(const Family& family, const Machine& machine,
                                                     Preset preset) {
    return list_all({family}, machine, scope_of(machine, preset));
  }
  [[nodiscard]] static std::uint64_t span_of(const Benchmark& benchmark) {
    return static_cast<std::uint64_t>(std::get<std::int64_t>(benchmark.id.axis("span")));
  }
};

TEST_F(GatherFamilies, lines_of_presets_ask_for_what_can_be) {
  for (const Preset preset : kGatherPresets) {
    std::set<std::string> reasons;
    EXPECT_FALSE(list_all({gather(), gather_bag()}, test::machine_with_gpus(2),
                          scope_of(test::machine_with_gpus(2), preset), &reasons)
                     .empty());
    for (const std::string& why : reasons) {
      EXPECT_TRUE(why.starts_with("vector loads more than an element")) << name(preset) << ": " << why;
    }
  }
}

TEST_F(GatherFamilies, memory_grows_from_case_to_case) {
  const Machine machine = test::machine_with_gpus(1);
  for (const Preset preset : kGatherPresets) {
    std::uint64_t span = 0;
    std::size_t cases = 0;
    std::string memory;
    for (const Benchmark& benchmark : listed(gather(), machine, preset)) {
      if (text_of(benchmark, "mode") != "cpu_gather" && text_of(benchmark, "indices") != "sampled") {
        // What neighbours read of managed memory is memory of its own.
        std::string own = test::text_if_any(benchmark, "memory");
        own += own == "managed_host" ? test::text_if_any(benchmark, "neighbours") : "";
        if (memory != own) {
          memory = own;
          span = 0;
        }
        EXPECT_GE(span_of(benchmark), span) << benchmark.id.name();
        span = span_of(benchmark);
        ++cases;
      }
    }
    EXPECT_GT(cases, 1U);
  }
}

TEST_F(GatherFamilies, full_has_every_mode_store_and_law) {
  std::map<std::string, std::set<std::string>> values;
  for (const Benchmark& benchmark : listed(gather(), test::machine_with_gpus(2), Preset::full)) {
    if (text_of(benchmark, "indices") != "sampled") {
      for (const Axis& axis : benchmark.id.axes) {
        values[axis.key].insert(to_string(axis.value));
      }
    }
  }
  EXPECT_EQ(values["mode"].size(), std::size(gnn::kAllModes));
  EXPECT_EQ(values["store"].size(), std::size(gnn::kAllStores));
  EXPECT_EQ(values["window"], (std::set<std::string>{"1", "2", "4", "8", "16"}));
  EXPECT_EQ(values["element"], (std::set<std::string>{"2", "4"}));
  EXPECT_EQ(values["indices"], (std::set<std::string>{"uniform", "zipf"}));
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

// What is hot is not asked of the host: so few places of a list are that more lists take turns.
TEST_F(GatherFamilies, lists_of_hot_rows_take_turns_by_what_they_ask_of_the_host) {
  GatherPoint point;
  point.rows = 1 << 16;
  gnn::TableShape table;
  table.rows = 1 << 22;
  const auto drawn = [&](std::uint32_t rows, int count) { return drawn_lists(point, rows, count); };
  const auto on_host = [&](const gnn::RowLists& lists) {
    std::set<std::uint32_t> places;
    for (const std::vector<std::uint32_t>& list : lists) {
      std::copy_if(list.begin(), list.end(), std::inserter(places, places.end()),
                   [&](std::uint32_t row) { return table.on_host(row); });
    }
    return places.size();
  };
  EXPECT_EQ(lists_in_turn(point, table, drawn).size(), 4U);
  table.local_rows = table.rows / 32 * 31;
  EXPECT_EQ(lists_in_turn(point, table, drawn).size(), 4U) << "all of its rows are said to be on the host";
  point.store = gnn::Store::tiered;
  const gnn::RowLists lists = lists_in_turn(point, table, drawn);
  EXPECT_LE(static_cast<int>(lists.size()), most_lists(point));
  EXPECT_GE(lists.size(), 28U);
  EXPECT_GT(on_host(lists), 40'000U);
  table.local_rows = table.rows;
  EXPECT_EQ(lists_in_turn(point, table, drawn).size(), 4U) << "all are hot";
}

TEST_F(GatherFamilies, max_bytes_reaches_farther_behind_the_wall) {
  const Machine machine = test::machine_with_gpus(1);
  const auto names_of = [&](const Scope& scope) {
    std::set<std::string> names;
    std::uint64_t farthest = 0;
    for (const Benchmark& benchmark : list_all({gather()}, machine, scope)) {
      names.insert(benchmark.id.name());
      farthest = std::max(farthest, span_of(benchmark));
    }
    return std::pair(names, farthest);
  };
  for (const Preset preset : {Preset::full, Preset::paper}) {
    Scope scope = scope_of(machine, preset);
    const auto [usual, usually_farthest] = names_of(scope);
    EXPECT_EQ(usually_farthest, 32 * kGiB);
    scope.max_bytes = 200 * kGiB;
    const auto [farther, farthest] = names_of(scope);
    EXPECT_EQ(farthest, 128 * kGiB);
    EXPECT_TRUE(std::includes(farther.begin(), farther.end(), usual.begin(), usual.end()));
  }
}

TEST_F(GatherFamilies, tables_that_max_bytes_allows_are_tried_up_to_the_groups_limit) {
  Machine machine = test::machine_with_gpus(1);
  machine.environment.memory.available.cgroup_bytes = 100 * kGiB;
  Scope scope = scope_of(machine, Preset::quick);
  scope.max_bytes = 512 * kGiB;
  scope.axes = {{"store", "mapped"}, {"memory", "host_alloc"}, {"row", "512"}, {"span", "64GiB..512GiB"}};
  std::map<std::string, std::string> skips;
  for (const Benchmark& benchmark : list_all({gather()}, machine, scope)) {
    skips[text_of(benchmark, "span")] = benchmark.skip;
  }
  EXPECT_EQ(skips.at(std::to_string(64 * kGiB)), "");
  EXPECT_EQ(skips.at(std::to_string(128 * kGiB)), "needs 128 GiB of host memory; 100 GiB are available");
  EXPECT_EQ(skips.at(std::to_string(512 * kGiB)), "a span is 256 GiB at most");
}

TEST_F(GatherFamilies, axes_take_what_no_preset_has) {
  const Machine machine = test::machine_with_gpus(4);
  Scope scope = scope_of(machine, Preset::smoke);
  scope.axes = {{"mode", "masked"}, {"store", "multi_gpu"}, {"indices", "zipf"}, {"row", "96"},
                {"width", "8"},     {"span", "3GiB"},       {"hot", "33"},       {"replicated", "2"},
                {"gpus", "3,all"},  {"element", "2"},       {"rows", "77"}};
  std::set<std::string> found;
  for (const Benchmark& benchmark : list_all({gather()}, machine, scope)) {
    EXPECT_EQ(benchmark.skip, "");
    const std::string name = benchmark.id.name();
    found.insert(name.substr(name.find("/row:")));
  }
  const std::string what =
      "/row:96/rows:77/span:3221225472/indices:zipf/element:2/width:8/hot:33/replicated:2/gpus:";
  EXPECT_EQ(found, (std::set<std::string>{what + "3", what + "4"}));
  scope.axes.emplace_back("gpus", "9");
  for (const Benchmark& benchmark : list_all({gather()}, machine, scope)) {
    EXPECT_EQ(benchmark.skip, "GPU 0 shares rows with 3 others at most");
  }
}

TEST_F(GatherFamilies, sampled_rows_are_of_any_graph_fan_out_and_batch) {
  const Machine machine = test::machine_with_gpus(1);
  Scope scope = scope_of(machine, Preset::quick);
  scope.axes = {{"memory", "host_alloc"}, {"indices", "sampled"},     {"mode", "naive"},
                {"store", "mapped"},      {"graph", "kron:10,power"}, {"fanout", "5x5x5"},
                {"batch", "30"},          {"span", "graph"},          {"row", "256"}};
  std::vector<std::string> graphs;
  for (const Benchmark& benchmark : list_all({gather()}, machine, scope)) {
    EXPECT_EQ(text_of(benchmark, "fanout") + " " + text_of(benchmark, "batch"), "5x5x5 30");
    graphs.push_back(text_of(benchmark, "graph"));
  }
  EXPECT_EQ(graphs, (std::vector<std::string>{"kron10", "power"}));
}

TEST_F(GatherFamilies, a_hint_is_told_by_the_name_and_none_is_not) {
  const Machine machine = test::machine_with_gpus(1);
  Scope scope = scope_of(machine, Preset::smoke);
  scope.axes = {{"store", "managed"}, {"mode", "masked"}, {"hint", "none,read_mostly,prefetch"}};
  std::set<std::string> hints;
  for (const Benchmark& benchmark : list_all({gather()}, machine, scope)) {
    const bool told = benchmark.id.name().find("/hint:") != std::string::npos;
    const std::string hint = test::text_if_any(benchmark, "hint");
    EXPECT_EQ(told, !hint.empty()) << benchmark.id.name();
    hints.insert(hint);
  }
  EXPECT_EQ(hints, (std::set<std::string>{"", "read_mostly", "prefetch"}));
}

TEST_F(GatherFamilies, what_cannot_be_is_left_out_with_the_reason) {
  const Machine machine = test::machine_with_gpus(1);
  using Axes = std::vector<std::pair<std::string, std::string>>;
  const std::map<std::string, Axes> reasons{
      {"row_dma reads no table that is mapped: store is pinned", {{"mode", "row_dma"}, {"store", "mapped"}}},
      {"an element has 2 or 4 bytes", {{"element", "3"}}},
      {"a row of 30 bytes is no whole number of elements of 4", {{"row", "30"}}},
      {"naive cannot load 16 bytes at once of rows of 512: width is widest or element",
       {{"mode", "naive"}, {"row", "512"}, {"width", "16"}, {"store", "mapped"}}},
      {"vector loads more than an element at once, which divides the row: of 1028 bytes nothing does",
       {{"mode", "vector"}, {"row", "1028"}, {"store", "mapped"}}},
      {"bulk copies rows of whole 16 bytes, 64 at least; not of 1028",
       {{"mode", "bulk"}, {"row", "1028"}, {"store", "mapped"}}},
      {"bulk copies rows of whole 16 bytes, 64 at least; not of 48",
       {{"mode", "bulk"}, {"row", "48"}, {"store", "mapped"}}},
      {"hot and replicated are 100 percent of the rows at most",
       {{"mode", "masked"}, {"store", "multi_gpu"}, {"hot", "60"}, {"replicated", "60"}}},
      {"a row of 8192 bytes does not fit: it is as large as the table at most, and as a GiB",
       {{"row", "8KiB"}, {"span", "4KiB"}}},
      {"sampled rows are of a table with one for each vertex: span is graph",
       {{"indices", "sampled"}, {"span", "1GiB"}}},
      {"neighbours gather by kernels from a table that is mapped",
       {{"mode", "masked"}, {"store", "tiered"}, {"neighbours", "1"}}},
      {"several GPUs read host memory that is mapped for each of them: memory is not vmm_host",
       {{"mode", "masked"},
        {"store", "mapped"},
        {"neighbours", "1"},
        {"memory", "vmm_host"},
        {"row", "512"}}},
      {"hints are of managed memory: store is managed",
       {{"mode", "masked"}, {"store", "mapped"}, {"hint", "accessed_by"}, {"row", "512"}}},
      {"rows that are drawn are of a table of some size: span cannot be graph",
       {{"indices", "zipf"}, {"span", "graph"}}},
  };
  for (const auto& [reason, axes] : reasons) {
    Scope scope = scope_of(machine, Preset::smoke);
    scope.axes = axes;
    std::set<std::string> left_out;
    EXPECT_TRUE(list_all({gather()}, machine, scope, &left_out).empty()) << reason;
    EXPECT_TRUE(left_out.contains(reason)) << reason;
  }
  Scope scope = scope_of(machine, Preset::smoke);
  scope.axes = {{"row", "72"}};
  std::set<std::string> left_out;
  EXPECT_TRUE(list_all({gather_bag()}, machine, scope, &left_out).empty());
  EXPECT_EQ(left_out,
            (std::set<std::string>{"rows of bags are read 16 bytes at once: row is a multiple of them"}));
}

TEST_F(GatherFamilies, full_has_every_mode_and_store_on_one_sampled_trace) {
  std::set<std::string> modes;
  std::set<std::string> stores;
  for (const Benchmark& benchmark : listed(gather(), test::machine_with_gpus(2), Preset::full)) {
    if (text_of(benchmark, "indices") == "sampled" && text_of(benchmark, "row") == "512") {
      modes.insert(text_of(benchmark, "mode"));
      stores.insert(text_of(benchmark, "store"));
    }
  }
  EXPECT_EQ(modes.size(), std::size(gnn::kAllModes));
  EXPECT_EQ(stores.size(), std::size(gnn::kAllStores));
}

TEST_F(GatherFamilies, sampled_rows_are_shared_by_all_gpus_that_there_are) {
  for (const int gpus : {1, 2, 4}) {
    std::size_t found = 0;
    for (const Benchmark& benchmark : listed(gather(), test::machine_with_gpus(gpus), Preset::full)) {
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
  EXPECT_LE(listed(gather(), machine, Preset::smoke).size(), 7U);
  EXPECT_LE(listed(gather(), machine, Preset::quick).size(), 48U);
  EXPECT_LE(listed(gather(), machine, Preset::full).size(), 256U);
  EXPECT_LE(listed(gather_bag(), machine, Preset::quick).size(), 4U);
  EXPECT_LE(listed(model_gather(), machine, Preset::quick).size(), 80U);
}

TEST_F(GatherFamilies, names_read_as_a_sentence) {
  const Machine machine = test::machine_with_gpus(1);
  std::set<std::string> names;
  for (const Benchmark& benchmark : listed(gather(), machine, Preset::quick)) {
    names.insert(benchmark.id.name());
  }
  const std::string node = std::to_string(machine.topology.usable_nodes().front());
  EXPECT_TRUE(
      names.contains("gather/masked/mapped/numa:" + node +
                     "/gpu:0/row:1028/rows:261123/span:1073741824/indices:uniform/element:4/width:4"));
  EXPECT_TRUE(names.contains("gather/address_ordered/mapped/numa:" + node +
                             "/gpu:0/row:128/rows:1048576/span:2147483648/indices:uniform/element:4/"
                             "width:16/window:1"));
}

TEST_F(GatherFamilies, several_gpus_share_rows_where_there_are_several) {
  for (const int gpus : {1, 2}) {
    const Machine machine = test::machine_with_gpus(gpus);
    for (const Benchmark& benchmark : listed(gather(), machine, Preset::quick)) {
      if (text_of(benchmark, "store") == "multi_gpu") {
        EXPECT_EQ(benchmark.skip, gpus == 1 ? "needs two GPUs; this machine has one" : "");
        EXPECT_EQ(text_of(benchmark, "gpus"), "2");
      }
    }
  }
}

TEST_F(GatherFamilies, neighbours_help_where_there_are_some) {
  const auto asked = [](const Machine& machine) {
    Scope scope = scope_of(machine, Preset::full);
    scope.axes = {{"mode", "masked"}, {"store", "mapped"}, {"indices", "uniform"}, {"memory", "managed_host"},
                  {"row", "128"},     {"neighbours", "2"}, {"span", "4GiB"}};
    return list_all({gather()}, machine, scope);
  };
  for (const auto& [gpus, why] : std::map<int, std::string>{{1, "needs two GPUs; this machine has one"},
                                                            {2, "of the other GPUs 1 reach GPU 0, not 2"},
                                                            {4, ""}}) {
    const Machine machine = test::machine_with_gpus(gpus);
    const std::vector<Benchmark> cases = asked(machine);
    ASSERT_FALSE(cases.empty());
    EXPECT_EQ(cases.front().skip, why);
    EXPECT_NE(cases.front().id.name().find("/neighbours:2"), std::string::npos) << cases.front().id.name();
  }
  const std::vector<Benchmark> of_four = asked(test::machine_with_gpus(4));
  EXPECT_EQ(of_four.front().gpus(), (std::set<int>{0, 1, 2}));
  GatherPoint point;
  point.memory = cuda::MemoryKind::managed_host;
  point.neighbours = 2;
  GatherSite site{0, GpuTarget{1, {}, {}}, {}, {2, 3}};
  EXPECT_EQ(span_key(point, site).others, 0b1100U);
  point.memory = cuda::MemoryKind::host_alloc;
  EXPECT_EQ(span_key(point, site).others, 0U);
}

TEST_F(GatherFamilies, tables_beyond_the_hosts_memory_are_skipped_with_the_numbers) {
  Machine machine = test::machine_with_gpus(1);
  machine.environment.memory.available.meminfo_bytes = 5 * kGiB;
  std::size_t skipped = 0;
  for (const Benchmark& benchmark : listed(gather(), machine, Preset::quick)) {
    if (text_of(benchmark, "span") == std::to_string(2 * kGiB)) {
      ++skipped;
      EXPECT_TRUE(benchmark.lacks_memory);
      EXPECT_GT(benchmark.needs.shared_host_bytes, 0U) << "the plan, which deals out shards, goes by it";
      EXPECT_NE(benchmark.skip.find("needs 2 GiB of host memory; 1."), std::string::npos) << benchmark.skip;
    } else if (text_of(benchmark, "store") == "mapped") {
      EXPECT_EQ(benchmark.skip, "");
    }
  }
  EXPECT_GT(skipped, 3U);
}

TEST_F(GatherFamilies, needs_count_what_lies_where) {
  const Machine machine = test::machine_with_gpus(1);
  for (const Benchmark& benchmark : listed(gather(), machine, Preset::quick)) {
    const std::string store = text_of(benchmark, "store");
    const std::uint64_t span = span_of(benchmark);
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
    EXPECT_EQ(row.traffic->bytes, *row.link_bytes_least);
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
    EXPECT_FALSE(row.link_bytes_least.has_value());
    ++ran;
  }
  EXPECT_EQ(ran, 1U);
}

TEST(ListsOfTrace, are_windows_in_turn_cut_to_one_length) {
  gnn::Trace trace;
  for (const std::vector<std::uint32_t>& batch :
       {std::vector<std::uint32_t>{1, 2, 3}, std::vector<std::uint32_t>{4, 5},
        std::vector<std::uint32_t>{6, 7, 8}, std::vector<std::uint32_t>{9, 10, 11}}) {
    trace.add(batch);
  }
  EXPECT_EQ(lists_of_trace(trace, 2, 1), (gnn::RowLists{{1, 2}, {4, 5}}));
  EXPECT_EQ(lists_of_trace(trace, 2, 2), (gnn::RowLists{{1, 2, 3, 4, 5}, {6, 7, 8, 9, 10}}));
  EXPECT_EQ(lists_of_trace(trace, 2, 3).back(), (std::vector<std::uint32_t>{9, 10, 11, 1, 2, 3, 4, 5}));
  EXPECT_THROW(static_cast<void>(lists_of_trace(trace, 1, 5)), SkipError)
      << "a mini-batch would be in it twice";
  EXPECT_THROW(static_cast<void>(lists_of_trace({}, 2, 1)), UsageError);
}

TEST(MakeTrace, asks_for_rows_of_the_graph_and_for_low_ones_most) {
  const graph::GraphSpec spec = graph::parse_graph_spec("kron:12");
  const auto sampled = make_trace(spec, {spec.name(), "10x25", 20, 8}, {}, {});
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
    static_cast<void>(make_trace(spec, {spec.name(), "10x25", 20, 8}, {}, {}));
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("labels none"), std::string::npos) << error.what();
  }
}

TEST(MakeTrace, with_a_fan_out_of_zero_is_refused) {
  const graph::GraphSpec spec = graph::parse_graph_spec("power");
  EXPECT_THROW(static_cast<void>(make_trace(spec, {spec.name(), "10x0", 20, 8}, {}, {})), UsageError);
}

}  // namespace
namespace {

// A feature table of one's own: what gather and pipeline/graphsage list with it, and what their rows say.

constexpr std::uint32_t kVertices = 4941;  // of the power grid
constexpr Preset kOwnPresets[] = {Preset::smoke, Preset::quick, Preset::full, Preset::paper};

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
  for (const Preset preset : kOwnPresets) {
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
  for (const Preset preset : kOwnPresets) {
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
