#ifndef GRAINSCOPE_CORE_UNITS_HPP
#define GRAINSCOPE_CORE_UNITS_HPP

// Sizes are counted in binary units, rates in decimal GB/s; this is the one place that spells them.

#include <cstdint>
#include <string>
#include <string_view>

namespace grainscope {

inline constexpr std::uint64_t kKiB = std::uint64_t{1} << 10;
inline constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
inline constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;

// "1048576", "1MiB", "64 kib", "1M" (binary too), "64KB" (decimal) to bytes.
// Throws UsageError for anything else: signs, fractions, unknown units, more than 2⁶⁴−1.
[[nodiscard]] std::uint64_t parse_bytes(std::string_view text);

// "256 B", "64 KiB", "1.5 GiB": at most one decimal.
[[nodiscard]] std::string format_bytes(std::uint64_t bytes);

// "1.23 us", "45.6 ms", "2.05 s", "3 min 20 s": three significant digits below a minute.
[[nodiscard]] std::string format_seconds(double seconds);

// "54.7 GB/s" for a rate in GB/s: three significant digits.
[[nodiscard]] std::string format_rate(double gb_s);

// Bytes over seconds in decimal GB/s.
[[nodiscard]] constexpr double gb_per_s(double bytes, double seconds) {
  return bytes / seconds / 1e9;
}

}  // namespace grainscope

#endif
