#include "option_flags.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>
#include <utility>

#include "grainscope/core/error.hpp"
#include "grainscope/core/units.hpp"
#include "option_values.hpp"
#include "question.hpp"
#include "screen.hpp"

namespace grainscope::harness {
namespace {

// The group of the flags that a journal keeps.
constexpr const char* kWhatIsRun = "What is run";

constexpr const char* kHowItIsRun = "How it is run";
constexpr const char* kInsteadOfRunning = "Instead of running";
constexpr const char* kOutput = "Google Benchmark's output flags";

// Of the groups that the short help shows, the flags that few need.
constexpr std::array kRare{"--shard",      "--ci-target", "--one-process", "--features",
                           "--hot-budget", "--trials",    "--graph-cache", "--allow-managed-oversubscription",
                           "--no-wait"};
constexpr std::size_t kHelpWidth = 100;
constexpr std::size_t kHelpIndent = 27;

// An empty one picks everything.
constexpr const char* kFilter = "--benchmark_filter";

// Google Benchmark's flags that would change what a sampling session decides for itself.
constexpr std::array<std::pair<const char*, const char*>, 5> kRefused{{
    {"--benchmark_min_time",
     "a visit samples until its interval is narrow enough: use --ci-target or a larger --preset"},
    {"--benchmark_min_warmup_time", "every visit warms up by itself"},
    {"--benchmark_enable_random_interleaving",
     "several visits come in an order of their own: use --benchmark_repetitions"},
    {"--benchmark_perf_counters", "run the program under `perf stat` instead"},
    {"--benchmark_dry_run", "use --plan, or --preset smoke"},
}};

void describe_selection(CLI::App& app, Options& options, RawOptions& raw) {
  const auto group = kWhatIsRun;
  app.add_option(kFilter, options.filter,
                 "Regular expression that a case's name must contain; a leading - turns it round")
      ->group(group);
  app.add_option(kAskFlag, options.question,
                 "What words ask for, as `grainscope ask` takes them: 'h2d pinned 64MiB'")
      ->group(group);
  app.add_option("--preset", raw.preset, "smoke, quick (the default), full, paper or acceptance")
      ->group(group);
  app.add_option("--axis", raw.axes,
                 "Values in place of the preset's on an axis of every family that has it: bytes=4KiB,1MiB or "
                 "bytes=4KiB..x4..1GiB; --explain FAMILY tells its axes; may be given several times")
      ->group(group)
      ->allow_extra_args(false);
  app.add_option("--gpu", raw.gpus, "GPUs: 0, or 0,1, or all")->group(group);
  app.add_option("--numa", raw.nodes, "NUMA nodes: 0, or 0,1, or all")->group(group);
  app.add_option("--shard", raw.shard, "Run the i-th of n equal parts: i/n")->group(group);
  app.add_option("--min-bytes", raw.min_bytes, "Smallest size, e.g. 64KiB")->group(group);
  app.add_option("--max-bytes", raw.max_bytes, "Largest size, e.g. 4GiB")->group(group);
  app.add_option("--ci-target", raw.ci_target,
                 "Half-width of the 95 % interval to reach, over the median, e.g. 0.01")
      ->group(group);
  app.add_option("--benchmark_repetitions", raw.visits,
                 "Visits to every case, spread over the run, each from a process and with buffers of its own")
      ->group(group);
  app.add_flag("--one-process", options.one_process,
               "All visits from one process: for profilers, and to see how far processes differ")
      ->group(group);
  app.add_option(
         "--graph", raw.graphs,
         "Graphs to traverse: kron:24, urand:24 or kron:24:8 (degree 8), dense:17, web:20, power, pgp, "
         "file:PATH; several by commas")
      ->group(group);
  app.add_option(
         "--features", raw.features,
         "Feature table of --graph's one graph for pipeline/graphsage and sampled gathers: a .npy file "
         "of float32 or float16 with a row for each vertex")
      ->group(group);
  app.add_option("--trials", raw.trials, "Sources that a traversal is run from; 64 in paper")->group(group);
  app.add_option("--hot-budget", raw.hot_budgets,
                 "GPU memory for edges in lean/, beside the preset's shares of the edge list, e.g. 2GiB; "
                 "several by commas")
      ->group(group);
  app.add_option("--transfer", raw.transfers,
                 "Run what is written and nothing else, e.g. 'host(pinned) -> gpu:0 by copy_engine, 64KiB'; "
                 "may be given several times; --help=transfers")
      ->allow_extra_args(false)
      ->group(group);
  app.add_flag("--allow-managed-oversubscription", options.allow_managed_oversubscription,
               "Lift the cap of a quarter of the card's free memory on managed memory. That can hang a GPU, "
               "also for others who share it: only for someone who owns the machine")
      ->group(group);
}

void describe_running(CLI::App& app, Options& options, RawOptions& raw) {
  const auto group = kHowItIsRun;
  app.add_option("--out", options.out_dir, "Directory for journal.jsonl and result.json")->group(group);
  app.add_option("--resume", raw.resume_dir, "Continue the unfinished run in a directory")->group(group);
  app.add_option("--graph-cache", options.graph_cache,
                 "Directory that keeps generated graphs; without it they are made again in each run")
      ->group(group);
  app.add_option("--max-time", raw.max_time, "Start no case after this time, e.g. 10m; --resume goes on")
      ->group(group);
  app.add_flag("--no-wait", raw.no_wait, "Do not wait for a GPU that another run holds: exit with 3")
      ->group(group);
}

void describe_looking(CLI::App& app, Options& options, RawOptions& raw) {
  const auto group = kInsteadOfRunning;
  app.add_flag("--benchmark_list_tests", raw.list, "Print the names of the cases that would run")
      ->group(group);
  app.add_flag("--plan", raw.plan, "Print how many cases, how long, how much memory, what is skipped and why")
      ->group(group);
  app.add_option("--explain", options.explain_case,
                 "Print what a case measures, times and counts, and its source; of a family, its axes")
      ->group(group);
  app.add_option("--families", raw.families,
                 "Print the families and their questions: all, those that words ask for, or json with axes "
                 "and presets")
      ->expected(0, 1)
      ->default_str("text")
      ->group(group);
  app.add_option("--env", raw.environment, "Print the machine report: text or json")
      ->expected(0, 1)
      ->default_str("text")
      ->group(group);
  app.add_flag("--version", raw.version, "Print versions and exit")->group(group);
  app.add_option("-h,--help", raw.help,
                 "Print this, or --help=all, or a group of flags: run, output, transfers")
      ->expected(0, 1)
      ->group(group);
}

void describe_output(CLI::App& app, Options& options, RawOptions& raw) {
  const auto group = kOutput;
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
  app.add_flag("--benchmark_report_aggregates_only", raw.aggregates_only,
               "Of several visits, aggregates alone")
      ->group(group);
  app.add_flag("--benchmark_display_aggregates_only", raw.display_aggregates_only, "The same, on stdout only")
      ->group(group);
  app.add_flag("--benchmark_counters_tabular", raw.tabular, "Accepted: the table always has columns")
      ->group(group);
  app.add_option("--v", options.verbosity, "1: whole names in the table, whole lists in --plan")
      ->group(group);
}

}  // namespace

void refuse_what_cannot_be_honoured(const std::vector<std::string>& arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    // The parser would take the next word for the value, or go on without it.
    if (argument.empty() && (i == 0 || arguments[i - 1] != kFilter)) {
      throw UsageError((i == 0 ? "the first word" : "the word after " + arguments[i - 1]) +
                       " is empty: is it of a variable that is not set?");
    }
    if (argument.starts_with("--") && argument.ends_with('=') && argument != std::string(kFilter) + "=") {
      throw UsageError(argument + " has no value: is it of a variable that is not set?");
    }
    for (const auto& [flag, instead] : kRefused) {
      const std::string_view name(flag);
      if (argument == name || argument.starts_with(std::string(name) + "=")) {
        throw UsageError(std::string(name) + " cannot be honoured: " + instead);
      }
    }
  }
}

