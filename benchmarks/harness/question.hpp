#ifndef GRAINSCOPE_BENCHMARKS_HARNESS_QUESTION_HPP
#define GRAINSCOPE_BENCHMARKS_HARNESS_QUESTION_HPP

// `grainscope ask 'h2d pinned 64MiB'`: what words that people use ask for. The words are a table that is
// compiled in, and that grainscope-report reads as well (scripts/grainscope_report/words.json).
//
// A sentence is words, sizes and AXIS=VALUE, in any order. Words about one thing are alternatives, words
// about different things hold together. So do who works (`cpu`) and where bytes lie (`host memory`), but
// where no family has both, as of `cpu or gpu memory`, `cpu` is host memory, and they are alternatives. Each
// word has meanings: families, and values of their axes. Where one of the families left is what people
// usually mean by a word of the sentence, it is meant.

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "grainscope/core/case.hpp"

namespace grainscope::harness {

// Values of axes in place of a preset's: ("bytes", "64MiB").
using WrittenAxes = std::vector<std::pair<std::string, std::string>>;

// Families, as cases have them, and for each axis the values that are meant; a `*` at an end is any letters.
struct Meaning {
  std::vector<std::string> families;
  std::vector<std::pair<std::string, std::vector<std::string>>> axes;
};

[[nodiscard]] bool means(const Meaning& meaning, const Case& id);

// What a word is about, how it is said again, and what it may mean.
struct AskedWord {
  std::string about;
  std::string says;
  std::vector<Meaning> means;
  std::vector<std::string> usually = {};   // families that are meant where the rest of the sentence allows
  std::vector<std::string> compared = {};  // those where ways are asked for
  std::vector<std::string> size = {};      // axes that a size beside the word is of

  friend bool operator==(const AskedWord& a, const AskedWord& b) {
    return a.says == b.says && a.about == b.about;
  }
};

class Question {
 public:
  // Throws UsageError, with what would be right, for words that are not known or that contradict each other.
  explicit Question(const std::string& text);

  [[nodiscard]] bool matches(const Case& id) const;
  // The families that are meant, as cases have them: "traversal/bfs".
  [[nodiscard]] const std::vector<std::string>& families() const noexcept { return families_; }
  // What was understood: "transfer/memcpy, to the device, pinned, 64 MiB".
  [[nodiscard]] std::string text() const;

  // What stands in place of a preset's values: AXIS=VALUE, of whatever family, without sites; and the sizes
  // of one family.
  [[nodiscard]] WrittenAxes axes() const;
  [[nodiscard]] WrittenAxes sizes(const std::string& family) const;

  // The same of grainscope-report.
  [[nodiscard]] nlohmann::json as_json() const;

 private:
  friend class QuestionReader;
  struct Size {
    std::uint64_t least = 0;
    std::uint64_t most = 0;
    std::vector<std::string> axes;  // empty: the family's first
  };

  [[nodiscard]] std::vector<std::vector<const AskedWord*>> subjects() const;
  [[nodiscard]] std::vector<std::pair<std::string, std::vector<Size>>> sizes_of(
      const std::string& family) const;
  [[nodiscard]] bool speaks_of(const std::string& axis) const;
  // What the sentence is of, one after another, and the families that can have it.
  [[nodiscard]] std::vector<std::pair<std::string, std::vector<std::string>>> groups() const;
  // The families that can have all that it is of.
  [[nodiscard]] std::vector<std::string> families_of_all() const;
  // Puts host memory in the place of who works: it is said as an alternative to where bytes lie.
  void take_host_memory();
  void choose_families();

  std::string want_;  // what is to be done with rows: of no matter here
  std::vector<AskedWord> words_;
  std::vector<Size> sizes_;
  std::vector<std::pair<std::string, std::vector<std::string>>> axes_;
  std::vector<std::string> families_;
};

// The first word of a command line that asks, and its flag.
inline constexpr const char* kAskCommand = "ask";
inline constexpr const char* kAskFlag = "--ask";

// `ask WORDS… FLAGS…` as flags. Throws UsageError where there are no words, HelpRequested for --help.
[[nodiscard]] std::vector<std::string> flags_of_question(const std::vector<std::string>& words);

}  // namespace grainscope::harness

#endif
