#include "grainscope/core/units.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>

#include "grainscope/core/error.hpp"

namespace grainscope {
namespace {

TEST(ParseBytes, a_bare_number_is_bytes) {
  EXPECT_EQ(parse_bytes("0"), 0U);
  EXPECT_EQ(parse_bytes("1048576"), kMiB);
  EXPECT_EQ(parse_bytes("4096B"), 4096U);
  EXPECT_EQ(parse_bytes("512 bytes"), 512U);
}

TEST(ParseBytes, units_are_binary_however_they_are_spelled) {
  for (const char* text : {"64KiB", "64 KiB", "64K", "64k", "64kib", "64KIB"}) {
    EXPECT_EQ(parse_bytes(text), 64 * kKiB) << text;
  }
  for (const char* text : {"3MiB", "3M", "3m"}) {
    EXPECT_EQ(parse_bytes(text), 3 * kMiB) << text;
  }
  for (const char* text : {"2GiB", "2G", "2g"}) {
    EXPECT_EQ(parse_bytes(text), 2 * kGiB) << text;
  }
  for (const char* text : {"1TiB", "1T", "1t"}) {
    EXPECT_EQ(parse_bytes(text), 1024 * kGiB) << text;
  }
}

TEST(ParseBytes, units_with_a_b_alone_are_decimal) {
  for (const char* text : {"64KB", "64kB", "64 KB", "64kb"}) {
    EXPECT_EQ(parse_bytes(text), 64'000U) << text;
  }
  EXPECT_EQ(parse_bytes("3MB"), 3'000'000U);
  EXPECT_EQ(parse_bytes("2GB"), 2'000'000'000U);
  EXPECT_EQ(parse_bytes("1 tb"), 1'000'000'000'000U);
}

TEST(ParseBytes, the_largest_number_fits_and_the_next_does_not) {
  EXPECT_EQ(parse_bytes("18446744073709551615"), std::numeric_limits<std::uint64_t>::max());
  EXPECT_THROW(static_cast<void>(parse_bytes("18446744073709551616")), UsageError);
  EXPECT_EQ(parse_bytes("16777215TiB"), std::uint64_t{16777215} * 1024 * kGiB);
  EXPECT_THROW(static_cast<void>(parse_bytes("16777216TiB")), UsageError);
  EXPECT_THROW(static_cast<void>(parse_bytes("18014398509481984KiB")), UsageError);
}

class RefusedSize : public testing::TestWithParam<const char*> {};

TEST_P(RefusedSize, says_what_was_given_and_what_to_write) {
  const std::string text = GetParam();
  try {
    static_cast<void>(parse_bytes(text));
    FAIL() << "'" << text << "' was taken for a size";
  } catch (const UsageError& error) {
    const std::string message = error.what();
    EXPECT_NE(message.find("'" + text + "'"), std::string::npos) << message;
    EXPECT_NE(message.find("64KiB"), std::string::npos) << message;
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, RefusedSize,
                         testing::Values("", " ", "-1", "+1", "-0", "1.5GiB", "1,5", "1e3", "0x10", "KiB",
                                         "1KBs", "1MiBs", "1 M iB", "1PiB", " 4096", "4096 ", "4096  ",
                                         "1KiB ", "1 KiB ", " 1KiB ", "0 ", "one"));

TEST(FormatBytes, whole_numbers_have_no_decimal_and_others_one) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(1023), "1023 B");
  EXPECT_EQ(format_bytes(1024), "1 KiB");
  EXPECT_EQ(format_bytes(1536), "1.5 KiB");
  EXPECT_EQ(format_bytes(64 * kKiB), "64 KiB");
  EXPECT_EQ(format_bytes(3 * kGiB / 2), "1.5 GiB");
  EXPECT_EQ(format_bytes(2048 * kGiB), "2 TiB");
}

TEST(FormatBytes, the_largest_unit_takes_what_is_larger) {
  EXPECT_EQ(format_bytes(4096 * 1024 * kGiB), "4096 TiB");
}

TEST(FormatBytes, what_it_writes_of_powers_of_two_reads_back) {
  for (int bit = 0; bit < 64; ++bit) {
    const std::uint64_t bytes = std::uint64_t{1} << bit;
    EXPECT_EQ(parse_bytes(format_bytes(bytes)), bytes);
  }
}

TEST(FormatSeconds, three_digits_in_the_unit_that_fits) {
  EXPECT_EQ(format_seconds(1.234e-6), "1.23 us");
  EXPECT_EQ(format_seconds(45.64e-3), "45.6 ms");
  EXPECT_EQ(format_seconds(2.05), "2.05 s");
  EXPECT_EQ(format_seconds(3.2e-9), "3.20 ns");
  EXPECT_EQ(format_seconds(0.2e-9), "0.20 ns");
  EXPECT_EQ(format_seconds(0), "0.00 ns");
}

TEST(FormatSeconds, what_rounds_to_a_thousand_takes_the_next_unit) {
  EXPECT_EQ(format_seconds(999.4e-6), "999 us");
  EXPECT_EQ(format_seconds(999.7e-6), "1.00 ms");
  EXPECT_EQ(format_seconds(0.99999), "1.00 s");
}

TEST(FormatSeconds, minutes_and_seconds_from_a_minute_up) {
  EXPECT_EQ(format_seconds(59.9), "59.9 s");
  EXPECT_EQ(format_seconds(59.99), "1 min 0 s");
  EXPECT_EQ(format_seconds(200), "3 min 20 s");
  EXPECT_EQ(format_seconds(119.7), "2 min 0 s");
  EXPECT_EQ(format_seconds(3599.4), "59 min 59 s");
  EXPECT_EQ(format_seconds(3599.6), "1 h 0 min");
  EXPECT_EQ(format_seconds(124695), "34 h 38 min");
}

TEST(FormatRate, three_significant_digits) {
  EXPECT_EQ(format_rate(54.71), "54.7 GB/s");
  EXPECT_EQ(format_rate(9.994), "9.99 GB/s");
  EXPECT_EQ(format_rate(9.996), "10.0 GB/s");
  EXPECT_EQ(format_rate(99.96), "100 GB/s");
  EXPECT_EQ(format_rate(0.5), "0.50 GB/s");
}

TEST(GbPerS, is_decimal) {
  EXPECT_DOUBLE_EQ(gb_per_s(5e9, 2), 2.5);
}

}  // namespace
}  // namespace grainscope
