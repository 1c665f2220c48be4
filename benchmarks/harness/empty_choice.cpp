// Why what a user chose leaves no case, or does nothing, and what would leave some.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>

#include "filter.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/core/units.hpp"
#include "options.hpp"
#include "question.hpp"
#include "selection.hpp"

namespace grainscope::harness {
namespace {

constexpr std::size_t kNearNames = 5;
// GPUs or nodes that a filter may name: more than machines have.
constexpr std::size_t kMostPlaces = 16;

bool declares(const Family& family, const std::string& key) {
  return std::any_of(family.axes.begin(), family.axes.end(),
                     [&](const DeclaredAxis& each) { return each.key == key; });
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
    if (scope_.axes.empty() && scope_.graphs.empty()) {
      return {};
    }
    Scope usual = without_sizes(scope_);
    usual.axes.clear();
    usual.graphs.clear();
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

void refuse_empty_choice(const std::vector<Family>& families, const Machine& machine, const Scope& scope,
                         const std::string& filter) {
  EmptyChoice(families, machine, scope, filter).refuse();
}

std::vector<std::string> without_effect(const std::vector<Family>& families, const Machine& machine,
                                        const Scope& scope, const std::function<bool(const Case&)>& keeps) {
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

}  // namespace grainscope::harness
