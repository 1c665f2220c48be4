#include "reporter.hpp"

#include <benchmark/benchmark.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <map>
#include <memory>
#include <sstream>
#include <utility>

#include "google_benchmark.hpp"
#include "grainscope/core/units.hpp"
#include "result_store.hpp"

namespace grainscope::harness {
namespace {

using nlohmann::json;
using Run = benchmark::BenchmarkReporter::Run;

// The case's own name: fixed iterations and manual time had added to it.
Run with_own_name(Run run) {
  run.run_name.iterations.clear();
  run.run_name.time_type.clear();
  run.run_name.repetitions.clear();
  return run;
}

bool is_aggregate(const Run& run) {
  return run.run_type == Run::RT_Aggregate;
}

double in_unit(double seconds, const std::string& unit) {
  const std::map<std::string, double> per_second{{"ns", 1e9}, {"us", 1e6}, {"ms", 1e3}, {"s", 1}};
  return seconds * per_second.at(unit);
}

std::string percent(double fraction, int decimals) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.*f %%", decimals, fraction * 100);
  return text.data();
}

std::string half_width(const json& row) {
  if (!row.contains("interval_s")) {
    return "";
  }
  const double low = row["interval_s"][0];
  const double high = row["interval_s"][1];
  return "+-" + percent((high - low) / 2 / row["median_s"].get<double>(), 1);
}

// Of all visits together.
std::string samples_of(const json& row) {
  std::size_t samples = 0;
  for (const json& visit : row.value("visits", json::array())) {
    samples += visit.at("samples_s").size();
  }
  return samples > 0 ? std::to_string(samples) : "";
}

std::string rate(const json& row) {
  if (row.contains("bandwidth_gb_s")) {
    return format_rate(row["bandwidth_gb_s"]);
  }
  if (row.contains("operation_s")) {
    return format_seconds(row["operation_s"]) + " each";
  }
  return "";
}

std::string notes(const json& row) {
  if (row["status"] != "ok") {
    return row["status"].get<std::string>() + ": " + row.value("reason", "");
  }
  std::string text;
  for (const json& flag : row["flags"]) {
    text += (text.empty() ? "" : ", ") + flag.get<std::string>();
  }
  return text;
}

}  // namespace

Table::Table(std::ostream& out, std::size_t name_width, bool color)
    : out_(out), name_width_(std::max<std::size_t>(name_width, 20)), color_(color) {}

void Table::header() {
  std::array<char, 160> rest{};
  std::snprintf(rest.data(), rest.size(), "  %9s  %8s  %14s  %8s  %5s  %s", "median", "95 %", "rate",
                "of peak", "n", "notes");
  out_ << std::string("case").append(name_width_ > 4 ? name_width_ - 4 : 0, ' ') << rest.data() << '\n';
}

void Table::row(const json& row) {
  std::string name = row["name"];
  name.append(name_width_ > name.size() ? name_width_ - name.size() : 0, ' ');
  const bool timed = row.contains("median_s");
  std::array<char, 160> rest{};
  std::snprintf(
      rest.data(), rest.size(), "  %9s  %8s  %14s  %8s  %5s  ",
      timed ? format_seconds(row["median_s"]).c_str() : "-", half_width(row).c_str(), rate(row).c_str(),
      row.contains("link_fraction") ? percent(row["link_fraction"], 1).c_str() : "", samples_of(row).c_str());
  const bool bad = row["status"] == "failed";
  out_ << (color_ && bad ? "\033[31m" : "") << name << rest.data() << notes(row)
       << (color_ && bad ? "\033[0m" : "") << '\n'
       << std::flush;
}

bool wants_color(const std::string& color) {
  if (color != "auto") {
    return color == "true";
  }
  const char* no_color = std::getenv("NO_COLOR");
  return (no_color == nullptr || *no_color == '\0') && isatty(STDOUT_FILENO) != 0;
}

namespace {

// Gives cases their own names back, and each recorded visit Google Benchmark's fields.
class LibraryReporter final : public benchmark::BenchmarkReporter {
 public:
  LibraryReporter(const Options& options, std::map<std::string, std::vector<json>*> recorded)
      : recorded_(std::move(recorded)) {
    capture_.SetOutputStream(&captured_);
    capture_.SetErrorStream(&captured_);
    if (options.display_format != "console") {
      sinks_.push_back(make_sink(options.display_format, std::cout, options.display_aggregates_only));
    }
    if (!options.file_out.empty() && options.file_format != "console") {
      sinks_.push_back(make_sink(options.file_format, file_text_, options.file_aggregates_only));
    }
  }

  bool ReportContext(const Context& context) override {
    capture_.ReportContext(context);
    context_ = json::parse(captured_.str() + "]}")["context"];
    captured_.str("");
    for (Sink& sink : sinks_) {
      sink.library->ReportContext(context);
    }
    return true;
  }

