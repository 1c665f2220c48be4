#ifndef GRAINSCOPE_BENCHMARKS_HARNESS_REPORTER_HPP
#define GRAINSCOPE_BENCHMARKS_HARNESS_REPORTER_HPP

// The suite's one reporter to Google Benchmark: gives cases their own names back, shows them as asked,
// and hands on every finished case as rows of the result file.

#include <benchmark/benchmark.h>

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
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

class SuiteReporter final : public benchmark::BenchmarkReporter {
 public:
  using Rows = std::vector<nlohmann::json>;
  struct Hooks {
    // What the sessions of a case recorded, by name; empties it. No rows: it was interrupted.
    std::function<Rows(const std::string& name)> take_recorded;
    // A case is finished: its rows, Google Benchmark's fields and the suite's together.
    std::function<void(const Rows&)> finished;
    // Called around anything that is written to stdout, so that a progress line can make room.
    std::function<void()> before_output;
    std::function<void()> after_output;
  };

  SuiteReporter(const Options& options, std::size_t name_width, Hooks hooks);

  bool ReportContext(const Context& context) override;
  void ReportRuns(const std::vector<Run>& runs) override;
  void Finalize() override;
  // Writes --benchmark_out, if there is one. Throws EnvironmentError; not within Google Benchmark.
  void save() const;

  // Google Benchmark's own context, as JSON.
  [[nodiscard]] const nlohmann::json& context() const { return context_; }

 private:
  // A place that output goes to, in a format.
  struct Sink {
    std::ostream* out = nullptr;
    bool aggregates_only = false;
    std::unique_ptr<BenchmarkReporter> library;  // json or csv
    std::unique_ptr<Table> table;                // console
  };
  [[nodiscard]] Sink make_sink(const std::string& format, std::ostream& out, bool aggregates_only,
                               bool color) const;
  void show(Sink& sink, const std::vector<Run>& runs, const Rows& rows) const;

  const Options& options_;
  std::size_t name_width_;
  Hooks hooks_;
  std::ostringstream file_text_;
  std::vector<Sink> sinks_;
  std::ostringstream captured_;
  benchmark::JSONReporter capture_;  // its text is where Google Benchmark's fields come from
  nlohmann::json context_;
};

}  // namespace grainscope::harness

#endif
