// What comes out of collective operations, held to a serial one over host memory; and what rates count.

#include "grainscope/collective/collective.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace grainscope::collective {
namespace {

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

}  // namespace
}  // namespace grainscope::collective
