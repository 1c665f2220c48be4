#include "options.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "build_info.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/core/units.hpp"

namespace grainscope::harness {
namespace {

// Google Benchmark's flags that would change what a sampling session decides for itself.
constexpr std::array<std::pair<const char*, const char*>, 5> kRefused{{
    {"--benchmark_min_time",
     "a session samples until its interval is narrow enough: use --ci-target or a larger --preset"},
    {"--benchmark_min_warmup_time", "every session warms up by itself"},
    {"--benchmark_enable_random_interleaving", "a session is never cut: use --benchmark_repetitions"},
    {"--benchmark_perf_counters", "run the program under `perf stat` instead"},
    {"--benchmark_dry_run", "use --plan, or --preset smoke"},
}};

void refuse_what_cannot_be_honoured(const std::vector<std::string>& arguments) {
  for (const std::string& argument : arguments) {
    for (const auto& [flag, instead] : kRefused) {
      const std::string_view name(flag);
      if (argument == name || argument.starts_with(std::string(name) + "=")) {
        throw UsageError(std::string(name) + " cannot be honoured: " + instead);
      }
    }
  }
}

template <class Number>
std::optional<Number> parse_whole(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) {
    return std::nullopt;
  }
  return number;
}

// "i/n" with 1 ≤ i ≤ n.
std::pair<int, int> parse_shard(const std::string& text) {
  const auto slash = text.find('/');
  if (slash != std::string::npos) {
    const auto index = parse_whole<int>(std::string_view(text).substr(0, slash));
    const auto count = parse_whole<int>(std::string_view(text).substr(slash + 1));
    if (index && count && *index >= 1 && *index <= *count) {
      return {*index, *count};
    }
  }
  throw UsageError("--shard " + text + " is not a part of a whole: write i/n with 1 <= i <= n, e.g. 2/4");
}

// "90", "90s", "10m", "1h" to seconds.
double parse_duration_s(const std::string& text) {
  double number = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view unit(rest, static_cast<std::size_t>(text.data() + text.size() - rest));
  const double factor = unit.empty() || unit == "s"    ? 1
                        : unit == "m" || unit == "min" ? 60
                        : unit == "h"                  ? 3600
                                                       : 0;
  if (error != std::errc{} || factor == 0 || !(number > 0) || !std::isfinite(number)) {
    throw UsageError("--max-time " + text + " is not a time: write e.g. 90s, 10m or 1h");
  }
  return number * factor;
}

std::vector<int> parse_ids(const std::string& text, const char* flag) {
  std::vector<int> ids;
  std::size_t start = 0;
  while (text != "all" && start <= text.size()) {
    const auto comma = std::min(text.find(',', start), text.size());
    const auto id = parse_whole<int>(std::string_view(text).substr(start, comma - start));
    if (!id || *id < 0) {
      throw UsageError(std::string(flag) + " " + text + " names no such thing: write e.g. 0, 0,1 or all");
    }
    ids.push_back(*id);
    start = comma + 1;
  }
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

// A command line before its values are understood.
struct Raw {
  std::string preset = "quick";
  std::string gpus;
  std::string nodes;
  std::string shard;
  std::string min_bytes;
  std::string max_bytes;
  std::string max_time;
  std::string resume_dir;
  std::string environment;
  std::string context;
  std::string time_unit;
  double ci_target = 0;
  int repetitions = 0;
  bool list = false;
  bool plan = false;
  bool no_wait = false;
  bool aggregates_only = false;
  bool display_aggregates_only = false;
  bool tabular = false;
  int verbosity = 0;
};

void describe_selection(CLI::App& app, Options& options, Raw& raw) {
  const auto group = "What is run";
  app.add_option("--benchmark_filter", options.filter,
                 "Regular expression that a case's name must contain; a leading - turns it round")
      ->group(group);
  app.add_option("--preset", raw.preset, "smoke, quick (the default), full, paper or acceptance")
      ->group(group);
  app.add_option("--gpu", raw.gpus, "GPUs: 0, or 0,1, or all")->group(group);
  app.add_option("--numa", raw.nodes, "NUMA nodes: 0, or 0,1, or all")->group(group);
  app.add_option("--shard", raw.shard, "Run the i-th of n equal parts: i/n")->group(group);
  app.add_option("--min-bytes", raw.min_bytes, "Smallest size, e.g. 64KiB")->group(group);
  app.add_option("--max-bytes", raw.max_bytes, "Largest size, e.g. 4GiB")->group(group);
  app.add_option("--ci-target", raw.ci_target,
                 "Half-width of the 95 % interval to reach, over the median, e.g. 0.01")
      ->group(group);
  app.add_option("--benchmark_repetitions", raw.repetitions, "Sessions of every case, each with new buffers")
      ->group(group);
  app.add_flag("--allow-managed-oversubscription", options.allow_managed_oversubscription,
               "Lift the cap of a quarter of the card's free memory on managed memory. That can hang a GPU, "
               "also for others who share it: only for someone who owns the machine")
      ->group(group);
}

void describe_running(CLI::App& app, Options& options, Raw& raw) {
  const auto group = "How it is run";
  app.add_option("--out", options.out_dir, "Directory for journal.jsonl and result.json")->group(group);
  app.add_option("--resume", raw.resume_dir, "Continue the unfinished run in a directory")->group(group);
  app.add_option("--max-time", raw.max_time, "Start no case after this time, e.g. 10m; --resume goes on")
      ->group(group);
  app.add_flag("--no-wait", raw.no_wait, "Do not wait for a GPU that another run holds: exit with 3")
      ->group(group);
}

void describe_looking(CLI::App& app, Options& options, Raw& raw) {
  const auto group = "Instead of running";
  app.add_flag("--benchmark_list_tests", raw.list, "Print the names of the cases that would run")
      ->group(group);
  app.add_flag("--plan", raw.plan, "Print how many cases, how long, how much memory, what is skipped and why")
      ->group(group);
  app.add_option("--explain", options.explain_case,
                 "Print what a case measures, times and counts, and its source")
      ->group(group);
  app.add_option("--env", raw.environment, "Print the machine report: text or json")
      ->expected(0, 1)
      ->default_str("text")
      ->group(group);
}

void describe_output(CLI::App& app, Options& options, Raw& raw) {
  const auto group = "Google Benchmark's output flags";
  app.add_option("--benchmark_format", options.display_format, "On stdout: console, json or csv")
      ->group(group);
  app.add_option("--benchmark_out", options.file_out, "Also write Google Benchmark's output to a file")
      ->group(group);
  app.add_option("--benchmark_out_format", options.file_format, "In that file: json, csv or console")
      ->group(group);
  app.add_option("--benchmark_context", raw.context, "key=value,… for the context of the output")
      ->group(group);
  app.add_option("--benchmark_color", options.color, "auto, true or false; NO_COLOR is honoured")
      ->group(group);
  app.add_option("--benchmark_time_unit", raw.time_unit, "ns, us, ms or s for Google Benchmark's output")
      ->group(group);
  app.add_flag("--benchmark_report_aggregates_only", raw.aggregates_only, "Of repetitions, aggregates alone")
      ->group(group);
  app.add_flag("--benchmark_display_aggregates_only", raw.display_aggregates_only, "The same, on stdout only")
      ->group(group);
  app.add_flag("--benchmark_counters_tabular", raw.tabular, "Accepted: the table always has columns")
      ->group(group);
  app.add_option("--v", raw.verbosity, "Google Benchmark's verbosity")->group(group);
}

void require_one_of(const std::string& value, std::initializer_list<const char*> allowed, const char* flag) {
  if (std::none_of(allowed.begin(), allowed.end(), [&](const char* one) { return value == one; })) {
    std::string list;
    for (const char* one : allowed) {
      list += (list.empty() ? "" : ", ") + std::string(one);
    }
    throw UsageError(std::string(flag) + " " + value + " is not known; there are " + list);
  }
}

void understand_output(const CLI::App& app, Options& options, const Raw& raw) {
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
  hand_on(app.count("--v") > 0, "--v=" + std::to_string(raw.verbosity));
  if (!raw.time_unit.empty()) {
    require_one_of(raw.time_unit, {"ns", "us", "ms", "s"}, "--benchmark_time_unit");
  }
}

void understand_selection(const CLI::App& app, Options& options, const Raw& raw) {
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
  if (app.count("--ci-target") > 0) {
    if (!(raw.ci_target > 0 && raw.ci_target < 1)) {
      throw UsageError("--ci-target must lie between 0 and 1, e.g. 0.02 for 2 %");
    }
    options.ci_target = raw.ci_target;
  }
  if (app.count("--benchmark_repetitions") > 0) {
    if (raw.repetitions < 1) {
      throw UsageError("--benchmark_repetitions must be at least 1");
    }
    options.repetitions = raw.repetitions;
  }
}

// The flags that say what is run, as given: what a journal keeps so that --resume runs the same.
std::vector<std::string> selection_flags(const CLI::App& app) {
  std::vector<std::string> flags;
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group() != "What is run" || option->count() == 0) {
      continue;
    }
    flags.push_back(option->get_name() + "=" + option->results().back());
  }
  return flags;
}

