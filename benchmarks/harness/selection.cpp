#include "selection.hpp"

#include <algorithm>
#include <cctype>
#include <optional>
#include <regex>
#include <set>
#include <string_view>

#include "grainscope/core/error.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/system/limits.hpp"
#include "options.hpp"
#include "question.hpp"

namespace grainscope::harness {
namespace {

constexpr std::size_t kNearNames = 5;
// GPUs or nodes that a filter may name: more than machines have.
constexpr std::size_t kMostPlaces = 16;
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

std::optional<std::uint64_t> size_of(const std::string& text) {
  try {
    return parse_bytes(text);
  } catch (const UsageError&) {
    return std::nullopt;
  }
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

namespace {

// transfer/memcpy is of the group transfer.
std::string group_of(const std::string& family) {
  return family.substr(0, family.find('/'));
}

bool declares(const Family& family, const std::string& key) {
  return std::any_of(family.axes.begin(), family.axes.end(),
                     [&](const DeclaredAxis& each) { return each.key == key; });
}

// The axis of a family to which somebody can give values; null where it has none of that name.
const DeclaredAxis* given_axis(const Family& family, const std::string& key) {
  const auto axis = std::find_if(family.axes.begin(), family.axes.end(),
                                 [&](const DeclaredAxis& each) { return each.key == key && is_given(each); });
  return axis == family.axes.end() ? nullptr : &*axis;
}

// The declarations of an axis, of all families that have it.
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

// Throws UsageError for an axis whose value follows from others in every family that has it.
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

}  // namespace

namespace {

struct Listed {
  std::vector<Benchmark> cases;
  std::set<std::string> left_out;  // why combinations with the user's values cannot be
};

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

// What one family lists here, each case once.
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
      benchmark.version = family.version;
      fill_up(benchmark.explanation, family.about);
      set_units(benchmark.id.axes, family);
      if (benchmark.skip.empty()) {
        benchmark.skip = why_too_large(benchmark.needs, machine);
        if (!benchmark.skip.empty()) {
          benchmark.run = nullptr;  // and its claim to a graph that others wait to see gone
        }
      }
      listed.cases.push_back(std::move(benchmark));
    }
  }
  if (!own->axes.empty()) {  // the table's own are nobody's question
    listed.left_out = grids.left_out();
  }
  return listed;
}

// Why an axis of the user does nothing for the cases that are kept: of families that have it, with cases but
// for this axis, the reasons why these cannot be; else that it follows from others there, or that none has
// it.
[[noreturn]] void refuse_without_effect(const std::string& key, const std::string& values,
                                        const std::set<std::string>& reasons, const Family* follows_in) {
  std::string message = "--axis ";
  message.append(key).append("=").append(values);
  if (!reasons.empty()) {
    message.append(" leaves none of the cases that have this axis: ");
    throw UsageError(message.append(joined({reasons.begin(), reasons.end()}, "; ")));
  }
  if (follows_in != nullptr) {
    require_given({*follows_in}, key);
  }
  message.append(" changes nothing here: no family of the cases that are chosen has this axis; ");
  throw UsageError(message.append("--explain FAMILY says which one has"));
}

// The values of a text that an axis cannot take.
std::vector<std::string> values_lacking(const DeclaredAxis& axis, const std::string& values) {
  std::vector<std::string> lacking = by_commas(values);
  std::erase_if(lacking, [&](const std::string& value) { return takes(axis, value); });
  return lacking;
}

// "--axis bytes=8 is no value of host/memcpy (a size from 64 B to 1 TiB), so none of its cases has it".
std::string lacking_text(const std::string& axis, const std::vector<std::string>& families) {
  constexpr std::size_t kMostNamed = 4;
  const std::vector<std::string> named(
      families.begin(),
      families.begin() + static_cast<std::ptrdiff_t>(std::min(families.size(), kMostNamed)));
  const std::size_t more = families.size() - named.size();
  std::string line = "--axis " + axis + " is no value of ";
  line.append(joined(named, ", ")).append(more > 0 ? ", and of " + std::to_string(more) + " more" : "");
  return line.append(", so none of its cases has it");
}

// What the user's values for axes do not do: throws UsageError for an axis that no case which is kept has. Of
// families whose cases would be kept, but which cannot take a value, a line for each value.
template <typename Keeps>
std::vector<std::string> without_effect(const std::vector<Family>& families, const Machine& machine,
                                        const Scope& scope, const Keeps& keeps) {
  const auto is_kept = [&](const Listed& listed) {
    return std::any_of(listed.cases.begin(), listed.cases.end(),
                       [&](const Benchmark& benchmark) { return keeps(benchmark.id); });
  };
  std::map<std::string, std::vector<std::string>> lacking;  // families by axis=value
  for (const auto& [key, values] : scope.axes) {
    Scope usual = scope;
    std::erase_if(usual.axes, [&key = key](const auto& each) { return each.first == key; });
    bool has_effect = false;
    std::set<std::string> reasons;
    const Family* follows_in = nullptr;
    for (const Family& family : families) {
      if (!declares(family, key)) {
        continue;
      }
      Listed listed = list_family(family, machine, scope);
      const bool kept = is_kept(listed);
      if (!kept && !is_kept(list_family(family, machine, usual))) {
        continue;  // the filter is about others
      }
      const DeclaredAxis* const axis = given_axis(family, key);
      if (axis == nullptr) {
        follows_in = &family;
        continue;
      }
      has_effect = has_effect || kept;
      reasons.merge(listed.left_out);
      for (const std::string& value : values_lacking(*axis, values)) {
        std::string given = key;
        given.append("=").append(value);
        lacking[given].push_back(family.name + " (" + what_it_takes(*axis) + ")");
      }
    }
    if (!has_effect) {
      refuse_without_effect(key, values, reasons, follows_in);
    }
  }
  std::vector<std::string> lines;
  lines.reserve(lacking.size());
  for (const auto& [axis, of] : lacking) {
    lines.push_back(lacking_text(axis, of));
  }
  return lines;
}

}  // namespace

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

