#include "suite.hpp"

#include <benchmark/benchmark.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <iostream>
#include <iterator>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <sstream>
#include <utility>

#include "google_benchmark.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/system/sysfs.hpp"
#include "grainscope/system/warnings.hpp"
#include "link_peaks.hpp"
#include "machine.hpp"
#include "plan.hpp"
#include "result_store.hpp"
#include "row.hpp"
#include "run.hpp"
#include "screen.hpp"
#include "table.hpp"
#include "visits.hpp"

namespace grainscope::harness {
namespace {

using nlohmann::json;

std::vector<std::string> gpus_used(const Machine& machine, const std::vector<Benchmark>& benchmarks) {
  std::map<int, std::string> uuids;
  for (const Benchmark& benchmark : benchmarks) {
    for (const int ordinal : benchmark.gpus()) {
      if (const GpuReport* gpu = machine.find_gpu(ordinal)) {
        uuids[ordinal] = gpu->cuda->uuid;
      }
    }
  }
  std::vector<std::string> list;
  list.reserve(uuids.size());
  for (const auto& [ordinal, uuid] : uuids) {
    list.push_back(uuid);
  }
  return list;
}

// Has Google Benchmark call `visit` once for each case, in that order.
void run_under_library(const std::vector<const Benchmark*>& cases, const std::vector<std::string>& flags,
                       const std::function<void(const Benchmark&, benchmark::State&)>& visit) {
  class Silent final : public benchmark::BenchmarkReporter {
    bool ReportContext(const Context& /*context*/) override { return true; }
    void ReportRuns(const std::vector<Run>& /*runs*/) override {}
  } silent;
  benchmark::ClearRegisteredBenchmarks();
  for (const Benchmark* benchmark : cases) {
    register_case(benchmark->id.name(), 1, flags, [&, benchmark](auto& state) { visit(*benchmark, state); });
  }
  if (!cases.empty()) {
    benchmark::RunSpecifiedBenchmarks(&silent, nullptr, "all");
  }
}

// What is left of --max-time, and whether this part of the run has visited a case.
struct MaxTime {
  double left_s = 0;
  bool begun = false;
};

// What a round tells the run that it is part of, and asks it.
struct RoundHooks {
  std::function<void(const std::string& name)> starting;
  std::function<void(const json& rows)> finished;
  std::function<void(const LinkPeak&, const std::vector<Warning>&)> link;
  std::function<std::string()> why_stop;
  std::function<std::optional<MaxTime>()> max_time;
};

// Visits to cases from this process.
class Visitor {
 public:
  Visitor(const RunRequest& request, RoundHooks hooks)
      : options_(request.options),
        scope_(request.scope),
        hooks_(std::move(hooks)),
        peaks_(request.machine, hooks_.link),
        runner_(request.machine, share_of(request.scope.sampling, request.scope.visits), peaks_,
                request.options.allow_managed_oversubscription,
                {.starting = hooks_.starting, .why_stop = hooks_.why_stop}) {}

  void know(const LinkPeak& peak) { peaks_.add(peak); }

  Ending visit(const std::vector<const Benchmark*>& cases, int round) {
    runner_.place_anew();
    std::size_t late = 0;
    run_under_library(cases, options_.library_flags, [&](const Benchmark& benchmark, auto& state) {
      if (ends_late(benchmark)) {
        ++late;
        state.SkipWithError("would end after --max-time");
        return;
      }
      if (json row = runner_.visit(benchmark, state); !row.is_null()) {
        row["round"] = round;
        hooks_.finished(json::array({std::move(row)}));
      }
    });
    Ending ending = runner_.ending();
    ending.late = late;
    return ending;
  }

 private:
  // By the plan. The first case of a part always starts: the longest would never run else.
  [[nodiscard]] bool ends_late(const Benchmark& benchmark) const {
    const std::optional<MaxTime> time = hooks_.max_time();
    return time && time->begun && visit_at_most_s(benchmark, scope_) > time->left_s;
  }

  const Options& options_;
  const Scope& scope_;
  RoundHooks hooks_;
  LinkPeaks peaks_;
  CaseRunner runner_;
};

class Suite {
 public:
  explicit Suite(RunRequest& request)
      : request_(request),
        options_(request.options),
        identity_(request.resumed != nullptr ? identity_of(request.resumed->header) : new_identity()) {}

