#ifndef GRAINSCOPE_BENCHMARKS_HARNESS_REPORTER_HPP
#define GRAINSCOPE_BENCHMARKS_HARNESS_REPORTER_HPP

// How rows are shown in Google Benchmark's own formats.

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "options.hpp"

namespace grainscope::harness {

// What Google Benchmark makes of a run.
struct LibraryReport {
  nlohmann::json context;
  std::vector<nlohmann::json> rows;  // one a case, with its fields
  std::string file_text;             // for --benchmark_out, where its format is json or csv
};

// Has Google Benchmark report the visits to each case as its repetitions: it adds its fields and aggregates,
// and writes its formats to standard output, as asked. `merge` then makes each case's visits one row.
using VisitsOfCases = std::vector<std::vector<nlohmann::json>>;
[[nodiscard]] LibraryReport report_by_library(
    const Options& options, VisitsOfCases cases,
    const std::function<std::vector<nlohmann::json>(const VisitsOfCases&)>& merge);

}  // namespace grainscope::harness

#endif
