#include "selection.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <optional>
#include <string_view>
#include <utility>

#include "filter.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/system/limits.hpp"
#include "options.hpp"
#include "plan.hpp"
#include "question.hpp"

namespace grainscope::harness {

std::string group_of(const std::string& family) {
  return family.substr(0, family.find('/'));
}

const DeclaredAxis* given_axis(const Family& family, const std::string& key) {
  const auto axis = std::find_if(family.axes.begin(), family.axes.end(),
                                 [&](const DeclaredAxis& each) { return each.key == key && is_given(each); });
  return axis == family.axes.end() ? nullptr : &*axis;
}

std::vector<const DeclaredAxis*> declarations_of(const std::vector<Family>& families,
                                                 const std::string& key) {
  std::vector<const DeclaredAxis*> declarations;
  for (const Family& family : families) {
    if (const DeclaredAxis* const axis = given_axis(family, key); axis != nullptr) {
      declarations.push_back(axis);
    }
  }
  return declarations;
}

bool takes(const DeclaredAxis& axis, const std::string& values) {
  try {
    require_values(axis, values);
    return true;
  } catch (const UsageError&) {
    return false;
  }
}

void require_given(const std::vector<Family>& families, const std::string& key) {
  for (const Family& family : families) {
    for (const DeclaredAxis& axis : family.axes) {
      if (axis.key == key) {
        throw UsageError("--axis " + key + ": in " + family.name + " it follows from other axes (" +
                         axis.means + "), and nobody can give it a value; --explain " + family.name +
                         " says which");
      }
    }
  }
}

namespace {

// The rest of the process, and of the machine, needs some too.
constexpr double kUsableShare = 0.8;

std::string why_too_large(const Needs& needs, const Machine& machine) {
  const auto available = machine.environment.memory.available.bytes();
  if (available && static_cast<double>(needs.host_bytes) > kUsableShare * static_cast<double>(*available)) {
    return "needs " + format_bytes(needs.host_bytes) + " of host memory; " + format_bytes(*available) +
           " are available";
  }
  return {};
}

std::vector<std::string> all_keys(const std::vector<Family>& families) {
  std::set<std::string> keys;
  for (const Family& family : families) {
    for (const DeclaredAxis& axis : family.axes) {
      if (is_given(axis)) {
        keys.insert(axis.key);
      }
    }
  }
  return {keys.begin(), keys.end()};
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
      require_given(families, key);
      const std::string near = nearest(key, all_keys(families));
      std::string message = "--axis ";
      message.append(key).append("=").append(values).append(": no family has an axis ").append(key);
      throw UsageError(message.append(near.empty() ? "; --explain FAMILY says which it has"
                                                   : "; did you mean " + near + "?"));
    }
    for (const std::string& value : by_commas(values)) {
      if (std::none_of(declarations.begin(), declarations.end(),
                       [&, &value = value](const DeclaredAxis* axis) { return takes(*axis, value); })) {
        require_values(*declarations.front(), value);  // which says why not
      }
    }
    for (const DeclaredAxis* axis : declarations) {
      require_told_apart(*axis, values_taken(*axis, values));
    }
  }
}

// The scope of one family: of the user's values for axes those that it can take; absent where of one it can
// take none.
std::optional<Scope> scope_for(const Family& family, const Scope& scope) {
  Scope own = scope;
  own.axes.clear();
  for (const auto& [key, values] : scope.axes) {
    if (const DeclaredAxis* const axis = given_axis(family, key); axis != nullptr) {
      own.axes.emplace_back(key, values_taken(*axis, values));
      if (own.axes.back().second.empty()) {
        return std::nullopt;
      }
    }
  }
  for (auto& [key, sizes] : scope.question ? scope.question->sizes(family.name) : WrittenAxes()) {
    for (const DeclaredAxis& axis : family.axes) {
      if (axis.key == key) {
        own.axes.emplace_back(key, values_taken(axis, sizes));
      }
    }
    if (own.axes.empty() || own.axes.back().second.empty()) {
      return std::nullopt;
    }
  }
  return own;
}

void set_units(std::vector<Axis>& axes, const Family& family) {
  for (Axis& axis : axes) {
    for (const DeclaredAxis& declared : family.axes) {
      if (declared.key == axis.key) {
        axis.unit = declared.unit;
      }
    }
  }
}

// What a case leaves to its family.
void fill_up(Explanation& said, const About& about) {
  said.question = about.question;
  for (const auto& [of_case, of_family] : {std::pair(&said.measures, std::string_view(about.measures)),
                                           std::pair(&said.timed, std::string_view(about.timed)),
                                           std::pair(&said.formula, std::string_view(about.formula)),
                                           std::pair(&said.source, std::string_view(about.source)),
                                           std::pair(&said.limits, std::string_view(about.limits))}) {
    if (of_case->empty()) {
      *of_case = of_family;
    }
  }
}

}  // namespace

Listed list_family(const Family& family, const Machine& machine, const Scope& scope) {
  Listed listed;
  const std::optional<Scope> own = scope_for(family, scope);
  if (!own || family.written == scope.transfers.empty()) {
    return listed;
  }
  const Grids grids(family.axes, family.name, *own);
  std::set<std::string> names;
  for (Benchmark& benchmark : family.list(machine, *own, grids)) {
    if (!benchmark.impossible.empty()) {
      grids.leave_out(benchmark.impossible);
    } else if (names.insert(benchmark.id.name()).second) {  // lines of the table may meet
      benchmark.version = family.version_of(benchmark.id.family);
      fill_up(benchmark.explanation, family.about);
      set_units(benchmark.id.axes, family);
      benchmark.skip_for_now(why_too_large(benchmark.needs, machine));
      if (benchmark.lacks_memory) {
        benchmark.run = nullptr;  // and its claim to a graph that others wait to see gone
      }
      listed.cases.push_back(std::move(benchmark));
    }
  }
  if (!own->axes.empty() || !own->graphs.empty()) {  // the table's own are nobody's question
    listed.left_out = grids.left_out();
  }
  return listed;
}

