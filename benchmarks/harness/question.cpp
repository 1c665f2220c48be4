#include "question.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "grainscope/core/error.hpp"
#include "grainscope/core/units.hpp"
#include "options.hpp"
#include "words.hpp"

namespace grainscope::harness {
namespace {

using namespace asking;
using nlohmann::json;
using Held = std::map<std::string, Texts>;

// Families by name in what is said.
constexpr std::size_t kShown = 4;
const char* const kBy = "by";      // what a word is about: who works
const char* const kEnds = "ends";  // where bytes lie
const char* const kHostMemory = "host memory";

// A size that is no larger, and no word is beside, is of rows where there are any.
constexpr std::uint64_t kLargestRow = 64 << 10;

// Whether one of the values is the number, a range that it lies in ("4KiB..x4..64KiB"), or "all".
bool has_number(const Texts& values, std::int64_t number) {
  const auto size = static_cast<std::uint64_t>(number);
  return std::any_of(values.begin(), values.end(), [&](const std::string& value) {
    if (const std::size_t dots = value.find(".."); dots != std::string::npos) {
      const auto least = size_of(value.substr(0, dots));
      const auto most = size_of(value.substr(value.rfind("..") + 2));
      return least && most && *least <= size && size <= *most;
    }
    return value == "all" || size_of(value) == size;
  });
}

// Whether an axis or a site of the case has one of the values; absent where the case has none of the name.
std::optional<bool> has_one(const Case& id, const std::string& name, const Texts& values) {
  for (const Axis& each : id.axes) {
    if (each.key == name) {
      const auto* number = std::get_if<std::int64_t>(&each.value);
      if (number == nullptr) {
        return fits_any(to_string(each.value), values);
      }
      // Which numbers other names stand for ("most") the axis knows: cases have been made by it.
      return has_number(values, *number) || std::any_of(values.begin(), values.end(), [](const auto& value) {
               return is_small(value.front());
             });
    }
  }
  const auto site =
      std::find_if(id.site.begin(), id.site.end(), [&](const Site& each) { return each.key == name; });
  return site == id.site.end() ? std::nullopt : std::optional(has_number(values, site->value));
}

// `node 0` is what families without GPUs call their node, too.
bool holds(const Case& id, const std::string& axis, const Texts& values) {
  if (const auto own = has_one(id, axis, values)) {
    return *own;
  }
  const auto others = words().sites.find(axis);
  for (const std::string& name : others == words().sites.end() ? Texts() : others->second) {
    if (const auto other = has_one(id, name, values)) {
      return *other;
    }
  }
  return false;
}

}  // namespace

bool means(const Meaning& meaning, const Case& id) {
  return fits_any(id.family, meaning.families) &&
         std::all_of(meaning.axes.begin(), meaning.axes.end(),
                     [&](const auto& axis) { return holds(id, axis.first, axis.second); });
}

namespace {

bool is_in(const AskedWord& word, const std::string& family) {
  return std::any_of(word.means.begin(), word.means.end(),
                     [&](const Meaning& meaning) { return fits_any(family, meaning.families); });
}

// Values that are held and meant; absent where an axis is left with none.
std::optional<Held> both(Held held, const Meaning& meaning) {
  for (const auto& [axis, values] : meaning.axes) {
    const auto there = held.find(axis);
    if (there == held.end()) {
      held[axis] = values;
      continue;
    }
    Texts left;
    for (const std::string& a : there->second) {
      for (const std::string& b : values) {
        if (fits(a, b) || fits(b, a)) {
          left.push_back(fits(a, b) ? a : b);
        }
      }
    }
    if (left.empty()) {
      return std::nullopt;
    }
    there->second = left;
  }
  return held;
}

using Subjects = std::vector<std::vector<const AskedWord*>>;

// Whether one meaning of each subject, from the one at `at` on, can hold of a case of the family.
bool can_be(const std::string& family, const Subjects& subjects, std::size_t at, const Held& held) {
  if (at == subjects.size()) {
    return true;
  }
  for (const AskedWord* word : subjects[at]) {
    for (const Meaning& meaning : word->means) {
      const auto more = fits_any(family, meaning.families) ? both(held, meaning) : std::nullopt;
      if (more && can_be(family, subjects, at + 1, *more)) {
        return true;
      }
    }
  }
  return false;
}

std::string some(const Texts& names) {
  const Texts few(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(std::min(kShown, names.size())));
  return joined(few, ", ") +
         (names.size() > kShown ? " and " + std::to_string(names.size() - kShown) + " more" : "");
}

// What a sentence is of, one after another, and the families that can have it.
using Groups = std::vector<std::pair<std::string, Texts>>;

std::string contradiction(const Groups& groups) {
  std::string all;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    all += (i == 0 ? "'" : ", '") + groups[i].first + "'";
    for (std::size_t j = i + 1; j < groups.size(); ++j) {
      const bool together = std::any_of(groups[i].second.begin(), groups[i].second.end(),
                                        [&](const std::string& name) { return has(groups[j].second, name); });
      if (!together) {
        return "'" + groups[i].first + "' and '" + groups[j].first +
               "' go together in no family: the first is of " + some(groups[i].second) + ", the second of " +
               some(groups[j].second);
      }
    }
  }
  return "no family has all of " + all + ": leave one out";
}

// "kron20_8" as --graph has it: "kron:20:8".
std::string as_written(const std::string& graph) {
  const std::size_t digits = graph.find_first_of("0123456789");
  if (digits == std::string::npos) {
    return graph;
  }
  std::string sizes = graph.substr(digits);
  std::replace(sizes.begin(), sizes.end(), '_', ':');
  return graph.substr(0, digits) + ":" + sizes;
}

}  // namespace