void choose_action(const CLI::App& app, Options& options, const Raw& raw) {
  const int asked =
      int{raw.list} + int{raw.plan} + int{!options.explain_case.empty()} + int{app.count("--env") > 0};
  if (asked > 1) {
    throw UsageError("--benchmark_list_tests, --plan, --explain and --env exclude each other");
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
  Raw raw;
  CLI::App app{
      "GrainScope measures how fast data reaches a GPU at every grain. It runs the cases that a filter "
      "picks\n"
      "and prints a row for each; --out keeps everything for grainscope-report.\n\n"
      "Exit status: 0 all ran or were skipped for a reason, 1 something failed, 2 usage, 3 the machine\n"
      "forbids what was asked, 130 or 143 interrupted.",
      "grainscope"};
  app.set_help_flag("-h,--help", "Print this and exit");
  bool version = false;
  app.add_flag("--version", version, "Print versions and exit");
  describe_selection(app, options, raw);
  describe_running(app, options, raw);
  describe_looking(app, options, raw);
  describe_output(app, options, raw);
  // CLI11 takes the words from the back, and an empty filter for a missing one.
  std::vector<std::string> words(arguments.rbegin(), arguments.rend());
  std::erase(words, "--benchmark_filter=");
  try {
    app.parse(std::move(words));
  } catch (const CLI::CallForHelp&) {
    throw HelpRequested{app.help()};
  } catch (const CLI::ParseError& error) {
    throw UsageError(std::string(error.what()) + "; see `grainscope --help`");
  }
  if (version) {
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
  if (!raw.resume_dir.empty()) {
    if (!options.out_dir.empty() || !options.selection_flags.empty()) {
      throw UsageError(
          "--resume runs what the unfinished run was asked for: give it no --out and no flag that "
          "says what is run");
    }
    options.resume = true;
    options.out_dir = raw.resume_dir;
  }
  return options;
}

}  // namespace grainscope::harness
