// Collective operations by NCCL: in one process, in one process a GPU, over sockets, and with a rank that
// dies.

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "child.hpp"
#include "family_fixture.hpp"
#include "grainscope/collective/collective.hpp"
#include "grainscope/collective/library.hpp"
#include "grainscope/collective/part.hpp"
#include "grainscope/core/sampler.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/cuda/check.hpp"
#include "grainscope/cuda/memory.hpp"
#include "values.hpp"

namespace grainscope::harness {
namespace {

using collective::Element;
using collective::Expected;
using collective::Kind;
using collective::Work;

class CollectiveValues : public GpuTest {};

TEST_F(CollectiveValues, are_written_and_found_wrong_by_the_gpu_as_by_the_host) {
  constexpr int kRanks = 3;
  constexpr std::uint64_t kCount = 1000;
  const cuda::DeviceGuard guard(0);
  const cuda::Stream stream;
  for (const Element element : collective::kElements) {
    const cuda::DeviceArray<std::uint32_t> data(0, kCount);
    collective::fill_values(data.data(), kCount, element, 2, 5, stream);
    stream.synchronize();
    const std::vector<std::uint32_t> words = data.read(kCount);
    for (std::uint64_t i = 0; i < kCount; ++i) {
      const std::uint32_t value = collective::input_value(5 + i, 2);
      const auto whole = static_cast<float>(value & collective::kFloatValues);
      std::uint32_t bits = value;
      if (element == Element::float32) {
        std::memcpy(&bits, &whole, sizeof(bits));
      }
      ASSERT_EQ(words[i], bits) << i;
    }
    const Expected from_one{.ranks = kRanks, .source = 2, .first = 5};
    EXPECT_EQ(collective::find_wrong(data.data(), kCount, element, from_one, stream), std::nullopt);
    const Expected from_other{.ranks = kRanks, .source = 1, .first = 5};
    EXPECT_LT(collective::find_wrong(data.data(), kCount, element, from_other, stream).value_or(kCount), 8U);
    for (const std::uint64_t at : {std::uint64_t{0}, kCount / 2, kCount - 1}) {
      collective::fill_values(data.data(), kCount, element, 2, 5, stream);
      cuda::check(cudaMemsetAsync(data.data() + at, 0xff, 4, stream.get()), "write a wrong element");
      EXPECT_EQ(collective::find_wrong(data.data(), kCount, element, from_one, stream), at);
    }
  }
}

class Collectives : public FamilyTest {
 protected:
  void SetUp() override {
    FamilyTest::SetUp();
    if (IsSkipped()) {
      return;
    }
    if (runtime().devices.size() < 2) {
      GTEST_SKIP() << "needs two GPUs";
    }
    try {
      static_cast<void>(collective::Library::get());
    } catch (const SkipError& error) {
      GTEST_SKIP() << error.what();
    }
  }
};

TEST_F(Collectives, of_one_process_are_right_and_possible) {
  const auto benchmarks = listed(collective_operations(), Preset::smoke);
  const std::size_t measured = measure_all(benchmarks, [](const Measurement& measurement) {
    EXPECT_EQ(measurement.verification, "every element of every rank's output");
    EXPECT_GT(measurement.counters.at("bus_bandwidth_gb_s"), 0);
    EXPECT_EQ(measurement.library->name, "NCCL");
    EXPECT_EQ(measurement.library->path, collective::Library::get().path());
  });
  EXPECT_EQ(measured, benchmarks.size());
}

TEST_F(Collectives, take_as_long_behind_a_gate_as_in_a_row_where_they_are_long) {
  collective::Communicators communicators({0, 1});
  collective::Part part(communicators, {.kind = Kind::all_reduce, .bytes = 256 * kMiB}, true);
  part.start();
  static_cast<void>(part.loop_s(5));
  const double loop_s = part.loop_s(20);
  part.close();
  const double call_s = part.open().seconds;
  EXPECT_NEAR(call_s / loop_s, 1, 0.15);
}

TEST_F(Collectives, that_wait_for_a_reason_to_stop_end_with_it) {
  // Rank 1 of two never comes.
  const double start_s = steady_now_s();
  try {
    const collective::Communicators communicators(
        0, 0, 2, collective::make_id(),
        {30, [&] { return std::string(steady_now_s() - start_s > 1 ? "rank 1 is gone" : ""); }});
    FAIL() << "nothing was thrown";
  } catch (const RankLostError& error) {
    EXPECT_STREQ(error.what(), "rank 1 is gone");
  }
  EXPECT_LT(steady_now_s() - start_s, 10);
}

// Two processes, one a GPU.
class CollectiveLaunches : public Collectives {
 protected:
  // What an earlier test of this process had the library write is not for the processes that are launched.
  CollectiveLaunches() {
    ::unsetenv("NCCL_DEBUG");
    ::unsetenv("NCCL_DEBUG_FILE");
  }
  [[nodiscard]] test::Variables variables(int rank, const test::Variables& more) const {
    test::Variables all{
        {"RANK", std::to_string(rank)}, {"WORLD_SIZE", "2"}, {"LOCAL_RANK", std::to_string(rank)}};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  [[nodiscard]] std::vector<std::string> flags(const std::vector<std::string>& more) const {
    std::vector<std::string> all{"--ranks=" + (folder_ / "meeting").string(),
                                 "--out=" + (folder_ / "run").string(), "--preset=smoke", "--no-wait"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  [[nodiscard]] nlohmann::json rows() const {
    return nlohmann::json::parse(test::read_text(folder_ / "run" / "result.json"))["benchmarks"];
  }
  // Runs both; what they ended with.
  [[nodiscard]] std::vector<test::Ended> launch(const std::vector<std::string>& more,
                                                const test::Variables& environment = {}) const {
    test::Child one = test::Child::program(flags(more), variables(1, environment));
    test::Child zero = test::Child::program(flags(more), variables(0, environment));
    return {zero.wait(), one.wait()};
  }
  test::TemporaryDirectory folder_;
};

std::set<std::string> ways_of(const nlohmann::json& row) {
  const auto& library = row.at("library");
  return library.contains("connections") ? library["connections"].get<std::set<std::string>>()
                                         : std::set<std::string>{};
}

TEST_F(CollectiveLaunches, of_a_process_for_each_gpu_are_right) {
  const auto ended = launch({});
  ASSERT_EQ(ended[0].status, 0) << ended[0].err;
  EXPECT_EQ(ended[1].status, 0) << ended[1].err;
  for (const auto& row : rows()) {
    EXPECT_EQ(row["status"], "ok") << row["name"] << row.value("reason", "");
    EXPECT_LE(row["counters"]["fastest_rank_s"].get<double>(), row["p95_s"].get<double>());
    EXPECT_EQ(row["library"]["hosts"], 1);
  }
}

TEST_F(CollectiveLaunches, go_through_sockets_where_nothing_else_is_left) {
  const auto ended =
      launch({"--axis=bytes=1MiB", "--benchmark_filter=out/loop"},
             {{"NCCL_P2P_DISABLE", "1"}, {"NCCL_SHM_DISABLE", "1"}, {"NCCL_NVLS_ENABLE", "0"}});
  ASSERT_EQ(ended[0].status, 0) << ended[0].err;
  for (const auto& row : rows()) {
    EXPECT_EQ(row["status"], "ok") << row["name"] << row.value("reason", "");
    EXPECT_EQ(ways_of(row).count("P2P/CUMEM"), 0U) << row["library"];
    EXPECT_EQ(row["library"]["variables"]["NCCL_SHM_DISABLE"], "1");
    const auto ways = ways_of(row);
    EXPECT_TRUE(std::any_of(ways.begin(), ways.end(), [](const std::string& way) {
      return way.starts_with("NET/");
    })) << row["library"];
  }
}

// Both clocks: behind a gate a GPU waits for a rank that is gone, and nothing but an abort ends that.
class LostRanks : public CollectiveLaunches, public ::testing::WithParamInterface<const char*> {};

INSTANTIATE_TEST_SUITE_P(OfBothClocks, LostRanks, ::testing::Values("out/loop", "out/single"));

TEST_P(LostRanks, are_named_and_what_there_is_is_kept) {
  const std::string filter = GetParam();
  const auto asked = flags({"--axis=bytes=1MiB", "--benchmark_filter=" + filter,
                            "--benchmark_repetitions=500", "--rank-timeout=20s"});
  test::Child one = test::Child::program(asked, variables(1, {}));
  test::Child zero = test::Child::program(asked, variables(0, {}));
  const double start_s = steady_now_s();
  const auto journal = folder_ / "run" / "journal.jsonl";
  const auto lines = [&] {
    std::ifstream file(journal);
    return std::count(std::istreambuf_iterator<char>(file), {}, '\n');
  };
  while (lines() < 10 && steady_now_s() - start_s < 120) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  ASSERT_GE(lines(), 10);
  one.send(SIGKILL);
  const double killed_s = steady_now_s();
  const test::Ended ended = zero.wait();
  EXPECT_LT(steady_now_s() - killed_s, 30);
  EXPECT_EQ(ended.status, 1) << ended.err;
  const auto result = nlohmann::json::parse(test::read_text(folder_ / "run" / "result.json"));
  EXPECT_FALSE(result["context"]["run"]["complete"]);
  const auto& all = result["benchmarks"];
  EXPECT_TRUE(std::any_of(all.begin(), all.end(), [](const auto& row) { return row["status"] == "ok"; }));
  EXPECT_TRUE(std::any_of(all.begin(), all.end(), [&](const auto& row) {
    return row["status"] == "failed" && row["reason"].template get<std::string>().find(
                                            "process " + std::to_string(one.pid())) != std::string::npos;
  }));
}

}  // namespace
}  // namespace grainscope::harness
