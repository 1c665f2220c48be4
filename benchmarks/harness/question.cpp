#include "question.hpp"

#include <algorithm>
#include <cctype>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <regex>
#include <set>
#include <stdexcept>
#include <string_view>
#include <tuple>

#include "embedded/words.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/graph/io.hpp"
#include "options.hpp"

namespace grainscope::harness {
namespace {

using nlohmann::json;
using Texts = std::vector<std::string>;
using Held = std::map<std::string, Texts>;

// Families by name in what is said.
constexpr std::size_t kShown = 4;
const char* const kCrossover = "crossover";
const char* const kBy = "by";      // what a word is about: who works
const char* const kEnds = "ends";  // where bytes lie
const char* const kHostMemory = "host memory";
const char* const kPeer = "peer";
const char* const kGpu = "gpu";
const char* const kGraph = "graph";

bool has(const Texts& all, const std::string& one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

bool is_digit(char letter) {
  return letter >= '0' && letter <= '9';
}
bool is_small(char letter) {
  return letter >= 'a' && letter <= 'z';
}
bool is_number(const std::string& text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_digit);
}

std::optional<std::uint64_t> size_of(const std::string& text) {
  try {
    return parse_bytes(text);
  } catch (const UsageError&) {
    return std::nullopt;
  }
}

// A size that is no larger, and no word is beside, is of rows where there are any.
constexpr std::uint64_t kLargestRow = 64 << 10;

// A size in the largest unit of which it is a whole number.
std::string exact(std::uint64_t size) {
  for (const char* unit : {"TiB", "TB", "GiB", "GB", "MiB", "MB", "KiB", "KB"}) {
    const std::uint64_t factor = parse_bytes(std::string("1") + unit);
    if (size > 0 && size % factor == 0) {
      return std::to_string(size / factor) + " " + unit;
    }
  }
  return std::to_string(size) + " B";
}

// A `*` at an end of the pattern is any letters.
bool fits(const std::string& value, const std::string& pattern) {
  const bool before = pattern.starts_with('*');
  const bool behind = pattern.ends_with('*');
  const auto begin = std::min(pattern.find_first_not_of('*'), pattern.size());
  const std::string inner = pattern.substr(begin, pattern.find_last_not_of('*') + 1 - begin);
  if (before) {
    return behind && pattern.size() > 1 ? value.find(inner) != std::string::npos : value.ends_with(inner);
  }
  return behind ? value.starts_with(inner) : value == pattern;
}

bool fits_any(const std::string& value, const Texts& patterns) {
  return std::any_of(patterns.begin(), patterns.end(),
                     [&](const std::string& pattern) { return fits(value, pattern); });
}

// The table of words, read.
struct Words {
  std::vector<std::pair<std::string, Texts>> families;  // with their axes of sizes, the usual one first
  std::map<std::string, AskedWord> phrases;
  std::vector<std::pair<std::string, Texts>> in_order;  // of help: what words are about, and their phrases
  std::map<std::string, std::string> wants;
  std::map<std::string, std::string> counts;
  std::map<std::string, std::string> places;
  std::set<std::string> passed_over;
  std::set<std::string> comparatives;   // what is wanted where two things are named: "faster"
  std::map<std::string, Texts> sites;   // other names of a site, by the one that is asked for
  std::string from_to;                  // the entry of a word, of which {from} and {to} are GPUs
  std::map<std::string, Texts> pair;    // what joins two GPUs
  std::map<std::string, Texts> ranges;  // what makes one of two sizes
  std::vector<std::pair<std::string, Texts>> otherwise;
  std::map<std::string, Texts> values;  // by axis: words that may also be values of it
  std::size_t longest = 1;

