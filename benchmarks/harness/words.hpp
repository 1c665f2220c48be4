#ifndef GRAINSCOPE_BENCHMARKS_HARNESS_WORDS_HPP
#define GRAINSCOPE_BENCHMARKS_HARNESS_WORDS_HPP

// The words that questions are asked in: the table that is compiled in, and how what is written is held
// against it.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "question.hpp"

namespace grainscope::harness::asking {

using Texts = std::vector<std::string>;

inline constexpr const char* kCrossover = "crossover";
inline constexpr const char* kPeer = "peer";
inline constexpr const char* kGpu = "gpu";
inline constexpr const char* kGraph = "graph";

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

[[nodiscard]] const Words& words();
// An entry of the table.
[[nodiscard]] AskedWord word_of(const nlohmann::ordered_json& entry);
// The word of the table nearest to one that it lacks; empty where none is near.
[[nodiscard]] std::string near_word(const std::string& given);

[[nodiscard]] bool has(const Texts& all, const std::string& one);
// Of plain ASCII.
[[nodiscard]] bool is_digit(char letter);
[[nodiscard]] bool is_small(char letter);
[[nodiscard]] bool is_number(const std::string& text);
[[nodiscard]] std::optional<std::uint64_t> size_of(const std::string& text);
// A size in the largest unit of which it is a whole number.
[[nodiscard]] std::string exact(std::uint64_t size);
// A `*` at an end of the pattern is any letters.
[[nodiscard]] bool fits(const std::string& value, const std::string& pattern);
[[nodiscard]] bool fits_any(const std::string& value, const Texts& patterns);

}  // namespace grainscope::harness::asking

#endif
