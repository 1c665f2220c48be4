#include "reporter.hpp"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <iostream>
#include <map>
#include <memory>
#include <sstream>
#include <utility>

#include "google_benchmark.hpp"

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
  benchmark::ClearRegisteredBenchmarks();
  for (std::vector<json>& visits : cases) {
    const std::string name = visits.front().at("name");
    recorded[name] = &visits;
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
  return {reporter.context(), merge(cases), reporter.file_text()};
}

}  // namespace grainscope::harness
