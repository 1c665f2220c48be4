#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "fakes.hpp"
#include "families.hpp"
#include "grainscope/core/sampler.hpp"
#include "grainscope/core/units.hpp"
#include "harness/selection.hpp"

namespace grainscope::harness {
namespace {

std::optional<std::string> text_axis(const Case& id, const std::string& key) {
  for (const Axis& axis : id.axes) {
    if (axis.key == key) {
      return std::get<std::string>(axis.value);
    }
  }
  return std::nullopt;
}

class AllFamilies : public testing::TestWithParam<Preset> {
 protected:
  [[nodiscard]] std::vector<Benchmark> listed() const {
    return list_all(all_families(), machine_,
                    make_scope(GetParam(), gpu_targets(machine_, {}), false, node_targets(machine_, {})));
  }

  // What a family calls its size: a gather is over a span.
  static const char* size_axis(const Benchmark& benchmark) {
    return benchmark.id.family.starts_with("reach/") ? "span" : "bytes";
  }

  static bool has_site(const Benchmark& benchmark, const std::string& key) {
    const auto& site = benchmark.id.site;
    return std::any_of(site.begin(), site.end(), [&](const Site& place) { return place.key == key; });
  }

  Machine machine_ = test::machine_without_gpu();
};

TEST_P(AllFamilies, every_case_has_a_name_of_its_own_below_its_family) {
  std::set<std::string> names;
  for (const Benchmark& benchmark : listed()) {
    const std::string name = benchmark.id.name();
    EXPECT_TRUE(names.insert(name).second) << name;
    EXPECT_EQ(name.find(benchmark.id.family + "/"), 0U) << name;
    EXPECT_EQ(name.find(' '), std::string::npos) << name;
  }
}

TEST_P(AllFamilies, every_case_can_be_explained_and_run) {
  for (const Benchmark& benchmark : listed()) {
    const std::string name = benchmark.id.name();
    const Explanation& said = benchmark.explanation;
    EXPECT_FALSE(said.question.empty()) << name;
    for (const std::string& text : {said.timed, said.formula, said.source, said.limits}) {
      EXPECT_FALSE(text.empty()) << name;
    }
    // A sentence each: what is put behind nothing begins with what was to part them.
    for (const std::string& text : {said.measures, said.timed, said.formula, said.source, said.limits}) {
      EXPECT_TRUE(text.empty() || std::string(";:,. ").find(text.front()) == std::string::npos)
          << name << ": " << text;
    }
    EXPECT_TRUE(benchmark.run || !benchmark.skip.empty()) << name;  // as where this host has no memory for it
  }
}

TEST_P(AllFamilies, every_case_says_its_locality_or_what_joins_its_gpus) {
  for (const Benchmark& benchmark : listed()) {
    const std::string name = benchmark.id.name();
    const auto joined = text_axis(benchmark.id, "locality");
    const auto link = text_axis(benchmark.id, "link");
    // Within a card, and among many, nothing joins two ends.
    const std::string& family = benchmark.id.family;
    if (family.starts_with("model/") || family.starts_with("tiering/") ||
        (family.starts_with("sampling/") && !has_site(benchmark, "gpu"))) {
      continue;  // a model's link is one by name, not what joins two ends here; all CPUs work on a graph
    }
    const bool within = family == "transfer/local" ||
                        (family.starts_with("shape/") && to_string(benchmark.id.axis("path")) == "local") ||
                        (family == "grain/gpu_memory" && to_string(benchmark.id.axis("memory")) == "own");
    EXPECT_TRUE(joined || link || within || family == "transfer/collective") << name;
    EXPECT_TRUE(!joined || *joined == "local" || *joined == "remote" || *joined == "unknown") << name;
    EXPECT_TRUE(!link || *link == "nvlink" || *link == "pcie" || *link == "none" || *link == "unknown")
        << name;
  }
}

TEST_P(AllFamilies, sizes_are_above_zero_and_transfers_and_host_memory_have_one) {
  for (const Benchmark& benchmark : listed()) {
    const auto& axes = benchmark.id.axes;
    const auto bytes =
        std::find_if(axes.begin(), axes.end(), [](const Axis& axis) { return axis.key == "bytes"; });
    if (bytes != axes.end()) {
      EXPECT_GT(std::get<std::int64_t>(bytes->value), 0) << benchmark.id.name();
    } else {
      EXPECT_FALSE(benchmark.id.family.starts_with("host/") || benchmark.id.family.starts_with("transfer/"))
          << benchmark.id.name();
    }
  }
}

TEST_P(AllFamilies, without_a_gpu_everything_but_host_and_model_is_skipped_for_the_drivers_reason) {
  std::size_t skipped = 0;
  for (const Benchmark& benchmark : listed()) {
    const std::string& family = benchmark.id.family;
    const bool on_cpu =
        family.starts_with("tiering/") ||
        ((family.starts_with("sampling/") || family.starts_with("pipeline/") || family == "gather") &&
         !has_site(benchmark, "gpu"));
    if (!family.starts_with("host/") && !family.starts_with("model/") && !on_cpu) {
      ++skipped;
      EXPECT_EQ(benchmark.skip, machine_.runtime.why_none) << benchmark.id.name();
    }
  }
  EXPECT_GT(skipped, 10U);
}

TEST_P(AllFamilies, without_a_gpu_there_is_something_to_run_on_the_host) {
  const auto all = listed();
  EXPECT_TRUE(std::any_of(all.begin(), all.end(), [](const Benchmark& b) { return b.skip.empty(); }));
}

TEST_P(AllFamilies, are_listed_within_a_second) {
  const double start_s = process_cpu_s();  // however busy the machine is
  const Selection selection = select(
      all_families(), machine_,
      make_scope(GetParam(), gpu_targets(machine_, {}), false, node_targets(machine_, {})), "host", 1, 1);
  EXPECT_LT(process_cpu_s() - start_s, 1.0);
  EXPECT_FALSE(selection.runnable.empty());
}

INSTANTIATE_TEST_SUITE_P(Presets, AllFamilies,
                         testing::Values(Preset::smoke, Preset::quick, Preset::full, Preset::paper,
                                         Preset::acceptance),
                         [](const auto& preset) { return std::string(name(preset.param)); });

TEST(Families, each_has_a_name_of_its_own_and_a_question) {
  std::set<std::string> names;
  for (const Family& family : all_families()) {
    EXPECT_TRUE(names.insert(family.name).second) << family.name;
    const std::string question = family.about.question;
    EXPECT_FALSE(question.empty()) << family.name;
    EXPECT_EQ(question.back(), '?') << family.name;
  }
}

TEST(Families, a_size_range_that_is_absurd_ends_in_cases_that_are_skipped) {
  const Machine machine = test::machine_without_gpu();
  Scope scope = make_scope(Preset::full, gpu_targets(machine, {}), false, node_targets(machine, {}));
  scope.min_bytes = 1024 * 1024 * kGiB;
  scope.max_bytes = UINT64_MAX;
  for (const Benchmark& benchmark : list_all(all_families(), machine, scope)) {
    EXPECT_FALSE(benchmark.skip.empty()) << benchmark.id.name();
  }
}

}  // namespace
namespace {

// The preset full is for an hour on one GPU: how many cases that leaves to each family, so that
// nobody lengthens it unawares. Who adds rows to it measures what they take and raises the number here.

Machine machine_of_gpus(int count) {
  Machine machine = test::machine_with_gpus(count);
  machine.environment.memory.available.meminfo_bytes = 120 * kGiB;
  machine.environment.memory.available.cgroup_bytes.reset();
  return machine;
}

// Cases by family, of one GPU those for peers and second GPUs left out.
std::map<std::string, std::size_t> cases_of(Preset preset, int gpus = 1) {
  const Machine machine = machine_of_gpus(gpus);
  const int node = machine.topology.usable_nodes().front();
  std::map<std::string, std::size_t> cases;
  const Scope scope = make_scope(preset, gpu_targets(machine, {}), false, {node});
  for (const Benchmark& benchmark : list_all(all_families(), machine, scope)) {
    if (benchmark.skip.find("two GPUs") == std::string::npos) {
      ++cases[benchmark.id.family];
    }
  }
  return cases;
}

TEST(FullSize, of_each_family_is_what_an_hour_has_room_for) {
  const std::map<std::string, std::size_t> expected{
      {"contention", 36},
      {"gather", 241},
      {"gather/bag", 16},
      {"grain/gpu_memory", 34},
      {"grain/pieces", 235},
      {"grain/saturation", 28},
      {"host/flush", 22},
      {"host/latency", 20},
      {"host/malloc", 38},
      {"latency/chase", 41},
      {"latency/flag", 1},
      {"latency/managed_touch", 2},
      {"lean/bfs", 33},
      {"lean/cc", 12},
      {"lean/pr", 24},
      {"lean/sssp", 24},
      {"model/bfs", 158},
      {"model/cc", 107},
      {"model/gather", 330},
      {"model/pr", 128},
      {"model/sssp", 128},
      {"model/uvm", 290},
      {"pipeline/graphsage", 62},
      {"reach/gather", 214},
      {"sampling/neighbours", 40},
      {"shape/copy", 288},
      {"shape/pages", 196},
      {"sm_share/gather", 86},
      {"sm_share/split", 72},
      {"tiering/reorder", 6},
      {"tiering/score", 75},
      {"transfer/duplex", 66},
      {"transfer/host_copy", 30},
      {"transfer/kernel_copy", 76},
      {"transfer/local", 26},
      {"transfer/memcpy", 284},
      {"transfer/zero_copy", 108},
      {"traversal/bfs", 68},
      {"traversal/cc", 19},
      {"traversal/pr", 30},
      {"traversal/sssp", 26},
  };
  std::map<std::string, std::size_t> found = cases_of(Preset::full);
  // By the number of the CPUs: teams of 1, 4, 16, ... threads.
  for (const char* family : {"host/memcpy", "host/first_touch", "transfer/managed", "call"}) {
    EXPECT_GT(found[family], 0U) << family;
    found.erase(family);
  }
  EXPECT_EQ(found, expected);
}

// Programs run on the first GPU alone; transfers, latencies and calls on both, and between them.
TEST(FullSize, of_two_gpus_adds_what_five_minutes_have_room_for) {
  const std::map<std::string, std::size_t> expected{{"collective/all_gather", 32},
                                                    {"collective/all_reduce", 40},
                                                    {"collective/all_to_all", 27},
                                                    {"collective/broadcast", 32},
                                                    {"collective/reduce_scatter", 37},
                                                    {"collective/send_receive", 27},
                                                    {"contention", 36},
                                                    {"gather", 15},
                                                    {"gather/bag", 1},
                                                    {"grain/gpu_memory", 102},
                                                    {"latency/chase", 69},
                                                    {"latency/flag", 3},
                                                    {"latency/managed_touch", 4},
                                                    {"lean/bfs", 6},
                                                    {"lean/cc", 4},
                                                    {"lean/pr", 6},
                                                    {"lean/sssp", 6},
                                                    {"pipeline/graphsage", 18},
                                                    {"reach/gather", 18},
                                                    {"sampling/neighbours", 12},
                                                    {"shape/copy", 260},
                                                    {"shape/pages", 34},
                                                    {"transfer/collective", 208},
                                                    {"transfer/duplex", 192},
                                                    {"transfer/kernel_copy", 76},
                                                    {"transfer/local", 26},
                                                    {"transfer/memcpy", 284},
                                                    {"transfer/peer", 292},
                                                    {"transfer/relay", 68},
                                                    {"transfer/zero_copy", 108},
                                                    {"traversal/bfs", 5},
                                                    {"traversal/cc", 4},
                                                    {"traversal/pr", 5},
                                                    {"traversal/sssp", 5}};
  const std::map<std::string, std::size_t> one = cases_of(Preset::full);
  std::map<std::string, std::size_t> more;
  for (const auto& [family, cases] : cases_of(Preset::full, 2)) {
    const auto alone = one.find(family);
    if (const std::size_t before = alone == one.end() ? 0 : alone->second; cases != before) {
      more[family] = cases - before;
    }
  }
  for (const char* family : {"transfer/managed", "call"}) {  // by the number of the CPUs
    EXPECT_EQ(more.erase(family), 1U) << family;
  }
  EXPECT_EQ(more, expected);
}

TEST(FullSize, every_family_of_paper_is_there) {
  const auto full = cases_of(Preset::full);
  for (const auto& [family, cases] : cases_of(Preset::paper)) {
    EXPECT_TRUE(full.contains(family)) << family;
  }
}

TEST(FullSize, largest_memory_is_locked_once_by_all_that_read_it) {
  const Machine machine = machine_of_gpus(1);
  const int node = machine.topology.usable_nodes().front();
  const Scope scope = make_scope(Preset::full, gpu_targets(machine, {}), false, {node});
  bool begun = false;
  bool ended = false;
  for (const Benchmark& benchmark : list_all(all_families(), machine, scope)) {
    const std::string& family = benchmark.id.family;
    const bool walls = family == "reach/gather" && to_string(benchmark.id.axis("memory")) == "host_alloc";
    begun = begun || walls;
    ended = ended || (begun && family == "shape/copy");
    if (begun && !ended && family == "reach/gather") {
      EXPECT_TRUE(walls) << benchmark.id.name() << " would drop what the walls locked";
    }
  }
  EXPECT_TRUE(ended);
}

}  // namespace
}  // namespace grainscope::harness