  [[nodiscard]] const Texts& sizes_of(const std::string& family) const {
    static const Texts none;
    const auto place = std::find_if(families.begin(), families.end(),
                                    [&](const auto& each) { return each.first == family; });
    return place == families.end() ? none : place->second;
  }
};

AskedWord word_of(const nlohmann::ordered_json& entry) {
  AskedWord word{.about = entry.at("about"),
                 .says = entry.at("says"),
                 .means = {},
                 .usually = entry.value("usually", Texts()),
                 .compared = entry.value("compared", Texts()),
                 .size = entry.value("size", Texts())};
  for (const auto& written : entry.at("means")) {
    Meaning meaning;
    for (const auto& [axis, values] : written.items()) {
      if (axis == "in") {
        meaning.families = values;
      } else {
        meaning.axes.emplace_back(axis, values);
      }
    }
    word.means.push_back(std::move(meaning));
  }
  return word;
}

std::map<std::string, std::string> by_phrase(const nlohmann::ordered_json& part) {
  std::map<std::string, std::string> found;
  for (const auto& [name, phrases] : part.items()) {
    for (const std::string phrase : phrases) {
      found[phrase] = name;
    }
  }
  return found;
}

void add_to_help(Words& words, const std::string& about, const std::string& phrase) {
  auto place = std::find_if(words.in_order.begin(), words.in_order.end(),
                            [&](const auto& each) { return each.first == about; });
  if (place == words.in_order.end()) {
    place = words.in_order.insert(place, {about, {}});
  }
  place->second.push_back(phrase);
}

Words read_words() {
  try {
    const auto table = nlohmann::ordered_json::parse(embedded::words::table());
    Words words;
    for (const auto& [name, sizes] : table.at("families").items()) {
      words.families.emplace_back(name, sizes);
      std::string phrase = name;
      std::replace(phrase.begin(), phrase.end(), '_', ' ');
      words.phrases[phrase] = {.about = "subject", .says = "", .means = {{{name}, {}}}};
    }
    for (const auto& [want, phrases] : table.at("wants").items()) {
      add_to_help(words, "question", phrases.at(0));
    }
    for (const auto& entry : table.at("words")) {
      const AskedWord word = word_of(entry);
      add_to_help(words, word.about, entry.at("words").at(0));
      for (const std::string phrase : entry.at("words")) {
        words.phrases[phrase] = word;
      }
    }
    words.wants = by_phrase(table.at("wants"));
    words.counts = by_phrase(table.at("counts"));
    words.places = by_phrase(table.at("places"));
    words.comparatives = table.at("comparatives");
    words.sites = table.at("sites");
    words.from_to = table.at("from_to").dump();
    words.pair = table.at("pair");
    words.ranges = table.at("ranges");
    for (const std::string word : table.at("passed_over")) {
      words.passed_over.insert(word);
    }
    for (const auto& [axis, values] : table.at("otherwise").items()) {
      words.otherwise.emplace_back(axis, values);
    }
    const auto keep_values = [&](const std::string& axis, const Texts& values) {
      words.values[axis].insert(words.values[axis].end(), values.begin(), values.end());
    };
    for (const char* part : {"otherwise", "values"}) {
      for (const auto& [axis, values] : table.at(part).items()) {
        keep_values(axis, values);
      }
    }
    for (const auto& [phrase, word] : words.phrases) {
      for (const Meaning& meaning : word.means) {
        for (const auto& [axis, values] : meaning.axes) {
          keep_values(axis, values);
        }
      }
    }
    const auto count = [&](const std::string& phrase) {
      words.longest = std::max(words.longest,
                               static_cast<std::size_t>(std::count(phrase.begin(), phrase.end(), ' ')) + 1);
    };
    for (const auto& [phrase, word] : words.phrases) {
      count(phrase);
    }
    for (const auto& [phrase, want] : words.wants) {
      count(phrase);
    }
    return words;
  } catch (const json::exception& error) {
    throw std::logic_error(std::string("the table of words cannot be read: ") + error.what());
  }
}

const Words& words() {
  static const Words read = read_words();
  return read;
}

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

// "key=value", "key:value".
std::optional<std::pair<std::string, std::string>> explicit_axis(const std::string& token) {
  const std::size_t sign = token.find_first_of("=:");
  if (sign == std::string::npos || sign == 0 || sign + 1 == token.size()) {
    return std::nullopt;
  }
  const std::string key = token.substr(0, sign);
  const bool named = std::all_of(key.begin(), key.end(), [](char c) { return is_small(c) || c == '_'; });
  return named ? std::optional(std::pair(key, token.substr(sign + 1))) : std::nullopt;
}

// "kron20", "gpu:0": letters and a number.
std::optional<std::pair<std::string, std::string>> numbered(const std::string& token) {
  const auto letters =
      static_cast<std::size_t>(std::find_if_not(token.begin(), token.end(), is_small) - token.begin());
  std::string number = token.substr(letters);
  if (number.starts_with(':')) {
    number.erase(0, 1);
  }
  return letters > 0 && is_number(number) ? std::optional(std::pair(token.substr(0, letters), number))
                                          : std::nullopt;
}

Texts split(const std::string& text, const char* at) {
  Texts parts;
  std::size_t start = 0;
  while (start <= text.size()) {
    const std::size_t end = std::min(text.find_first_of(at, start), text.size());
    if (end > start) {
      parts.push_back(text.substr(start, end - start));
    }
    start = end + 1;
  }
  return parts;
}

constexpr const char* kSeparators = " \t\r\n\v\f,;?!\"'()";
constexpr const char* kSeparatorsOfAxes = " \t\r\n\v\f;?!\"'()";  // commas part an axis's values
constexpr const char* kBetweenValues = "|,";

// Without what "the GPU's" and "what's" end in.
std::string without_possessives(std::string text) {
  const std::string separators = kSeparators;
  for (const std::string mark : {"'", "\u2019"}) {
    for (std::size_t at = 0; (at = text.find(mark, at)) != std::string::npos;) {
      const std::size_t letter = at + mark.size();
      const bool ends = letter + 1 >= text.size() || separators.find(text[letter + 1]) != std::string::npos;
      if (letter < text.size() && (text[letter] == 's' || text[letter] == 'S') && ends) {
        text.erase(at, mark.size() + 1);
      } else {
        at = letter;
      }
    }
  }
  return text;
}

// Whether what stands behind a comma is one more value of an axis: it is no word by itself, or one that the
// axis may have as a value, and a number where the first value is one.
bool is_one_more(const std::string& part, const std::pair<std::string, std::string>& axis) {
  const std::string word = lower(part);
  const auto named = numbered(word);
  const auto phrase = words().phrases.find(word);
  const auto values = words().values.find(axis.first);
  const bool value = values != words().values.end() && fits_any(word, values->second);
  const bool known = (phrase != words().phrases.end() && axis.first != phrase->second.about) ||
                     words().wants.contains(word) ||
                     (named && (words().places.contains(named->first) || named->first == kPeer));
  return part.find('=') == std::string::npos && (value || !known) &&
         is_digit(part.front()) == is_digit(axis.second.front());
}

// The words of a text without blanks.
void take_tokens(std::string token, Texts& tokens) {
  while (!token.empty() && !token.ends_with("..") &&
         (token.back() == '.' || token.back() == ':' || token.back() == ',')) {
    token.pop_back();
  }
  if (token.find(',') != std::string::npos) {
    Texts parts = split(token, ",");
    const auto axis = explicit_axis(parts.front());
    const bool values = axis && token[axis->first.size()] == '=';
    for (std::size_t at = 1; at < parts.size(); ++at) {
      if (values && is_one_more(parts[at], *axis)) {
        parts.front() += "," + parts[at];
        parts[at].clear();
      }
    }
    for (const std::string& part : parts) {
      if (part.find(',') != std::string::npos) {
        tokens.push_back(part);
      } else {
        take_tokens(part, tokens);
      }
    }
    return;
  }
  const auto named = numbered(lower(token));
  if (named && (words().places.contains(named->first) || named->first == kPeer)) {
    tokens.insert(tokens.end(), {named->first, named->second});
  } else if (explicit_axis(token)) {
    tokens.push_back(token);
  } else {
    for (std::string& part : split(token, "-_")) {
      tokens.push_back(std::move(part));
    }
  }
}

Texts tokens_of(const std::string& text) {
  Texts tokens;
  for (const std::string& token : split(without_possessives(text), kSeparatorsOfAxes)) {
    take_tokens(token, tokens);
  }
  return tokens;
}

void append(std::vector<std::pair<std::string, Texts>>& axes, const std::string& key, const Texts& values) {
  auto place = std::find_if(axes.begin(), axes.end(), [&](const auto& each) { return each.first == key; });
  if (place == axes.end()) {
    place = axes.insert(place, {key, {}});
  }
  place->second.insert(place->second.end(), values.begin(), values.end());
}

// "10x25".
bool is_fanout(const std::string& token) {
  const Texts hops = split(token, "x");
  return hops.size() > 1 && std::all_of(hops.begin(), hops.end(), is_number) &&
         static_cast<std::size_t>(std::count(token.begin(), token.end(), 'x')) + 1 == hops.size();
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

// The word of the table nearest to one that it lacks; empty where none is near.
std::string near_word(const std::string& given) {
  const std::string word = lower(given);
  const std::size_t most = std::max<std::size_t>(1, word.size() / 3);
  std::string best;
  std::size_t least = most + 1;
  const auto look = [&](const std::string& phrase) {
    if (const std::size_t distance = edit_distance(word, phrase); distance < least) {
      least = distance;
      best = phrase;
    }
  };
  for (const auto& [about, phrases] : words().in_order) {
    std::for_each(phrases.begin(), phrases.end(), look);
  }
  for (const auto& [phrase, entry] : words().phrases) {
    look(phrase);
  }
  for (const auto& [phrase, want] : words().wants) {
    look(phrase);
  }
  return best;
}

}  // namespace

// Takes a sentence token by token: the longest phrase that is known, a size, or an axis with its value.
class QuestionReader {
 public:
  QuestionReader(const std::string& text, Question& question)
      : text_(text), tokens_(tokens_of(text)), question_(question) {}

