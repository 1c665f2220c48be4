#include "options.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "build_info.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/core/units.hpp"
#include "option_flags.hpp"
#include "option_values.hpp"

namespace grainscope::harness {
namespace {

// What is run goes into the journal and the result file, whose text is UTF-8.
void require_text(const std::vector<std::string>& flags) {
  for (const std::string& flag : flags) {
    try {
      static_cast<void>(nlohmann::json(flag).dump());
    } catch (const nlohmann::json::type_error&) {
      const std::string shown =
          nlohmann::json(flag).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
      throw UsageError(shown +
                       " is not UTF-8 text, which result files are in: rename the file, or make a link "
                       "to it with another name");
    }
  }
}

void understand_output(const CLI::App& app, Options& options, const RawOptions& raw) {
  require_one_of(options.display_format, {"console", "json", "csv"}, "--benchmark_format");
  require_one_of(options.file_format, {"json", "csv", "console"}, "--benchmark_out_format");
  if (options.color == "yes" || options.color == "1") {
    options.color = "true";
  }
  require_one_of(options.color, {"auto", "true", "false", "no", "0"}, "--benchmark_color");
  const auto hand_on = [&](bool given, const std::string& flag) {
    if (given) {
      options.library_flags.push_back(flag);
    }
  };
  hand_on(!raw.context.empty(), "--benchmark_context=" + raw.context);
  hand_on(!raw.time_unit.empty(), "--benchmark_time_unit=" + raw.time_unit);
  options.file_aggregates_only = raw.aggregates_only;
  options.display_aggregates_only = raw.aggregates_only || raw.display_aggregates_only;
  hand_on(app.count("--v") > 0, "--v=" + std::to_string(options.verbosity));
  if (!raw.time_unit.empty()) {
    require_one_of(raw.time_unit, {"ns", "us", "ms", "s"}, "--benchmark_time_unit");
  }
}

void understand_selection(const CLI::App& app, Options& options, const RawOptions& raw) {
  options.preset = parse_preset(raw.preset);
  if (!raw.gpus.empty()) {
    options.gpus = parse_ids(raw.gpus, "--gpu");
    options.all_gpus = raw.gpus == "all";
  }
  if (!raw.nodes.empty()) {
    options.nodes = parse_ids(raw.nodes, "--numa");
  }
  if (!raw.shard.empty()) {
    std::tie(options.shard_index, options.shard_count) = parse_shard(raw.shard);
  }
  if (!raw.min_bytes.empty()) {
    options.min_bytes = parse_bytes(raw.min_bytes);
  }
  if (!raw.max_bytes.empty()) {
    options.max_bytes = parse_bytes(raw.max_bytes);
  }
  if (options.min_bytes && options.max_bytes && *options.min_bytes > *options.max_bytes) {
    throw UsageError("--min-bytes " + raw.min_bytes + " is above --max-bytes " + raw.max_bytes);
  }
  if (!raw.hot_budgets.empty()) {
    options.hot_budgets = parse_sizes(raw.hot_budgets, "--hot-budget");
  }
  options.axes = parse_axes(raw.axes);
  for (const std::string& line : raw.transfers) {
    const auto written = parse_transfers(line);
    options.transfers.insert(options.transfers.end(), written.begin(), written.end());
  }
  if (!options.transfers.empty() && (app.count("--gpu") > 0 || app.count("--numa") > 0)) {
    throw UsageError("--transfer says which GPUs and nodes: leave out --gpu and --numa");
  }
  if (!raw.graphs.empty()) {
    options.graphs = parse_graphs(raw.graphs);
  }
  if (app.count("--features") > 0) {
    if (options.graphs.size() != 1) {
      throw UsageError("--features " + raw.features +
                       " has a row for each vertex of one graph: name it by --graph, e.g. --graph file:PATH");
    }
    options.features = raw.features;
  }
  if (app.count("--trials") > 0) {
    if (raw.trials < 1) {
      throw UsageError("--trials must be at least 1");
    }
    options.trials = raw.trials;
  }
  if (app.count("--ci-target") > 0) {
    if (!(raw.ci_target > 0 && raw.ci_target < 1)) {
      throw UsageError("--ci-target must lie between 0 and 1, e.g. 0.02 for 2 %");
    }
    options.ci_target = raw.ci_target;
  }
  if (app.count("--benchmark_repetitions") > 0) {
    if (raw.visits < 1) {
      throw UsageError("--benchmark_repetitions must be at least 1");
    }
    options.visits = raw.visits;
  }
}

void choose_action(const CLI::App& app, Options& options, const RawOptions& raw) {
  const int asked = int{raw.list} + int{raw.plan} + int{!options.explain_case.empty()} +
                    int{app.count("--env") > 0} + int{app.count("--families") > 0};
  if (asked > 1) {
    throw UsageError("--benchmark_list_tests, --plan, --explain, --families and --env exclude each other");
  }
  if (raw.list) {
    options.action = Action::list;
  } else if (raw.plan) {
    options.action = Action::plan;
  } else if (!options.explain_case.empty()) {
    options.action = Action::explain;
  } else if (app.count("--env") > 0) {
    options.action = Action::environment;
    options.environment_format = raw.environment.empty() ? "text" : raw.environment;
    require_one_of(options.environment_format, {"text", "json"}, "--env");
  } else if (app.count("--families") > 0) {
    options.action = Action::families;
    options.families_format = raw.families.empty() ? "text" : raw.families;
    if (options.families_format != "text" && options.families_format != "json") {
      options.families_asked = std::exchange(options.families_format, "text");
    }
  }
}

}  // namespace

std::string version_text() {
  return std::string("grainscope ") + build::kVersion + "\ncommit     " + build::kCommit + "\ncompiler   " +
         build::kCompiler + "\nCUDA       " +
         (build::kCuda.empty() ? "not built in" : std::string(build::kCuda)) + "\nbenchmark  " +
         build::kBenchmarkLibrary + "\n";
}

Options parse_options(const std::vector<std::string>& arguments) {
  refuse_what_cannot_be_honoured(arguments);
  Options options;
  RawOptions raw;
  CLI::App app{"", "grainscope"};
  describe_flags(app, options, raw);
  for (const std::string& word : arguments) {
    if (word == "-h" || word == "--help" || word.starts_with("--help=")) {
      throw HelpRequested{help_text(app, word.starts_with("--help=") ? word.substr(7) : "")};
    }
  }
  // CLI11 takes the words from the back, and an empty filter for a missing one.
  std::vector<std::string> words(arguments.rbegin(), arguments.rend());
  std::erase(words, "--benchmark_filter=");
  try {
    app.parse(std::move(words));
  } catch (const CLI::ExtrasError&) {
    const std::vector<std::string> left = app.remaining();
    throw UsageError(
        not_a_flag(app, *std::find_first_of(arguments.begin(), arguments.end(), left.begin(), left.end())));
  } catch (const CLI::ParseError& error) {
    throw UsageError(std::string(error.what()) + "; see `grainscope --help`");
  }
  if (raw.version) {
    throw HelpRequested{version_text()};
  }
  understand_selection(app, options, raw);
  understand_output(app, options, raw);
  choose_action(app, options, raw);
  if (!raw.max_time.empty()) {
    options.max_time_s = parse_duration_s(raw.max_time);
  }
  options.wait_for_gpu = !raw.no_wait;
  options.selection_flags = selection_flags(app);
  require_text(options.selection_flags);
  if (!raw.resume_dir.empty()) {
    if (!options.out_dir.empty() || !options.selection_flags.empty()) {
      throw UsageError(
          "--resume runs what the unfinished run was asked for: give it no --out and no flag that "
          "says what is run");
    }
    if (options.action != Action::run) {
      throw UsageError(
          "--resume runs what is left: to look at a run's cases, give --plan, --benchmark_list_tests or "
          "--explain the run's own flags");
    }
    options.resume = true;
    options.out_dir = raw.resume_dir;
  }
  return options;
}

}  // namespace grainscope::harness
