#include "show.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>

#include "filter.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/core/units.hpp"
#include "plan.hpp"
#include "presets.hpp"
#include "screen.hpp"
#include "table.hpp"

namespace grainscope::harness {
namespace {

struct FamilyPlan {
  std::size_t cases = 0;
  double seconds = 0;
  Needs most;
};

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
  result += wrapped("question", text.question);
  result += text.measures.empty() ? "" : wrapped("measures", text.measures);
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
  for (const auto& [key, written] : line.axes) {  // some may be of what the table says of all families
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

const char* kind_name(DeclaredAxis::Kind kind) {
  switch (kind) {
    case DeclaredAxis::Kind::chosen:
      return "chosen";
    case DeclaredAxis::Kind::untold:
      return "untold";
    case DeclaredAxis::Kind::places:
      return "places";
    case DeclaredAxis::Kind::follows:
      return "follows";
  }
  return "unknown";
}

std::string family_text(const Family& family) {
  const About& about = family.about;
  std::string text = family.name + "\n" + wrapped("question", about.question);
  for (const auto& [label, said] : {std::pair("measures", about.measures), std::pair("timed", about.timed),
                                    std::pair("formula", about.formula), std::pair("source", about.source),
                                    std::pair("limits", about.limits)}) {
    text += *said == '\0' ? "" : wrapped(label, said);
  }
  std::string versions = std::to_string(family.version);
  for (const auto& [name, version] : family.versions) {
    versions += ", " + name + " " + std::to_string(version);
  }
  text += wrapped("version", versions);
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

// As many of its words as there is room for.
std::string beginning(const std::string& text, std::size_t room) {
  constexpr std::string_view kMore = " ..";
  const std::size_t end = text.rfind(' ', room - std::min(room, kMore.size()));
  return (end == std::string::npos ? "" : text.substr(0, end)).append(kMore);
}

}  // namespace

std::string families_text(const std::vector<Family>& families, std::size_t width, bool whole) {
  constexpr std::size_t kNameWidth = 23;
  constexpr std::size_t kMostLines = 40;
  std::string text;
  for (const Family& family : families) {
    text += wrapped(family.name, family.about.question, kNameWidth, width);
  }
  if (whole || static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')) <= kMostLines) {
    return text;
  }
  std::vector<std::vector<const Family*>> groups;
  for (const Family& family : families) {
    if (groups.empty() || group_of(groups.back().front()->name) != group_of(family.name)) {
      groups.emplace_back();
    }
    groups.back().push_back(&family);
  }
  const std::size_t room = width - std::min(width - 1, kNameWidth);
  const auto line = [&](const std::string& name, const std::string& what) {
    return filled(name, kNameWidth) + (letters(what) <= room ? what : beginning(what, room)) + "\n";
  };
  text = "--families --full has the questions whole, --explain FAMILY its axes\n";
  std::size_t lines = families.size() + 1;
  for (auto group = groups.rbegin(); group != groups.rend(); ++group) {
    std::string part;
    if (group->size() > 1 && lines > kMostLines) {  // the last groups stand in a line each
      const std::string title = group_of(group->front()->name) + "/";
      std::string names;
      for (const Family* family : *group) {
        names.append(names.empty() ? "" : ", ").append(family->name, title.size());
      }
      part = line(title + "..", names);
      lines -= group->size() - 1;
    } else {
      for (const Family* family : *group) {
        part += line(family->name, family->about.question);
      }
    }
    text.insert(0, part);
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
                      {"kind", kind_name(axis.kind)},
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
                   {"question", family.about.question},
                   {"measures", family.about.measures},
                   {"timed", family.about.timed},
                   {"formula", family.about.formula},
                   {"source", family.about.source},
                   {"limits", family.about.limits},
                   {"version", family.version},
                   {"versions", family.versions},
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

namespace {

// The first case that asks for most of what is made once for all families.
std::vector<Benchmark>::const_iterator largest_sharer(const std::vector<Benchmark>& cases) {
  return std::max_element(cases.begin(), cases.end(), [](const Benchmark& a, const Benchmark& b) {
    return a.needs.shared_host_bytes < b.needs.shared_host_bytes;
  });
}

std::string plan_line(const std::string& name, const std::array<std::string, 4>& cells) {
  constexpr std::size_t kName = 20;
  constexpr std::array<std::size_t, 4> kWidths{6, 13, 13, 13};
  std::string line = filled(name, kName);
  for (std::size_t i = 0; i < cells.size(); ++i) {
    line += " " + filled(cells[i], kWidths[i] - 1, true);
  }
  return line + "\n";
}

std::string plan_line(const std::string& name, const FamilyPlan& plan) {
  return plan_line(name, {std::to_string(plan.cases), format_seconds(plan.seconds),
                          format_bytes(plan.most.host_bytes), format_bytes(plan.most.device_bytes)});
}

}  // namespace

std::string plan_text(const Selection& selection, const Scope& scope, std::size_t width, bool whole) {
  const auto title = [&](const Benchmark& benchmark) {
    return whole ? benchmark.id.family : group_of(benchmark.id.family);
  };
  std::map<std::string, FamilyPlan> families;
  FamilyPlan total;
  for (const Benchmark& benchmark : selection.runnable) {
    for (FamilyPlan* plan : {&families[title(benchmark)], &total}) {
      ++plan->cases;
      plan->seconds += visits_to(benchmark, scope) * visit_estimate_s(benchmark, scope);
      plan->most.host_bytes =
          std::max(plan->most.host_bytes, benchmark.needs.host_bytes + benchmark.needs.shared_host_bytes);
      plan->most.device_bytes =
          std::max(plan->most.device_bytes, benchmark.needs.device_bytes + benchmark.needs.managed_bytes);
    }
  }
  const double all_s = plan_estimate_s(selection.runnable, scope);
  if (const auto sharer = largest_sharer(selection.runnable); sharer != selection.runnable.end()) {
    families[title(*sharer)].seconds += all_s - total.seconds;
  }
  total.seconds = all_s;
  std::string text = plan_line(whole ? "family" : "group", {"cases", "time", "host memory", "GPU memory"});
  for (const auto& [name, plan] : families) {
    text += plan_line(name, plan);
  }
  text += plan_line("all", total);
  std::array<char, 32> target{};
  std::snprintf(target.data(), target.size(), "%g %%", scope.sampling.ci_target * 100);
  text += wrapped("",
                  "preset " + std::string(name(scope.preset)) + ", " + std::to_string(scope.visits) +
                      (scope.visits == 1 ? " visit" : " visits") + " to a case, interval target " +
                      target.data() + "; memory is the most that one case holds",
                  0, width);
  const bool of_files = std::any_of(scope.graphs.begin(), scope.graphs.end(), [&](const auto& graph) {
    return graph.kind == graph::GraphSpec::Kind::file &&
           std::any_of(selection.runnable.begin(), selection.runnable.end(), [&](const Benchmark& benchmark) {
             return benchmark.id.name().find("/graph:" + graph.name()) != std::string::npos;
           });
  });
  if (of_files) {
    text +=
        wrapped("", "how large graphs of files are shows when they are read: time and memory leave them out",
                0, width);
  }
  if (selection.skipped.empty()) {
    return text;
  }
  std::map<std::string, int> reasons;
  std::map<std::pair<std::string, std::string>, std::vector<std::string>> skipped;
  for (const Benchmark& benchmark : selection.skipped) {
    ++reasons[benchmark.skip];
    skipped[{benchmark.id.family, benchmark.skip}].push_back(benchmark.id.name());
  }
  if (!whole) {
    return text + "\n" + reasons_text(reasons, "", width) +
           "--plan --full lists families, and each case that is skipped\n";
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

std::string load_text(const Environment& environment, std::size_t width) {
  constexpr double kFewTimes = 1.25;
  const auto& load = environment.load.average_1;
  const std::size_t cpus = environment.cpu.online.size();
  if (!load || cpus == 0) {
    return {};
  }
  const double times = (*load + 1) / static_cast<double>(cpus);
  if (times < kFewTimes) {
    return {};
  }
  std::array<char, 128> text{};
  std::snprintf(text.data(), text.size(),
                "warning: other work has the CPUs (load average %.1f of %zu): it may take %.1f times as long",
                *load, cpus, times);
  return wrapped("", text.data(), 0, width);
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