namespace {

// Why a filter that is right in itself is left with nothing, and what would leave it something.
class EmptyChoice {
 public:
  EmptyChoice(const std::vector<Family>& families, const Machine& machine, const Scope& scope,
              const std::string& filter)
      : families_(families), machine_(machine), scope_(scope), text_(filter), filter_(filter) {}

  [[noreturn]] void refuse() const {
    if (scope_.question) {
      throw UsageError("no case fits what was asked for (" + scope_.question->text() + ")" +
                       why_of_question());
    }
    std::string message = "no case matches '" + text_ + "'";
    for (const auto& [key, values] : scope_.axes) {
      message.append(" with ").append(key).append("=").append(values);
    }
    throw UsageError(message + why());
  }

 private:
  [[nodiscard]] std::string why() const {
    for (const auto& reason : {why_of_sizes(), why_of_place(), why_of_axes()}) {
      if (!reason.empty()) {
        return reason;
      }
    }
    const std::vector<std::string> names = names_in(scope_);
    if (names.empty()) {
      return sizes().empty() ? ": nothing is listed here" : ": " + sizes() + " leaves none at all";
    }
    std::string message;
    std::string meant = text_;  // with the nearest part of a name in place of each that no name has
    bool related = false;
    for (const std::string& part : parts_of(text_)) {
      if (std::any_of(names.begin(), names.end(),
                      [&](const std::string& name) { return name.find(part) != std::string::npos; })) {
        related = true;
        continue;
      }
      if (const std::string word = why_of_words(part); !word.empty()) {
        return word;
      }
      if (const std::string axis = axis_flag(part); !axis.empty()) {
        std::string made = ": no name has '";
        return made.append(part).append("'; ").append(axis).append(" makes it");
      }
      message.append(message.empty() ? ": no name has '" : ", nor '").append(part).append("'");
      if (const std::string near = nearest_part(part, names); !near.empty()) {
        related = true;
        meant.replace(meant.find(part), part.size(), near);
        message += " (did you mean " + near + "?)";
      }
    }
    if (!related) {
      return message +
             "; --families lists the families and their questions, --benchmark_list_tests the cases";
    }
    message += "; near it are\n";
    for (const std::string& name : near_names(meant, names, kNearNames)) {
      message += "  " + name + "\n";
    }
    return message + "--benchmark_list_tests lists all; a denser --preset has more sizes";
  }

  // Of a part that no name has, but that `ask` takes for a word.
  [[nodiscard]] std::string why_of_words(const std::string& part) const {
    Scope asked = scope_;
    try {
      asked.question = std::make_shared<Question>(part);
    } catch (const UsageError&) {
      return {};
    }
    std::vector<std::string> begin;  // what names have before their sites
    for (const std::string& name : asked_in(asked)) {
      const std::string bare = name.substr(0, name.rfind('/', name.find(':')));
      if (std::find(begin.begin(), begin.end(), bare) == begin.end()) {
        begin.push_back(bare);
      }
    }
    std::string some;
    for (std::size_t i = 0; i < std::min(kNearNames, begin.size()); ++i) {
      some += (i == 0 ? "" : ", ") + begin[i];
    }
    some += begin.size() > kNearNames ? " and " + std::to_string(begin.size() - kNearNames) + " more" : "";
    return begin.empty() ? ""
                         : ": no name has '" + part + "', which as a word means " + some +
                               ": `grainscope ask " + part + "` takes it";
  }