  void read() {
    if (text_.size() > kMostLetters) {
      throw UsageError("a question of " + std::to_string(text_.size()) + " letters: ask in at most " +
                       std::to_string(kMostLetters));
    }
    require_no_thousands(text_);
    while (at_ < tokens_.size()) {
      if (!(take_explicit() || take_pair() || take_bounded() || take_phrase() || take_size())) {
        const std::string near = near_word(tokens_[at_]);
        throw UsageError("'" + tokens_[at_] + "' is not a word that is known here" +
                         (near.empty() ? "" : "; did you mean " + near + "?") +
                         " (`ask --help` has the words; AXIS=VALUE, as flush=on, is understood as well)");
      }
    }
    bind_sizes();
    if (compares_places()) {
      question_.want_.clear();
    }
    // 'The link' is what most questions are about: it is the subject only where nothing else is.
    auto& all = question_.words_;
    if (link_ && std::all_of(all.begin(), all.end(), [](const AskedWord& word) {
          return word.about == "measure" || word.about == "place";
        })) {
      all.push_back(*link_);
    }
    if (question_.words_.empty() && question_.sizes_.empty() && question_.axes_.empty()) {
      throw UsageError("'" + text_ + "' asks for nothing: write e.g. 'h2d pinned 64MiB' or 'bfs kron'");
    }
  }