Subjects Question::subjects() const {
  Subjects found;
  Texts names;
  for (const AskedWord& word : words_) {
    // Of a crossover kinds of memory and ways to move bytes are what is compared.
    const bool compared = want_ == kCrossover && word.about == "way";
    const std::string about = compared ? "memory" : word.about;
    const auto place = std::find(names.begin(), names.end(), about);
    if (place == names.end()) {
      names.push_back(about);
      found.push_back({&word});
    } else {
      found[static_cast<std::size_t>(place - names.begin())].push_back(&word);
    }
  }
  return found;
}

std::vector<std::pair<std::string, std::vector<std::string>>> Question::groups() const {
  const auto& known = words().families;
  Groups found;
  for (const auto& subject : subjects()) {
    found.emplace_back(subject.front()->says, Texts());
    for (const auto& [name, sizes] : known) {
      if (std::any_of(subject.begin(), subject.end(),
                      [&, &name = name](const AskedWord* word) { return is_in(*word, name); })) {
        found.back().second.push_back(name);
      }
    }
  }
  for (const Size& size : sizes_) {
    found.emplace_back(exact(size.least), Texts());
    for (const auto& [name, axes] : known) {
      if (std::any_of(axes.begin(), axes.end(),
                      [&](const std::string& axis) { return size.axes.empty() || has(size.axes, axis); })) {
        found.back().second.push_back(name);
      }
    }
  }
  return found;
}

std::vector<std::string> Question::families_of_all() const {
  const Subjects all = subjects();
  const Groups named = groups();
  const Held held(axes_.begin(), axes_.end());
  Texts left;
  for (const auto& family : words().families) {
    const bool in_all = std::all_of(named.begin(), named.end(),
                                    [&](const auto& group) { return has(group.second, family.first); });
    if (in_all && can_be(family.first, all, 0, held)) {
      left.push_back(family.first);
    }
  }
  return left;
}

void Question::take_host_memory() {
  const AskedWord& host = words().phrases.at(kHostMemory);
  std::vector<AskedWord> all;
  for (const AskedWord& word : words_) {
    const AskedWord& meant = word.about == kBy ? host : word;
    if (meant == word || std::find(words_.begin(), words_.end(), host) == words_.end()) {
      all.push_back(meant);
    }
  }
  words_ = std::move(all);
}

void Question::choose_families() {
  const auto is_asked = [&](const char* about) {
    return std::any_of(words_.begin(), words_.end(),
                       [&](const AskedWord& word) { return word.about == about; });
  };
  const Groups held_together = groups();
  Texts left = families_of_all();
  if (left.empty() && is_asked(kBy) && is_asked(kEnds)) {
    take_host_memory();
    left = families_of_all();
  }
  if (left.empty()) {
    throw UsageError(contradiction(held_together));
  }
  const auto is_compared = [](const AskedWord& word) {
    return word.about == "way" || word.about == "memory";
  };
  const auto named = std::count_if(words_.begin(), words_.end(), is_compared);
  const bool compares = named == 0 && (want_ == "best" || want_ == "slowest" || want_ == kCrossover);
  for (const std::string& name : left) {
    if (std::any_of(words_.begin(), words_.end(), [&](const AskedWord& word) {
          const bool beside = is_compared(word) ? named > 1 : compares;
          return has(beside && !word.compared.empty() ? word.compared : word.usually, name);
        })) {
      families_.push_back(name);
    }
  }
  if (families_.empty()) {
    families_ = std::move(left);
  }
}

