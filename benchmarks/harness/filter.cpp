#include "filter.hpp"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <optional>
#include <regex>
#include <string_view>
#include <utility>

#include "grainscope/core/error.hpp"
#include "grainscope/core/units.hpp"

namespace grainscope::harness {
namespace {

// Longer expressions overrun the stack of a library that walks them recursively.
constexpr std::size_t kMostFilterLetters = 4096;

// No part of a name comes often, and each time more makes every match take longer.
constexpr int kMostTimes = 16;

// `{50}` and the like, but for letters within brackets and escaped ones.
void require_few_times(const std::string& expression) {
  bool within_brackets = false;
  for (std::size_t at = 0; at < expression.size(); ++at) {
    const char letter = expression[at];
    if (letter == '\\' && !within_brackets) {
      ++at;
    } else if (letter == '[' || letter == ']') {
      within_brackets = letter == '[';
    } else if (letter == '{' && !within_brackets) {
      const auto end = std::min(expression.find('}', at), expression.size());
      int most = 0;
      for (std::size_t digit = at + 1; digit < end; ++digit) {
        const bool is_digit = std::isdigit(static_cast<unsigned char>(expression[digit])) != 0;
        most = is_digit ? std::min(10 * most + (expression[digit] - '0'), kMostTimes + 1) : 0;
        if (most > kMostTimes) {
          throw UsageError("--benchmark_filter has '" + expression.substr(at, end - at + 1) +
                           "': no part of a name comes more than " + std::to_string(kMostTimes) + " times");
        }
      }
    }
  }
}

// Matches in time that grows with the expression and the name, where the library has that: by backtracking
// `(a*)*b` takes as long as anyone waits.
std::regex compile(const std::string& expression) {
  if (expression.size() > kMostFilterLetters) {
    throw UsageError("--benchmark_filter has " + std::to_string(expression.size()) + " letters, more than " +
                     std::to_string(kMostFilterLetters));
  }
  require_few_times(expression);
  auto how = std::regex::extended | std::regex::optimize;
#ifdef __GLIBCXX__
  how |= std::regex_constants::__polynomial;
#endif
  try {
    return std::regex(expression, how);
  } catch (const std::regex_error& error) {
    const bool bare =
        !expression.empty() && std::string_view("*+?{").find(expression.front()) != std::string::npos;
    throw UsageError("--benchmark_filter '" + expression + "' is not a regular expression: " +
                     (bare ? "nothing stands before '" + expression.substr(0, 1) + "'; any letters are '.*'"
                           : error.what()));
  }
}

// Any letters and then any letters are any letters: each `.*` more makes every match take longer.
std::string without_repeats(std::string expression) {
  constexpr std::string_view kTwice = ".*.*";
  for (auto at = expression.find(kTwice); at != std::string::npos; at = expression.find(kTwice, at)) {
    const bool escaped = at > 0 && expression[at - 1] == '\\';
    const auto behind = at + kTwice.size();
    const bool counted =
        behind < expression.size() && std::string_view("*+?{").find(expression[behind]) != std::string::npos;
    if (escaped || counted) {
      ++at;
    } else {
      expression.erase(at, kTwice.size() / 2);
    }
  }
  return expression;
}

std::optional<std::uint64_t> size_of(const std::string& text) {
  try {
    return parse_bytes(text);
  } catch (const UsageError&) {
    return std::nullopt;
  }
}

bool in_word(char letter) {
  return std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '_';
}

// Names have sizes in bytes. A size with a unit in the expression, "64MiB" or "64 MiB", is also found as
// names have it; where it ends the expression, it ends there.
std::string with_sizes(const std::string& expression) {
  std::string made;
  std::size_t at = 0;
  while (at < expression.size()) {
    if (expression[at] == '[') {  // letters, of which none is a size
      const auto end = std::min(expression.find(']', at + 2), expression.size() - 1) + 1;
      made += expression.substr(at, end - at);
      at = end;
      continue;
    }
    const bool begins = at == 0 || (!in_word(expression[at - 1]) && expression[at - 1] != '\\');
    const auto digits = std::min(expression.find_first_not_of("0123456789", at), expression.size());
    auto unit = digits;
    while (unit < expression.size() && expression[unit] == ' ') {
      ++unit;
    }
    auto end = unit;
    while (end < expression.size() && in_word(expression[end])) {
      ++end;
    }
    const auto bytes =
        begins && digits > at && end > unit ? size_of(expression.substr(at, end - at)) : std::nullopt;
    if (!bytes) {
      made += expression[at++];
      continue;
    }
    const std::string written = expression.substr(at, digits - at) + expression.substr(unit, end - unit);
    made.append("(").append(written).append("|").append(std::to_string(*bytes)).append(")");
    made += end == expression.size() ? "(/|$)" : "";
    at = end;
  }
  return made;
}

}  // namespace

std::set<std::string> parts_of(const std::string& name) {
  std::set<std::string> parts;
  std::size_t start = 0;
  while (start <= name.size()) {
    const auto end = std::min(name.find_first_of("/.*$^|()", start), name.size());
    if (end > start) {
      parts.insert(name.substr(start, end - start));
    }
    start = end + 1;
  }
  return parts;
}

Filter::Filter(const std::string& text) : expression_(text) {
  if (text.starts_with('-')) {
    inverted_ = true;
    expression_ = text.substr(1);
  }
  if (expression_.empty() || expression_ == "all") {
    expression_ = ".";
  }
  static_cast<void>(compile(expression_));
  expression_ = without_repeats(with_sizes(expression_));
  static_cast<void>(compile(expression_));
}

bool Filter::keeps(const std::string& name) const {
  thread_local std::string compiled_for;
  thread_local std::regex compiled;
  if (compiled_for != expression_) {
    compiled = compile(expression_);
    compiled_for = expression_;
  }
  return std::regex_search(name, compiled) != inverted_;
}

std::vector<std::string> near_names(const std::string& text, const std::vector<std::string>& names,
                                    std::size_t most) {
  const std::set<std::string> wanted = parts_of(text);
  struct Scored {
    std::size_t missing;
    std::size_t distance;
    std::string name;
  };
  std::vector<Scored> scored;
  for (const std::string& name : names) {
    const std::set<std::string> parts = parts_of(name);
    const auto missing = static_cast<std::size_t>(std::count_if(
        wanted.begin(), wanted.end(), [&](const std::string& part) { return !parts.contains(part); }));
    scored.push_back({missing, edit_distance(text, name.substr(0, text.size() + 8)), name});
  }
  std::stable_sort(scored.begin(), scored.end(), [](const Scored& a, const Scored& b) {
    return std::pair(a.missing, a.distance) < std::pair(b.missing, b.distance);
  });
  std::vector<std::string> nearest;
  for (std::size_t i = 0; i < std::min(most, scored.size()); ++i) {
    nearest.push_back(scored[i].name);
  }
  return nearest;
}

}  // namespace grainscope::harness