 private:
  static constexpr std::size_t kMostLetters = 2000;  // a regular expression takes stack for each

  struct Noun {
    std::size_t at;
    Texts axes;
  };
  struct FoundSize {
    std::size_t at;
    std::uint64_t least;
    std::uint64_t most;
  };

  bool take_explicit() {
    const std::string& token = tokens_[at_];
    if (const auto graph = numbered_graph(lower(token))) {
      add(*graph, at_);
    } else if (is_fanout(lower(token))) {
      append(question_.axes_, "fanout", {lower(token)});
    } else if (const auto written = explicit_axis(token)) {
      Texts values = split(written->second, kBetweenValues);
      if (written->first == kGraph) {
        std::transform(values.begin(), values.end(), values.begin(), as_in_cases);
      }
      append(question_.axes_, written->first, values);
    } else {
      return false;
    }
    ++at_;
    return true;
  }

  // "kron:20:8" is "kron20_8" in a case.
  static std::string as_in_cases(const std::string& graph) {
    if (graph.starts_with("file:")) {
      throw UsageError("'" + graph + "' is a file, which --graph names: in words write graph=" +
                       graph::graph_stem(graph.substr(std::string("file:").size())));
    }
    std::string name = graph;
    if (const std::size_t scale = name.find(':'); scale != std::string::npos) {
      name.erase(scale, 1);
    }
    std::replace(name.begin(), name.end(), ':', '_');
    return name;
  }

