#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "fakes.hpp"
#include "families.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/core/sampler.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/graph/generate.hpp"
#include "harness/filter.hpp"
#include "harness/selection.hpp"
#include "harness/show.hpp"

namespace grainscope::harness {
namespace {

using test::fake_case;
using test::fake_family;
using test::fake_name;

class SelectionOf : public testing::Test {
 protected:
  [[nodiscard]] Selection select_from(std::vector<Benchmark> cases, const std::string& filter = "",
                                      int index = 1, int count = 1) const {
    return select(fake_family(std::move(cases)), machine_, scope_, filter, index, count);
  }

  [[nodiscard]] std::string refusal(std::vector<Benchmark> cases, const std::string& filter) const {
    try {
      static_cast<void>(select_from(std::move(cases), filter));
    } catch (const UsageError& error) {
      return error.what();
    }
    return "";
  }

  static std::vector<Benchmark> numbered(int count) {
    std::vector<Benchmark> cases;
    for (int i = 0; i < count; ++i) {
      cases.push_back(fake_case("case" + std::to_string(i)));
      if (i % 5 == 4) {
        cases.back().skip = "every fifth is left out";
      }
    }
    return cases;
  }

  static std::vector<std::string> names(const std::vector<Benchmark>& benchmarks) {
    std::vector<std::string> list(benchmarks.size());
    std::transform(benchmarks.begin(), benchmarks.end(), list.begin(),
                   [](const Benchmark& b) { return b.id.name(); });
    return list;
  }

  Machine machine_ = test::machine_without_gpu();
  Scope scope_ = make_scope(Preset::smoke, {}, false, {});
};

TEST_F(SelectionOf, keeps_what_the_filter_keeps_in_order) {
  const Selection selection = select_from({fake_case("b"), fake_case("a"), fake_case("c")}, "fake/[ab]/");
  EXPECT_EQ(names(selection.runnable), (std::vector{fake_name("b"), fake_name("a")}));
  EXPECT_TRUE(selection.skipped.empty());
}

TEST_F(SelectionOf, a_filter_that_matches_nothing_names_its_neighbours) {
  const std::string message = refusal({fake_case("alpha"), fake_case("beta")}, "fake/alhpa");
  EXPECT_NE(message.find("no case matches 'fake/alhpa'"), std::string::npos) << message;
  EXPECT_NE(message.find(fake_name("alpha")), std::string::npos) << message;
  EXPECT_NE(message.find("--benchmark_list_tests"), std::string::npos) << message;
}

TEST_F(SelectionOf, no_cases_at_all_are_laid_to_the_size_range_where_there_is_one) {
  EXPECT_EQ(refusal({}, ""), "no case matches '': nothing is listed here");
  scope_.max_bytes = 8;
  EXPECT_EQ(refusal({}, ""), "no case matches '': --max-bytes 8 B leaves none at all");
}

// A filter that matches nothing, over the families that there are.
class RefusalOf : public testing::Test {
 protected:
  using Axes = std::vector<std::pair<std::string, std::string>>;
  [[nodiscard]] std::string of(const std::string& filter, const Axes& axes = {}) {
    scope_.axes = axes;
    scope_.gpus = gpu_targets(machine_, {});
    try {
      static_cast<void>(select(all_families(), machine_, scope_, filter, 1, 1));
    } catch (const UsageError& error) {
      return error.what();
    }
    return "";
  }
  static bool has(const std::string& message, const std::string& words) {
    return message.find(words) != std::string::npos;
  }

