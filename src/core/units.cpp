#include "grainscope/core/units.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <limits>
#include <numeric>
#include <utility>

#include "grainscope/core/error.hpp"

namespace grainscope {
namespace {

std::string three_digits(double value) {
  std::array<char, 32> text{};
  // 999.5 and up would round to four digits.
  const int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  std::snprintf(text.data(), text.size(), "%.*f", decimals, value);
  return text.data();
}

// The factor that a unit stands for, however it is spelled; 0 for none that is known.
std::uint64_t unit_factor(std::string_view unit) {
  static constexpr std::array<std::pair<std::string_view, std::uint64_t>, 16> kUnits{
      {{"", 1},
       {"b", 1},
       {"byte", 1},
       {"bytes", 1},
       {"k", kKiB},
       {"kib", kKiB},
       {"m", kMiB},
       {"mib", kMiB},
       {"g", kGiB},
       {"gib", kGiB},
       {"t", kKiB * kGiB},
       {"tib", kKiB * kGiB},
       {"kb", 1'000},
       {"mb", 1'000'000},
       {"gb", 1'000'000'000},
       {"tb", 1'000'000'000'000}}};
  const std::string spelled = lower(std::string(unit));
  for (const auto& [name, factor] : kUnits) {
    if (name == spelled) {
      return factor;
    }
  }
  return 0;
}

}  // namespace

std::uint64_t parse_bytes(std::string_view text) {
  const auto refuse = [&](const char* why) -> UsageError {
    return UsageError("'" + std::string(text) + "' is not a size: " + why +
                      "; write e.g. 4096, 64KiB, 16MiB or 2GiB");
  };
  std::uint64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error == std::errc::result_out_of_range) {
    throw refuse("it is too large");
  }
  if (error != std::errc{}) {
    throw refuse("it does not begin with a whole number");
  }
  std::string_view unit(rest, static_cast<std::size_t>(end - rest));
  if (!unit.empty() && unit.back() == ' ') {
    throw refuse("a blank ends it");
  }
  while (!unit.empty() && unit.front() == ' ') {
    unit.remove_prefix(1);
  }
  const std::uint64_t factor = unit_factor(unit);
  if (factor == 0) {
    throw refuse("its unit is unknown");
  }
  if (number > std::numeric_limits<std::uint64_t>::max() / factor) {
    throw refuse("it is too large");
  }
  return number * factor;
}

std::string format_bytes(std::uint64_t bytes) {
  static constexpr std::array<const char*, 5> kNames{"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  auto value = static_cast<double>(bytes);
  while (value >= 1024 && unit + 1 < kNames.size()) {
    value /= 1024;
    ++unit;
  }
  const bool whole = std::abs(value - std::round(value)) < 0.05;
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.*f %s", whole ? 0 : 1, value, kNames[unit]);
  return text.data();
}

std::string format_seconds(double seconds) {
  if (seconds >= 59.95) {
    const auto whole = static_cast<long>(std::lround(seconds));
    if (whole >= 3600) {
      return std::to_string(whole / 3600) + " h " + std::to_string(whole % 3600 / 60) + " min";
    }
    return std::to_string(whole / 60) + " min " + std::to_string(whole % 60) + " s";
  }
  static constexpr std::array<std::pair<double, const char*>, 4> kUnits{
      {{1.0, " s"}, {1e-3, " ms"}, {1e-6, " us"}, {1e-9, " ns"}}};
  for (const auto& [scale, name] : kUnits) {
    if (seconds >= scale * 0.9995) {
      return three_digits(seconds / scale) + name;
    }
  }
  return three_digits(seconds * 1e9) + " ns";
}

std::string format_rate(double gb_s) {
  return three_digits(gb_s) + " GB/s";
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

namespace {

// The word of `known`, which is not empty, that takes the fewest changes, small letters or not.
const std::string& closest(std::string_view word, const std::vector<std::string>& known) {
  const std::string small = lower(std::string(word));
  return *std::min_element(known.begin(), known.end(), [&](const auto& a, const auto& b) {
    return edit_distance(small, lower(a)) < edit_distance(small, lower(b));
  });
}

}  // namespace

std::string not_among(std::string_view word, std::string_view what, const std::vector<std::string>& known) {
  return "'" + std::string(word) + "' is not " + std::string(what) + "; the nearest is " +
         closest(word, known) + "; there are " + joined(known, ", ");
}

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  return text;
}

std::string joined(const std::vector<std::string>& words, std::string_view between) {
  std::string text;
  for (const std::string& word : words) {
    text.append(&word == &words.front() ? "" : between).append(word);
  }
  return text;
}

std::string nearest(const std::string& word, const std::vector<std::string>& known) {
  if (known.empty()) {
    return {};
  }
  const std::string& best = closest(word, known);
  // Of few letters two are half of them.
  const std::size_t most = word.size() < 4 ? 1 : std::max<std::size_t>(2, best.size() / 3);
  return edit_distance(lower(word), lower(best)) <= most ? best : std::string();
}

}  // namespace grainscope