  // "kron20", "kron:20".
  static std::optional<AskedWord> numbered_graph(const std::string& token) {
    const auto both = numbered(token);
    const auto known = both ? words().phrases.find(both->first) : words().phrases.end();
    if (known == words().phrases.end() || known->second.about != kGraph) {
      return std::nullopt;
    }
    const auto& [name, number] = *both;
    AskedWord word{.about = kGraph, .says = name + number, .means = known->second.means};
    for (Meaning& meaning : word.means) {
      for (auto& [axis, values] : meaning.axes) {
        values = axis == kGraph ? Texts{name + number} : values;
      }
    }
    return word;
  }

  bool take_phrase() {
    for (std::size_t length = std::min(words().longest, tokens_.size() - at_); length > 0; --length) {
      const Texts parts(tokens_.begin() + static_cast<std::ptrdiff_t>(at_),
                        tokens_.begin() + static_cast<std::ptrdiff_t>(at_ + length));
      const std::string phrase = lower(joined(parts, " "));
      const std::string numbered = axis_of_number(phrase, at_ + length);
      if (const auto word = words().phrases.find(phrase); phrase == "link" || phrase == "links") {
        link_ = word->second;
      } else if (word != words().phrases.end()) {
        add(word->second, at_);
      } else if (const auto want = words().wants.find(phrase); want != words().wants.end()) {
        take_want(phrase, want->second);
      } else if (numbered.empty() && !words().passed_over.contains(phrase)) {
        continue;
      }
      at_ += length;
      if (!numbered.empty()) {
        append(question_.axes_, numbered, {tokens_[at_]});
        ++at_;
      }
      return true;
    }
    return false;
  }

  // The axis of the number at `at`, behind a phrase: `to gpu 1` names a GPU, `threads 16` counts threads.
  [[nodiscard]] std::string axis_of_number(const std::string& phrase, std::size_t at) const {
    if (!is_bare_number(at)) {
      return {};
    }
    const bool counted = words().counts.contains(word_at(at + 1));
    const std::string last =
        words().phrases.contains(phrase) && !counted
            ? phrase.substr(phrase.find_last_of(' ') + 1)  // all of it where it is one word
            : phrase;
    if (const auto place = words().places.find(last); place != words().places.end()) {
      return place->second;
    }
    const auto count = words().counts.find(phrase);
    return count != words().counts.end() ? count->second : phrase == kPeer ? phrase : std::string();
  }

