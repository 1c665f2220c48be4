#include "families.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>

#include "fakes.hpp"
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
    EXPECT_FALSE(benchmark.explanation.measures.empty()) << name;
    EXPECT_FALSE(benchmark.explanation.timed.empty()) << name;
    EXPECT_FALSE(benchmark.explanation.formula.empty()) << name;
    EXPECT_FALSE(benchmark.explanation.source.empty()) << name;
    EXPECT_TRUE(static_cast<bool>(benchmark.run)) << name;
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
  const double start_s = steady_now_s();
  const Selection selection = select(
      all_families(), machine_,
      make_scope(GetParam(), gpu_targets(machine_, {}), false, node_targets(machine_, {})), "host", 1, 1);
  EXPECT_LT(steady_now_s() - start_s, 1.0);
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
    EXPECT_FALSE(family.question.empty()) << family.name;
    EXPECT_EQ(family.question.back(), '?') << family.name;
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
}  // namespace grainscope::harness
