#include "run.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <ctime>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include "grainscope/core/error.hpp"
#include "grainscope/cuda/runtime.hpp"
#include "grainscope/gnn/labels.hpp"
#include "grainscope/graph/io.hpp"
#include "question.hpp"
#include "result_store.hpp"
#include "suite.hpp"

namespace grainscope::harness {
namespace {

// A signal handler has no other way to tell the program.
std::atomic<int> g_signal{0};
// Of the monotonic clock; written before g_signal, by the first signal alone.
std::atomic<double> g_signal_s{0};
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<double>::is_always_lock_free);

// What asks a run to end: Ctrl-C, a batch system, a terminal that closes, and its Ctrl-\ (quit).
constexpr int kEndings[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

double now_s() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

void remember(int signal) {
  if (g_signal == 0) {
    g_signal_s = now_s();
    g_signal = signal;
  } else if (now_s() - g_signal_s > kOneRequestS) {
    std::signal(signal, SIG_DFL);
    std::raise(signal);
  }
}

}  // namespace

void catch_signals() {
  struct sigaction action {};
  action.sa_handler = remember;
  action.sa_flags = SA_RESTART;
  // None interrupts another's handler.
  for (const int signal : kEndings) {
    sigaddset(&action.sa_mask, signal);
  }
  for (const int signal : kEndings) {
    struct sigaction before {};
    // A run under nohup goes on when its terminal closes.
    if (sigaction(signal, nullptr, &before) == 0 && before.sa_handler != SIG_IGN) {
      sigaction(signal, &action, nullptr);
    }
  }
  // A file that may not grow is an error of writing, which is told. A reader that leaves wants no more to
  // read: what is measured goes on into its folder.
  std::signal(SIGXFSZ, SIG_IGN);
  std::signal(SIGPIPE, SIG_IGN);
}

int signal_received() noexcept {
  return g_signal;
}

namespace {

// What the library is told of the run: what the run was begun with, but for what is given anew.
std::vector<std::string> flags_of_library(const nlohmann::json& header, std::vector<std::string> given) {
  const auto name_of = [](const std::string& flag) { return flag.substr(0, flag.find('=')); };
  for (const std::string& begun : header.value("library_flags", std::vector<std::string>())) {
    const auto same = [&](const std::string& flag) { return name_of(flag) == name_of(begun); };
    if (begun.starts_with("--benchmark_") && std::none_of(given.begin(), given.end(), same)) {
      given.push_back(begun);
    }
  }
  return given;
}

// A resumed run is asked for again as it was, with the flags of this command that say how to run it.
Options resumed_options(const Options& given, const Journal& journal, const Machine& machine) {
  Options options;
  try {
    require_same_machine(journal.header, machine);
    require_same_files(journal.header);
    static_cast<void>(identity_of(journal.header));
    options = parse_options(journal.header.at("flags").get<std::vector<std::string>>());
    options.library_flags = flags_of_library(journal.header, given.library_flags);
  } catch (const nlohmann::json::exception& error) {
    throw UsageError("the first line of " + given.out_dir + "/journal.jsonl is damaged (" + error.what() +
                     "): start a new run with --out");
  }
  options.resume = true;
  options.out_dir = given.out_dir;
  options.max_time_s = given.max_time_s;
  options.graph_cache = given.graph_cache;
  options.wait_for_gpu = given.wait_for_gpu;
  if (!given.ranks.empty()) {
    options.ranks = given.ranks;
    options.gpus = given.gpus;
    options.one_process = given.one_process;
  }
  require_no_ranks(options);
  options.display_format = given.display_format;
  options.display_aggregates_only = given.display_aggregates_only;
  options.file_aggregates_only = given.file_aggregates_only;
  options.file_out = given.file_out;
  options.file_format = given.file_format;
  options.color = given.color;
  options.verbosity = given.verbosity;
  return options;
}

// What is written late should not fail after everything was measured.
void require_writable(const Options& options) {
  if (!options.file_out.empty()) {
    const std::filesystem::path file(options.file_out);
    if (options.out_dir.empty() || std::filesystem::weakly_canonical(file.parent_path()) !=
                                       std::filesystem::weakly_canonical(options.out_dir)) {
      require_writable_folder(file);  // the run's own is made later
    }
    require_no_file_of_the_run(options.out_dir, options.file_out);
  }
  if (!options.graph_cache.empty()) {
    make_folder(options.graph_cache);
    require_writable_folder(std::filesystem::path(options.graph_cache) / "graph.sg");
  }
}

// Before anything is measured. Of kron and urand the run tells: ids that no edge has may be missing at the
// end of their vertices.
void require_labels_of(const gnn::OwnLabels& labels, const graph::GraphSpec& spec) {
  using Kind = graph::GraphSpec::Kind;
  if (spec.kind != Kind::kron && spec.kind != Kind::urand) {
    const auto known = spec.vertices();
    labels.require_of(static_cast<graph::Vertex>(known ? *known : graph::vertices_in(spec.path)),
                      spec.name());
  }
}

// What words ask for; values that they name stand in place of the preset's, as those of --axis do.
void ask(Scope& scope, const std::string& words) {
  scope.question = std::make_shared<Question>(words);
  const WrittenAxes given = scope.axes;
  const auto require_once = [&](const std::string& key) {
    const bool by_axis =
        std::any_of(given.begin(), given.end(), [&](const auto& axis) { return axis.first == key; });
    const bool by_graph = key == "graph" && !scope.graphs.empty();
    if (by_axis || by_graph) {
      throw UsageError("'" + words + "' and " + (by_graph ? "--graph" : "--axis") + " both give values of " +
                       key + ": leave one out");
    }
  };
  for (const std::string& family : scope.question->families()) {
    for (const auto& [key, sizes] : scope.question->sizes(family)) {
      require_once(key);
    }
  }
  for (const auto& [key, values] : scope.question->axes()) {
    require_once(key);
    scope.axes.emplace_back(key, values);
  }
}

// A profiler looks at one process.
bool has_a_process_each(const Options& options, const Scope& scope) {
  return scope.visits > 1 && !options.one_process && !cuda::is_counted();
}

}  // namespace

// Before anything is made or measured, like labels.
void require_file_of(const graph::GraphSpec& spec) {
  if (spec.kind != graph::GraphSpec::Kind::file) {
    return;
  }
  const std::string named = "--graph file:" + spec.path;
  std::error_code error;
  const auto status = std::filesystem::status(spec.path, error);
  if (!std::filesystem::exists(status)) {
    throw UsageError(named + ": " + (error ? error.message() : "there is no such file"));
  }
  if (!std::filesystem::is_regular_file(status)) {
    throw UsageError(named + " is no file: name one that holds a graph (docs/graphs.md)");
  }
  if (access(spec.path.c_str(), R_OK) != 0) {
    throw UsageError(named + " may not be read by this user: chmod it");
  }
  if (std::filesystem::file_size(spec.path, error) == 0 && !error) {
    throw UsageError(named + " is empty");
  }
}

Scope scope_of(const Options& options, const Machine& machine) {
  Scope scope = make_scope(options.preset, gpu_targets(machine, options.gpus),
                           options.all_gpus || !options.gpus.empty(), node_targets(machine, options.nodes));
  scope.min_bytes = options.min_bytes;
  scope.max_bytes = options.max_bytes;
  std::for_each(options.graphs.begin(), options.graphs.end(), require_file_of);
  scope.graphs = options.graphs;
  if (!options.features.empty()) {
    scope.features = std::make_shared<gnn::NpyFile>(options.features);
  }
  if (!options.labels.empty() || !options.train_ids.empty()) {
    scope.labels = std::make_shared<gnn::OwnLabels>(options.labels, options.train_ids);
    require_labels_of(*scope.labels, options.graphs.front());
  }
  scope.graph_cache = options.graph_cache;
  if (options.trials) {
    scope.trials = *options.trials;
    scope.trials_s = 0;
  }
  scope.hot_budgets = options.hot_budgets;
  scope.axes = options.axes;
  if (!options.question.empty()) {
    ask(scope, options.question);
  }
  scope.transfers = options.transfers;
  if (options.ci_target) {
    scope.sampling.ci_target = *options.ci_target;
  }
  scope.sampling.power = options.power;
  scope.visits = options.visits.value_or(scope.visits);
  scope.visits_here = has_a_process_each(options, scope) ? 1 : scope.visits;
  return scope;
}

Selection selection_of(const std::vector<Family>& families, const Options& options, const Machine& machine,
                       const Scope& scope) {
  Selection selection =
      select(families, machine, scope, options.filter, options.shard_index, options.shard_count);
  const auto is_of_a_graph = [](const Benchmark& benchmark) {
    return benchmark.id.name().find("/graph:") != std::string::npos;
  };
  // Of a shard others may have these cases.
  if (!options.graphs.empty() && options.shard_count == 1 &&
      std::none_of(selection.runnable.begin(), selection.runnable.end(), is_of_a_graph) &&
      std::none_of(selection.skipped.begin(), selection.skipped.end(), is_of_a_graph)) {
    throw UsageError(
        "--graph changes nothing here: no case that is chosen is of a graph; leave it out, or see "
        "grainscope --families for what reads graphs");
  }
  return selection;
}

int run_families(const std::vector<Family>& families, const Options& given, Machine& machine) {
  Options options = given;
  std::optional<RunLock> lock;
  std::optional<Journal> journal;
  if (options.resume) {
    lock.emplace(options.out_dir);
    journal = read_journal(options.out_dir);
    options = resumed_options(given, *journal, machine);
  }
  leave_gpu_memory(machine, options.gpu_memory, options.gpus);
  if (options.gpu_memory && machine.runtime.devices.empty()) {
    std::cerr << "grainscope: --gpu-memory changes nothing here: " << machine.runtime.why_none << std::endl;
  }
  const Scope scope = scope_of(options, machine);
  Selection selection = selection_of(families, options, machine, scope);
  std::cerr << understood_text(selection, scope);
  require_writable(options);
  std::optional<ResultStore> store;
  if (journal) {
    store = ResultStore::resume(options.out_dir, *journal);
  } else if (!options.out_dir.empty()) {
    make_folder(options.out_dir);
    lock.emplace(options.out_dir);
    store = ResultStore::begin(options.out_dir, journal_header(new_identity(), options, machine));
    journal = read_journal(options.out_dir);
  }
  return run_suite({options, machine, scope, std::move(selection), store ? &*store : nullptr,
                    journal ? &*journal : nullptr, has_a_process_each(options, scope)});
}

void run_visits(const std::vector<Family>& families, const std::vector<std::string>& flags,
                Machine& machine) {
  Options options = parse_options(flags);
  // The run has chosen the cases of its part and names them; here memory may be free for one more or less,
  // and the parts would be cut anew.
  options.shard_index = options.shard_count = 1;
  leave_gpu_memory(machine, options.gpu_memory, options.gpus);
  const Scope scope = scope_of(options, machine);
  run_round({options, machine, scope, selection_of(families, options, machine, scope)});
}

}  // namespace grainscope::harness