  // `gpu 0 to gpu 1`, where the bytes go from the first to the second; `gpu 0 reads from gpu 1`. `between gpu
  // 0 and gpu 1` they go both ways, unless the GPUs are compared with each other.
  bool take_pair() {
    const auto joins = [&](const char* kind, std::size_t at) {
      return has(words().pair.at(kind), word_at(at));
    };
    const auto passed_over = [&](std::size_t at) {
      while (joins("passed_over", at)) {
        ++at;
      }
      return at;
    };
    const bool both_ways = joins("between", at_);
    const std::size_t first = both_ways ? passed_over(at_ + 1) : at_;
    const auto place = words().places.find(word_at(first));
    const bool begins =
        both_ways ? joins("gpus", first) : place != words().places.end() && place->second == kGpu;
    const std::size_t joint = first + 2;
    const bool reads = joins("reads", joint);
    const bool joined =
        both_ways ? joins("and", joint) : reads || joins("writes", joint) || joins("to", joint);
    std::size_t second = passed_over(joint + 1);
    second += word_at(second) == kGpu || word_at(second) == kPeer ? 1 : 0;
    if (!begins || !joined || !is_bare_number(first + 1) || !is_bare_number(second)) {
      return false;
    }
    const std::string one = word_at(first + 1);
    const std::string other = word_at(second);
    if (std::any_of(tokens_.begin(), tokens_.end(), [](const std::string& token) {
          return has(words().pair.at("compared"), lower(token));
        })) {
      append(question_.axes_, kGpu, {one, other});
    } else {
      add(reads && !both_ways ? between(other, one) : between(one, other), at_);
      if (both_ways) {
        add(between(other, one), at_);
      }
    }
    at_ = second + 1;
    return true;
  }

  // Whether "faster" sets one GPU or node against another: no way is wanted then.
  [[nodiscard]] bool compares_places() const {
    const bool several = std::any_of(question_.axes_.begin(), question_.axes_.end(), [](const auto& axis) {
      const bool place = std::any_of(words().places.begin(), words().places.end(),
                                     [&](const auto& each) { return each.second == axis.first; });
      return place && std::set<std::string>(axis.second.begin(), axis.second.end()).size() > 1;
    });
    const Subjects all = question_.subjects();
    const bool beside =  // "pinned or pageable"
        std::any_of(all.begin(), all.end(), [](const auto& one) { return one.size() > 1; });
    return several && !beside && !asked_.empty() &&
           std::includes(words().comparatives.begin(), words().comparatives.end(), asked_.begin(),
                         asked_.end());
  }

  // Bytes that go from one GPU to another: the first writes or the second reads.
  static AskedWord between(const std::string& from, const std::string& to) {
    std::string entry = words().from_to;
    for (const auto& [name, gpu] : {std::pair{"{from}", from}, {"{to}", to}}) {
      for (auto at = entry.find(name); at != std::string::npos; at = entry.find(name)) {
        entry.replace(at, std::string_view(name).size(), gpu);
      }
    }
    return word_of(nlohmann::ordered_json::parse(entry));
  }

  // A number without a unit.
  [[nodiscard]] bool is_bare_number(std::size_t at) const { return is_number(word_at(at)) && !with_unit(at); }

  static void require_no_thousands(const std::string& text) {
    // Values of an axis are parted by commas as well, and none of them begins with 0.
    static const std::regex kThousands(
        R"((^|[^\w,=|])(\d{1,3}(,\d{3})+)(?![\d,])|([=|])(?=[\d,]*,0)(\d{1,3}(,\d{3})+)(?![\d,]))");
    std::smatch found;
    if (std::regex_search(text, found, kThousands)) {
      const std::string number = found[2].matched ? found[2] : found[5];
      std::string plain = number;
      std::erase(plain, ',');
      throw UsageError("'" + number + "' may be one number or several: write " + plain +
                       ", or a space after each comma");
    }
  }

  void require_no_rate() const {
    static const std::regex kRate(R"([\d.]+ ?([kmgt]?i?b/s|[kmgt]bps))");
    const std::string behind = at_ + 1 < tokens_.size() ? " " + tokens_[at_ + 1] : "";
    for (const std::string& rate : {tokens_[at_], tokens_[at_] + behind}) {
      if (std::regex_match(lower(rate), kRate)) {
        throw UsageError("'" + rate + "' is a rate, which is what a run answers: ask for a size or a way");
      }
    }
  }

