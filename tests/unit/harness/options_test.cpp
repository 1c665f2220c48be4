#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "grainscope/core/error.hpp"
#include "grainscope/core/units.hpp"
#include "harness/options.hpp"

namespace grainscope::harness {
namespace {

using Words = std::vector<std::string>;

TEST(Options, nothing_given_is_a_quick_run_of_everything) {
  const Options options = parse_options({});
  EXPECT_EQ(options.action, Action::run);
  EXPECT_EQ(options.preset, Preset::quick);
  EXPECT_EQ(options.filter, "");
  EXPECT_TRUE(options.gpus.empty());
  EXPECT_TRUE(options.nodes.empty());
  EXPECT_EQ(options.shard_count, 1);
  EXPECT_FALSE(options.visits.has_value());
  EXPECT_FALSE(options.resume);
  EXPECT_TRUE(options.wait_for_gpu);
  EXPECT_EQ(options.display_format, "console");
  EXPECT_TRUE(options.selection_flags.empty());
}

TEST(Options, a_filter_is_taken_letter_by_letter) {
  for (const char* filter :
       {"-host", "bytes:4096$", "[0-9]+", "a,b", "a=b", "a|b", "^x.*(y|z)$", "all", "\\.", ""}) {
    EXPECT_EQ(parse_options({std::string("--benchmark_filter=") + filter}).filter, filter);
  }
}

TEST(Options, everything_that_says_what_is_run_is_understood) {
  const Options options =
      parse_options({"--preset", "full", "--gpu", "1,0,1", "--numa=2", "--shard", "2/4", "--min-bytes",
                     "4KiB", "--max-bytes=1GiB", "--ci-target", "0.01", "--benchmark_repetitions=3",
                     "--hot-budget=2GiB,512MiB,2GiB", "--gpu-memory=16GiB"});
  EXPECT_EQ(options.preset, Preset::full);
  EXPECT_EQ(options.gpus, (std::vector{0, 1}));
  EXPECT_EQ(options.nodes, std::vector{2});
  EXPECT_EQ(options.shard_index, 2);
  EXPECT_EQ(options.shard_count, 4);
  EXPECT_EQ(options.min_bytes, 4 * kKiB);
  EXPECT_EQ(options.max_bytes, kGiB);
  EXPECT_EQ(options.ci_target, 0.01);
  EXPECT_EQ(options.visits, 3);
  EXPECT_EQ(options.hot_budgets, (std::vector<std::uint64_t>{512 * kMiB, 2 * kGiB}));
  EXPECT_EQ(options.gpu_memory, 16 * kGiB);
}

TEST(Options, all_gpus_and_nodes_are_no_restriction) {
  const Options options = parse_options({"--gpu=all", "--numa=all"});
  EXPECT_TRUE(options.gpus.empty());
  EXPECT_TRUE(options.nodes.empty());
}

TEST(Options, every_action_has_its_flag) {
  EXPECT_EQ(parse_options({"--benchmark_list_tests"}).action, Action::list);
  EXPECT_EQ(parse_options({"--benchmark_list_tests=true"}).action, Action::list);
  EXPECT_EQ(parse_options({"--benchmark_list_tests=false"}).action, Action::run);
  EXPECT_EQ(parse_options({"--plan"}).action, Action::plan);
  EXPECT_EQ(parse_options({"--env"}).action, Action::environment);
  const Options explain = parse_options({"--explain", "host/flush"});
  EXPECT_EQ(explain.action, Action::explain);
  EXPECT_EQ(explain.explain_case, "host/flush");
}

TEST(Options, the_machine_report_is_text_unless_json_is_asked_for) {
  EXPECT_EQ(parse_options({"--env"}).environment_format, "text");
  EXPECT_EQ(parse_options({"--env=text"}).environment_format, "text");
  EXPECT_EQ(parse_options({"--env=json"}).environment_format, "json");
  EXPECT_EQ(parse_options({"--env", "json"}).environment_format, "json");
}

TEST(Options, times_come_in_seconds_minutes_and_hours) {
  EXPECT_EQ(parse_options({"--max-time=90"}).max_time_s, 90);
  EXPECT_EQ(parse_options({"--max-time=90s"}).max_time_s, 90);
  EXPECT_EQ(parse_options({"--max-time=10m"}).max_time_s, 600);
  EXPECT_EQ(parse_options({"--max-time=2min"}).max_time_s, 120);
  EXPECT_EQ(parse_options({"--max-time=1.5h"}).max_time_s, 5400);
}

TEST(Options, output_flags_keep_their_meaning) {
  const Options options = parse_options(
      {"--benchmark_format=json", "--benchmark_out=x.csv", "--benchmark_out_format=csv",
       "--benchmark_report_aggregates_only", "--benchmark_color=yes", "--benchmark_context=a=b,c=d",
       "--benchmark_time_unit=ms", "--v=2", "--benchmark_counters_tabular=true"});
  EXPECT_EQ(options.display_format, "json");
  EXPECT_EQ(options.file_out, "x.csv");
  EXPECT_EQ(options.file_format, "csv");
  EXPECT_TRUE(options.display_aggregates_only);
  EXPECT_TRUE(options.file_aggregates_only);
  EXPECT_EQ(options.color, "true");
  EXPECT_EQ(options.library_flags,
            (Words{"--benchmark_context=a=b,c=d", "--benchmark_time_unit=ms", "--v=2"}));
}

TEST(Options, aggregates_on_display_leave_the_file_whole) {
  const Options options = parse_options({"--benchmark_display_aggregates_only=true"});
  EXPECT_TRUE(options.display_aggregates_only);
  EXPECT_FALSE(options.file_aggregates_only);
}

TEST(Options, resuming_names_the_directory) {
  const Options options =
      parse_options({"--resume", "dir", "--max-time=1m", "--benchmark_format=csv", "--no-wait"});
  EXPECT_TRUE(options.resume);
  EXPECT_EQ(options.out_dir, "dir");
  EXPECT_EQ(options.max_time_s, 60);
  EXPECT_FALSE(options.wait_for_gpu);
}

void expect_same_selection(const Words& given) {
  const Options first = parse_options(given);
  const Options again = parse_options(first.selection_flags);
  EXPECT_EQ(again.selection_flags, first.selection_flags);
  EXPECT_EQ(again.filter, first.filter);
  EXPECT_EQ(again.preset, first.preset);
  EXPECT_EQ(again.gpus, first.gpus);
  EXPECT_EQ(again.nodes, first.nodes);
  EXPECT_EQ(again.shard_index, first.shard_index);
  EXPECT_EQ(again.shard_count, first.shard_count);
  EXPECT_EQ(again.min_bytes, first.min_bytes);
  EXPECT_EQ(again.max_bytes, first.max_bytes);
  EXPECT_EQ(again.ci_target, first.ci_target);
  EXPECT_EQ(again.visits, first.visits);
  EXPECT_EQ(again.gpu_memory, first.gpu_memory);
  EXPECT_EQ(again.allow_managed_oversubscription, first.allow_managed_oversubscription);
}

TEST(SelectionFlags, parse_into_the_selection_they_came_from) {
  expect_same_selection({});
  expect_same_selection({"--benchmark_filter=-a=b|[0-9],c$"});
  expect_same_selection({"--preset=acceptance", "--gpu", "0,2", "--numa", "1", "--shard=3/7", "--min-bytes",
                         "64 KiB", "--max-bytes=2G", "--ci-target=0.05", "--benchmark_repetitions", "4"});
  expect_same_selection({"--gpu=all", "--numa=all", "--preset=smoke", "--gpu-memory=16GiB"});
}

TEST(SelectionFlags, graphs_of_an_axis_are_those_of_the_flag) {
  const Options options = parse_options({"--axis", "graph=kron:10,file:some.el", "--axis", "edge=4"});
  ASSERT_EQ(options.graphs.size(), 2U);
  EXPECT_EQ(options.graphs[0].name(), "kron10");
  EXPECT_EQ(options.graphs[1].path, "some.el");
  EXPECT_EQ(options.axes, (std::vector<std::pair<std::string, std::string>>{{"edge", "4"}}));
  const std::string whole = std::filesystem::absolute("some.el").string();
  const auto& flags = options.selection_flags;
  EXPECT_EQ(std::count(flags.begin(), flags.end(), "--axis=graph=kron:10,file:" + whole), 1);
  EXPECT_EQ(parse_options(flags).graphs[1].path, whole);
}

TEST(SelectionFlags, a_switch_comes_back_as_it_was_set) {
  EXPECT_TRUE(parse_options({"--allow-managed-oversubscription"}).allow_managed_oversubscription);
  expect_same_selection({"--allow-managed-oversubscription"});
  EXPECT_FALSE(parse_options({"--allow-managed-oversubscription=false"}).allow_managed_oversubscription);
  expect_same_selection({"--allow-managed-oversubscription=false"});
}

TEST(SelectionFlags, leave_out_how_a_run_is_shown) {
  const Options options = parse_options({"--out=d", "--max-time=5m", "--benchmark_format=json", "--no-wait",
                                         "--benchmark_filter=x", "--benchmark_out=f"});
  EXPECT_EQ(options.selection_flags, Words{"--benchmark_filter=x"});
}

TEST(Version, names_the_suite_its_commit_and_what_built_it) {
  const std::string text = version_text();
  for (const char* word : {"grainscope ", "commit ", "compiler ", "CUDA ", "benchmark "}) {
    EXPECT_NE(text.find(word), std::string::npos) << word;
  }
}

TEST(Options, help_and_version_are_text_and_not_errors) {
  try {
    static_cast<void>(parse_options({"--help"}));
    FAIL();
  } catch (const HelpRequested& help) {
    for (const char* flag : {"--benchmark_filter", "--preset", "--resume", "--env", "Exit status"}) {
      EXPECT_NE(help.text.find(flag), std::string::npos) << flag;
    }
  }
  EXPECT_THROW(static_cast<void>(parse_options({"--version"})), HelpRequested);
}

std::string help_of(const std::string& flag) {
  try {
    static_cast<void>(parse_options({flag}));
  } catch (const HelpRequested& help) {
    return help.text;
  }
  return {};
}

TEST(Options, help_fits_a_screen_and_the_rest_is_behind_a_topic) {
  const std::string help = help_of("--help");
  EXPECT_LE(std::count(help.begin(), help.end(), '\n'), 60);
  std::istringstream lines(help_of("--help=all"));
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(line.size(), 100U) << line;
  }
  EXPECT_EQ(help.find("--benchmark_out"), std::string::npos);
  EXPECT_NE(help_of("--help=output").find("--benchmark_out"), std::string::npos);
  EXPECT_EQ(help_of("--help=output").find("--preset"), std::string::npos);
  for (const char* flag : {"--allow-managed-oversubscription", "--benchmark_out", "--plan", "MEMORY"}) {
    EXPECT_NE(help_of("--help=all").find(flag), std::string::npos) << flag;
  }
  EXPECT_THROW(static_cast<void>(parse_options({"--help=everything"})), UsageError);
}

}  // namespace
namespace {

// Every command line that cannot be honoured says, in one sentence, what to write instead.

struct Refused {
  std::vector<std::string> words;
  std::vector<std::string> said;  // all found in the message
};

void PrintTo(const Refused& refused, std::ostream* out) {
  for (const std::string& word : refused.words) {
    *out << word << ' ';
  }
}

class RefusedOptions : public testing::TestWithParam<Refused> {};

TEST_P(RefusedOptions, say_what_to_do) {
  try {
    static_cast<void>(parse_options(GetParam().words));
    FAIL() << "this was accepted";
  } catch (const UsageError& error) {
    const std::string message = error.what();
    for (const std::string& said : GetParam().said) {
      EXPECT_NE(message.find(said), std::string::npos) << "'" << said << "' is not in: " << message;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    GoogleBenchmarkFlags, RefusedOptions,
    testing::Values(Refused{{"--benchmark_min_time=1"}, {"--benchmark_min_time", "--ci-target", "--preset"}},
                    Refused{{"--benchmark_min_time", "1"}, {"--benchmark_min_time", "--ci-target"}},
                    Refused{{"--benchmark_min_warmup_time=1"}, {"warms up by itself"}},
                    Refused{{"--benchmark_enable_random_interleaving=true"}, {"--benchmark_repetitions"}},
                    Refused{{"--benchmark_perf_counters=CYCLES"}, {"perf stat"}},
                    Refused{{"--benchmark_dry_run"}, {"--plan", "smoke"}},
                    Refused{{"--benchmark_format=xml"}, {"--benchmark_format xml", "console, json, csv"}},
                    Refused{{"--benchmark_out_format=xml"}, {"--benchmark_out_format xml", "json, csv"}},
                    Refused{{"--benchmark_color=red"}, {"--benchmark_color red", "auto, true, false"}},
                    Refused{{"--benchmark_time_unit=h"}, {"--benchmark_time_unit h", "ns, us, ms"}},
                    Refused{{"--benchmark_repetitions=0"},
                            {"--benchmark_repetitions", "between 1 and 10000"}},
                    Refused{{"--benchmark_repetitions=-1"}, {"between 1 and 10000"}},
                    Refused{{"--benchmark_repetitions=10001"}, {"between 1 and 10000"}},
                    Refused{{"--rank-timeout=abc"}, {"--rank-timeout abc is not a time"}},
                    Refused{{"--benchmark_out_format=csv"}, {"is of --benchmark_out"}},
                    Refused{{"--benchmark_repetitions=many"}, {"--benchmark_repetitions"}}));

INSTANTIATE_TEST_SUITE_P(
    OwnFlags, RefusedOptions,
    testing::Values(
        Refused{{"--no-such-flag"}, {"--no-such-flag", "--help"}},
        Refused{{"--benchmark_no_such_flag=1"}, {"--benchmark_no_such_flag", "--help"}},
        Refused{{"stray"}, {"stray", "--help"}},
        Refused{{"--benchmark_fliter=x"},
                {"--benchmark_fliter is not a flag", "did you mean --benchmark_filter?"}},
        Refused{{"repat", "3"}, {"repat is neither a flag nor a command", "did you mean repeat?"}},
        Refused{{"--preset=quik"}, {"did you mean quick?"}},
        Refused{{"--benchmark_format=jsn"}, {"did you mean json?"}},
        Refused{{"--preset=fast"}, {"'fast'", "smoke, quick, full, paper and acceptance"}},
        Refused{{"--preset="}, {"preset"}}, Refused{{"--preset"}, {"--preset", "--help"}},
        Refused{{"--shard=0/2"}, {"0/2", "e.g. 2/4"}}, Refused{{"--shard=3/2"}, {"3/2", "e.g. 2/4"}},
        Refused{{"--shard=x"}, {"--shard x", "e.g. 2/4"}}, Refused{{"--shard=1"}, {"e.g. 2/4"}},
        Refused{{"--shard=1/"}, {"e.g. 2/4"}}, Refused{{"--shard=-1/2"}, {"e.g. 2/4"}},
        Refused{{"--shard=1/2/3"}, {"e.g. 2/4"}}, Refused{{"--shard=1.0/2"}, {"e.g. 2/4"}},
        Refused{{"--hot-budget=much"}, {"'much' is not a size", "64KiB"}},
        Refused{{"--hot-budget=1GiB,0"}, {"--hot-budget 1GiB,0", "above 0"}},
        Refused{{"--gpu-memory=much"}, {"'much' is not a size", "64KiB"}},
        Refused{{"--gpu-memory=0"}, {"--gpu-memory 0", "above 0"}},
        Refused{{"--gpu-memory=16GiB,8GiB"}, {"--gpu-memory 16GiB,8GiB", "several sizes"}},
        Refused{{"--min-bytes=big"}, {"'big' is not a size", "64KiB"}},
        Refused{{"--max-bytes=-1"}, {"'-1' is not a size", "64KiB"}},
        Refused{{"--min-bytes=2MiB", "--max-bytes=1MiB"}, {"--min-bytes 2MiB", "--max-bytes 1MiB"}},
        Refused{{"--gpu=x"}, {"--gpu x", "0,1"}}, Refused{{"--gpu=-1"}, {"--gpu -1"}},
        Refused{{"--gpu=0,"}, {"--gpu 0,"}}, Refused{{"--numa=1;2"}, {"--numa 1;2", "0,1"}},
        Refused{{"--ci-target=0"}, {"--ci-target", "0.02"}},
        Refused{{"--ci-target=2"}, {"--ci-target", "0.02"}},
        Refused{{"--ci-target=1"}, {"--ci-target", "0.02"}},
        Refused{{"--ci-target=-0.1"}, {"--ci-target", "0.02"}}, Refused{{"--ci-target=nan"}, {"--ci-target"}},
        Refused{{"--ci-target=2%"}, {"--ci-target"}},
        Refused{{"--max-time=soon"}, {"--max-time soon", "10m"}},
        Refused{{"--max-time=0"}, {"--max-time 0", "10m"}}, Refused{{"--max-time=-5s"}, {"10m"}},
        Refused{{"--max-time=inf"}, {"10m"}}, Refused{{"--max-time=nan"}, {"10m"}},
        Refused{{"--max-time=5d"}, {"10m"}}, Refused{{"--env", "xml"}, {"--env xml", "text, json"}},
        Refused{{"--env=yaml"}, {"--env yaml", "text, json"}}));

INSTANTIATE_TEST_SUITE_P(
    Contradictions, RefusedOptions,
    testing::Values(Refused{{"--plan", "--benchmark_list_tests"}, {"exclude each other"}},
                    Refused{{"--plan", "--env"}, {"exclude each other"}},
                    Refused{{"--explain=x", "--env=json"}, {"exclude each other"}},
                    Refused{{"--resume=a", "--out=b"}, {"--resume", "no --out"}},
                    Refused{{"--resume=a", "--preset=quick"}, {"--resume"}},
                    Refused{{"--resume=a", "--benchmark_filter=x"}, {"--resume"}},
                    Refused{{"--resume=a", "--shard=1/2"}, {"--resume"}},
                    Refused{{"--resume=a", "--benchmark_repetitions=2"}, {"--resume"}},
                    Refused{{"--features=x.npy"}, {"--features x.npy", "--graph file:PATH"}},
                    Refused{{"--features=x.npy", "--graph=power,pgp"}, {"--features x.npy", "one graph"}},
                    Refused{{"--resume=a", "--features=x.npy", "--graph=power"}, {"--resume"}},
                    Refused{{"--benchmark_filter=a", "--benchmark_filter=b"}, {"--benchmark_filter"}}));

}  // namespace
}  // namespace grainscope::harness
