// What comes out of collective operations, held to a serial one over host memory; what rates count; how
// NCCL is found; and launches of several processes.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "../../testing/says.hpp"
#include "child.hpp"
#include "grainscope/collective/collective.hpp"
#include "grainscope/collective/library.hpp"
#include "grainscope/core/error.hpp"
#include "nccl_api.hpp"

namespace grainscope::collective {
namespace {

using test::says;
using Values = std::vector<std::uint32_t>;

// The oracle: every rank's output, by copying and adding whole inputs.
std::vector<Values> carry_out(Kind kind, const std::vector<Values>& inputs) {
  const std::size_t ranks = inputs.size();
  std::vector<Values> outputs(ranks);
  Values sum(inputs[0].size(), 0);
  Values joined;
  for (const Values& input : inputs) {
    joined.insert(joined.end(), input.begin(), input.end());
    for (std::size_t i = 0; i < sum.size(); ++i) {
      sum[i] += input[i];
    }
  }
  const auto part = static_cast<std::ptrdiff_t>(inputs[0].size() / ranks);
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const auto at = static_cast<std::ptrdiff_t>(rank) * part;
    switch (kind) {
      case Kind::all_reduce:
        outputs[rank] = sum;
        break;
      case Kind::all_gather:
        outputs[rank] = joined;
        break;
      case Kind::reduce_scatter:
        outputs[rank].assign(sum.begin() + at, sum.begin() + at + part);
        break;
      case Kind::broadcast:
        outputs[rank] = inputs[0];
        break;
      case Kind::all_to_all:
        for (const Values& input : inputs) {
          outputs[rank].insert(outputs[rank].end(), input.begin() + at, input.begin() + at + part);
        }
        break;
      case Kind::send_receive:
        outputs[(rank + 1) % ranks] = inputs[rank];
        break;
    }
  }
  return outputs;
}

TEST(Collectives, expect_what_a_serial_one_gives) {
  for (const Kind kind : kKinds) {
    for (const int ranks : {2, 3, 8}) {
      for (const std::uint32_t mask : {~std::uint32_t{0}, kFloatValues}) {
        SCOPED_TRACE(std::string(name(kind)) + " of " + std::to_string(ranks));
        const Work work{.kind = kind, .bytes = 4096};
        std::vector<Values> inputs;
        for (int rank = 0; rank < ranks; ++rank) {
          Values& input = inputs.emplace_back(input_bytes(work, ranks) / kElementBytes);
          for (std::size_t i = 0; i < input.size(); ++i) {
            input[i] = input_value(i, rank) & mask;
          }
        }
        const std::vector<Values> outputs = carry_out(kind, inputs);
        for (int rank = 0; rank < ranks; ++rank) {
          const Values& output = outputs[static_cast<std::size_t>(rank)];
          ASSERT_EQ(output.size() * kElementBytes, output_bytes(work, ranks));
          const Expected expected = expected_of(work, ranks, rank);
          for (std::size_t i = 0; i < output.size(); ++i) {
            ASSERT_EQ(expected_sum(expected, i, mask), output[i]) << "element " << i << " of rank " << rank;
          }
        }
      }
    }
  }
}

TEST(Collectives, count_bytes_and_bus_bandwidth_as_nccl_tests_do) {
  // size, ranks: size and busbw / algbw in nccl-tests' table (src/*.cu, GetCollByteCount and GetBw).
  EXPECT_EQ(counted_bytes({.kind = Kind::all_reduce, .bytes = 1000}, 8), 1000U);
  EXPECT_EQ(counted_bytes({.kind = Kind::all_gather, .bytes = 1000}, 8), 896U) << "8 * 112";
  EXPECT_EQ(counted_bytes({.kind = Kind::reduce_scatter, .bytes = 1024}, 8), 1024U);
  EXPECT_EQ(input_bytes({.kind = Kind::all_gather, .bytes = 1024}, 8), 128U);
  EXPECT_EQ(output_bytes({.kind = Kind::reduce_scatter, .bytes = 1024}, 8), 128U);
  EXPECT_EQ(input_bytes({.kind = Kind::all_to_all, .bytes = 1024}, 8), 1024U);
  EXPECT_DOUBLE_EQ(bus_factor(Kind::all_reduce, 8), 1.75);
  EXPECT_DOUBLE_EQ(bus_factor(Kind::all_reduce, 2), 1);
  for (const Kind kind : {Kind::all_gather, Kind::reduce_scatter, Kind::all_to_all}) {
    EXPECT_DOUBLE_EQ(bus_factor(kind, 8), 0.875);
  }
  EXPECT_DOUBLE_EQ(bus_factor(Kind::broadcast, 8), 1);
  EXPECT_DOUBLE_EQ(bus_factor(Kind::send_receive, 8), 1);
}

TEST(Collectives, give_each_rank_an_element_of_the_smallest) {
  EXPECT_EQ(counted_bytes({.kind = Kind::all_gather, .bytes = 8}, 2), 8U);
  EXPECT_EQ(why_impossible({.kind = Kind::all_gather, .bytes = 8}, 2), "");
  EXPECT_NE(why_impossible({.kind = Kind::all_gather, .bytes = 8}, 3), "");
  EXPECT_EQ(why_impossible({.kind = Kind::all_reduce, .bytes = 4}, 64), "");
  EXPECT_NE(why_impossible({.kind = Kind::all_reduce, .bytes = 3}, 2), "");
}

TEST(Collectives, are_in_place_where_nothing_is_overwritten_before_it_is_sent) {
  for (const Kind kind : kKinds) {
    const bool can = kind != Kind::all_to_all && kind != Kind::send_receive;
    EXPECT_EQ(why_impossible({.kind = kind, .bytes = 1024, .in_place = true}, 2).empty(), can) << name(kind);
  }
}

TEST(Collectives, cross_a_link_with_no_less_than_others_need) {
  EXPECT_EQ(link_bytes_least({.kind = Kind::all_reduce, .bytes = 1024}, 8), 1024U);
  EXPECT_EQ(link_bytes_least({.kind = Kind::all_gather, .bytes = 1024}, 8), 896U);
  EXPECT_EQ(link_bytes_least({.kind = Kind::reduce_scatter, .bytes = 1024}, 8), 896U);
  EXPECT_EQ(link_bytes_least({.kind = Kind::send_receive, .bytes = 1024}, 8), 1024U);
}

TEST(Collectives, of_as_many_ranks_as_there_may_be_have_exact_float_sums) {
  constexpr double kFirstInexact = 1 << 24;
  EXPECT_LE(static_cast<double>(kFloatValues) * kMostRanks, kFirstInexact);
  // Neighbouring elements and ranks differ, or a shifted or doubled part would pass.
  int same = 0;
  for (std::uint64_t i = 0; i < 4096; ++i) {
    same += (input_value(i, 0) & kFloatValues) == (input_value(i, 1) & kFloatValues) ? 1 : 0;
  }
  EXPECT_LT(same, 64);
}

// How NCCL is found, which version it is, what an older one lacks, and what its log tells.

std::string why_not(const std::string& file) {
  try {
    const Library library({file});
  } catch (const SkipError& error) {
    return error.what();
  }
  return "";
}

TEST(NcclLibraries, tell_their_version_and_the_file_that_was_loaded) {
  const Library library({"libno-such-nccl.so.2", GRAINSCOPE_FAKE_NCCL, GRAINSCOPE_FAKE_NCCL_2_18});
  EXPECT_EQ(library.version(), "2.28.9");
  EXPECT_EQ(library.path(), std::filesystem::canonical(GRAINSCOPE_FAKE_NCCL).string());
  EXPECT_NO_THROW(library.require_registration());
  EXPECT_NE(library.api().all_to_all, nullptr);
}

TEST(NcclLibraries, that_are_not_there_say_what_to_do) {
  const std::string why = why_not("libno-such-nccl.so.2");
  EXPECT_TRUE(says(why, "there is no NCCL (libno-such-nccl.so.2: ")) << why;
  EXPECT_TRUE(says(why, "install NCCL 2.7 or newer")) << why;
  EXPECT_TRUE(says(why, "name its file in GRAINSCOPE_NCCL")) << why;
}

TEST(NcclLibraries, that_are_older_than_a_call_needs_say_which) {
  EXPECT_TRUE(says(why_not(GRAINSCOPE_FAKE_NCCL_2_6), " has no ncclSend: install NCCL 2.7 or newer"));
  const Library library({GRAINSCOPE_FAKE_NCCL_2_18});
  EXPECT_EQ(library.version(), "2.18.5");
  EXPECT_EQ(library.api().all_to_all, nullptr);
  try {
    library.require_registration();
    FAIL() << "nothing was thrown";
  } catch (const SkipError& error) {
    EXPECT_TRUE(says(error.what(), "NCCL 2.18.5 (")) << error.what();
    EXPECT_TRUE(says(error.what(), "registers no buffers: that needs 2.19")) << error.what();
  }
}

TEST(NcclLibraries, that_fail_are_quoted) {
  const Library library({GRAINSCOPE_FAKE_NCCL});
  EXPECT_NO_THROW(library.check(0, "do nothing"));
  try {
    library.check(library.api().get_unique_id(nullptr), "make an id");
    FAIL() << "nothing was thrown";
  } catch (const FailedError& error) {
    EXPECT_STREQ(error.what(),
                 "could not make an id by NCCL 2.28.9: unhandled system error; no socket to be had");
  }
}

TEST(NcclLibraries, have_versions_of_both_ways_of_counting) {
  EXPECT_EQ(nccl::version_text(2708), "2.7.8");
  EXPECT_EQ(nccl::version_text(21903), "2.19.3");
  EXPECT_EQ(nccl::version_text(nccl::version_code(2, 28, 9)), "2.28.9");
  EXPECT_EQ(nccl::version_text(nccl::version_code(2, 8, 3)), "2.8.3");
}

std::vector<std::string> files(const std::map<std::string, std::string>& environment) {
  return library_files([&](const char* name) {
    const auto found = environment.find(name);
    return found == environment.end() ? nullptr : found->second.c_str();
  });
}

TEST(NcclLibraries, are_looked_for_where_the_loader_looks_and_then_in_python) {
  const test::TemporaryDirectory prefix;
  const auto folder = prefix / "lib" / "python3.12" / "site-packages" / "nvidia" / "nccl" / "lib";
  std::filesystem::create_directories(folder);
  test::write_text(folder / "libnccl.so.2", "");
  const auto found = files({{"VIRTUAL_ENV", prefix.path().string()}});
  EXPECT_EQ(found.front(), "libnccl.so.2");
  EXPECT_NE(std::find(found.begin(), found.end(), (folder / "libnccl.so.2").string()), found.end());
}

TEST(NcclLibraries, that_the_user_names_are_the_only_ones) {
  EXPECT_EQ(files({{"GRAINSCOPE_NCCL", "/mine/libnccl.so.2"}, {"VIRTUAL_ENV", "/venv"}}),
            std::vector<std::string>{"/mine/libnccl.so.2"});
}

TEST(NcclLogs, tell_by_which_ways_ranks_are_joined) {
  const std::string log =
      "host:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM/read\n"
      "host:1:2 [0] NCCL INFO Channel 01/0 : 0[0] -> 1[1] via P2P/CUMEM\n"
      "host:1:2 [0] NCCL INFO Channel 00 : 0[0] -> 1[1] via P2P/direct pointer\n"
      "host:1:2 [1] NCCL INFO Channel 00 : 1[1] -> 0[0] via SHM/direct/direct\n"
      "host:1:2 [0] NCCL INFO Channel 00/0 : 1[0] -> 0[0] [receive] via NET/Socket/0\n"
      "host:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] [send] via NET/IB/3/GDRDMA\n"
      "host:1:2 [0] NCCL INFO Bootstrap : Using eth0 via something\n"
      "host:1:2 [0] NCCL INFO Connected NVLS tree\n";
  EXPECT_EQ(connections_in(log), (std::vector<std::string>{"NET/IB/GDRDMA", "NET/Socket", "NVLS", "P2P/CUMEM",
                                                           "P2P/direct", "SHM/direct"}));
  EXPECT_TRUE(connections_in("").empty());
  EXPECT_TRUE(connections_in("a line that ends via ").empty());
}

TEST(NcclVariables, are_told_but_for_those_that_may_name_somebody) {
  const char* const environment[] = {"PATH=/bin", "NCCL_NVLS_ENABLE=0", "NCCL_SOCKET_IFNAME=^lo,docker",
                                     "NCCL_TOPO_FILE=/home/somebody/topo.xml", nullptr};
  EXPECT_EQ(steering_variables(environment),
            (std::map<std::string, std::string>{
                {"NCCL_NVLS_ENABLE", "0"}, {"NCCL_SOCKET_IFNAME", "^lo,docker"}, {"NCCL_TOPO_FILE", "set"}}));
}

}  // namespace
}  // namespace grainscope::collective

// The program as ranks of a launch, as far as that needs no GPU: they meet, run, and end alike.

namespace grainscope {
namespace {

using test::Child;
using test::Ended;
using test::says;

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
  EXPECT_TRUE(says(zero.err, "rank 2 of 3 did not come to ")) << zero.err;
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
  EXPECT_TRUE(says(alone.err, "torchrun, mpirun, mpiexec or srun")) << alone.err;
}

TEST_F(Launches, of_one_process_are_none) {
  const Ended alone =
      Child::program({"--ranks=env", "--benchmark_list_tests", test::kFewCases}, variables(0, 1)).wait();
  EXPECT_EQ(alone.status, 2) << "where they meet is not told";
  const Ended told =
      Child::program({"--ranks=localhost:1", "--benchmark_list_tests", test::kFewCases}, variables(0, 1))
          .wait();
  EXPECT_EQ(told.status, 0) << told.err;
  EXPECT_TRUE(says(told.out, "host/memcpy/"));
}

}  // namespace
}  // namespace grainscope