  void add(const AskedWord& word, std::size_t at) {
    auto& all = question_.words_;
    if (std::find(all.begin(), all.end(), word) == all.end() || word.says.empty()) {
      all.push_back(word);
    }
    if (!word.size.empty()) {
      nouns_.push_back({at, word.size});
    }
  }

  void take_want(const std::string& phrase, const std::string& want) {
    asked_.insert(phrase);
    if (const std::set<std::string> both{question_.want_, want};
        both ==
        std::set<std::string>{"best", kCrossover}) {  // 'from which size is one faster than the other'
      question_.want_ = kCrossover;
      return;
    }
    if (!question_.want_.empty() && question_.want_ != want) {
      throw UsageError("'" + question_.want_ + "' and '" + want + "' are two questions: ask one at a time");
    }
    question_.want_ = want;
  }

  bool take_size() {
    const std::string token = lower(tokens_[at_]);
    if (!is_digit(token.front())) {
      return false;
    }
    require_no_rate();
    if (const auto axis = words().counts.find(word_at(at_ + 1));
        is_number(token) && axis != words().counts.end()) {
      append(question_.axes_, axis->second, {token});
      at_ += 2;
      return true;
    }
    const std::size_t begin = at_;
    if (const std::size_t dots = token.find(".."); dots != std::string::npos) {
      keep_size(begin, size_of(token.substr(0, dots)), size_of(token.substr(dots + 2)));
      ++at_;
      return true;
    }
    auto [least, behind] = size_at(begin);
    auto most = least;
    if (least && has(words().ranges.at("to"), word_at(behind)) && is_size(behind + 1)) {
      least = of_one_unit(begin, behind + 1);
      std::tie(most, behind) = size_at(behind + 1);
    }
    keep_size(begin, least, most);
    at_ = behind;
    return true;
  }

  // `up to 1 MiB`, `between 1 MiB and 4 MiB`.
  bool take_bounded() {
    for (const std::string& phrase : words().ranges.at("most")) {
      const Texts parts = split(phrase, " ");
      bool said = true;
      for (std::size_t i = 0; i < parts.size(); ++i) {
        said = said && word_at(at_ + i) == parts[i];
      }
      if (const std::size_t begin = at_ + parts.size(); said && is_bound(begin)) {
        const auto [most, behind] = size_at(begin);
        keep_size(begin, 1, most);
        at_ = behind;
        return true;
      }
    }
    const std::size_t begin = at_ + 1;
    if (!has(words().ranges.at("between"), word_at(at_)) || !is_bound(begin)) {
      return false;
    }
    const std::size_t joint = size_at(begin).second;
    if (!has(words().ranges.at("and"), word_at(joint)) || !is_bound(joint + 1)) {
      return false;
    }
    const auto [most, behind] = size_at(joint + 1);
    keep_size(begin, of_one_unit(begin, joint + 1), most);
    at_ = behind;
    return true;
  }

  // Whether a size begins here, and not a number of something.
  [[nodiscard]] bool is_bound(std::size_t at) const {
    const bool counted = is_number(word_at(at)) && words().counts.contains(word_at(at + 1));
    return is_size(at) && !counted && size_at(at).first;
  }

  // The size at `low`; of a number alone, as in "1 to 4 KiB", in the unit of that at `high`. A number that
  // would be more than `high` in that unit is of bytes: "128 to 4 KiB".
  [[nodiscard]] std::optional<std::uint64_t> of_one_unit(std::size_t low, std::size_t high) const {
    const std::string last = word_at(high);
    const std::string unit = with_unit(high)
                                 ? word_at(high + 1)
                                 : last.substr(std::min(last.find_first_not_of("0123456789"), last.size()));
    const auto scaled = is_bare_number(low) ? size_of(word_at(low) + unit) : std::nullopt;
    return scaled && scaled <= size_at(high).first ? scaled : size_at(low).first;
  }

