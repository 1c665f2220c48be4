#ifndef GRAINSCOPE_BENCHMARKS_HARNESS_TABLE_HPP
#define GRAINSCOPE_BENCHMARKS_HARNESS_TABLE_HPP

// The table of a run. Cases that answer one question stand together under a heading, which has what they
// share; a line has what differs. What a model says stands in a block of its own, at the end.

#include <cstddef>
#include <iosfwd>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "benchmark.hpp"
#include "screen.hpp"

namespace grainscope::harness {

class Table {
 public:
  // All cases that are to come, in the order of their listing: which stand together is known from them.
  // `full_names`: each line has the case's name, whatever its length.
  Table(std::ostream& out, const Screen& screen, const std::vector<Benchmark>& cases, bool full_names);

  // Takes the row of a case, and prints its group where no other case of it is to come. A skipped case has
  // no line.
  void add(const nlohmann::json& row);
  // Prints what has not been printed: groups that lack cases, and what is modelled.
  void finish();

 private:
  struct Column {
    std::string key;
    std::size_t width = 0;
    bool numbers = true;  // stand at its right
  };
  struct Group {
    std::string family;
    std::string shared;              // axes with one value
    std::vector<Column> columns;     // those with several
    std::vector<std::string> names;  // of its cases
    bool modelled = false;
    std::size_t label_width = 0;
    std::size_t to_come = 0;
  };
  using Cells = std::vector<std::pair<std::string, std::string>>;  // axes: key and value as they are shown
  // Which numbers the rows of a group have and a line has room for, beside a rate or, of what has none, a
  // time.
  struct Numbers {
    bool half_width = false;
    bool time = false;
    bool of_peak = false;
    std::size_t notes = 0;
  };

  void arrange(const std::string& family, std::vector<std::string> names, bool modelled);
  [[nodiscard]] Group group_of(const std::string& family, std::vector<std::string> names) const;
  [[nodiscard]] std::vector<Group> split(Group group) const;
  void fit(Group& group) const;
  [[nodiscard]] const std::string& value_of(const std::string& name, const std::string& key) const;
  [[nodiscard]] std::string label_of(const Group& group, const std::string& name) const;
  [[nodiscard]] Numbers numbers_of(const Group& group) const;
  void print(Group& group);
  void print_heading(const Group& group, const Numbers& numbers);
  void print_row(const Group& group, const Numbers& numbers, const nlohmann::json& row);
  void print_legend();
  [[nodiscard]] std::string in(const char* color, const std::string& text) const;

  std::ostream& out_;
  Screen screen_;
  bool full_names_;
  std::map<std::string, Cells> cells_;  // of each case
  std::vector<Group> groups_;
  std::map<std::string, std::size_t> group_of_;  // by the name of a case
  std::map<std::string, nlohmann::json> rows_;   // not yet printed
  bool begun_ = false;
};

// Counts of reasons, a line each for those of most cases: those that differ in numbers alone are one, the
// first of them.
[[nodiscard]] std::string reasons_text(const std::map<std::string, int>& reasons, const std::string& label,
                                       std::size_t width);

// A number that a run shows above all: the best of the rows of a family with these values of axes.
struct Headline {
  std::string label;
  std::string family;
  std::vector<std::pair<std::string, std::string>> axes = {};
  bool of_largest = false;  // of the largest size alone: smaller ones lie in a cache
};
// In their order: benchmarks/families.cpp has them.
[[nodiscard]] const std::vector<Headline>& headlines();

// What a run shows above all: up to five of its numbers, a line each. Empty where it has none of them.
[[nodiscard]] std::string headlines_text(const std::vector<nlohmann::json>& rows, const Screen& screen);

// "wide interval 380, visits differ 120": of rows that are ok, how many have each flag. Empty: none has.
[[nodiscard]] std::string flags_text(const std::vector<nlohmann::json>& rows);

}  // namespace grainscope::harness

#endif
