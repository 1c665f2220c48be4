// Every command line that cannot be honoured says, in one sentence, what to write instead.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "grainscope/core/error.hpp"
#include "harness/options.hpp"

namespace grainscope::harness {
namespace {

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
                    Refused{{"--benchmark_repetitions=0"}, {"--benchmark_repetitions", "at least 1"}},
                    Refused{{"--benchmark_repetitions=-1"}, {"at least 1"}},
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