  void keep_size(std::size_t begin, std::optional<std::uint64_t> least, std::optional<std::uint64_t> most) {
    if (!least || !most || *most == 0) {
      throw UsageError("'" + tokens_[begin] + "' is not a size: write e.g. 4096, 64KiB, 16MiB or 2GiB");
    }
    if (*least > *most) {
      throw UsageError("'" + exact(*least) + " to " + exact(*most) + "' ends before it begins");
    }
    sizes_.push_back({begin, *least, *most});
  }

  [[nodiscard]] bool is_size(std::size_t at) const {
    const std::string word = word_at(at);
    return !word.empty() && is_digit(word.front());
  }

  // A size, in one token or in a number and its unit, and the place behind it.
  [[nodiscard]] std::pair<std::optional<std::uint64_t>, std::size_t> size_at(std::size_t at) const {
    const auto apart = with_unit(at);
    return {apart ? apart : size_of(word_at(at)), at + (apart ? 2 : 1)};
  }

  // The size of a number and of a unit that stands apart.
  [[nodiscard]] std::optional<std::uint64_t> with_unit(std::size_t at) const {
    const std::string unit = word_at(at + 1);
    return is_number(word_at(at)) && !unit.empty() && !is_size(at + 1) ? size_of(word_at(at) + unit)
                                                                       : std::nullopt;
  }

  [[nodiscard]] std::string word_at(std::size_t at) const {
    return at < tokens_.size() ? lower(tokens_[at]) : "";
  }

  // Each size to the word of sizes behind it, which has no other behind itself, else to one before it that
  // has none, else to any such.
  void bind_sizes() {
    std::set<std::size_t> taken;
    for (const FoundSize& size : sizes_) {
      const auto find = [&](auto suits) {
        const auto noun = std::find_if(nouns_.begin(), nouns_.end(), suits);
        return noun == nouns_.end() ? nullptr : &*noun;
      };
      const Noun* const before = find([&](const Noun& each) {
        return each.at < size.at && !taken.contains(each.at) && adjoin(each.at, size.at);
      });
      const Noun* noun =
          find([&](const Noun& each) { return size.at < each.at && adjoin(size.at, each.at); });
      if (noun == nullptr || (before != nullptr && has_size_behind(*noun))) {
        noun = before;  // "row 128 span 1GiB"
      }
      if (noun == nullptr && sizes_.size() == 1) {
        noun = find([&](const Noun& each) { return !taken.contains(each.at); });
      }
      if (noun != nullptr) {
        taken.insert(noun->at);
      }
      question_.sizes_.push_back({size.least, size.most, noun != nullptr ? noun->axes : Texts()});
    }
  }

  [[nodiscard]] bool has_size_behind(const Noun& noun) const {
    return std::any_of(sizes_.begin(), sizes_.end(),
                       [&](const FoundSize& size) { return noun.at < size.at && adjoin(noun.at, size.at); });
  }

  // Whether nothing stands between but parts of a size and words that are passed over.
  [[nodiscard]] bool adjoin(std::size_t low, std::size_t high) const {
    for (std::size_t at = low + 1; at < high; ++at) {
      const std::string word = word_at(at);
      const bool unit = std::all_of(word.begin(), word.end(), is_small) && size_of("1" + word);
      if (!unit && !words().passed_over.contains(word)) {
        return false;
      }
    }
    return true;
  }

  const std::string& text_;
  Texts tokens_;
  Question& question_;
  std::vector<FoundSize> sizes_;
  std::vector<Noun> nouns_;
  std::set<std::string> asked_;  // phrases of what is wanted
  std::size_t at_ = 0;
  std::optional<AskedWord> link_;
};

Question::Question(const std::string& text) {
  QuestionReader(text, *this).read();
  choose_families();
}

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