  // "bytes:63MiB", of an axis of some family, as a flag that makes cases with it.
  [[nodiscard]] std::string axis_flag(const std::string& part) const {
    const std::size_t colon = part.find(':');
    const std::string key = part.substr(0, colon);
    const std::string value = colon == std::string::npos ? "" : part.substr(colon + 1);
    const auto declarations = declarations_of(families_, key);
    const bool can = std::any_of(declarations.begin(), declarations.end(), [&](const DeclaredAxis* axis) {
      return !value.empty() && takes(*axis, value);
    });
    return can ? "--axis " + key + "=" + value : "";
  }

  // The part of a name that is nearest to one that no name has; empty where none is near.
  [[nodiscard]] static std::string nearest_part(const std::string& part,
                                                const std::vector<std::string>& names) {
    std::set<std::string> known;
    for (const std::string& name : names) {
      known.merge(parts_of(name));
    }
    const std::string best = nearest(part, {known.begin(), known.end()});
    return edit_distance(part, best) <= std::max<std::size_t>(1, part.size() / 3) ? best : "";
  }

  // What would leave some of what words ask for: other sizes, no filter, or the full preset.
  [[nodiscard]] std::string why_of_question() const {
    if (!text_.empty()) {
      return " and matches '" + text_ + "': leave out --benchmark_filter, or the words";
    }
    if (const auto without = asked_in(without_sizes(scope_)); !sizes().empty() && !without.empty()) {
      return ": " + sizes() + " leaves none of the " + std::to_string(without.size()) + " that would be";
    }
    for (const Preset larger : {Preset::full, Preset::paper}) {
      Scope scope = scope_;
      scope.preset = larger;
      if (const auto there = asked_in(scope); !there.empty()) {
        return std::string(" in preset ") + name(scope_.preset) + ": --preset " + name(larger) + " has " +
               std::to_string(there.size()) + ", the first of them " + there.front();
      }
    }
    const std::vector<std::string> meant = scope_.question->families();
    std::string reasons;
    for (const Family& family : families_) {
      if (std::none_of(meant.begin(), meant.end(),
                       [&](const std::string& name) { return group_of(name) == group_of(family.name); })) {
        continue;
      }
      for (const std::string& left_out : list_family(family, machine_, scope_).left_out) {
        reasons += "; left out: " + left_out;
      }
    }
    return reasons.empty() ? " on this machine: leave out a word" : reasons;
  }

  [[nodiscard]] std::vector<std::string> asked_in(const Scope& scope) const {
    std::vector<std::string> names;
    for (const Family& family : families_) {
      for (const Benchmark& benchmark : list_family(family, machine_, scope).cases) {
        if (scope.question->matches(benchmark.id)) {
          names.push_back(benchmark.id.name());
        }
      }
    }
    return names;
  }

  // Where the range of sizes alone leaves nothing.
  [[nodiscard]] std::string why_of_sizes() const {
    const std::vector<std::string> without = kept(without_sizes(scope_));
    if (sizes().empty() || without.empty()) {
      return {};
    }
    return ": " + sizes() + " leaves none of the " + std::to_string(without.size()) +
           " that would, the first of them " + without.front();
  }

  // Of families that the filter is about: it keeps cases of theirs with the preset's values, or names them.
  [[nodiscard]] std::string why_of_axes() const {
    if (scope_.axes.empty()) {
      return {};
    }
    Scope usual = without_sizes(scope_);
    usual.axes.clear();
    std::string reasons;
    std::vector<std::string> kept_usually;
    for (const Family& family : families_) {
      bool about = names_it(family.name);
      for (const Benchmark& benchmark : list_family(family, machine_, usual).cases) {
        const std::string name = benchmark.id.name();
        if (filter_.keeps(name)) {
          kept_usually.push_back(name);
        }
        about = about || filter_.keeps(name) || names_it(benchmark.id.family);
      }
      for (const std::string& left_out :
           about ? list_family(family, machine_, scope_).left_out : std::set<std::string>()) {
        reasons += "; left out: " + left_out;
      }
    }
    if (!reasons.empty() || kept_usually.empty()) {
      return reasons;
    }
    return ": with the preset's values " + std::to_string(kept_usually.size()) +
           " would, the first of them " + kept_usually.front();
  }

