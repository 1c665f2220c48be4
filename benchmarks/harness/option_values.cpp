#include "option_values.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <set>
#include <string_view>

#include "grainscope/core/error.hpp"
#include "grainscope/core/units.hpp"

namespace grainscope::harness {
namespace {

template <class Number>
std::optional<Number> parse_whole(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) {
    return std::nullopt;
  }
  return number;
}

}  // namespace

std::vector<std::string> by_commas(const std::string& text) {
  std::vector<std::string> words;
  std::size_t start = 0;
  while (start <= text.size()) {
    const auto comma = std::min(text.find(',', start), text.size());
    words.push_back(text.substr(start, comma - start));
    start = comma + 1;
  }
  return words;
}

std::pair<int, int> parse_shard(const std::string& text) {
  const auto slash = text.find('/');
  if (slash != std::string::npos) {
    const auto index = parse_whole<int>(std::string_view(text).substr(0, slash));
    const auto count = parse_whole<int>(std::string_view(text).substr(slash + 1));
    if (index && count && *index >= 1 && *index <= *count) {
      return {*index, *count};
    }
  }
  throw UsageError("--shard " + text + " is not a part of a whole: write i/n with 1 <= i <= n, e.g. 2/4");
}

double parse_duration_s(const std::string& text) {
  double number = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view unit(rest, static_cast<std::size_t>(text.data() + text.size() - rest));
  const double factor = unit.empty() || unit == "s"    ? 1
                        : unit == "m" || unit == "min" ? 60
                        : unit == "h"                  ? 3600
                                                       : 0;
  if (error != std::errc{} || factor == 0 || !(number > 0) || !std::isfinite(number)) {
    throw UsageError("--max-time " + text + " is not a time: write e.g. 90s, 10m or 1h");
  }
  return number * factor;
}

std::vector<int> parse_ids(const std::string& text, const char* flag) {
  std::vector<int> ids;
  for (const std::string& word : text == "all" ? std::vector<std::string>() : by_commas(text)) {
    const auto id = parse_whole<int>(word);
    if (!id || *id < 0) {
      throw UsageError(std::string(flag) + " " + text + " names no such thing: write e.g. 0, 0,1 or all");
    }
    ids.push_back(*id);
  }
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

std::vector<std::uint64_t> parse_sizes(const std::string& text, const char* flag) {
  std::set<std::uint64_t> sizes;
  for (const std::string& word : by_commas(text)) {
    const std::uint64_t size = parse_bytes(word);
    if (size == 0 || size > static_cast<std::uint64_t>(INT64_MAX)) {
      throw UsageError(std::string(flag) + " " + text +
                       ": a size must be above 0 and below 8 EiB, e.g. 2GiB");
    }
    sizes.insert(size);
  }
  return {sizes.begin(), sizes.end()};
}

std::vector<graph::GraphSpec> parse_graphs(const std::string& text) {
  std::vector<graph::GraphSpec> graphs;
  for (const std::string& word : by_commas(text)) {
    graph::GraphSpec spec = graph::parse_graph_spec(word);
    const bool again = std::any_of(graphs.begin(), graphs.end(), [&](const graph::GraphSpec& other) {
      return other.name() == spec.name();
    });
    if (again) {
      throw UsageError("--graph " + text + " names " + spec.name() +
                       " twice: results could not be told apart");
    }
    graphs.push_back(std::move(spec));
  }
  return graphs;
}

std::vector<std::pair<std::string, std::string>> parse_axes(const std::vector<std::string>& given) {
  std::vector<std::pair<std::string, std::string>> axes;
  for (const std::string& text : given) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
      throw UsageError("--axis '" + text + "' gives no axis values: write e.g. --axis bytes=4KiB,1MiB");
    }
    const std::string key = text.substr(0, equals);
    const std::vector<std::string> values = by_commas(text.substr(equals + 1));
    if (std::find(values.begin(), values.end(), "") != values.end()) {
      const std::string& first = values.front();
      throw UsageError(std::string("--axis ").append(text).append(" has an empty value: write e.g. --axis ") +
                       key + "=" + (first.empty() ? "A,B" : first));
    }
    if (std::set<std::string>(values.begin(), values.end()).size() < values.size()) {
      throw UsageError(std::string("--axis ").append(text).append(" gives a value twice: name each once"));
    }
    for (const auto& [known, there] : axes) {
      if (known == key) {
        std::string message = "--axis ";
        message.append(key).append(" is given twice: write --axis ").append(key).append("=").append(there);
        throw UsageError(message.append(",").append(text, equals + 1));
      }
    }
    axes.emplace_back(key, text.substr(equals + 1));
  }
  return axes;
}

std::vector<transfer::WrittenLanes> parse_transfers(const std::string& line) {
  try {
    return transfer::parse_written(line);
  } catch (const UsageError& error) {
    throw UsageError("--transfer '" + line + "': " + error.what());
  }
}

void require_one_of(const std::string& value, std::initializer_list<const char*> allowed, const char* flag) {
  if (std::none_of(allowed.begin(), allowed.end(), [&](const char* one) { return value == one; })) {
    std::string list;
    for (const char* one : allowed) {
      list += (list.empty() ? "" : ", ") + std::string(one);
    }
    const std::string near = nearest(value, {allowed.begin(), allowed.end()});
    throw UsageError(std::string(flag) + " " + value + " is not known; " +
                     (near.empty() ? "" : "did you mean " + near + "? ") + "there are " + list);
  }
}

}  // namespace grainscope::harness