  void ReportRuns(const std::vector<Run>& runs) override {
    std::vector<Run> named(runs.size());
    std::transform(runs.begin(), runs.end(), named.begin(), with_own_name);
    if (named.empty()) {
      return;
    }
    if (!is_aggregate(named.front())) {
      take_fields(named);
    }
    for (Sink& sink : sinks_) {
      show(sink, named);
    }
  }

  void Finalize() override {
    for (Sink& sink : sinks_) {
      sink.library->Finalize();
    }
  }

  [[nodiscard]] const json& context() const { return context_; }
  [[nodiscard]] std::string file_text() const { return file_text_.str(); }

 private:
  struct Sink {
    bool aggregates_only = false;
    std::unique_ptr<BenchmarkReporter> library;  // json or csv
  };

  static Sink make_sink(const std::string& format, std::ostream& out, bool aggregates_only) {
    Sink sink{aggregates_only, nullptr};
    if (format == "csv") {
// Google Benchmark marks its CSV reporter as deprecated; it is the one that writes the format people know.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
      sink.library = std::make_unique<benchmark::CSVReporter>();
#pragma GCC diagnostic pop
    } else {
      sink.library = std::make_unique<benchmark::JSONReporter>();
    }
    sink.library->SetOutputStream(&out);
    sink.library->SetErrorStream(&std::cerr);
    return sink;
  }

  static void show(Sink& sink, const std::vector<Run>& runs) {
    std::vector<Run> shown;
    // A preset may come several times without being asked to.
    const bool has_aggregates = runs.front().repetitions > 1;
    std::copy_if(runs.begin(), runs.end(), std::back_inserter(shown), [&](const Run& run) {
      return !sink.aggregates_only || !has_aggregates || is_aggregate(run);
    });
    if (!shown.empty()) {
      sink.library->ReportRuns(shown);
    }
  }

  void take_fields(const std::vector<Run>& runs) {
    capture_.ReportRuns(runs);
    const std::string text = captured_.str();
    captured_.str("");
    const json library_rows = json::parse("[" + text.substr(text.find('{')) + "]");
    std::vector<json>& recorded = *recorded_.at(runs.front().run_name.str());
    for (std::size_t i = 0; i < runs.size(); ++i) {
      json row = library_rows[i];
      // Which of Google Benchmark's repetitions it was; a visit has its round.
      row.erase("repetitions");
      row.erase("repetition_index");
      row.update(recorded[i]);
      if (const auto cpu_s = row.find("cpu_s"); cpu_s != row.end()) {
        row["cpu_time"] = in_unit(*cpu_s, row["time_unit"]);  // of the visit, not of this replay
      }
      recorded[i] = std::move(row);
    }
  }

  std::map<std::string, std::vector<json>*> recorded_;
  json context_;
  std::ostringstream file_text_;
  std::vector<Sink> sinks_;
  std::ostringstream captured_;
  benchmark::JSONReporter capture_;  // its text is where Google Benchmark's fields come from
};

void replay(const json& row, benchmark::State& state) {
  for ([[maybe_unused]] auto _ : state) {
    if (row.at("status") != "ok") {
      state.SkipWithError(row.at("error_message").get<std::string>().c_str());
      break;
    }
    state.SetIterationTime(row.at("median_s"));
    // A rate of nothing would give a coefficient of variation that is not a number, which is no JSON.
    if (row.contains("bytes")) {
      state.SetBytesProcessed(row["bytes"].get<std::int64_t>());
    }
    if (row.contains("operations")) {
      state.SetItemsProcessed(row["operations"].get<std::int64_t>());
    }
  }
}

}  // namespace

LibraryReport report_by_library(const Options& options, VisitsOfCases cases,
                                const std::function<std::vector<json>(const VisitsOfCases&)>& merge) {
  std::map<std::string, std::vector<json>*> recorded;
  std::size_t name_width = 0;
  benchmark::ClearRegisteredBenchmarks();
  for (std::vector<json>& visits : cases) {
    const std::string name = visits.front().at("name");
    recorded[name] = &visits;
    name_width = std::max(name_width, name.size());
    register_case(name, static_cast<int>(visits.size()), options.library_flags,
                  [&visits, next = std::size_t{0}](benchmark::State& state) mutable {
                    replay(visits.at(next++), state);
                  });
  }
  LibraryReporter reporter(options, recorded);
  if (cases.empty()) {
    benchmark::BenchmarkReporter::Context context;
    reporter.ReportContext(context);
    reporter.Finalize();
  } else {
    benchmark::RunSpecifiedBenchmarks(&reporter, nullptr, "all");
  }
  benchmark::ClearRegisteredBenchmarks();
  LibraryReport report{reporter.context(), merge(cases)};
  if (!options.file_out.empty()) {
    std::ostringstream text;
    text << reporter.file_text();
    if (options.file_format == "console") {
      Table table(text, name_width, false);
      table.header();
      std::for_each(report.rows.begin(), report.rows.end(), [&](const json& row) { table.row(row); });
    }
    write_whole(options.file_out, text.str());
  }
  return report;
}

}  // namespace grainscope::harness