  int run() {
    note_names();
    if (!options_.file_out.empty() && options_.file_format == "console") {
      file_table_.emplace(file_text_, Screen{}, request_.selection.runnable, has_full_names());
    }
    note_warnings();  // before those of links are taken over
    take_over_finished();
    note_skipped();
    leave_finished();
    expect_visits();
    const GpuLock lock(gpus_used(request_.machine, request_.selection.runnable), options_.wait_for_gpu,
                       [] { return signal_received() != 0; });
    initialise_library(options_.library_flags);
    if (options_.display_format == "console") {
      table_.emplace(std::cout, screen_of(STDOUT_FILENO, options_.color), request_.selection.runnable,
                     has_full_names());
    }
    progress_.begin();
    std::size_t late = 0;
    for (int round = 1; round <= request_.scope.visits && outcome_.why_incomplete.empty(); ++round) {
      if (const auto cases = cases_of(round); !cases.empty()) {
        outcome_.why_incomplete = why_stop();
        if (outcome_.why_incomplete.empty()) {
          const Ending ending =
              request_.starts_processes ? run_in_process(cases, round) : visitor().visit(cases, round);
          outcome_.why_incomplete = ending.why;
          stopped_with_ = ending.status;
          late += ending.late;
        }
      }
    }
    if (late > 0 && outcome_.why_incomplete.empty()) {
      outcome_.why_incomplete = std::to_string(late) + (late == 1 ? " visit" : " visits") +
                                " would end after --max-time by the plan";
    }
    show_unfinished();
    progress_.wipe();
    finish();
    return exit_status();
  }

 private:
  using Cases = std::vector<const Benchmark*>;
  static constexpr const char* kEarlier = "in an earlier part of the run: ";

  // The places of cases in the listing; of the whole run, also where it goes on.
  void note_names() {
    for (const auto* benchmarks : {&request_.selection.skipped, &request_.selection.runnable}) {
      for (const Benchmark& benchmark : *benchmarks) {
        places_.emplace(benchmark.id.name(), places_.size());
      }
    }
  }

  // What was found of the machine when a part of the run began is said of the run, also where it has changed
  // since.
  void note_warnings() {
    std::vector<Warning>& all = request_.machine.warnings;
    to_store([&](ResultStore& store) { store.append_part(warnings_json(all), sysfs::boot_id()); });
    if (request_.resumed == nullptr) {
      return;
    }
    for (const json& of_part : request_.resumed->warnings) {
      for (Warning& warning : warnings_from_json(of_part)) {
        const auto same = [&](const Warning& known) {
          return known.id == warning.id && subject_of(known) == subject_of(warning);
        };
        if (std::none_of(all.begin(), all.end(), same)) {
          warning.finding = kEarlier + warning.finding;
          all.push_back(std::move(warning));
        }
      }
    }
  }

  // The GPU, say, that a warning is of; what is said of it may have other numbers each time.
  [[nodiscard]] static std::string subject_of(const Warning& warning) {
    const std::string& found = warning.finding;
    const std::size_t begin = found.starts_with(kEarlier) ? std::string_view(kEarlier).size() : 0;
    const std::size_t end = found.find(": ", begin);
    return end == std::string::npos ? std::string() : found.substr(begin, end - begin);
  }

  // Everything that an earlier part of this run finished is a result of this one.
  void take_over_finished() {
    if (request_.resumed == nullptr) {
      return;
    }
    for (const json& row : request_.resumed->rows) {
      keep(row);
      earlier_s_ += row.value("visit_s", 0.0);
    }
    leave_rows_of_other_boots(request_.resumed->boots);
    for (const json& link : request_.resumed->links) {
      links_.push_back(link_from_json(link["link"]));
      const std::vector<Warning> warnings = warnings_from_json(link.value("warnings", json::array()));
      request_.machine.warnings.insert(request_.machine.warnings.end(), warnings.begin(), warnings.end());
    }
  }

