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
// and writes its formats to standard output and to --benchmark_out, as asked. Each case's visits then become
// one row, and `complete` adds what needs all rows. Throws EnvironmentError where that file cannot be
// written.
[[nodiscard]] LibraryReport report_by_library(
    const Options& options, std::vector<std::vector<nlohmann::json>> cases,
    const std::function<void(std::vector<nlohmann::json>&)>& complete);

}  // namespace grainscope::harness

#endif
