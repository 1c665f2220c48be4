#include "show.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>

#include "grainscope/core/error.hpp"
#include "grainscope/core/units.hpp"
#include "presets.hpp"

namespace grainscope::harness {
namespace {

// From a run of `quick` and most of one of `full` on an H100 with 16 CPUs: allocating and filling a byte of
// host memory where cases do not share it, and what a visit costs at least.
constexpr double kSetup_s_per_byte = 0.3e-9;
constexpr double kVisit_s = 0.05;
// The part of the sampling budget that a case uses on average: most reach their target early, or cannot.
constexpr double kBudgetShare = 0.2;

// Locking memory that cases share, and giving it back.
constexpr double kShared_s_per_byte = 0.6e-9;

double estimate_s(const Benchmark& benchmark, const Scope& scope) {
  if (benchmark.about_s) {
    return scope.visits * *benchmark.about_s;
  }
  const auto bytes = static_cast<double>(benchmark.needs.host_bytes);
  return scope.visits * (kVisit_s + bytes * kSetup_s_per_byte) + kBudgetShare * scope.sampling.budget_s;
}

// The first case that asks for most of what is made once for all families.
std::vector<Benchmark>::const_iterator largest_sharer(const std::vector<Benchmark>& cases) {
  return std::max_element(cases.begin(), cases.end(), [](const Benchmark& a, const Benchmark& b) {
    return a.needs.shared_host_bytes < b.needs.shared_host_bytes;
  });
}

struct FamilyPlan {
  std::size_t cases = 0;
  double seconds = 0;
  Needs most;
};

// A label and a text behind it, in lines that fit a terminal.
std::string wrapped(const std::string& label, const std::string& text, std::size_t indent = 12) {
  constexpr std::size_t kWidth = 79;
  std::string result = label;
  result.append(indent - std::min(indent, label.size()), ' ');
  std::size_t column = indent;
  std::size_t start = 0;
  while (start < text.size()) {
    const std::size_t end = std::min(text.find(' ', start), text.size());
    const std::size_t length = end - start;
    if (column > indent && column + 1 + length > kWidth) {
      result.append("\n").append(indent, ' ');
      column = indent;
    } else if (column > indent) {
      result += ' ';
      ++column;
    }
    result += text.substr(start, length);
    column += length;
    start = end + 1;
  }
  return result + "\n";
}

std::string axis_text(const Case& id) {
  std::string text;
  for (const Axis& axis : id.axes) {
    text += (text.empty() ? "" : ", ") + axis.key + " " + to_string(axis.value);
  }
  for (const Site& site : id.site) {
    text += ", " + site.key + " " + std::to_string(site.value);
  }
  return text;
}

std::string explanation_of(const Benchmark& benchmark) {
  const Explanation& text = benchmark.explanation;
  std::string result = benchmark.id.name() + "\n";
  result += wrapped("measures", text.measures);
  result += wrapped("timed", text.timed);
  result += wrapped("formula", text.formula);
  result += wrapped("source", text.source);
  result += wrapped("limits", text.limits);
  result += wrapped("axes", axis_text(benchmark.id));
  const Needs& needs = benchmark.needs;
  result += wrapped("memory", format_bytes(needs.host_bytes + needs.shared_host_bytes) + " host, " +
                                  format_bytes(needs.device_bytes) + " GPU, " +
                                  format_bytes(needs.managed_bytes) + " managed");
  result += wrapped("here", benchmark.skip.empty() ? "it can run" : "skipped: " + benchmark.skip);
  return result;
}

// "on or off", "4 B to 1 TiB", "1 to 4096 or all".
std::string values_text(const DeclaredAxis& axis) {
  std::string text = what_it_takes(axis);
  return axis.otherwise.empty() ? text : text + "; otherwise " + axis.otherwise;
}

// What a line of the table gives the axes of its family.
std::string values_of_line(const Family& family, const PresetLine& line) {
  std::string values;
  for (const auto& [key, written] : line.axes) {
    const bool declared = std::any_of(family.axes.begin(), family.axes.end(),
                                      [&key = key](const DeclaredAxis& axis) { return axis.key == key; });
    if (declared) {
      values.append(values.empty() ? "" : " ").append(key).append("=").append(written);
    }
  }
  return values;
}

const char* unit_name(DeclaredAxis::Unit unit) {
  return unit == DeclaredAxis::Unit::bytes ? "bytes" : unit == DeclaredAxis::Unit::percent ? "percent" : "";
}

std::string family_text(const Family& family) {
  std::string text = family.name + "\n" + wrapped("question", family.question) +
                     wrapped("version", std::to_string(family.version));
  for (const DeclaredAxis& axis : family.axes) {
    text += wrapped("axis", axis.key + ": " + axis.means + " (" + values_text(axis) + ")");
  }
  for (const Preset preset : kAllPresets) {
    for (const PresetLine* line : preset_lines(family.name, preset)) {
      text += wrapped(name(preset), values_of_line(family, *line));
    }
  }
  return text;
}

}  // namespace

std::string families_text(const std::vector<Family>& families) {
  constexpr std::size_t kNameWidth = 24;
  std::string text;
  for (const Family& family : families) {
    text += wrapped(family.name, family.question, kNameWidth);
  }
  return text;
}

std::string families_json(const std::vector<Family>& families) {
  using nlohmann::json;
  json all = json::array();
  for (const Family& family : families) {
    json axes = json::array();
    for (const DeclaredAxis& axis : family.axes) {
      axes.push_back({{"key", axis.key},
                      {"means", axis.means},
                      {"takes", what_it_takes(axis)},
                      {"unit", unit_name(axis.unit)},
                      {"otherwise", axis.otherwise}});
    }
    json presets = json::object();
    for (const Preset preset : kAllPresets) {
      for (const PresetLine* line : preset_lines(family.name, preset)) {
        presets[name(preset)].push_back(values_of_line(family, *line));
      }
    }
    all.push_back({{"name", family.name},
                   {"question", family.question},
                   {"version", family.version},
                   {"axes", axes},
                   {"presets", presets}});
  }
  return all.dump(1) + "\n";
}

std::string list_text(const Selection& selection) {
  std::string text;
  for (const Benchmark& benchmark : selection.runnable) {
    text += benchmark.id.name() + "\n";
  }
  return text;
}

std::string plan_text(const Selection& selection, const Scope& scope) {
  std::map<std::string, FamilyPlan> families;
  FamilyPlan total;
  for (const Benchmark& benchmark : selection.runnable) {
    for (FamilyPlan* plan : {&families[benchmark.id.family], &total}) {
      ++plan->cases;
      plan->seconds += estimate_s(benchmark, scope);
      plan->most.host_bytes =
          std::max(plan->most.host_bytes, benchmark.needs.host_bytes + benchmark.needs.shared_host_bytes);
      plan->most.device_bytes =
          std::max(plan->most.device_bytes, benchmark.needs.device_bytes + benchmark.needs.managed_bytes);
    }
  }
  if (const auto sharer = largest_sharer(selection.runnable); sharer != selection.runnable.end()) {
    const double locking_s = static_cast<double>(sharer->needs.shared_host_bytes) * kShared_s_per_byte;
    families[sharer->id.family].seconds += locking_s;
    total.seconds += locking_s;
  }
  std::string text;
  std::array<char, 160> line{};
  const auto add = [&](const std::string& name, const FamilyPlan& plan) {
    std::snprintf(line.data(), line.size(), "%-24s %6zu  %12s  %10s  %10s\n", name.c_str(), plan.cases,
                  format_seconds(plan.seconds).c_str(), format_bytes(plan.most.host_bytes).c_str(),
                  format_bytes(plan.most.device_bytes).c_str());
    text += line.data();
  };
  std::snprintf(line.data(), line.size(), "%-24s %6s  %12s  %10s  %10s\n", "family", "cases", "about", "host",
                "GPU");
  text += line.data();
  for (const auto& [name, plan] : families) {
    add(name, plan);
  }
  add("all", total);
  text += "preset " + std::string(name(scope.preset)) + ", " + std::to_string(scope.visits) +
          " visit(s) to a case, interval target " +
          std::to_string(scope.sampling.ci_target * 100).substr(0, 4) +
          " %; memory is the most that one case holds\n";
  std::map<std::pair<std::string, std::string>, std::vector<std::string>> skipped;
  for (const Benchmark& benchmark : selection.skipped) {
    skipped[{benchmark.id.family, benchmark.skip}].push_back(benchmark.id.name());
  }
  for (const auto& [what, names] : skipped) {
    text +=
        "\nskipped, " + what.first + ", " + std::to_string(names.size()) + " cases: " + what.second + "\n";
    for (const std::string& name : names) {
      text += "  " + name + "\n";
    }
  }
  return text;
}

std::string explain_text(const std::string& text, const std::vector<Family>& families,
                         const std::vector<Benchmark>& all) {
  for (const Family& family : families) {
    if (family.name == text) {
      const auto example = std::find_if(all.begin(), all.end(), [&](const Benchmark& benchmark) {
        return (benchmark.id.family + "/").starts_with(family.name + "/");
      });
      return family_text(family) + (example == all.end() ? "" : "\nfor instance " + explanation_of(*example));
    }
  }
  const auto exact = std::find_if(all.begin(), all.end(),
                                  [&](const Benchmark& benchmark) { return benchmark.id.name() == text; });
  if (exact != all.end()) {
    return explanation_of(*exact);
  }
  const Filter filter(text);
  std::vector<const Benchmark*> found;
  for (const Benchmark& benchmark : all) {
    if (filter.keeps(benchmark.id.name())) {
      found.push_back(&benchmark);
    }
  }
  if (found.empty()) {
    std::vector<std::string> names(all.size());
    std::transform(all.begin(), all.end(), names.begin(), [](const Benchmark& b) { return b.id.name(); });
    std::string message = "there is no case '" + text + "'; near it are\n";
    for (const std::string& name : near_names(text, names, 5)) {
      message += "  " + name + "\n";
    }
    message.pop_back();
    throw UsageError(message);
  }
  std::string result = explanation_of(*found.front());
  if (found.size() > 1) {
    result += "\nand " + std::to_string(found.size() - 1) + " more cases match\n";
  }
  return result;
}

}  // namespace grainscope::harness