std::vector<Benchmark> list_all(const std::vector<Family>& families, const Machine& machine,
                                const Scope& scope, std::set<std::string>* left_out) {
  require_axes(families, scope);
  std::vector<Benchmark> all;
  std::set<std::string> names;
  for (const Family& family : families) {
    Listed listed = list_family(family, machine, scope);
    for (Benchmark& benchmark : listed.cases) {
      const std::string name = benchmark.id.name();
      if (!names.insert(name).second) {
        throw std::logic_error("two families have a case named " + name);
      }
      all.push_back(std::move(benchmark));
    }
    if (left_out != nullptr) {
      left_out->merge(listed.left_out);
    }
  }
  return all;
}

std::vector<Family> families_asked(const std::vector<Family>& families, const std::string& words) {
  std::vector<Family> found;
  const auto take = [&](auto suits) {
    std::copy_if(families.begin(), families.end(), std::back_inserter(found), suits);
  };
  take([&](const Family& family) { return family.name.find(words) != std::string::npos; });
  if (!found.empty()) {
    return found;
  }
  std::set<std::string> names;
  for (const Family& family : families) {
    names.insert(family.name);
  }
  // Families of an algorithm each are listed by one, which is called by their group or by one of its own.
  const std::vector<std::string> meant = Question(words).families();
  take([&](const Family& family) {
    return std::any_of(meant.begin(), meant.end(), [&](const std::string& name) {
      return names.contains(name) ? family.name == name : group_of(family.name) == group_of(name);
    });
  });
  return found;
}

std::string understood_text(const Selection& selection, const Scope& scope) {
  std::string lacking;
  for (const std::string& line : selection.without_effect) {
    lacking += "grainscope: " + line + "\n";
  }
  if (!scope.question) {
    return lacking;
  }
  const std::size_t runnable = selection.runnable.size();
  const std::size_t skipped = selection.skipped.size();
  std::string text = "grainscope: " + scope.question->text() + ": " + std::to_string(runnable + skipped) +
                     (runnable + skipped == 1 ? " case" : " cases");
  if (skipped > 0) {
    text += runnable == 0 ? ", none of which can run here" : ", " + std::to_string(skipped) + " skipped here";
  }
  return text + "\n" + lacking;
}

namespace {

// One of so many parts that take about equally long by the plan, in the order of the listing: the longest
// cases first, each goes to the part that ends first with it. So cases that share memory tend to be together.
// What memory is free at the moment does not matter: parts that run at different times must fit together.
std::vector<Benchmark> shard(std::vector<Benchmark> cases, const Scope& scope, int index, int count) {
  std::vector<double> takes_s;
  takes_s.reserve(cases.size());
  for (const Benchmark& benchmark : cases) {
    takes_s.push_back(PlannedTime(scope).with(benchmark));
  }
  std::vector<std::size_t> by_length(cases.size());
  std::iota(by_length.begin(), by_length.end(), std::size_t{0});
  std::stable_sort(by_length.begin(), by_length.end(),
                   [&](std::size_t a, std::size_t b) { return takes_s[a] > takes_s[b]; });
  std::vector<PlannedTime> parts(static_cast<std::size_t>(count), PlannedTime(scope));
  std::vector<bool> chosen(cases.size());
  for (const std::size_t at : by_length) {
    std::vector<double> ends_s;
    std::transform(parts.begin(), parts.end(), std::back_inserter(ends_s),
                   [&](const PlannedTime& part) { return part.with(cases[at]); });
    const auto first = std::min_element(ends_s.begin(), ends_s.end()) - ends_s.begin();
    parts[static_cast<std::size_t>(first)].add(cases[at]);
    chosen[at] = first == index - 1;
  }
  std::vector<Benchmark> part;
  for (std::size_t at = 0; at < cases.size(); ++at) {
    if (chosen[at]) {
      part.push_back(std::move(cases[at]));
    }
  }
  return part;
}

}  // namespace

Selection select(const std::vector<Family>& families, const Machine& machine, const Scope& scope,
                 const std::string& filter_text, int shard_index, int shard_count) {
  const Filter filter(filter_text);
  const auto keeps = [&](const Case& id) {
    return filter.keeps(id.name()) && (!scope.question || scope.question->matches(id));
  };
  std::vector<Benchmark> all = list_all(families, machine, scope);
  Selection selection;
  std::vector<Benchmark> dealt;
  for (Benchmark& benchmark : all) {
    if (!keeps(benchmark.id)) {
      continue;
    }
    ++selection.of_all_shards;
    if (benchmark.skip.empty() || benchmark.lacks_memory) {
      dealt.push_back(std::move(benchmark));
    } else if (shard_index == 1) {
      selection.skipped.push_back(std::move(benchmark));
    }
  }
  if (selection.of_all_shards == 0) {
    refuse_empty_choice(families, machine, scope, filter_text);
  }
  if (shard_count > 1) {
    dealt = shard(std::move(dealt), scope, shard_index, shard_count);
  }
  for (Benchmark& benchmark : dealt) {
    (benchmark.skip.empty() ? selection.runnable : selection.skipped).push_back(std::move(benchmark));
  }
  selection.without_effect = without_effect(families, machine, scope, keeps);
  return selection;
}

}  // namespace grainscope::harness
