#include "reporter.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <iostream>

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

bool wants_color(const std::string& color) {
  if (color != "auto") {
    return color == "true";
  }
  const char* no_color = std::getenv("NO_COLOR");
  return (no_color == nullptr || *no_color == '\0') && isatty(STDOUT_FILENO) != 0;
}

std::string percent(double fraction, int decimals) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.*f %%", decimals, fraction * 100);
  return text.data();
}

std::string half_width(const json& row) {
  if (!row.contains("ci95_s")) {
    return "";
  }
  const double low = row["ci95_s"][0];
  const double high = row["ci95_s"][1];
  return "+-" + percent((high - low) / 2 / row["median_s"].get<double>(), 1);
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
  std::snprintf(rest.data(), rest.size(), "  %9s  %8s  %14s  %8s  %5s  ",
                timed ? format_seconds(row["median_s"]).c_str() : "-", half_width(row).c_str(),
                rate(row).c_str(),
                row.contains("link_fraction") ? percent(row["link_fraction"], 1).c_str() : "",
                timed ? std::to_string(row["samples_s"].size()).c_str() : "");
  const bool bad = row["status"] == "failed";
  out_ << (color_ && bad ? "\033[31m" : "") << name << rest.data() << notes(row)
       << (color_ && bad ? "\033[0m" : "") << '\n'
       << std::flush;
}

SuiteReporter::SuiteReporter(const Options& options, std::size_t name_width, Hooks hooks)
    : options_(options), name_width_(name_width), hooks_(std::move(hooks)) {
  capture_.SetOutputStream(&captured_);
  capture_.SetErrorStream(&captured_);
  sinks_.push_back(make_sink(options.display_format, std::cout, options.display_aggregates_only,
                             wants_color(options.color)));
  if (!options.file_out.empty()) {
    sinks_.push_back(make_sink(options.file_format, file_text_, options.file_aggregates_only, false));
  }
}

SuiteReporter::Sink SuiteReporter::make_sink(const std::string& format, std::ostream& out,
                                             bool aggregates_only, bool color) const {
  Sink sink;
  sink.out = &out;
  sink.aggregates_only = aggregates_only;
  if (format == "console") {
    sink.table = std::make_unique<Table>(out, name_width_, color);
    return sink;
  }
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

bool SuiteReporter::ReportContext(const Context& context) {
  capture_.ReportContext(context);
  context_ = json::parse(captured_.str() + "]}")["context"];
  captured_.str("");
  for (Sink& sink : sinks_) {
    if (sink.library) {
      sink.library->ReportContext(context);
    } else {
      sink.table->header();
    }
  }
  return true;
}

void SuiteReporter::show(Sink& sink, const std::vector<Run>& runs, const Rows& rows) const {
  if (sink.library) {
    std::vector<Run> shown;
    // A preset may repeat without being asked to.
    const bool has_aggregates = runs.front().repetitions > 1;
    std::copy_if(runs.begin(), runs.end(), std::back_inserter(shown), [&](const Run& run) {
      return !sink.aggregates_only || !has_aggregates || is_aggregate(run);
    });
    if (!shown.empty()) {
      sink.library->ReportRuns(shown);
    }
    return;
  }
  for (const json& row : rows) {
    sink.table->row(row);
  }
}

void SuiteReporter::ReportRuns(const std::vector<Run>& runs) {
  std::vector<Run> named(runs.size());
  std::transform(runs.begin(), runs.end(), named.begin(), with_own_name);
  if (named.empty()) {
    return;
  }
  Rows rows;
  if (!is_aggregate(named.front())) {
    rows = hooks_.take_recorded(named.front().run_name.str());
    if (rows.size() != named.size()) {
      return;  // interrupted: a case counts when all its sessions are done
    }
    capture_.ReportRuns(named);
    const std::string text = captured_.str();
    captured_.str("");
    const json library_rows = json::parse("[" + text.substr(text.find('{')) + "]");
    for (std::size_t i = 0; i < rows.size(); ++i) {
      json merged = library_rows[i];
      merged.update(rows[i]);
      rows[i] = std::move(merged);
    }
  }
  hooks_.before_output();
  for (Sink& sink : sinks_) {
    show(sink, named, rows);
  }
  hooks_.after_output();
  if (!rows.empty()) {
    hooks_.finished(rows);
  }
}

void SuiteReporter::Finalize() {
  for (Sink& sink : sinks_) {
    if (sink.library) {
      sink.library->Finalize();
    }
  }
}

void SuiteReporter::save() const {
  if (!options_.file_out.empty()) {
    write_whole(options_.file_out, file_text_.str());
  }
}

}  // namespace grainscope::harness