void describe_flags(CLI::App& app, Options& options, RawOptions& raw) {
  app.set_help_flag("");  // see help_text
  describe_selection(app, options, raw);
  describe_running(app, options, raw);
  describe_looking(app, options, raw);
  describe_output(app, options, raw);
}

namespace {

std::string options_text(const CLI::App& app, const char* group, bool whole) {
  std::string text = std::string("\n") + group + "\n";
  for (const CLI::Option* option : app.get_options()) {
    const std::string name = option->get_name();
    const bool rare = std::find(kRare.begin(), kRare.end(), name) != kRare.end();
    if (option->get_group() == group && (whole || !rare)) {
      std::string label = "  " + name;
      if (label.size() + 2 > kHelpIndent) {
        text += label + "\n";
        label.clear();
      }
      text += wrapped(label, option->get_description(), kHelpIndent, kHelpWidth);
    }
  }
  return text;
}

constexpr const char* kHelpBegin =
    "GrainScope measures how fast data reaches a GPU at every grain. A filter picks the cases to run.\n"
    "\n"
    "  grainscope --plan                  what would run, how long it takes, what is skipped and why\n"
    "  grainscope --out run1              the preset quick; the result is run1/result.json\n"
    "  grainscope --benchmark_filter=transfer/memcpy --max-bytes=64MiB\n"
    "                                     some cases, some sizes\n"
    "\n"
    "  grainscope ask h2d pinned 64MiB    runs what words ask for: grainscope ask --help\n"
    "  grainscope repeat 3 --out DIR      runs three times: what runs of this machine differ by\n"
    "  grainscope graph --help            describes, converts and keeps graphs\n";

constexpr const char* kHelpEnd =
    "\n"
    "Exit status: 0 all ran or were skipped for a reason, 1 something failed, 2 usage, 3 the machine\n"
    "forbids what was asked, 130 or 143 interrupted.\n";

}  // namespace