  // A GPU or a node that the filter names, and this machine lacks or the run does not take.
  [[nodiscard]] std::string why_of_place() const {
    std::set<std::string> keys;
    std::vector<Case> cases;
    for (const Family& family : families_) {
      for (const Benchmark& benchmark : list_family(family, machine_, scope_).cases) {
        cases.push_back(benchmark.id);
        for (const Site& site : benchmark.id.site) {
          keys.insert(site.key);
        }
      }
    }
    std::erase_if(keys, [&](const std::string& key) { return !names_it(key + ":"); });
    for (Case& each : cases) {
      if (std::string reason = keys.empty() ? "" : why_not_at(each, keys); !reason.empty()) {
        return reason;
      }
    }
    return {};
  }

  // Tries the case at all places that its sites of these keys can name.
  [[nodiscard]] std::string why_not_at(Case& moved, const std::set<std::string>& keys) const {
    std::vector<Site*> free;
    for (Site& site : moved.site) {
      if (keys.contains(site.key)) {
        free.push_back(&site);
      }
    }
    std::size_t ways = free.empty() ? 0 : 1;
    for (std::size_t i = 0; i < free.size(); ++i) {
      ways *= kMostPlaces;
    }
    for (std::size_t way = 0; way < ways; ++way) {
      std::size_t digits = way;
      for (Site* site : free) {
        site->value = static_cast<std::int64_t>(digits % kMostPlaces);
        digits /= kMostPlaces;
      }
      const bool to_itself =
          free.size() == 2 && is_gpu(*free[0]) && is_gpu(*free[1]) && free[0]->value == free[1]->value;
      if (!to_itself && filter_.keeps(moved.name())) {
        return why_not_taken(free);
      }
    }
    return {};
  }

  // Of places of a case that is not listed: the first that is not there, or that is not taken.
  [[nodiscard]] std::string why_not_taken(const std::vector<Site*>& places) const {
    std::string taken;
    for (const Site* site : places) {
      const bool gpu = is_gpu(*site);
      const auto id = static_cast<int>(site->value);
      try {
        static_cast<void>(gpu ? gpu_targets(machine_, {id}).size() : node_targets(machine_, {id}).size());
      } catch (const EnvironmentError& error) {
        return std::string(": ") + error.what();
      }
      taken += (taken.empty() ? "" : " and ") + std::string(gpu ? "GPU " : "NUMA node ") + std::to_string(id);
    }
    return ": the run does not take " + taken + " there; --gpu and --numa name those to take";
  }

  // A filter that is turned round names what it leaves out.
  [[nodiscard]] bool names_it(const std::string& what) const {
    return !text_.starts_with('-') && text_.find(what) != std::string::npos;
  }

  [[nodiscard]] std::string sizes() const {
    std::string text;
    if (scope_.min_bytes) {
      text = "--min-bytes " + format_bytes(*scope_.min_bytes);
    }
    if (scope_.max_bytes) {
      text += (text.empty() ? "" : " with ") + ("--max-bytes " + format_bytes(*scope_.max_bytes));
    }
    return text;
  }

  [[nodiscard]] static Scope without_sizes(Scope scope) {
    scope.min_bytes.reset();
    scope.max_bytes.reset();
    return scope;
  }

  [[nodiscard]] std::vector<std::string> names_in(const Scope& scope) const {
    std::vector<std::string> names;
    for (const Family& family : families_) {
      for (const Benchmark& benchmark : list_family(family, machine_, scope).cases) {
        names.push_back(benchmark.id.name());
      }
    }
    return names;
  }
  [[nodiscard]] std::vector<std::string> kept(const Scope& scope) const {
    std::vector<std::string> names = names_in(scope);
    std::erase_if(names, [&](const std::string& name) { return !filter_.keeps(name); });
    return names;
  }

  const std::vector<Family>& families_;
  const Machine& machine_;
  const Scope& scope_;
  const std::string& text_;
  Filter filter_;
};

}  // namespace

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

Selection select(const std::vector<Family>& families, const Machine& machine, const Scope& scope,
                 const std::string& filter_text, int shard_index, int shard_count) {
  const Filter filter(filter_text);
  const auto keeps = [&](const Case& id) {
    return filter.keeps(id.name()) && (!scope.question || scope.question->matches(id));
  };
  std::vector<Benchmark> all = list_all(families, machine, scope);
  Selection selection;
  std::size_t matched = 0;
  std::size_t runnable = 0;
  for (Benchmark& benchmark : all) {
    if (!keeps(benchmark.id)) {
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
    EmptyChoice(families, machine, scope, filter_text).refuse();
  }
  selection.without_effect = without_effect(families, machine, scope, keeps);
  return selection;
}

}  // namespace grainscope::harness
