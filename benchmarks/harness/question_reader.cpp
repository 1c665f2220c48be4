// A sentence becomes a question, token by token.

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <regex>
#include <set>
#include <string_view>
#include <tuple>

#include "grainscope/core/error.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/graph/io.hpp"
#include "question.hpp"
#include "words.hpp"

namespace grainscope::harness {
namespace {

using namespace asking;

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

// With a plain blank for each of Unicode's, which come with text that is copied from a page: "64\u00a0MiB".
std::string with_plain_blanks(const std::string& text) {
  static const std::regex kBlank(
      "\xc2[\x85\xa0]|\xe1\x9a\x80|\xe2\x80[\x80-\x8a\xa8\xa9\xaf]|\xe2\x81\x9f|\xe3\x80\x80");
  return std::regex_replace(text, kBlank, " ");
}

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
  for (const std::string& token : split(without_possessives(with_plain_blanks(text)), kSeparatorsOfAxes)) {
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
    const auto all = question_.subjects();
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

}  // namespace grainscope::harness
