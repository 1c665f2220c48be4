#include "grainscope/model/link.hpp"

#include <gtest/gtest.h>

#include <string>

#include "grainscope/core/error.hpp"

namespace grainscope::model {
namespace {

Requests requests(int bytes, std::uint64_t count) {
  Requests result;
  result.by_sectors[static_cast<std::size_t>(bytes / 32 - 1)] = count;
  return result;
}

double gb_s(const Link& link, int bytes) {
  constexpr std::uint64_t kMany = 1'000'000'000;
  return static_cast<double>(bytes) * kMany / bound(link, requests(bytes, kMany), 0).seconds() / 1e9;
}

TEST(Link, each_name_names_a_link_with_a_source) {
  for (const char* name : link_names()) {
    const Link link = link_named(name);
    EXPECT_EQ(link.name, name);
    EXPECT_GT(link.gb_s, 0);
    EXPECT_GT(link.in_flight, 0);
    EXPECT_GT(link.round_trip_s, 0);
    EXPECT_FALSE(link.source.empty());
    EXPECT_EQ(link.misses_per_s > 0, link.granule_bytes > 0);
  }
}

TEST(Link, an_unknown_name_lists_the_known) {
  try {
    static_cast<void>(link_named("pcie7x16"));
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("pcie3x16, pcie4x16"), std::string::npos);
  }
}

TEST(Link, what_nobody_measured_is_called_an_estimate) {
  EXPECT_TRUE(link_named("pcie6x16").source.starts_with("estimate"));
  EXPECT_TRUE(link_named("nvlink-c2c").source.starts_with("estimate"));
  EXPECT_FALSE(link_named("pcie5x16").source.starts_with("estimate"));
}

TEST(Link, a_measured_one_is_like_the_named_one_that_is_nearest) {
  const Link link = link_measured(49.0);
  EXPECT_EQ(link.name, "measured");
  EXPECT_EQ(link.gb_s, 49.0);
  EXPECT_EQ(link.in_flight, link_named("pcie5x16").in_flight);
  EXPECT_NE(link.source.find("pcie5x16"), std::string::npos);
  EXPECT_EQ(link_measured(9.0).in_flight, link_named("pcie3x16").in_flight);
  EXPECT_EQ(link_measured(400.0).header_bytes, link_named("nvlink-c2c").header_bytes);
}

TEST(Bound, whole_lines_reach_what_copies_reach) {
  for (const char* name : link_names()) {
    EXPECT_NEAR(gb_s(link_named(name), 128) / link_named(name).gb_s, 1, 0.01) << name;
  }
}

TEST(Bound, is_not_beaten_by_what_was_measured) {
  // EMOGI, V100: 12.23 GB/s of whole lines, 4.7 of sectors; H100: 51.2 of whole lines, 39.7 of halves (32 and
  // 96 bytes), 12.5 of sectors.
  EXPECT_GE(gb_s(link_named("pcie3x16"), 128), 12.23);
  EXPECT_GE(gb_s(link_named("pcie3x16"), 32), 4.7);
  EXPECT_GE(gb_s(link_named("pcie5x16"), 128), 51.2);
  EXPECT_GE(gb_s(link_named("pcie5x16"), 64), 39.7);
  EXPECT_GE(gb_s(link_named("pcie5x16"), 32), 12.5);
  EXPECT_LE(gb_s(link_named("pcie5x16"), 64), 40.5);
}

TEST(Bound, the_largest_of_three_says_what_holds_it_up) {
  Link link{"toy", 1, 0, 1e-6, 1000, 1e6, 0, 0, ""};
  const TimeBound bytes = bound(link, requests(128, 1'000'000), 10);
  EXPECT_DOUBLE_EQ(bytes.bytes_s, 0.128);
  EXPECT_DOUBLE_EQ(bytes.requests_s, 0.001);
  EXPECT_DOUBLE_EQ(bytes.translations_s, 1e-5);
  EXPECT_STREQ(bytes.cause(), "bytes");
  link.in_flight = 1;
  EXPECT_STREQ(bound(link, requests(128, 1'000'000), 10).cause(), "requests");
  EXPECT_DOUBLE_EQ(bound(link, requests(128, 1'000'000), 10).seconds(), 1);
  EXPECT_STREQ(bound(link, requests(128, 1'000'000), 2'000'000).cause(), "translations");
  link.misses_per_s = 0;
  EXPECT_EQ(bound(link, requests(128, 1'000'000), 2'000'000).translations_s, 0);
}

TEST(Bound, headers_cost_small_requests_more) {
  const Link link{"toy", 12.3, 18, 0, 1, 0, 0, 0, ""};
  EXPECT_DOUBLE_EQ(gb_s(link, 128), 12.3);
  EXPECT_DOUBLE_EQ(gb_s(link, 32), 12.3 * (146.0 / 128) * 32 / 50);
}

TEST(Bound, a_level_takes_a_round_trip_and_an_empty_one_nothing) {
  const Link link = link_named("pcie5x16");
  EXPECT_DOUBLE_EQ(bound(link, requests(32, 1), 0).seconds(), link.round_trip_s);
  EXPECT_EQ(bound(link, {}, 0).seconds(), 0);
}

}  // namespace
}  // namespace grainscope::model
