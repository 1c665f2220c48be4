#include "selection.hpp"

#include <algorithm>
#include <optional>
#include <regex>
#include <set>
#include <string_view>

#include "grainscope/core/error.hpp"
#include "grainscope/core/spelling.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/system/limits.hpp"
#include "option_values.hpp"

namespace grainscope::harness {
namespace {

constexpr std::size_t kNearNames = 5;
// The rest of the process, and of the machine, needs some too.
constexpr double kUsableShare = 0.8;
// Longer expressions overrun the stack of a library that walks them recursively.
constexpr std::size_t kMostFilterLetters = 4096;

// Matches in time that grows with the expression and the name, where the library has that: by backtracking
// `(a*)*b` takes as long as anyone waits.
std::regex compile(const std::string& expression) {
  if (expression.size() > kMostFilterLetters) {
    throw UsageError("--benchmark_filter has " + std::to_string(expression.size()) + " letters, more than " +
                     std::to_string(kMostFilterLetters));
  }
  auto how = std::regex::extended | std::regex::optimize;
#ifdef __GLIBCXX__
  how |= std::regex_constants::__polynomial;
#endif
  try {
    return std::regex(expression, how);
  } catch (const std::regex_error& error) {
    throw UsageError("--benchmark_filter '" + expression + "' is not a regular expression: " + error.what());
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

std::string why_too_large(const Needs& needs, const Machine& machine) {
  const auto available = machine.environment.memory.available.bytes();
  if (available && static_cast<double>(needs.host_bytes) > kUsableShare * static_cast<double>(*available)) {
    return "needs " + format_bytes(needs.host_bytes) + " of host memory; " + format_bytes(*available) +
           " are available";
  }
  return {};
}

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

[[noreturn]] void refuse_empty(const std::string& filter, const std::vector<Benchmark>& all,
                               const Scope& scope, const std::set<std::string>& left_out) {
  std::vector<std::string> names(all.size());
  std::transform(all.begin(), all.end(), names.begin(), [](const Benchmark& b) { return b.id.name(); });
  std::string message = "no case matches '" + filter + "'";
  if (!scope.axes.empty()) {
    for (const auto& [key, values] : scope.axes) {
      message.append(" with ").append(key).append("=").append(values);
    }
    for (const std::string& why : left_out) {
      message += "; left out: " + why;
    }
    if (!left_out.empty()) {
      throw UsageError(message);
    }
  }
  if (names.empty()) {
    throw UsageError(message + ": the size range leaves none at all");
  }
  message += "; near it are\n";
  for (const std::string& name : near_names(filter, names, kNearNames)) {
    message += "  " + name + "\n";
  }
  throw UsageError(message + "--benchmark_list_tests lists all; a denser --preset has more sizes");
}

}  // namespace

Filter::Filter(const std::string& text) : expression_(text) {
  if (text.starts_with('-')) {
    inverted_ = true;
    expression_ = text.substr(1);
  }
  if (expression_.empty() || expression_ == "all") {
    expression_ = ".";
  }
  static_cast<void>(compile(expression_));
  expression_ = without_repeats(expression_);
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

namespace {

// The declarations of an axis, of all families that have it.
std::vector<const DeclaredAxis*> declarations_of(const std::vector<Family>& families,
                                                 const std::string& key) {
  std::vector<const DeclaredAxis*> declarations;
  for (const Family& family : families) {
    for (const DeclaredAxis& axis : family.axes) {
      if (axis.key == key) {
        declarations.push_back(&axis);
      }
    }
  }
  return declarations;
}

std::vector<std::string> all_keys(const std::vector<Family>& families) {
  std::set<std::string> keys;
  for (const Family& family : families) {
    for (const DeclaredAxis& axis : family.axes) {
      keys.insert(axis.key);
    }
  }
  return {keys.begin(), keys.end()};
}

bool takes(const DeclaredAxis& axis, const std::string& values) {
  try {
    require_values(axis, values);
    return true;
  } catch (const UsageError&) {
    return false;
  }
}

// The part of `values` that a family's axis can take: each of them is a value of some family's.
std::string values_taken(const DeclaredAxis& axis, const std::string& values) {
  std::string taken;
  for (const std::string& value : by_commas(values)) {
    if (takes(axis, value)) {
      taken += (taken.empty() ? "" : ",") + value;
    }
  }
  return taken;
}

// Throws UsageError for an axis that no family declares, or a value that none takes.
void require_axes(const std::vector<Family>& families, const Scope& scope) {
  for (const auto& [key, values] : scope.axes) {
    const auto declarations = declarations_of(families, key);
    if (declarations.empty()) {
      const std::string near = nearest(key, all_keys(families));
      std::string message = "--axis ";
      message.append(key).append("=").append(values).append(": no family has an axis ").append(key);
      throw UsageError(message.append(near.empty() ? "; --explain FAMILY tells those it has"
                                                   : "; did you mean " + near + "?"));
    }
    for (const std::string& value : by_commas(values)) {
      if (std::none_of(declarations.begin(), declarations.end(),
                       [&, &value = value](const DeclaredAxis* axis) { return takes(*axis, value); })) {
        require_values(*declarations.front(), value);  // which says why not
      }
    }
  }
}

// The scope of one family: of the user's values for axes those that it can take; absent where of one it can
// take none.
std::optional<Scope> scope_for(const Family& family, const Scope& scope) {
  Scope own = scope;
  own.axes.clear();
  for (const auto& [key, values] : scope.axes) {
    for (const DeclaredAxis& axis : family.axes) {
      if (axis.key == key) {
        own.axes.emplace_back(key, values_taken(axis, values));
        if (own.axes.back().second.empty()) {
          return std::nullopt;
        }
      }
    }
  }
  return own;
}

}  // namespace

std::vector<Benchmark> list_all(const std::vector<Family>& families, const Machine& machine,
                                const Scope& scope, std::set<std::string>* left_out) {
  require_axes(families, scope);
  std::vector<Benchmark> all;
  std::set<std::string> names;
  for (const Family& family : families) {
    if (family.written == scope.transfers.empty()) {
      continue;
    }
    const std::optional<Scope> own = scope_for(family, scope);
    if (!own) {
      continue;
    }
    const Grids grids(family.axes, family.name, *own);
    std::set<std::string> of_family;
    for (Benchmark& benchmark : family.list(machine, *own, grids)) {
      if (!benchmark.impossible.empty()) {
        grids.leave_out(benchmark.impossible);
        continue;
      }
      const std::string name = benchmark.id.name();
      if (!of_family.insert(name).second) {
        continue;  // lines of the table may meet
      }
      if (!names.insert(name).second) {
        throw std::logic_error("two families have a case named " + name);
      }
      benchmark.version = family.version;
      if (benchmark.skip.empty()) {
        benchmark.skip = why_too_large(benchmark.needs, machine);
        if (!benchmark.skip.empty()) {
          benchmark.run = nullptr;  // and its claim to a graph that others wait to see gone
        }
      }
      all.push_back(std::move(benchmark));
    }
    if (left_out != nullptr && !own->axes.empty()) {  // the table's own are nobody's question
      left_out->insert(grids.left_out().begin(), grids.left_out().end());
    }
  }
  return all;
}

Selection select(const std::vector<Family>& families, const Machine& machine, const Scope& scope,
                 const std::string& filter_text, int shard_index, int shard_count) {
  const Filter filter(filter_text);
  std::set<std::string> left_out;
  std::vector<Benchmark> all = list_all(families, machine, scope, &left_out);
  Selection selection;
  std::size_t matched = 0;
  std::size_t runnable = 0;
  for (Benchmark& benchmark : all) {
    if (!filter.keeps(benchmark.id.name())) {
      continue;
    }
    ++matched;
    if (!benchmark.skip.empty()) {
      if (shard_index == 1) {
        selection.skipped.push_back(benchmark);
      }
      continue;
    }
    if (static_cast<int>(runnable++ % static_cast<std::size_t>(shard_count)) == shard_index - 1) {
      selection.runnable.push_back(benchmark);
    }
  }
  if (matched == 0) {
    refuse_empty(filter_text, all, scope, left_out);
  }
  return selection;
}

}  // namespace grainscope::harness
