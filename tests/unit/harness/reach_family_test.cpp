#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>
#include <vector>

#include "claim_cache.hpp"
#include "fakes.hpp"
#include "families.hpp"
#include "gather/reach.hpp"
#include "grainscope/core/units.hpp"
#include "harness/row.hpp"
#include "harness/selection.hpp"

namespace grainscope::harness {
namespace {

using test::text_of;

std::uint64_t span_of(const Benchmark& benchmark) {
  return static_cast<std::uint64_t>(std::get<std::int64_t>(benchmark.id.axis("span")));
}

// A machine with GPUs that are not there, and memory as a test wants it.
class ReachGather : public testing::Test {
 protected:
  ReachGather() {
    add_gpu();
    available(200 * kGiB);
  }

  void add_gpu() {
    cuda::DeviceProperties device;
    device.ordinal = static_cast<int>(machine_.runtime.devices.size());
    device.total_memory_bytes = 80 * kGiB;
    device.can_map_host_memory = true;
    device.concurrent_managed_access = true;
    GpuReport report;
    report.cuda = device;
    report.near.node = machine_.topology.usable_nodes().front();
    report.pci_bus_id = "0000:0" + std::to_string(device.ordinal) + ":00.0";
    report.nvml.emplace();
    report.nvml->nvlinks.emplace();
    machine_.environment.driver.confidential_computing = false;
    machine_.runtime.devices.push_back(device);
    machine_.environment.gpus.push_back(report);
  }

  void join(int a, int b, bool access) {
    machine_.runtime.peers.push_back({a, b, access, false});
    machine_.runtime.peers.push_back({b, a, access, false});
  }

  void available(std::uint64_t bytes) {
    machine_.environment.memory.available.meminfo_bytes = bytes;
    machine_.environment.memory.available.cgroup_bytes.reset();
  }

  [[nodiscard]] Scope scope_of(Preset preset) const {
    return make_scope(preset, gpu_targets(machine_, {}), false, {machine_.topology.usable_nodes().front()});
  }

  [[nodiscard]] std::vector<Benchmark> listed(const Scope& scope) const {
    return list_all({reach_gather()}, machine_, scope);
  }

