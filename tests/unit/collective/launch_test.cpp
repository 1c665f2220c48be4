// The program as ranks of a launch, as far as that needs no GPU: they meet, run, and end alike.

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "child.hpp"

namespace grainscope {
namespace {

using test::Child;
using test::Ended;

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

class Launches : public testing::Test {
 protected:
  // Without a GPU, also where there are some.
  [[nodiscard]] test::Variables variables(int rank, int ranks) const {
    return {{"RANK", std::to_string(rank)},
            {"WORLD_SIZE", std::to_string(ranks)},
            {"LOCAL_RANK", std::to_string(rank)},
            {"CUDA_VISIBLE_DEVICES", "-1"}};
  }
  [[nodiscard]] std::vector<std::string> flags(const std::vector<std::string>& more) const {
    std::vector<std::string> all{"--ranks=" + (folder_ / "meeting").string(), "--rank-timeout=10s",
                                 "--preset=smoke"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  test::TemporaryDirectory folder_;
};

TEST_F(Launches, write_one_result_and_end_alike) {
  const auto asked = flags({"--out=" + (folder_ / "run").string()});
  Child one = Child::program(asked, variables(1, 2));
  const Ended zero = Child::program(asked, variables(0, 2)).wait();
  const Ended other = one.wait();
  EXPECT_EQ(zero.status, 0) << zero.err;
  EXPECT_EQ(other.status, 0) << other.err;
  EXPECT_EQ(other.out, "");
  const auto result = nlohmann::json::parse(test::read_text((folder_ / "run") / "result.json"));
  ASSERT_FALSE(result["benchmarks"].empty());
  for (const auto& row : result["benchmarks"]) {
    const std::string family = row["case"]["family"];
    EXPECT_TRUE(family.starts_with("collective/")) << family << ": others are measured by one process";
    EXPECT_EQ(row["status"], "skipped");
    EXPECT_EQ(row["case"]["axes"]["gpus"], 2);
    EXPECT_EQ(row["case"]["axes"]["processes"], "each");
  }
}

TEST_F(Launches, that_rank_0_cannot_begin_end_with_its_status) {
  const auto asked = flags({"--benchmark_filter=no_such_case"});
  Child one = Child::program(asked, variables(1, 2));
  EXPECT_EQ(Child::program(asked, variables(0, 2)).wait().status, 2);
  EXPECT_EQ(one.wait().status, 2);
}

TEST_F(Launches, that_miss_a_rank_name_it) {
  auto asked = flags({});
  asked[1] = "--rank-timeout=1s";
  Child one = Child::program(asked, variables(1, 3));
  const Ended zero = Child::program(asked, variables(0, 3)).wait();
  EXPECT_EQ(zero.status, 3);
  EXPECT_TRUE(contains(zero.err, "rank 2 of 3 did not come to ")) << zero.err;
  EXPECT_EQ(one.wait().status, 3);
}

TEST_F(Launches, are_only_looked_at_by_rank_0_and_nobody_is_waited_for) {
  const auto asked = flags({"--benchmark_list_tests"});
  const Ended zero = Child::program(asked, variables(0, 1000)).wait();
  EXPECT_EQ(zero.status, 0) << zero.err;
  const Ended one = Child::program(asked, variables(1, 1000)).wait();
  EXPECT_EQ(one.status, 0) << one.err;
  EXPECT_EQ(one.out, "");
}

TEST_F(Launches, of_nobody_are_a_mistake) {
  const Ended alone = Child::program({"--ranks=env", "--benchmark_list_tests"},
                                     {{"RANK", ""}, {"SLURM_PROCID", ""}, {"PMI_RANK", ""}})
                          .wait();
  EXPECT_EQ(alone.status, 2);
  EXPECT_TRUE(contains(alone.err, "torchrun, mpirun, mpiexec or srun")) << alone.err;
}

TEST_F(Launches, of_one_process_are_none) {
  const Ended alone =
      Child::program({"--ranks=env", "--benchmark_list_tests", test::kFewCases}, variables(0, 1)).wait();
  EXPECT_EQ(alone.status, 2) << "where they meet is not told";
  const Ended told =
      Child::program({"--ranks=localhost:1", "--benchmark_list_tests", test::kFewCases}, variables(0, 1))
          .wait();
  EXPECT_EQ(told.status, 0) << told.err;
  EXPECT_TRUE(contains(told.out, "host/memcpy/"));
}

}  // namespace
}  // namespace grainscope
