#include "words.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "embedded/words.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/core/units.hpp"

namespace grainscope::harness::asking {

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

std::string exact(std::uint64_t size) {
  for (const char* unit : {"TiB", "TB", "GiB", "GB", "MiB", "MB", "KiB", "KB"}) {
    const std::uint64_t factor = parse_bytes(std::string("1") + unit);
    if (size > 0 && size % factor == 0) {
      return std::to_string(size / factor) + " " + unit;
    }
  }
  return std::to_string(size) + " B";
}

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

namespace {

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
  } catch (const nlohmann::json::exception& error) {
    throw std::logic_error(std::string("the table of words cannot be read: ") + error.what());
  }
}

}  // namespace

const Words& words() {
  static const Words read = read_words();
  return read;
}

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

}  // namespace grainscope::harness::asking