  Machine machine_ = test::machine_without_gpu();
};

TEST_F(ReachGather, names_read_as_a_sentence) {
  std::set<std::string> names;
  for (const Benchmark& benchmark : listed(scope_of(Preset::quick))) {
    names.insert(benchmark.id.name());
  }
  const std::string node = std::to_string(machine_.topology.usable_nodes().front());
  EXPECT_TRUE(names.contains("reach/gather/host_alloc/as_asked/numa:" + node +
                             "/gpu:0/row:128/rows:1048576/span:268435456"));
  EXPECT_TRUE(names.contains("reach/gather/peer/as_asked/gpu:0/peer:1/row:128/rows:1048576/span:268435456"));
}

// Memory grows from case to case and goes with the last of its kind: it must not come and go.
TEST_F(ReachGather, every_memory_is_listed_in_one_go_with_rising_spans) {
  for (const Preset preset :
       {Preset::smoke, Preset::quick, Preset::full, Preset::paper, Preset::acceptance}) {
    std::set<std::string> closed;
    std::string kind;
    std::uint64_t span = 0;
    for (const Benchmark& benchmark : listed(scope_of(preset))) {
      // Touched by other threads, taken from pieces, or mapped for more GPUs, it is another memory.
      const std::string memory =
          text_of(benchmark, "memory") + " " + test::text_if_any(benchmark, "touch_threads") + " " +
          test::text_if_any(benchmark, "free_pieces") + " " + test::text_if_any(benchmark, "gpus");
      if (memory != kind) {
        closed.insert(kind);
        kind = memory;
        span = 0;
        EXPECT_FALSE(closed.contains(kind)) << kind;
      }
      EXPECT_GE(span_of(benchmark), span) << benchmark.id.name();
      span = span_of(benchmark);
    }
  }
}

TEST_F(ReachGather, the_reference_table_is_in_the_paper_preset) {
  std::set<std::string> points;
  for (const Benchmark& benchmark : listed(scope_of(Preset::paper))) {
    if (text_of(benchmark, "memory") == "host_alloc") {
      points.insert(text_of(benchmark, "row") + " " + text_of(benchmark, "order") + " " +
                    text_of(benchmark, "rows") + " " + format_bytes(span_of(benchmark)));
    }
  }
  for (const char* span : {"256 MiB", "1 GiB", "4 GiB", "8 GiB", "32 GiB"}) {
    for (const char* order : {"as_asked", "sorted"}) {
      EXPECT_TRUE(points.contains(std::string("128 ") + order + " 1048576 " + span)) << order << span;
      EXPECT_TRUE(points.contains(std::string("512 ") + order + " 524288 " + span)) << order << span;
    }
    EXPECT_TRUE(points.contains(std::string("4096 as_asked 65536 ") + span)) << span;
  }
  EXPECT_TRUE(points.contains("128 sorted 8388608 32 GiB"));
}

TEST_F(ReachGather, presets_keep_to_their_size) {
  EXPECT_LE(listed(scope_of(Preset::smoke)).size(), 10U);
  EXPECT_LE(listed(scope_of(Preset::quick)).size(), 36U);
  EXPECT_LE(listed(scope_of(Preset::full)).size(), 224U);
  std::set<std::string> rows;
  for (const Benchmark& benchmark : listed(scope_of(Preset::full))) {
    rows.insert(text_of(benchmark, "row"));
  }
  EXPECT_EQ(rows.size(), 8U);
}

TEST_F(ReachGather, a_span_beyond_what_can_be_taken_is_skipped_with_the_numbers) {
  available(5 * kGiB);  // 2.5 GiB with the margin, three quarters of that by default
  std::size_t skipped = 0;
  for (const Benchmark& benchmark : listed(scope_of(Preset::quick))) {
    const std::string memory = text_of(benchmark, "memory");
    if (memory == "peer" || memory == "hugetlb" || !test::text_if_any(benchmark, "gpus").empty()) {
      continue;
    }
    EXPECT_EQ(benchmark.skip.empty(), span_of(benchmark) <= kGiB) << benchmark.id.name();
    if (!benchmark.skip.empty()) {
      ++skipped;
      EXPECT_TRUE(benchmark.lacks_memory);
      EXPECT_NE(benchmark.skip.find("needs 2 GiB of host memory; 1.9 GiB"), std::string::npos)
          << benchmark.skip;
    }
  }
  EXPECT_EQ(skipped, 3U);
}

TEST_F(ReachGather, the_control_group_bounds_where_there_is_one) {
  available(kGiB);
  machine_.environment.memory.available.cgroup_bytes = 200 * kGiB;
  for (const Benchmark& benchmark : listed(scope_of(Preset::full))) {
    if (text_of(benchmark, "memory") != "peer" && test::text_if_any(benchmark, "gpus").empty()) {
      EXPECT_EQ(benchmark.skip, "") << benchmark.id.name();
    }
  }
}

TEST_F(ReachGather, max_bytes_reaches_farther_and_is_tried_up_to_the_groups_limit) {
  available(40 * kGiB);
  machine_.environment.memory.available.cgroup_bytes = 100 * kGiB;
  Scope scope = scope_of(Preset::quick);
  scope.max_bytes = 512 * kGiB;
  std::map<std::uint64_t, std::string> skips;
  for (const Benchmark& benchmark : listed(scope)) {
    if (text_of(benchmark, "memory") == "host_alloc") {
      skips[span_of(benchmark)] = benchmark.skip;
    }
  }
  EXPECT_EQ(skips.at(64 * kGiB), "");
  EXPECT_EQ(skips.at(128 * kGiB), "needs 128 GiB of host memory; 100 GiB are available");
  EXPECT_EQ(skips.at(512 * kGiB), "needs 512 GiB of host memory; 100 GiB are available");
  EXPECT_EQ(skips.rbegin()->first, 512 * kGiB);
}

TEST_F(ReachGather, the_users_range_cuts_the_spans) {
  Scope scope = scope_of(Preset::full);
  scope.min_bytes = 256 * kMiB;
  scope.max_bytes = kGiB;
  std::set<std::uint64_t> spans;
  for (const Benchmark& benchmark : listed(scope)) {
    spans.insert(span_of(benchmark));
  }
  EXPECT_EQ(spans, (std::set<std::uint64_t>{256 * kMiB, 320 * kMiB, 384 * kMiB, 448 * kMiB, 512 * kMiB,
                                            640 * kMiB, 768 * kMiB, 896 * kMiB, kGiB}));
}

TEST_F(ReachGather, paper_has_the_largest_power_of_two_once) {
  if (machine_.topology.nodes().size() > 1) {
    GTEST_SKIP() << "a node's memory bounds it too";
  }
  available(24 * kGiB);  // of which three quarters of 19.6 GiB
  std::map<std::uint64_t, int> cases;
  for (const Benchmark& benchmark : listed(scope_of(Preset::paper))) {
    if (text_of(benchmark, "memory") == "host_alloc" && text_of(benchmark, "row") == "4096") {
      ++cases[span_of(benchmark)];
    }
  }
  EXPECT_EQ(cases,
            (std::map<std::uint64_t, int>{
                {256 * kMiB, 1}, {kGiB, 1}, {4 * kGiB, 1}, {8 * kGiB, 1}, {32 * kGiB, 1}, {64 * kGiB, 1}}));
}

// 640 GiB less a tenth and 2 GiB, of which three quarters are 430.
TEST_F(ReachGather, paper_goes_to_the_largest_span_that_can_be_taken) {
  const auto spans = [this](Preset preset) {
    std::map<std::uint64_t, bool> runs;
    for (const Benchmark& benchmark : listed(scope_of(preset))) {
      if (text_of(benchmark, "memory") == "host_alloc") {
        runs[span_of(benchmark)] = benchmark.skip.empty();
      }
    }
    return runs;
  };
  const bool alone = machine_.topology.nodes().size() < 2;  // else a node's memory bounds it too
  available(640 * kGiB);
  if (alone) {
    const auto paper = spans(Preset::paper);
    EXPECT_EQ(paper.rbegin()->first, 256 * kGiB);
    EXPECT_TRUE(paper.rbegin()->second);
  }
  EXPECT_EQ(spans(Preset::full).rbegin()->first, 32 * kGiB);
  available(24 * kGiB);
  if (alone) {
    EXPECT_EQ(spans(Preset::paper).at(8 * kGiB), true);
    EXPECT_EQ(spans(Preset::paper).at(32 * kGiB), false);
  }
  machine_.environment.memory.available.meminfo_bytes.reset();
  EXPECT_EQ(spans(Preset::paper).rbegin()->first, 64 * kGiB) << "nothing tells how much there is";
}

// Quarters of an octave, for rows of up to 256 bytes in the order asked.
TEST_F(ReachGather, spans_of_full_lie_closer_where_the_rates_of_small_rows_fall) {
  std::map<std::uint64_t, std::set<std::string>> rows;
  std::set<std::uint64_t> octaves;
  for (const Benchmark& benchmark : listed(scope_of(Preset::full))) {
    if (text_of(benchmark, "memory") != "host_alloc") {
      continue;
    }
    const std::uint64_t span = span_of(benchmark);
    if (std::has_single_bit(span)) {
      octaves.insert(span);
    } else {
      EXPECT_EQ(text_of(benchmark, "order"), "as_asked");
      rows[span].insert(text_of(benchmark, "row"));
    }
  }
  EXPECT_EQ(octaves.size(), 10U) << "from 64 MiB to 32 GiB";
  const std::set<std::string> small{"32", "64", "128", "256"};
  EXPECT_EQ(rows, (std::map<std::uint64_t, std::set<std::string>>{{320 * kMiB, small},
                                                                  {384 * kMiB, small},
                                                                  {448 * kMiB, small},
                                                                  {640 * kMiB, small},
                                                                  {768 * kMiB, small},
                                                                  {896 * kMiB, small}}));
}

TEST_F(ReachGather, max_bytes_reaches_no_farther_than_a_span_can_be) {
  Scope scope = scope_of(Preset::full);
  scope.max_bytes = 64 * 1024 * kGiB;
  std::uint64_t farthest = 0;
  for (const Benchmark& benchmark : listed(scope)) {
    farthest = std::max(farthest, span_of(benchmark));
  }
  EXPECT_EQ(farthest, 1024 * kGiB);
}

TEST_F(ReachGather, axes_take_what_no_preset_has) {
  add_gpu();
  join(0, 1, true);
  join(1, 0, true);
  Scope scope = scope_of(Preset::quick);
  scope.axes = {{"memory", "peer,hugetlb"}, {"row", "64"}, {"rows", "5"},          {"order", "sorted"},
                {"span", "most"},           {"gpus", "1"}, {"touch_threads", "16"}};
  std::map<std::string, std::size_t> cases;
  for (const Benchmark& benchmark : listed(scope)) {
    ++cases[text_of(benchmark, "memory")];
    EXPECT_EQ(text_of(benchmark, "row") + " " + text_of(benchmark, "rows"), "64 5");
    if (text_of(benchmark, "memory") == "peer") {
      EXPECT_EQ(span_of(benchmark), 32 * kGiB) << "the largest power of two of three quarters of 80 GiB";
    }
  }
  EXPECT_EQ(cases, (std::map<std::string, std::size_t>{{"peer", 2}, {"hugetlb", 1}}));
}

TEST_F(ReachGather, what_cannot_be_is_left_out_with_the_reason) {
  Scope scope = scope_of(Preset::smoke);
  scope.axes = {{"row", "96"}};
  std::set<std::string> reasons;
  EXPECT_TRUE(list_all({reach_gather()}, machine_, scope, &reasons).empty());
  ASSERT_EQ(reasons.size(), 1U);
  EXPECT_NE(reasons.begin()->find("a power of two"), std::string::npos) << *reasons.begin();
  scope.axes = {{"span", "most"}};
  machine_.environment.memory.available.meminfo_bytes.reset();
  reasons.clear();
  for (const Benchmark& benchmark : list_all({reach_gather()}, machine_, scope, &reasons)) {
    ADD_FAILURE() << benchmark.id.name();
  }
  EXPECT_EQ(reasons, (std::set<std::string>{"nothing tells how much memory there is: span cannot be most"}));
}

TEST_F(ReachGather, full_sorts_rows_of_every_memory_over_three_spans) {
  add_gpu();
  join(0, 1, true);
  join(1, 0, true);
  std::map<std::string, std::set<std::uint64_t>> spans;
  for (const Benchmark& benchmark : listed(scope_of(Preset::full))) {
    if (text_of(benchmark, "order") == "sorted") {
      EXPECT_TRUE(text_of(benchmark, "memory") == "host_alloc" || text_of(benchmark, "row") == "128");
      spans[text_of(benchmark, "memory")].insert(span_of(benchmark));
    }
  }
  EXPECT_EQ(spans.size(), 7U);
  for (const auto& [memory, sizes] : spans) {
    EXPECT_GE(sizes.size(), 3U) << memory;
  }
}

TEST_F(ReachGather, a_gpu_alone_has_no_peer) {
  for (const Benchmark& benchmark : listed(scope_of(Preset::quick))) {
    if (text_of(benchmark, "memory") == "peer") {
      EXPECT_EQ(benchmark.skip, "needs two GPUs; this machine has one");
      EXPECT_EQ(text_of(benchmark, "link"), "unknown");
    }
  }
}

TEST_F(ReachGather, a_peer_is_read_where_access_is_and_named_by_its_link) {
  add_gpu();
  add_gpu();
  const auto peers = [this] {
    std::vector<Benchmark> found = listed(scope_of(Preset::quick));
    std::erase_if(found, [](const Benchmark& benchmark) { return text_of(benchmark, "memory") != "peer"; });
    return found;
  };
  join(0, 1, false);
  for (const Benchmark& benchmark : peers()) {
    EXPECT_NE(benchmark.skip.find("cannot reach"), std::string::npos) << benchmark.skip;
  }
  machine_.runtime.peers.clear();
  join(0, 1, true);
  join(1, 0, true);
  EXPECT_EQ(peers().size(), 4U);  // two spans, each way
  for (const Benchmark& benchmark : peers()) {
    EXPECT_EQ(benchmark.skip, "");
    EXPECT_NE(benchmark.id.site.back().value, benchmark.id.site.front().value);
  }
}

}  // namespace
namespace {

reach::GatherRequest gather_of(std::uint64_t row, std::uint64_t rows, std::uint64_t span, bool sorted) {
  reach::GatherRequest gather;
  gather.row_bytes = row;
  gather.rows = rows;
  gather.span_bytes = span;
  gather.sorted = sorted;
  return gather;
}

Measurement in_seconds(double seconds) {
  Measurement measurement;
  measurement.samples.seconds = {seconds};
  measurement.samples.summary = summarize(measurement.samples.seconds);
  return measurement;
}

// Rows that were asked for again came from a cache: no share of the link may be above 1 for that.
TEST(ReachBytes, the_links_share_is_of_what_must_cross) {
  Measurement measurement = in_seconds(1e-3);
  add_bytes(gather_of(128, 1 << 20, 64 * kMiB, true), 400'000, measurement);
  measurement.link_peak_gb_s = 55;
  EXPECT_EQ(measurement.bytes, 128U << 20);
  EXPECT_EQ(measurement.link_bytes_least, 51'200'000U);
  EXPECT_DOUBLE_EQ(measurement.counters.at("link_gb_s"), 51.2);
  EXPECT_DOUBLE_EQ(measurement.counters.at("unique_gb_s"), 51.2);
  EXPECT_DOUBLE_EQ(measurement.counters.at("rows_per_granule"), 1024);
  nlohmann::json row;
  add_measurement(row, measurement);
  EXPECT_NEAR(row.at("bandwidth_gb_s").get<double>(), 134.2, 0.1);
  EXPECT_DOUBLE_EQ(row.at("link_fraction").get<double>(), 51.2 / 55);
}

// The slow way: the lines, and their sectors, of each 32 lanes of 16 bytes along the list.
std::pair<std::uint64_t, std::uint64_t> requests_and_bytes(const std::vector<std::uint64_t>& rows,
                                                           std::uint64_t row_bytes) {
  const std::uint64_t all = rows.size() * row_bytes;
  std::uint64_t requests = 0;
  std::uint64_t bytes = 0;
  for (std::uint64_t begin = 0; begin < all; begin += 512) {
    std::set<std::uint64_t> lines;
    std::set<std::uint64_t> sectors;
    for (std::uint64_t byte = begin; byte < std::min(begin + 512, all); byte += 16) {
      const std::uint64_t address = rows[byte / row_bytes] * row_bytes + byte % row_bytes;
      lines.insert(address / 128);
      sectors.insert(address / 32);
    }
    requests += lines.size();
    bytes += 32 * sectors.size();
  }
  return {requests, bytes};
}

TEST(ReachBytes, traffic_is_what_the_kernels_loads_ask_for_without_a_cache) {
  for (const std::uint64_t row : {32U, 64U, 128U, 256U, 512U, 4096U}) {
    for (const bool sorted : {false, true}) {
      const reach::GatherRequest gather = gather_of(row, 5001, 64 * 4096, sorted);
      const std::vector<std::uint64_t> rows = reach::row_list(gather, 0);
      Measurement measurement;
      add_traffic(gather, rows, measurement);
      ASSERT_TRUE(measurement.traffic);
      const auto [requests, bytes] = requests_and_bytes(rows, row);
      EXPECT_EQ(measurement.traffic->requests, requests) << row << sorted;
      EXPECT_EQ(measurement.traffic->bytes, bytes) << row << sorted;
      EXPECT_FALSE(measurement.traffic->counted);
      EXPECT_DOUBLE_EQ(measurement.counters.at("requests_per_row"), static_cast<double>(requests) / 5001);
    }
  }
}

TEST(ReachBytes, rows_as_asked_over_a_large_span_are_whole_requests_of_their_own) {
  const reach::GatherRequest gather = gather_of(128, 10'000, 64 * kGiB, false);
  Measurement measurement;
  add_traffic(gather, reach::row_list(gather, 0), measurement);
  EXPECT_EQ(measurement.traffic->requests, 10'000U);
  EXPECT_DOUBLE_EQ(measurement.traffic->amplification, 1);
  EXPECT_EQ(measurement.traffic->requests_by_size.at(128), 10'000U);
}

TEST(ReachBytes, lists_that_take_long_to_go_over_have_no_traffic) {
  Measurement measurement;
  add_traffic(gather_of(128, (8 << 20) + 1, kGiB, false), std::vector<std::uint64_t>((8 << 20) + 1),
              measurement);
  add_traffic(gather_of(32, 1, 128 * kGiB, false), {1}, measurement);
  EXPECT_FALSE(measurement.traffic);
}

TEST(UsualRows, are_a_million_or_what_makes_256_mib) {
  EXPECT_EQ(usual_rows(32), 1U << 20);
  EXPECT_EQ(usual_rows(128), 1U << 20);
  EXPECT_EQ(usual_rows(256), 1U << 20);
  EXPECT_EQ(usual_rows(512), 1U << 19);
  EXPECT_EQ(usual_rows(4096), 1U << 16);
  EXPECT_EQ(usual_rows(1 << 30), 1U);
}

}  // namespace
namespace {

constexpr SpanKey kPinned{cuda::MemoryKind::host_alloc, 0, 0};
constexpr SpanKey kRegistered{cuda::MemoryKind::registered, 0, 0};

// A case that claims memory, as those of reach/gather do.
Benchmark claiming(SpanCache& claims, const std::string& name, std::uint64_t bytes) {
  return test::fake_case(name, [claim = claims.claim(kPinned, 1, bytes)](Session& session) {
    claim->sessions_left = 0;
    return test::honest(session);
  });
}

TEST(SpanClaims, are_open_until_every_session_has_been) {
  SpanCache claims;
  EXPECT_FALSE(claims.open(kPinned));
  const auto claim = claims.claim(kPinned, 2, kGiB);
  EXPECT_TRUE(claims.open(kPinned));
  claim->sessions_left = 1;
  EXPECT_TRUE(claims.open(kPinned));
  claim->sessions_left = 0;
  EXPECT_FALSE(claims.open(kPinned));
}

TEST(SpanClaims, of_one_kind_gpu_and_home_say_nothing_of_another) {
  SpanCache claims;
  const auto claim = claims.claim(kPinned, 1, kGiB);
  EXPECT_FALSE(claims.open(kRegistered));
  EXPECT_FALSE(claims.open({cuda::MemoryKind::host_alloc, 1, 0}));
  EXPECT_FALSE(claims.open({cuda::MemoryKind::host_alloc, 0, 1}));
}

TEST(SpanClaims, know_the_most_that_will_still_be_asked_for) {
  SpanCache claims;
  const auto small = claims.claim(kPinned, 1, kMiB);
  const auto large = claims.claim(kPinned, 1, kGiB);
  EXPECT_EQ(claims.most_bytes(kPinned), kGiB);
  large->sessions_left = 0;
  EXPECT_EQ(claims.most_bytes(kPinned), kMiB);
}

TEST(SpanClaims, of_cases_that_a_filter_or_a_shard_leaves_out_are_gone) {
  const Machine machine = test::machine_without_gpu();
  const Scope scope = make_scope(Preset::smoke, {}, false, {});
  SpanCache claims;
  const auto list = [&claims](const Machine&, const Scope&, const Grids&) {
    return std::vector{claiming(claims, "small", kMiB), claiming(claims, "large", kGiB)};
  };
  const std::vector<Family> families{{"fake", {.question = "Does a claim go with its case?"}, {}, list}};
  {
    const Selection filtered = select(families, machine, scope, "small", 1, 1);
    EXPECT_EQ(claims.most_bytes(kPinned), kMiB);
  }
  EXPECT_FALSE(claims.open(kPinned));
  {
    const Selection second_half = select(families, machine, scope, "", 2, 2);
    EXPECT_EQ(claims.most_bytes(kPinned), kGiB);
  }
  EXPECT_FALSE(claims.open(kPinned));
}

TEST(SpanClaims, of_cases_that_a_resumed_run_has_finished_are_gone) {
  const Machine machine = test::machine_without_gpu();
  const Scope scope = make_scope(Preset::smoke, {}, false, {});
  SpanCache claims;
  const auto list = [&claims](const Machine&, const Scope&, const Grids&) {
    return std::vector{claiming(claims, "small", kMiB), claiming(claims, "large", kGiB)};
  };
  Selection selection =
      select(std::vector<Family>{{"fake", {.question = "Does a claim go with its case?"}, {}, list}}, machine,
             scope, "", 1, 1);
  // As the suite does with what the journal has.
  std::erase_if(selection.runnable,
                [](const Benchmark& benchmark) { return benchmark.id.name() == test::fake_name("large"); });
  EXPECT_EQ(claims.most_bytes(kPinned), kMiB);
}

}  // namespace
}  // namespace grainscope::harness