std::vector<std::pair<std::string, std::vector<Question::Size>>> Question::sizes_of(
    const std::string& family) const {
  std::vector<std::pair<std::string, std::vector<Size>>> found;
  const Texts& there = words().sizes_of(family);
  for (const Size& size : sizes_) {
    auto axis = std::find_if(there.begin(), there.end(), [&](const std::string& each) {
      return size.axes.empty() || has(size.axes, each);
    });
    if (size.axes.empty() && size.most <= kLargestRow) {
      const auto row = std::find(there.begin(), there.end(), "row");
      axis = row != there.end() ? row : axis;
    }
    if (axis == there.end()) {
      continue;
    }
    auto place =
        std::find_if(found.begin(), found.end(), [&](const auto& each) { return each.first == *axis; });
    if (place == found.end()) {
      place = found.insert(place, {*axis, {}});
    }
    place->second.push_back(size);
  }
  return found;
}

bool Question::speaks_of(const std::string& axis) const {
  const auto is_axis = [&](const auto& each) { return each.first == axis; };
  return std::any_of(axes_.begin(), axes_.end(), is_axis) ||
         std::any_of(words_.begin(), words_.end(), [&](const AskedWord& word) {
           return std::any_of(word.means.begin(), word.means.end(), [&](const Meaning& meaning) {
             return std::any_of(meaning.axes.begin(), meaning.axes.end(), is_axis);
           });
         });
}

bool Question::matches(const Case& id) const {
  if (!has(families_, id.family)) {
    return false;
  }
  for (const auto& subject : subjects()) {
    const bool one = std::any_of(subject.begin(), subject.end(), [&](const AskedWord* word) {
      return std::any_of(word->means.begin(), word->means.end(),
                         [&](const Meaning& meaning) { return means(meaning, id); });
    });
    if (!one) {
      return false;
    }
  }
  for (const auto& [axis, values] : axes_) {
    if (!holds(id, axis, values)) {
      return false;
    }
  }
  for (const Axis& axis : id.axes) {
    for (const auto& [key, values] : words().otherwise) {
      if (key == axis.key && !speaks_of(key) && !fits_any(to_string(axis.value), values)) {
        return false;
      }
    }
  }
  for (const auto& [key, wanted] : sizes_of(id.family)) {
    const auto axis = std::find_if(id.axes.begin(), id.axes.end(),
                                   [&key = key](const Axis& each) { return each.key == key; });
    const auto* number = axis == id.axes.end() ? nullptr : std::get_if<std::int64_t>(&axis->value);
    const bool one = number != nullptr && std::any_of(wanted.begin(), wanted.end(), [&](const Size& size) {
                       const auto bytes = static_cast<std::uint64_t>(*number);
                       return size.least <= bytes && bytes <= size.most;
                     });
    if (!one) {
      return false;
    }
  }
  return true;
}

std::string Question::text() const {
  Texts said{families_.size() <= kShown ? joined(families_, " and ")
                                        : std::to_string(families_.size()) + " families"};
  const auto add = [&](const std::string& part) {
    if (!part.empty() && !has(said, part)) {
      said.push_back(part);
    }
  };
  std::map<std::string, std::string> of;
  std::set<std::string> told;  // by the families' names already
  for (const std::string& family : families_) {
    told.insert(family.substr(family.find('/') + 1));
  }
  for (const AskedWord& word : words_) {
    if (word.size.empty() && told != std::set<std::string>{word.says}) {
      add(word.says);
    }
    for (const std::string& axis : word.size) {
      of[axis] = word.says;
    }
  }
  for (const auto& [axis, values] : axes_) {
    add(axis + " " + joined(values, " or "));
  }
  for (const Size& size : sizes_) {
    const std::string bytes =
        size.least == size.most ? exact(size.least) : exact(size.least) + " to " + exact(size.most);
    add(size.axes.empty() ? bytes : of[size.axes.front()] + " of " + bytes);
  }
  for (const AskedWord& word : words_) {
    const bool sized =
        std::any_of(sizes_.begin(), sizes_.end(), [&](const Size& size) { return size.axes == word.size; });
    if (!word.size.empty() && !sized) {
      add(word.says);
    }
  }
  return joined(said, ", ");
}

