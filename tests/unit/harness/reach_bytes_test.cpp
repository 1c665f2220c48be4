#include "gather/reach.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>
#include <vector>

#include "grainscope/core/units.hpp"
#include "harness/row.hpp"

namespace grainscope::harness {
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
}  // namespace grainscope::harness