  // Pages, clocks and drivers may be others since: a case that was begun before keeps the visits that it has.
  void leave_rows_of_other_boots(const std::map<std::string, std::string>& boots) {
    const std::string now = sysfs::boot_id();
    std::size_t left = 0;
    for (const auto& [name, boot] : boots) {
      if (!boot.empty() && boot != now && !is_finished(name)) {
        visited_.at(name).insert(kForGood);
        ++left;
      }
    }
    if (left > 0) {
      tell(std::to_string(left) + (left == 1 ? " case was" : " cases were") +
           " begun before this machine was started anew, and no visits of now are added: a row is of one "
           "start");
    }
  }

  void note_skipped() {
    json rows = json::array();
    std::map<std::string, int> reasons;
    for (const Benchmark& benchmark : request_.selection.skipped) {
      if (visited_.contains(benchmark.id.name())) {
        continue;  // as an earlier part of this run has noted
      }
      rows.push_back(outcome_row(benchmark, Status::skipped, benchmark.skip));
      keep(rows.back());
      ++reasons[benchmark.skip];
    }
    tell_skipped(reasons);
    if (!rows.empty() && request_.store != nullptr) {
      request_.store->append_rows(rows);
    }
  }

  // The cases that a round still has to visit, in its order. What the machine has refused once it refuses
  // again.
  [[nodiscard]] Cases cases_of(int round) const {
    const std::vector<Benchmark>& all = request_.selection.runnable;
    std::vector<std::size_t> order(all.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    if (request_.scope.visits > 1) {
      order = visit_order(all, identity_.seed, round);
    }
    Cases cases;
    for (const std::size_t i : order) {
      const auto seen = visited_.find(all[i].id.name());
      if (seen == visited_.end() || !(seen->second.contains(round) || seen->second.contains(kForGood))) {
        cases.push_back(&all[i]);
      }
    }
    return cases;
  }

  void expect_visits() {
    std::map<std::string, int> visits;
    for (int round = 1; round <= request_.scope.visits; ++round) {
      for (const Benchmark* benchmark : cases_of(round)) {
        ++visits[benchmark->id.name()];
      }
    }
    for (const Benchmark& benchmark : request_.selection.runnable) {
      const int left = std::min(visits[benchmark.id.name()], visits_to(benchmark, request_.scope));
      progress_.time_left().expect(benchmark.id.name(), benchmark.id.family,
                                   visit_estimate_s(benchmark, request_.scope), left);
    }
  }

  [[nodiscard]] bool has_full_names() const { return options_.verbosity > 0; }

  // Lines on standard error are broken for a terminal alone: other programs read them as lines.
  [[nodiscard]] static std::size_t width_of_lines() {
    const Screen screen = screen_of(STDERR_FILENO);
    return screen.terminal ? screen.width - 1 : std::numeric_limits<std::size_t>::max();
  }

  static void tell(const std::string& line) {
    std::cerr << wrapped(std::string(kTells), line, kTells.size(), width_of_lines());
  }

  // A line a reason.
  static void tell_skipped(const std::map<std::string, int>& reasons) {
    std::cerr << reasons_text(reasons, std::string(kTells), width_of_lines());
  }

  // Who has all its visits needs no graph any more.
  void leave_finished() {
    std::set<std::string> open;
    for (int round = 1; round <= request_.scope.visits; ++round) {
      for (const Benchmark* benchmark : cases_of(round)) {
        open.insert(benchmark->id.name());
      }
    }
    std::erase_if(request_.selection.runnable,
                  [&](const Benchmark& benchmark) { return !open.contains(benchmark.id.name()); });
  }

  Visitor& visitor() {
    if (!visitor_) {
      visitor_.emplace(
          request_,
          RoundHooks{.starting = [this](const auto& name) { start(name); },
                     .finished = [this](const json& rows) { finished(rows); },
                     .link = [this](const auto& peak, const auto& warnings) { note_link(peak, warnings); },
                     .why_stop = [this] { return why_stop(); },
                     .max_time = [this] { return max_time(); }});
      for (const LinkPeak& peak : links_) {
        visitor_->know(peak);
      }
    }
    return *visitor_;
  }

  Ending run_in_process(const Cases& cases, int round) {
    Round job{{"round", round}, {"names", json::array()}, {"links", json::array()}};
    for (const Benchmark* benchmark : cases) {
      job["names"].push_back(benchmark->id.name());
    }
    for (const LinkPeak& peak : links_) {
      job["links"].push_back(link_json(peak));
    }
    if (const auto time = max_time()) {
      job["left_s"] = time->left_s;
      job["begun"] = time->begun;
    }
    std::vector<std::string> flags = options_.selection_flags;
    if (!options_.graph_cache.empty()) {
      flags.push_back("--graph-cache=" + options_.graph_cache);
    }
    const Benchmark* in_hand = nullptr;
    const auto take = [&](const json& line) {
      if (line.contains("starting")) {
        const std::string name = line["starting"];
        const auto found = std::find_if(cases.begin(), cases.end(),
                                        [&](const Benchmark* each) { return each->id.name() == name; });
        in_hand = found != cases.end() ? *found : nullptr;
        start(name);
      } else if (line.contains("rows")) {
        in_hand = nullptr;
        finished(line["rows"]);
      } else if (line.contains("link")) {
        note_link(link_from_json(line["link"]), warnings_from_json(line["warnings"]));
      }
    };
    try {
      RoundProcess process(flags, job);
      Ending ending = process.listen(take);
      if (ending.why.empty()) {
        ending.why = why_stop();
      }
      return ending;
    } catch (const FailedError& died) {
      if (signal_received() != 0) {
        return {died.what(), ExitStatus::ok};
      }
      if (in_hand != nullptr) {
        json row = outcome_row(*in_hand, Status::failed, died.what());
        row["round"] = round;
        row["died"] = true;
        finished(json::array({row}));
      }
      return {died.what(), ExitStatus::failed};
    }
  }

  void start(const std::string& name) { progress_.start_case(name); }

  void finished(const json& rows) {
    measured_ = true;
    for (const json& row : rows) {
      const std::string name = row.at("name");
      keep(row);
      progress_.finish_case(name);
      if (row.at("status") == "skipped") {
        ++late_skips_[row.value("reason", "")];
      }
      if (is_finished(name)) {
        progress_.time_left().drop(name);
        show(name);
      }
    }
    to_store([&](ResultStore& store) { store.append_rows(rows); });
  }

  // A row of each case's visits, whose spread is pooled over these rows.
  [[nodiscard]] std::vector<json> whole_rows(const VisitsOfCases& cases) const {
    std::vector<json> rows;
    rows.reserve(cases.size());
    for (const std::vector<json>& visits : cases) {
      rows.push_back(merged_row(visits, request_.scope.visits));
    }
    add_uncertainties(rows, type_b_);
    return rows;
  }

  // In the table, as far as it is known by now.
  void show(const std::string& name) {
    if (table_) {
      progress_.wipe();
      table_->add(whole_rows({rows_.at(name)}).front());
      progress_.draw();
    }
  }

  // Of a run that was stopped the cases that lack visits, too.
  void show_unfinished() {
    for (const auto& [name, visits] : rows_) {
      if (!is_finished(name)) {
        show(name);
      }
    }
    progress_.wipe();
    if (table_) {
      table_->finish();
    }
  }

  [[nodiscard]] std::string why_stop() const {
    if (signal_received() != 0) {
      return "interrupted by signal " + std::to_string(signal_received());
    }
    if (!store_error_.empty()) {
      return store_error_;
    }
    if (const auto time = max_time(); time && time->left_s < 0) {
      return "--max-time of " + format_seconds(*options_.max_time_s) + " reached";
    }
    return {};
  }

  [[nodiscard]] std::optional<MaxTime> max_time() const {
    if (!options_.max_time_s) {
      return std::nullopt;
    }
    return MaxTime{*options_.max_time_s - (steady_now_s() - start_s_), measured_};
  }

  void note_link(const LinkPeak& peak, const std::vector<Warning>& warnings) {
    links_.push_back(peak);
    to_store([&](ResultStore& store) { store.append_link(link_json(peak), warnings_json(warnings)); });
    for (const Warning& warning : warnings) {
      progress_.wipe();
      tell(std::string(severity_name(warning.severity)) + ": " + warning.finding);
      request_.machine.warnings.push_back(warning);
    }
  }

  // A full disk must not be met inside Google Benchmark, which no exception may cross: it ends the run.
  template <class Write>
  void to_store(Write write) {
    if (request_.store == nullptr || !store_error_.empty()) {
      return;
    }
    try {
      write(*request_.store);
    } catch (const Error& error) {
      store_error_ = error.what();
    }
  }

  void keep(const json& row) {
    const std::string name = row.at("name");
    const std::string status = row.at("status");
    rows_[name].push_back(row);
    // A model says the same every time, and what ended its process may do so again.
    const bool for_good = status == "skipped" || row.at("label") == "modelled" || row.contains("died");
    visited_[name].insert(for_good ? kForGood : row.value("round", 1));
  }

  // Whether no other visit to this case is to come.
  [[nodiscard]] bool is_finished(const std::string& name) const {
    const std::set<int>& visits = visited_.at(name);
    return visits.contains(kForGood) || static_cast<int>(visits.size()) == request_.scope.visits;
  }

  // The row of each case, in the order of the listing; first those that were skipped at once, without Google
  // Benchmark's fields.
  [[nodiscard]] std::vector<json> rows_in_order(json& library_context) {
    VisitsOfCases cases(places_.size());
    std::vector<json> rows;
    for (auto& [name, visits] : rows_) {
      const auto place = places_.find(name);
      std::vector<json>& own = place != places_.end() ? cases[place->second] : cases.emplace_back();
      own = std::move(visits);
      std::sort(own.begin(), own.end(),
                [](const json& a, const json& b) { return a.value("round", 1) < b.value("round", 1); });
    }
    std::erase_if(cases, [&](std::vector<json>& visits) {
      const bool unvisited = !visits.empty() && !visits.front().contains("round");
      if (unvisited) {
        rows.push_back(std::move(visits.front()));
      }
      return unvisited || visits.empty();
    });
    LibraryReport report = report_by_library(options_, std::move(cases),
                                             [this](const auto& visits) { return whole_rows(visits); });
    library_context = std::move(report.context);
    note_file(std::move(report.file_text), report.rows);
    std::move(report.rows.begin(), report.rows.end(), std::back_inserter(rows));
    return rows;
  }

  // What --benchmark_out will hold.
  void note_file(std::string text, const std::vector<json>& rows) {
    if (file_table_) {
      std::for_each(rows.begin(), rows.end(), [&](const json& row) { file_table_->add(row); });
      file_table_->finish();
      text = file_text_.str();
    }
    file_content_ = std::move(text);
  }

  // What the rows come to and what to do with them, under the table.
  void tell_results(const std::vector<json>& rows) {
    if (!table_) {
      return;
    }
    const Screen screen = screen_of(STDOUT_FILENO, options_.color);
    std::string text = headlines_text(rows, screen);
    const auto add = [&](const std::string& label, const std::string& what) {
      text += what.empty() ? "" : wrapped(label, what, label.size(), screen.width);
    };
    add("flagged: ", flags_text(rows));
    text += reasons_text(late_skips_, "", screen.width);
    if (request_.store != nullptr && outcome_.complete) {
      add("next: ",
          "grainscope-report summary " + shell_word((request_.store->directory() / "result.json").string()));
    }
    std::cout << (text.empty() ? "" : "\n") << text << std::flush;
  }

  void finish() {
    outcome_.complete = outcome_.why_incomplete.empty();
    outcome_.cases = request_.selection.of_all_shards;
    json library_context;
    const std::vector<json> rows = rows_in_order(library_context);
    for (const json& row : rows) {
      const std::string status = row.at("status");
      ++(status == "ok" ? outcome_.ok : status == "skipped" ? outcome_.skipped : outcome_.failed);
    }
    if (!store_error_.empty()) {
      throw EnvironmentError(store_error_);
    }
    const double wall_s = steady_now_s() - start_s_;
    // What a finished run says of the machine stays: nothing was measured since.
    if (request_.store != nullptr && (measured_ || !request_.store->is_finished())) {
      json context = result_context(library_context, identity_, options_, request_.scope, request_.machine,
                                    links_, outcome_, earlier_s_ + wall_s);
      if (!type_b_.told().is_null()) {
        context["type_b"] = type_b_.told();
      }
      request_.store->finish({{"context", context}, {"benchmarks", rows}});
    }
    // After the result: it may fail.
    if (!options_.file_out.empty()) {
      write_whole(options_.file_out, file_content_);
    }
    tell_results(rows);
    const std::string directory = request_.store != nullptr ? request_.store->directory().string() : "";
    tell(std::to_string(outcome_.ok) + " ok, " + std::to_string(outcome_.skipped) + " skipped, " +
         std::to_string(outcome_.failed) + " failed in " + format_seconds(wall_s) +
         (request_.store != nullptr ? "; " + directory + "/result.json"
                                    : "; nothing was kept (--out DIR keeps it)"));
    if (!outcome_.complete) {
      // Another file is another run.
      const bool goes_on = request_.store != nullptr && stopped_with_ != ExitStatus::usage;
      tell(outcome_.why_incomplete + (goes_on ? "; go on with --resume " + shell_word(directory) : ""));
    }
  }

  [[nodiscard]] int exit_status() const {
    if (signal_received() != 0) {
      return 128 + signal_received();
    }
    return static_cast<int>(outcome_.failed > 0 ? ExitStatus::failed : stopped_with_);
  }

  static constexpr std::string_view kTells = "grainscope: ";
  static constexpr int kForGood = 0;  // in place of a visit's number: no other is to come

  RunRequest& request_;
  const Options& options_;
  const double start_s_ = steady_now_s();
  double earlier_s_ = 0;  // of visits in earlier parts of this run
  Progress progress_;
  RunIdentity identity_;
  TypeB type_b_ = type_b_of(request_.machine);
  std::optional<Visitor> visitor_;
  std::optional<Table> table_;
  std::optional<Table> file_table_;  // of --benchmark_out
  std::ostringstream file_text_;
  std::string file_content_;               // of --benchmark_out
  std::map<std::string, int> late_skips_;  // by reason: when they were visited
  std::map<std::string, std::size_t> places_;
  std::map<std::string, std::vector<json>> rows_;
  std::map<std::string, std::set<int>> visited_;
  std::vector<LinkPeak> links_;
  Outcome outcome_;
  std::string store_error_;
  ExitStatus stopped_with_ = ExitStatus::ok;  // where nothing failed
  bool measured_ = false;                     // anything, by now
};

}  // namespace

int run_suite(RunRequest request) {
  Suite suite(request);
  return suite.run();
}

void run_round(RunRequest request) {
  const double start_s = steady_now_s();
  const Round round = read_round();
  const std::set<std::string> names(round.at("names").begin(), round.at("names").end());
  std::erase_if(request.selection.runnable,
                [&](const Benchmark& benchmark) { return !names.contains(benchmark.id.name()); });
  std::map<std::string, const Benchmark*> by_name;
  for (const Benchmark& benchmark : request.selection.runnable) {
    by_name[benchmark.id.name()] = &benchmark;
  }
  std::vector<const Benchmark*> cases;
  for (const json& name : round.at("names")) {
    const auto found = by_name.find(name);
    if (found == by_name.end()) {
      say({{"end", "this machine no longer lists " + name.get<std::string>()}});
      return;
    }
    cases.push_back(found->second);
  }
  bool begun = round.value("begun", false);
  const auto max_time = [&]() -> std::optional<MaxTime> {
    if (!round.contains("left_s")) {
      return std::nullopt;
    }
    return MaxTime{round["left_s"].get<double>() - (steady_now_s() - start_s), begun};
  };
  const auto why_stop = [&]() -> std::string {
    const auto time = max_time();
    return time && time->left_s < 0 ? "--max-time reached" : "";
  };
  Visitor visitor(request, {.starting =
                                [](const std::string& name) {
                                  say({{"starting", name}});
                                },
                            .finished =
                                [&begun](const json& rows) {
                                  begun = true;
                                  say({{"rows", rows}});
                                },
                            .link =
                                [](const LinkPeak& peak, const std::vector<Warning>& warnings) {
                                  say({{"link", link_json(peak)}, {"warnings", warnings_json(warnings)}});
                                },
                            .why_stop = why_stop,
                            .max_time = max_time});
  for (const json& link : round.at("links")) {
    visitor.know(link_from_json(link));
  }
  initialise_library({});
  const Ending ending = visitor.visit(cases, round.at("round"));
  // A signal that the run itself has is its own to tell.
  const ExitStatus status = signal_received() != 0 ? ExitStatus::failed : ending.status;
  say({{"end", ending.why}, {"status", static_cast<int>(status)}, {"late", ending.late}});
}

}  // namespace grainscope::harness