  Machine machine_ = test::machine_without_gpu();
  Scope scope_ = make_scope(Preset::quick, {}, false, {machine_.topology.nodes().front().id});
};

TEST_F(RefusalOf, a_size_limit_names_it_and_a_case_that_it_cuts_off) {
  scope_.max_bytes = 1024;
  const std::string message = of("host/memcpy");
  EXPECT_TRUE(has(message, "no case matches 'host/memcpy': --max-bytes 1 KiB leaves none of the "))
      << message;
  EXPECT_TRUE(has(message, "that would, the first of them host/memcpy/")) << message;
  EXPECT_FALSE(has(message, "transfer/")) << message;
  scope_.min_bytes = 1024;
  EXPECT_TRUE(has(of("host/memcpy"), ": --min-bytes 1 KiB with --max-bytes 1 KiB leaves none"));
}

TEST_F(RefusalOf, a_size_limit_is_blamed_beside_axes_that_have_no_part_in_it) {
  scope_.max_bytes = 1024;
  const std::string message = of("host/memcpy", {{"flush", "on"}});
  EXPECT_TRUE(has(message, "no case matches 'host/memcpy' with flush=on: --max-bytes 1 KiB leaves"))
      << message;
}

TEST_F(RefusalOf, axes_gives_the_reasons_of_the_family_that_the_filter_is_about) {
  EXPECT_EQ(
      of("transfer/memcpy", {{"bytes", "3"}}),
      "no case matches 'transfer/memcpy' with bytes=3; left out: a transfer moves a multiple of 4 bytes, "
      "from 4 B to 1024 TiB; not 3");
  EXPECT_EQ(of("shape/copy/.*bytes:3$", {{"bytes", "3"}}).find("a transfer moves"), std::string::npos);
  EXPECT_TRUE(has(of("shape/copy/.*bytes:3$", {{"bytes", "3"}}), "a box of 3 B has no whole number of rows"));
}

TEST_F(RefusalOf, a_graph_gives_the_reason_why_its_family_has_no_case_of_it) {
  scope_.graphs = {graph::parse_graph_spec("web:12")};
  EXPECT_EQ(of("model/cc"),
            "no case matches 'model/cc'; left out: the graph is directed: its components are not what "
            "propagating labels along edges finds");
  scope_.graphs = {graph::parse_graph_spec("kron:12")};
  EXPECT_EQ(of("model/cc"), "");
}

TEST_F(RefusalOf, axes_that_no_chosen_family_has_says_that_they_do_nothing) {
  const std::string said = "--axis flush=on changes nothing here: no family of the cases that are chosen has";
  EXPECT_TRUE(has(of("host/malloc", {{"flush", "on"}}), said)) << of("host/malloc", {{"flush", "on"}});
  EXPECT_EQ(of("host/(malloc|memcpy)", {{"flush", "on"}}), "");
}

TEST_F(RefusalOf, a_value_that_a_chosen_family_cannot_take_is_said) {
  const auto said = [&](const std::string& filter) {
    return understood_text(select(all_families(), machine_, scope_, filter, 1, 1), scope_);
  };
  scope_.axes = {{"bytes", "8,4KiB"}};
  EXPECT_EQ(
      said("^host/(memcpy|latency)/"),
      "grainscope: --axis bytes=8 is no value of host/memcpy (a size from 64 B to 1 TiB), host/latency (a "
      "size from 4 KiB to 1 TiB), so none of its cases has it\n");
  scope_.axes = {{"bytes", "4KiB"}};
  EXPECT_EQ(said("^host/(memcpy|latency)/"), "");
}

TEST_F(RefusalOf, axes_is_none_of_a_value_that_the_filter_names_and_no_preset_has) {
  EXPECT_EQ(of("host/memcpy/.*bytes:12288$", {{"bytes", "12KiB"}}), "");
}

TEST_F(RefusalOf, axes_that_leave_nothing_of_their_family_says_why) {
  EXPECT_TRUE(has(of("host/malloc|shape/copy", {{"plane_rows", "1"}}),
                  "--axis plane_rows=1 leaves none of the cases that have this axis: "));
  EXPECT_TRUE(has(of("traversal/|host/malloc", {{"weights", "1-9"}, {"algorithm", "bfs"}}),
                  "only sssp reads weights"));
  EXPECT_TRUE(has(of("tiering/reorder|host/malloc", {{"score", "degree"}}),
                  "--axis score: in tiering/reorder it follows from other axes"));
}

TEST_F(RefusalOf, axes_of_values_that_the_family_has_not_says_what_there_is_with_its_own) {
  const std::string message = of("transfer/local", {{"method", "prefetch"}});
  EXPECT_TRUE(has(message, "with method=prefetch: with the preset's values ")) << message;
  EXPECT_TRUE(has(message, "the first of them transfer/local/")) << message;
}

TEST_F(RefusalOf, a_filter_of_no_family_gives_near_names_and_no_reason_of_others) {
  const std::string message = of("host/memcopy", {{"bytes", "3KiB"}});
  EXPECT_FALSE(has(message, "left out")) << message;
  EXPECT_TRUE(has(message, "near it are")) << message;
}

TEST_F(RefusalOf, a_word_that_no_name_has_but_ask_knows_is_told_by_names) {
  machine_ = test::machine_with_gpus(1);
  EXPECT_EQ(of("h2d"),
            "no case matches 'h2d': no name has 'h2d', which as a word means transfer/memcpy/pinned_to_gpu, "
            "transfer/memcpy/pageable_to_gpu, transfer/memcpy/registered_to_gpu, "
            "transfer/memcpy/write_combined_to_gpu: `grainscope ask h2d` takes it");
  EXPECT_TRUE(has(of("transfer/unified"), "which as a word means transfer/managed/demand/host_to_gpu, "));
}

TEST_F(RefusalOf, a_part_that_is_misspelled_gives_the_nearest) {
  machine_ = test::machine_with_gpus(1);
  EXPECT_TRUE(has(of("host/memcopy"), ": no name has 'memcopy' (did you mean memcpy?); near it are"))
      << of("host/memcopy");
  EXPECT_TRUE(has(of("pinnde_to_gpu"), "'pinnde_to_gpu' (did you mean pinned_to_gpu?)"));
  EXPECT_EQ(
      of("qqqqqqq"),
      "no case matches 'qqqqqqq': no name has 'qqqqqqq'; --families lists the families and their questions, "
      "--benchmark_list_tests the cases");
  EXPECT_EQ(of("host", {{"foo", "1"}}),
            "--axis foo=1: no family has an axis foo; --explain FAMILY says which it has");
}

TEST_F(RefusalOf, a_size_that_no_preset_has_gives_the_flag_that_makes_it) {
  EXPECT_EQ(
      of("host/memcpy/.*bytes:63MiB"),
      "no case matches 'host/memcpy/.*bytes:63MiB': no name has 'bytes:63MiB'; --axis bytes=63MiB makes it");
}

TEST_F(RefusalOf, a_gpu_that_is_not_there_says_so_and_why) {
  machine_.runtime.why_none = "no NVIDIA driver";
  EXPECT_EQ(of("transfer/memcpy/.*/gpu:1/"),
            "no case matches 'transfer/memcpy/.*/gpu:1/': there is no GPU 1: no NVIDIA driver");
  machine_ = test::machine_with_gpus(2);
  EXPECT_EQ(
      of("transfer/memcpy/.*/gpu:5/", {{"bytes", "4KiB"}}),
      "no case matches 'transfer/memcpy/.*/gpu:5/' with bytes=4KiB: there is no GPU 5: this machine has "
      "GPUs 0, 1");
  EXPECT_EQ(
      of("transfer/peer/.*/gpu:7/peer:0/"),
      "no case matches 'transfer/peer/.*/gpu:7/peer:0/': there is no GPU 7: this machine has GPUs 0, 1");
}

TEST_F(RefusalOf, a_gpu_that_the_run_does_not_take_says_how_to_take_it) {
  machine_ = test::machine_with_gpus(2);
  EXPECT_EQ(
      of("^latency/chase/own_memory/gpu:1/"),
      "no case matches '^latency/chase/own_memory/gpu:1/': the run does not take GPU 1 there; --gpu and "
      "--numa name those to take");
  scope_.gpus_asked_for = true;
  EXPECT_EQ(of("^latency/chase/own_memory/gpu:1/"), "");
}

TEST_F(RefusalOf, a_node_that_is_not_there_says_so) {
  const std::string message = of("host/memcpy/from_node:13/");
  EXPECT_TRUE(has(message, "': NUMA node 13 does not exist")) << message;
}

TEST_F(SelectionOf, a_case_that_is_skipped_is_a_match) {
  Benchmark absent = fake_case("absent");
  absent.skip = "it is not here";
  const Selection selection = select_from({absent}, "absent");
  EXPECT_TRUE(selection.runnable.empty());
  ASSERT_EQ(selection.skipped.size(), 1U);
  EXPECT_EQ(selection.skipped[0].skip, "it is not here");
}

TEST_F(SelectionOf, shards_part_the_runnable_exactly_and_carry_the_skipped_once) {
  const Selection whole = select_from(numbered(23));
  for (const int count : {1, 2, 3, 7, 40}) {
    std::multiset<std::string> runnable;
    std::multiset<std::string> skipped;
    for (int index = 1; index <= count; ++index) {
      const Selection part = select_from(numbered(23), "", index, count);
      for (const std::string& name : names(part.runnable)) {
        runnable.insert(name);
      }
      for (const std::string& name : names(part.skipped)) {
        skipped.insert(name);
      }
    }
    const auto all = names(whole.runnable);
    const auto left_out = names(whole.skipped);
    EXPECT_EQ(runnable, std::multiset<std::string>(all.begin(), all.end())) << count;
    EXPECT_EQ(skipped, std::multiset<std::string>(left_out.begin(), left_out.end())) << count;
  }
}

// What is free when a part runs is another amount than when the others did.
TEST_F(SelectionOf, shards_that_found_other_memory_free_are_the_whole) {
  std::vector<Benchmark> cases = numbered(40);
  for (std::size_t at = 0; at < cases.size(); ++at) {
    cases[at].needs.host_bytes = at * kGiB;
  }
  std::vector<std::string> all;
  std::size_t lacking = 0;
  for (const auto& [index, free_gib] : {std::pair(1, 64), std::pair(2, 20), std::pair(3, 5)}) {
    machine_.environment.memory.available = {.meminfo_bytes = free_gib * kGiB, .cgroup_bytes = {}};
    const Selection part = select_from(cases, "", index, 3);
    EXPECT_EQ(part.of_all_shards, cases.size());
    for (const auto* benchmarks : {&part.runnable, &part.skipped}) {
      const std::vector<std::string> here = names(*benchmarks);
      all.insert(all.end(), here.begin(), here.end());
    }
    lacking += static_cast<std::size_t>(
        std::count_if(part.skipped.begin(), part.skipped.end(),
                      [](const Benchmark& benchmark) { return benchmark.lacks_memory; }));
  }
  EXPECT_GT(lacking, 0U);
  std::sort(all.begin(), all.end());
  std::vector<std::string> expected = names(cases);
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(all, expected);
}

TEST_F(SelectionOf, shards_are_equal_but_for_one_case) {
  for (int index = 1; index <= 4; ++index) {
    const std::size_t size = select_from(numbered(23), "", index, 4).runnable.size();
    EXPECT_GE(size, 4U);
    EXPECT_LE(size, 5U);
  }
}

TEST_F(SelectionOf, a_case_that_takes_long_has_a_shard_almost_for_itself) {
  std::vector<Benchmark> cases = numbered(23);
  for (Benchmark& each : cases) {
    each.about_s = 1;
  }
  cases[20].about_s = 10;
  const std::vector<std::string> whole = names(select_from(cases).runnable);
  std::vector<std::size_t> sizes;
  for (int index = 1; index <= 3; ++index) {
    const std::vector<std::string> part = names(select_from(cases, "", index, 3).runnable);
    auto at = whole.begin();
    for (const std::string& name : part) {  // in the order of the listing
      at = std::find(at, whole.end(), name);
      ASSERT_NE(at, whole.end()) << name;
    }
    sizes.push_back(part.size());
  }
  EXPECT_EQ(sizes, (std::vector<std::size_t>{1, 9, 9}));
}

TEST_F(SelectionOf, shards_are_of_what_the_filter_leaves) {
  EXPECT_EQ(select_from({fake_case("x"), fake_case("a"), fake_case("y"), fake_case("b")}, "fake/[ab]/", 2, 2)
                .runnable.front()
                .id.name(),
            fake_name("b"));
}

TEST_F(SelectionOf, what_is_larger_than_memory_is_skipped_with_both_numbers) {
  Benchmark large = fake_case("large");
  large.needs.host_bytes = 1024 * 1024 * kGiB;
  machine_.environment.memory.available.meminfo_bytes = 8 * kGiB;
  machine_.environment.memory.available.cgroup_bytes.reset();
  const Selection selection = select_from({large});
  ASSERT_EQ(selection.skipped.size(), 1U);
  EXPECT_EQ(selection.skipped[0].skip, "needs 1024 TiB of host memory; 8 GiB are available");
}

TEST_F(SelectionOf, a_fifth_of_memory_is_left_to_the_rest) {
  machine_.environment.memory.available.meminfo_bytes = 100 * kMiB;
  machine_.environment.memory.available.cgroup_bytes.reset();
  Benchmark large = fake_case("large");
  large.needs.host_bytes = 80 * kMiB;
  EXPECT_EQ(select_from({large}).runnable.size(), 1U);
  large.needs.host_bytes = 81 * kMiB;
  EXPECT_EQ(select_from({large}).skipped.size(), 1U);
}

TEST_F(SelectionOf, a_families_own_reason_comes_before_memory) {
  Benchmark large = fake_case("large");
  large.needs.host_bytes = 1024 * 1024 * kGiB;
  large.skip = "no such thing here";
  EXPECT_EQ(select_from({large}).skipped.at(0).skip, "no such thing here");
}

TEST_F(SelectionOf, two_lines_of_a_family_that_meet_give_a_case_once) {
  EXPECT_EQ(select_from({fake_case("a"), fake_case("a")}).runnable.size(), 1U);
}

TEST_F(SelectionOf, two_families_with_a_case_of_one_name_are_a_bug) {
  std::vector<Family> families = fake_family({fake_case("a")});
  families.push_back(families.front());
  EXPECT_THROW(static_cast<void>(select(families, machine_, scope_, "", 1, 1)), std::logic_error);
}

TEST_F(SelectionOf, what_cannot_be_is_no_case) {
  Benchmark impossible = fake_case("a");
  impossible.impossible = "bytes go nowhere: name a destination";
  EXPECT_EQ(select_from({impossible, fake_case("b")}).runnable.size(), 1U);
}

TEST_F(SelectionOf, is_listed_a_name_a_line_without_the_skipped) {
  EXPECT_EQ(list_text(select_from(numbered(6))), fake_name("case0") + "\n" + fake_name("case1") + "\n" +
                                                     fake_name("case2") + "\n" + fake_name("case3") + "\n" +
                                                     fake_name("case5") + "\n");
}

TEST(Plan, says_how_much_longer_a_run_takes_beside_other_work) {
  Environment environment;
  environment.cpu.online = {0, 1};
  EXPECT_EQ(load_text(environment, 100), "");
  environment.load.average_1 = 1.0;
  EXPECT_EQ(load_text(environment, 100), "");
  environment.load.average_1 = 9.0;
  EXPECT_EQ(load_text(environment, 100),
            "warning: other work has the CPUs (load average 9.0 of 2): it may take 5.0 times as long\n");
}

TEST_F(SelectionOf, its_plan_counts_cases_and_says_why_others_are_skipped) {
  const std::string plan = plan_text(select_from(numbered(10)), scope_, 100, false);
  EXPECT_NE(plan.find("2 cases skipped: every fifth is left out"), std::string::npos) << plan;
  EXPECT_EQ(plan.find(fake_name("case9")), std::string::npos) << plan;
  const std::string whole = plan_text(select_from(numbered(10)), scope_, 100, true);
  EXPECT_NE(whole.find("skipped, fake, 2 cases: every fifth is left out"), std::string::npos) << whole;
  EXPECT_NE(whole.find(fake_name("case9")), std::string::npos) << whole;
}

TEST_F(SelectionOf, explains_the_case_named_or_the_first_that_matches) {
  Benchmark first = fake_case("a");
  first.explanation.measures = "the first thing";
  Benchmark second = fake_case("ab");
  second.explanation.measures = "the second thing";
  const std::vector<Benchmark> all{first, second};
  EXPECT_NE(explain_text(fake_name("ab"), {}, all).find("the second thing"), std::string::npos);
  const std::string both = explain_text("fake/", {}, all);
  EXPECT_NE(both.find("the first thing"), std::string::npos);
  EXPECT_NE(both.find("1 more cases match"), std::string::npos);
  EXPECT_THROW(static_cast<void>(explain_text("nothing", {}, all)), UsageError);
}

}  // namespace
namespace {

const char* const kName = "host/memcpy/node:0/flush:on/bytes:4096";

TEST(Filter, finds_its_expression_anywhere_in_a_name) {
  EXPECT_TRUE(Filter("memcpy").keeps(kName));
  EXPECT_TRUE(Filter("flush:o[nf]").keeps(kName));
  EXPECT_TRUE(Filter("latency|memcpy").keeps(kName));
  EXPECT_FALSE(Filter("latency").keeps(kName));
}

TEST(Filter, anchors_hold_the_ends) {
  EXPECT_TRUE(Filter("^host/").keeps(kName));
  EXPECT_FALSE(Filter("^memcpy").keeps(kName));
  EXPECT_TRUE(Filter("bytes:4096$").keeps(kName));
  EXPECT_FALSE(Filter("bytes:409$").keeps(kName));
}

TEST(Filter, a_leading_minus_turns_it_round) {
  EXPECT_FALSE(Filter("-memcpy").keeps(kName));
  EXPECT_TRUE(Filter("-latency").keeps(kName));
  EXPECT_TRUE(Filter("-bytes:409$").keeps(kName));
}

TEST(Filter, empty_and_all_keep_everything) {
  for (const char* text : {"", "all", "."}) {
    EXPECT_TRUE(Filter(text).keeps(kName)) << text;
  }
  EXPECT_FALSE(Filter("-all").keeps(kName));
}

TEST(Filter, a_size_with_a_unit_is_found_in_bytes) {
  for (const char* text : {"bytes:4KiB", "bytes:4 KiB", "bytes:4kib$", "bytes:4K", "bytes:(1KiB|4KiB)",
                           "bytes:4096B", "^host/.*bytes:4KiB$"}) {
    EXPECT_TRUE(Filter(text).keeps(kName)) << text;
  }
  for (const char* text : {"bytes:1KiB", "bytes:4KB", "bytes:4MiB", "bytes:14KiB", "bytes:[4KiB]x"}) {
    EXPECT_FALSE(Filter(text).keeps(kName)) << text;
  }
  EXPECT_FALSE(Filter("-bytes:4KiB").keeps(kName));
}

TEST(Filter, a_size_at_the_end_ends_there) {
  EXPECT_FALSE(Filter("bytes:4B").keeps(kName));
  EXPECT_TRUE(Filter("bytes:4").keeps(kName));
  EXPECT_TRUE(Filter("bytes:4KiB").keeps("grain/bytes:4096/span:2"));
}

TEST(Filter, a_size_that_names_have_with_its_unit_is_found_as_it_is) {
  EXPECT_TRUE(Filter("pages:4KiB").keeps("host/latency/pages:4KiB/bytes:64"));
  EXPECT_TRUE(Filter("[64K]ages:").keeps("host/latency/pages:4KiB") ==
              Filter("[46K]ages:").keeps("host/latency/pages:4KiB"));
  EXPECT_TRUE(Filter("kron20").keeps("bfs/graph:kron20"));
  EXPECT_TRUE(Filter("fanout:10x25").keeps("graphsage/fanout:10x25/batch:1"));
}

TEST(Filter, two_filters_do_not_mix) {
  const Filter one("memcpy");
  const Filter other("latency");
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(one.keeps(kName));
    EXPECT_FALSE(other.keeps(kName));
  }
}

TEST(Filter, of_many_letters_that_may_be_any_takes_no_longer) {
  std::string any;
  for (int i = 0; i < 1000; ++i) {
    any += ".*";
  }
  const Filter filter("^host/" + any + "4096$");
  const double start_s = steady_now_s();
  for (int i = 0; i < 2000; ++i) {
    ASSERT_TRUE(filter.keeps(kName));
    ASSERT_FALSE(filter.keeps("gather"));
  }
  EXPECT_LT(steady_now_s() - start_s, 2.0);
}

TEST(Filter, keeps_repeats_that_mean_something) {
  EXPECT_FALSE(Filter("^host\\.*.*x").keeps(kName));
  EXPECT_TRUE(Filter("^host/[.*.*m]").keeps(kName));
  EXPECT_TRUE(Filter("^host.*.*?4096$").keeps(kName));
}

TEST(Filter, what_does_not_compile_is_refused_by_name) {
  for (const char* text : {"(", "[a", "a{2", "-(", "*a"}) {
    try {
      Filter{text};
      FAIL() << "'" << text << "' was accepted";
    } catch (const UsageError& error) {
      EXPECT_NE(std::string(error.what()).find("--benchmark_filter"), std::string::npos) << error.what();
      EXPECT_NE(std::string(error.what()).find("regular expression"), std::string::npos) << error.what();
    }
  }
}

TEST(Filter, of_parts_that_come_many_times_is_refused) {
  for (const char* text : {"(.*){50}x", "(a|b|.*){2,500}z", "a{99999999999999999999}"}) {
    try {
      Filter{text};
      FAIL() << "'" << text << "' was accepted";
    } catch (const UsageError& error) {
      EXPECT_NE(std::string(error.what()).find("more than 16 times"), std::string::npos) << error.what();
    }
  }
  EXPECT_TRUE(Filter("[0-9]{1,16}$").keeps(kName));
  EXPECT_FALSE(Filter("[{50}]x").keeps(kName));
}

// By backtracking each letter of the name would double the time.
TEST(Filter, takes_no_longer_for_stars_within_stars) {
  const std::string name(300, 'a');
  EXPECT_FALSE(Filter("(a*)*b").keeps(name));
  EXPECT_FALSE(Filter("((((a*)*)*)*)*b|(.*)*b").keeps(name));
  EXPECT_TRUE(Filter("((a*)*)*$").keeps(name));
}

TEST(Filter, is_of_4096_letters_at_most) {
  EXPECT_TRUE(Filter(std::string(4096, 'a')).keeps(std::string(4096, 'a')));
  EXPECT_TRUE(Filter(std::string(2047, '(') + "aa" + std::string(2047, ')')).keeps("aa"));
  try {
    Filter{std::string(100'000, 'a')};
    FAIL() << "100,000 letters were accepted";
  } catch (const UsageError& error) {
    EXPECT_STREQ(error.what(), "--benchmark_filter has 100000 letters, more than 4096");
  }
}

TEST(NearNames, the_nearest_comes_first) {
  const std::vector<std::string> names{"host/latency/bytes:4096", "host/memcpy/bytes:4096",
                                       "transfer/memcpy/bytes:64"};
  EXPECT_EQ(near_names("host/memcopy", names, 1), std::vector{names[1]});
  EXPECT_EQ(near_names("transfer/memcpy/bytes:65", names, 1), std::vector{names[2]});
}

TEST(NearNames, gives_no_more_than_asked_for_nor_than_there_are) {
  const std::vector<std::string> names{"a", "b", "c"};
  EXPECT_EQ(near_names("x", names, 2).size(), 2U);
  EXPECT_EQ(near_names("x", names, 9).size(), 3U);
  EXPECT_TRUE(near_names("x", {}, 9).empty());
}

}  // namespace
}  // namespace grainscope::harness