std::string help_text(const CLI::App& app, const std::string& topic) {
  const std::string run = options_text(app, kWhatIsRun, true) + options_text(app, kHowItIsRun, true);
  const std::string output = options_text(app, kOutput, true);
  const std::string transfers = std::string("\n") + transfer::written_grammar();
  if (topic.empty()) {
    return kHelpBegin + options_text(app, kWhatIsRun, false) + options_text(app, kHowItIsRun, false) +
           options_text(app, kInsteadOfRunning, true) + kHelpEnd;
  }
  if (topic == "all") {
    return kHelpBegin + run + options_text(app, kInsteadOfRunning, true) + output + kHelpEnd + transfers;
  }
  require_one_of(topic, {"all", "run", "output", "transfers"}, "--help");
  return (topic == "run" ? run : topic == "output" ? output : transfers).substr(1);
}

std::string not_a_flag(const CLI::App& app, const std::string& word) {
  const bool flag = word.starts_with('-');
  std::vector<std::string> known{"ask", "graph", "repeat"};
  if (flag) {
    known.clear();
    for (const CLI::Option* option : app.get_options()) {
      known.push_back(option->get_name());
    }
  }
  const std::string name = word.substr(0, word.find('='));
  const std::string near = nearest(name, known);
  std::string text = name + (flag ? " is not a flag" : " is neither a flag nor a command");
  return text + (near.empty() ? "; see" : "; did you mean " + near + "? See") + " `grainscope --help`";
}

namespace {

// Of files by their whole paths: a run may go on from another folder.
std::string wherever_it_runs(const std::string& flag, const std::string& value) {
  if (flag == "--features") {
    return std::filesystem::absolute(value).string();
  }
  if (flag != "--graph") {
    return value;
  }
  const std::string file = "file:";
  std::string graphs;
  for (const std::string& name : by_commas(value)) {
    graphs += graphs.empty() ? "" : ",";
    graphs +=
        name.starts_with(file) ? file + std::filesystem::absolute(name.substr(file.size())).string() : name;
  }
  return graphs;
}

}  // namespace

std::vector<std::string> selection_flags(const CLI::App& app) {
  std::vector<std::string> flags;
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group() != kWhatIsRun || option->count() == 0) {
      continue;
    }
    for (const std::string& value : option->results()) {
      flags.push_back(option->get_name() + "=" + wherever_it_runs(option->get_name(), value));
    }
  }
  return flags;
}

}  // namespace grainscope::harness
