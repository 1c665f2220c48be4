#ifndef GRAINSCOPE_BENCHMARKS_HARNESS_REPORTER_HPP
#define GRAINSCOPE_BENCHMARKS_HARNESS_REPORTER_HPP

// How rows are shown: the table of a run, and Google Benchmark's own formats.

#include <functional>
#include <iosfwd>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "options.hpp"

namespace grainscope::harness {

// Prints one line a row: the table on a terminal.
class Table {
 public:
  Table(std::ostream& out, std::size_t name_width, bool color);
  void header();
  void row(const nlohmann::json& row);

 private:
  std::ostream& out_;
  std::size_t name_width_;
  bool color_;
};

// Whether the table is coloured: as asked, or where standard output is a terminal and NO_COLOR is not set.
[[nodiscard]] bool wants_color(const std::string& color);

// What Google Benchmark makes of a run.
struct LibraryReport {
  nlohmann::json context;
  std::vector<nlohmann::json> rows;  // one a case, with its fields
};

// Has Google Benchmark report the visits to each case as its repetitions: it adds its fields and aggregates,
// and writes its formats to standard output and to --benchmark_out, as asked. `merge` then makes each
// case's visits one row. Throws EnvironmentError where that file cannot be written.
using VisitsOfCases = std::vector<std::vector<nlohmann::json>>;
[[nodiscard]] LibraryReport report_by_library(
    const Options& options, VisitsOfCases cases,
    const std::function<std::vector<nlohmann::json>(const VisitsOfCases&)>& merge);

}  // namespace grainscope::harness

#endif