namespace {

// The graphs that a word names, each once; "kron*" are all of a kind.
std::set<std::string> graphs_of(const AskedWord& word) {
  std::set<std::string> graphs;
  for (const Meaning& meaning : word.means) {
    for (const auto& [axis, values] : meaning.axes) {
      if (axis == kGraph) {
        graphs.insert(values.begin(), values.end());
      }
    }
  }
  return graphs;
}

}  // namespace

WrittenAxes Question::axes() const {
  static const Texts kSites{"gpu", "numa", "node", "peer", "from_node", "to_node", "cpu_node", "memory_node"};
  WrittenAxes written;
  Texts graphs;
  std::string kind;  // of which no graph is named
  for (const AskedWord& word : words_) {
    if (word.about != kGraph) {
      continue;
    }
    for (const std::string& graph : graphs_of(word)) {
      if (graph.ends_with('*')) {
        kind = graph.substr(0, graph.size() - 1);
      } else {
        graphs.push_back(as_written(graph));
      }
    }
  }
  for (const auto& [axis, values] : axes_) {
    if (axis == kGraph) {
      std::transform(values.begin(), values.end(), std::back_inserter(graphs), as_written);
    } else if (!has(kSites, axis)) {
      written.emplace_back(axis, joined(values, ","));
    }
  }
  if (!graphs.empty() && !kind.empty()) {
    throw UsageError("'" + kind + "' names no graph, and stands beside '" + graphs.front() +
                     "', which does: say which, e.g. " + kind + ":20");
  }
  if (!graphs.empty()) {
    written.emplace_back(kGraph, joined(graphs, ","));
  }
  return written;
}

WrittenAxes Question::sizes(const std::string& family) const {
  WrittenAxes written;
  for (const auto& [axis, sizes] : sizes_of(family)) {
    Texts texts;
    for (const Size& size : sizes) {
      const std::string least = std::to_string(size.least);
      texts.push_back(size.least == size.most ? least : least + ".." + std::to_string(size.most));
    }
    written.emplace_back(axis, joined(texts, ","));
  }
  return written;
}

json Question::as_json() const {
  json all = {{"want", want_},
              {"families", families_},
              {"sizes", json::object()},
              {"axes", json::object()},
              {"text", text()}};
  for (const std::string& family : families_) {
    for (const auto& [axis, sizes] : sizes_of(family)) {
      for (const Size& size : sizes) {
        all["sizes"][family][axis].push_back({size.least, size.most});
      }
    }
  }
  for (const auto& [axis, values] : axes_) {
    all["axes"][axis] = values;
  }
  return all;
}

namespace {

// What words are about, and the first phrase of each, in lines of at most 80 letters.
std::string words_text() {
  constexpr std::size_t kIndent = 14;
  constexpr std::size_t kWidth = 79;
  std::string text;
  for (const auto& [about, phrases] : words().in_order) {
    std::string line = "  " + about;
    line.resize(kIndent, ' ');
    for (const std::string& phrase : phrases) {
      const std::string part = phrase + (&phrase == &phrases.back() ? "" : ",");
      if (line.size() + 1 + part.size() > kWidth) {
        text += line + "\n";
        line = std::string(kIndent, ' ');
      }
      line += (line.size() == kIndent ? "" : " ") + part;
    }
    text += line + "\n";
  }
  return text;
}

}  // namespace

Texts flags_of_question(const Texts& given) {
  const auto flags =
      std::find_if(given.begin(), given.end(), [](const std::string& word) { return word.starts_with('-'); });
  if (flags != given.end() && (*flags == "--help" || *flags == "-h")) {
    throw HelpRequested{
        "grainscope ask WORDS… [FLAGS]\n"
        "Runs the cases that words ask for: grainscope ask h2d pinned 64MiB --out DIR. Words stand in\n"
        "any order; those about one thing are alternatives. Sizes need not be of a preset; --preset\n"
        "gives the other values, --plan only shows. AXIS=VALUE,… is understood as well: flush=on.\n\n" +
        words_text() + "\ngrainscope-report ask RUN WORDS… answers from a run.\n"};
  }
  if (flags == given.begin()) {
    throw UsageError(
        "ask is followed by words: grainscope ask h2d pinned 64MiB; `grainscope ask --help` has them");
  }
  Texts made{std::string(kAskFlag) + "=" + joined({given.begin(), flags}, " ")};
  made.insert(made.end(), flags, given.end());
  return made;
}

}  // namespace grainscope::harness
