#ifndef GRAINSCOPE_CORE_UNITS_HPP
#define GRAINSCOPE_CORE_UNITS_HPP

// Sizes are counted in binary units, rates in decimal GB/s; this is the one place that spells them. Beside
// it, what is said of a word that is misspelled.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

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

// Letters to change, add or leave out to turn one word into the other.
[[nodiscard]] std::size_t edit_distance(std::string_view a, std::string_view b);

// ASCII letters made small.
[[nodiscard]] std::string lower(std::string text);

// The words one behind another, with `between` between two of them.
[[nodiscard]] std::string joined(const std::vector<std::string>& words, std::string_view between);

// The word of `known` nearest to `word`; empty where none is near: for "did you mean".
[[nodiscard]] std::string nearest(const std::string& word, const std::vector<std::string>& known);

// What to say of a word that is not among `known`: the nearest of them, and all.
// "'pined' is not a placement; the nearest is pinned; there are pageable, pinned"
[[nodiscard]] std::string not_among(std::string_view word, std::string_view what,
                                    const std::vector<std::string>& known);

}  // namespace grainscope

#endif
