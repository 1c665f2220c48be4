// The table of flags: their names, their texts, and where what they are given goes.

#include "options.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "build_info.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/core/units.hpp"
#include "question.hpp"
#include "screen.hpp"

namespace grainscope::harness {

// A command line before its values are understood.
struct RawOptions {
  std::string preset = "quick";
  std::string gpus;
  std::string nodes;
  std::string shard;
  std::string min_bytes;
  std::string max_bytes;
  std::string graphs;
  std::string features;
  std::string labels;
  std::string train_ids;
  std::string hot_budgets;
  std::string gpu_memory;
  std::vector<std::string> axes;
  std::vector<std::string> transfers;
  std::string max_time;
  std::string rank_timeout;
  std::string resume_dir;
  std::string environment;
  std::string families;
  std::string context;
  std::string time_unit;
  std::string help;
  double ci_target = 0;
  int visits = 0;
  int trials = 0;
  bool version = false;
  bool full = false;
  bool list = false;
  bool plan = false;
  bool no_wait = false;
  bool aggregates_only = false;
  bool display_aggregates_only = false;
  bool tabular = false;
};

// Throws UsageError, with what to use instead, for a flag of Google Benchmark that would change what a
// sampling session decides for itself.
void refuse_what_cannot_be_honoured(const std::vector<std::string>& arguments);

// The help: what is asked for most, within a screen; or `topic`: a group of flags, or all. Throws UsageError,
// with the topics, for another one.
[[nodiscard]] std::string help_text(const CLI::App& app, const std::string& topic);

// What to say of words that are no flags: which flag, or command, is meant.
[[nodiscard]] std::string not_a_flag(const CLI::App& app, const std::string& word);

// Adds every flag to `app`, which fills `options` and `raw` when it parses.
void describe_flags(CLI::App& app, Options& options, RawOptions& raw);

// The flags that say what is run, as they were given: what a journal keeps so that --resume runs the same.
[[nodiscard]] std::vector<std::string> selection_flags(const CLI::App& app);

namespace {

template <class Number>
std::optional<Number> parse_whole(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) {
    return std::nullopt;
  }
  return number;
}

}  // namespace

std::vector<std::string> by_commas(const std::string& text) {
  std::vector<std::string> words;
  std::size_t start = 0;
  while (start <= text.size()) {
    const auto comma = std::min(text.find(',', start), text.size());
    words.push_back(text.substr(start, comma - start));
    start = comma + 1;
  }
  return words;
}

// Orders of all rounds are made before the first.
constexpr int kMostVisits = 10000;

constexpr int kMostShards = 10000;  // each has a plan, and every case is tried in all of them

constexpr const char* kGraphAxis = "graph";

std::pair<int, int> parse_shard(const std::string& text) {
  const auto slash = text.find('/');
  if (slash != std::string::npos) {
    const auto index = parse_whole<int>(std::string_view(text).substr(0, slash));
    const auto count = parse_whole<int>(std::string_view(text).substr(slash + 1));
    if (index && count && *index >= 1 && *index <= *count && *count <= kMostShards) {
      return {*index, *count};
    }
  }
  throw UsageError("--shard " + text + " is not a part of a whole: write i/n with 1 <= i <= n <= " +
                   std::to_string(kMostShards) + ", e.g. 2/4");
}

double parse_duration_s(const std::string& text, const char* flag) {
  double number = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view unit(rest, static_cast<std::size_t>(text.data() + text.size() - rest));
  const double factor = unit.empty() || unit == "s"    ? 1
                        : unit == "m" || unit == "min" ? 60
                        : unit == "h"                  ? 3600
                                                       : 0;
  if (error != std::errc{} || factor == 0 || !(number > 0) || !std::isfinite(number)) {
    throw UsageError(std::string(flag) + " " + text + " is not a time: write e.g. 90s, 10m or 1h");
  }
  return number * factor;
}

std::vector<int> parse_ids(const std::string& text, const char* flag) {
  std::vector<int> ids;
  for (const std::string& word : text == "all" ? std::vector<std::string>() : by_commas(text)) {
    const auto id = parse_whole<int>(word);
    if (!id || *id < 0) {
      throw UsageError(std::string(flag) + " " + text + " names no such thing: write e.g. 0, 0,1 or all");
    }
    ids.push_back(*id);
  }
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

std::vector<std::uint64_t> parse_sizes(const std::string& text, const char* flag) {
  std::set<std::uint64_t> sizes;
  for (const std::string& word : by_commas(text)) {
    const std::uint64_t size = parse_bytes(word);
    if (size == 0 || size > static_cast<std::uint64_t>(INT64_MAX)) {
      throw UsageError(std::string(flag) + " " + text +
                       ": a size must be above 0 and below 8 EiB, e.g. 2GiB");
    }
    sizes.insert(size);
  }
  return {sizes.begin(), sizes.end()};
}

std::vector<graph::GraphSpec> parse_graphs(const std::string& text) {
  std::vector<graph::GraphSpec> graphs;
  for (const std::string& word : by_commas(text)) {
    graph::GraphSpec spec = graph::parse_graph_spec(word);
    const bool again = std::any_of(graphs.begin(), graphs.end(), [&](const graph::GraphSpec& other) {
      return other.name() == spec.name();
    });
    if (again) {
      throw UsageError("--graph " + text + " names " + spec.name() +
                       " twice: results could not be told apart");
    }
    graphs.push_back(std::move(spec));
  }
  return graphs;
}

std::vector<std::pair<std::string, std::string>> parse_axes(const std::vector<std::string>& given) {
  std::vector<std::pair<std::string, std::string>> axes;
  for (const std::string& text : given) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
      throw UsageError("--axis '" + text + "' gives no axis values: write e.g. --axis bytes=4KiB,1MiB");
    }
    const std::string key = text.substr(0, equals);
    const std::vector<std::string> values = by_commas(text.substr(equals + 1));
    if (std::find(values.begin(), values.end(), "") != values.end()) {
      const std::string& first = values.front();
      throw UsageError(std::string("--axis ").append(text).append(" has an empty value: write e.g. --axis ") +
                       key + "=" + (first.empty() ? "A,B" : first));
    }
    if (std::set<std::string>(values.begin(), values.end()).size() < values.size()) {
      throw UsageError(std::string("--axis ").append(text).append(" gives a value twice: name each once"));
    }
    for (const auto& [known, there] : axes) {
      if (known == key) {
        std::string message = "--axis ";
        message.append(key).append(" is given twice: write --axis ").append(key).append("=").append(there);
        message.append(",").append(text, equals + 1);
        throw UsageError(message.append(", or one of them where a run takes one value"));
      }
    }
    axes.emplace_back(key, text.substr(equals + 1));
  }
  return axes;
}

std::vector<transfer::WrittenLanes> parse_transfers(const std::string& line) {
  try {
    return transfer::parse_written(line);
  } catch (const UsageError& error) {
    throw UsageError("--transfer '" + line + "': " + error.what());
  }
}

void require_one_of(const std::string& value, std::initializer_list<const char*> allowed, const char* flag) {
  if (std::none_of(allowed.begin(), allowed.end(), [&](const char* one) { return value == one; })) {
    std::string list;
    for (const char* one : allowed) {
      list += (list.empty() ? "" : ", ") + std::string(one);
    }
    const std::string near = nearest(value, {allowed.begin(), allowed.end()});
    throw UsageError(std::string(flag) + " " + value + " is not known; " +
                     (near.empty() ? "" : "did you mean " + near + "? ") + "there are " + list);
  }
}

namespace {

// The group of the flags that a journal keeps.
constexpr const char* kWhatIsRun = "What is run";

constexpr const char* kHowItIsRun = "How it is run";
constexpr const char* kInsteadOfRunning = "Instead of running";
constexpr const char* kOutput = "Google Benchmark's output flags";

// Of the groups that the short help shows, the flags that few need.
constexpr std::array kRare{"--ask",         "--numa",         "--shard",
                           "--ci-target",   "--power",        "--one-process",
                           "--features",    "--labels",       "--train-ids",
                           "--hot-budget",  "--trials",       "--transfer",
                           "--graph-cache", "--gpu-memory",   "--no-wait",
                           "--ranks",       "--rank-timeout", "--allow-managed-oversubscription"};
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

}  // namespace

void require_no_ranks(const Options& options) {
  if (options.gpu_memory && !options.ranks.empty()) {
    throw UsageError(
        "--gpu-memory is of one process: the collectives that --ranks runs take little of a GPU's memory, so "
        "leave it out");
  }
}

namespace {

void describe_selection(CLI::App& app, Options& options, RawOptions& raw) {
  const auto group = kWhatIsRun;
  app.add_option(kFilter, options.filter,
                 "Regular expression found in a case's name; a leading - turns it round")
      ->group(group);
  app.add_option(kAskFlag, options.question,
                 "What words ask for, as `grainscope ask` takes them: 'h2d pinned 64MiB'")
      ->group(group);
  app.add_option("--preset", raw.preset, "smoke, quick (the default), full, paper or acceptance")
      ->group(group);
  app.add_option("--axis", raw.axes,
                 "Values in place of the preset's, in every family with the axis: bytes=4KiB,1MiB or "
                 "bytes=4KiB..x4..1GiB; may be given several times")
      ->group(group)
      ->allow_extra_args(false);
  app.add_option("--gpu", raw.gpus, "GPUs: 0, or 0,1, or all")->group(group);
  app.add_option("--numa", raw.nodes, "NUMA nodes: 0, or 0,1, or all")->group(group);
  app.add_option("--shard", raw.shard, "Run the i-th of n parts that take about equally long: i/n")
      ->group(group);
  app.add_option("--min-bytes", raw.min_bytes, "Smallest size, e.g. 64KiB")->group(group);
  app.add_option("--max-bytes", raw.max_bytes, "Largest size, e.g. 4GiB")->group(group);
  app.add_option("--ci-target", raw.ci_target,
                 "Half-width of the 95 % interval to reach, over the median, e.g. 0.01")
      ->group(group);
  app.add_option("--benchmark_repetitions", raw.visits,
                 "Visits to every case, spread over the run, each from a new process")
      ->group(group);
  app.add_flag("--power", options.power,
               "Read the power of a GPU's board, too, for which each visit to a case on one GPU goes on "
               "for 0.4 s")
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
  app.add_option(
         "--labels", raw.labels,
         "Labels of --graph's one graph for tiering/score, pipeline/graphsage and sampled gathers, which "
         "train on vertices that have one: a line or an element of a .npy for each vertex, -1 or nan: none")
      ->group(group);
  app.add_option("--train-ids", raw.train_ids,
                 "Vertices of that graph to train on, all of them: one a line, or a .npy of whole numbers")
      ->group(group);
  app.add_option("--trials", raw.trials,
                 "Sources that a traversal is run from; 64 in paper, where it takes long as few as 8")
      ->group(group);
  app.add_option("--hot-budget", raw.hot_budgets,
                 "GPU memory for edges in lean/, beside the preset's shares of the edge list, e.g. 2GiB; "
                 "several by commas")
      ->group(group);
  app.add_option("--gpu-memory", raw.gpu_memory,
                 "Memory that each GPU is to have, e.g. 16GiB: the rest is held, as if the card were smaller")
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
  app.add_option("--max-time", raw.max_time,
                 "Start no case that would end later by the plan: 10m; --resume goes on")
      ->group(group);
  app.add_option(
         "--ranks", options.ranks,
         "For one process a GPU, started by torchrun, mpirun or srun: where they meet. env (MASTER_ADDR "
         "and MASTER_PORT; srun needs neither), HOST:PORT, or a file that all see")
      ->group(group);
  app.add_option("--rank-timeout", raw.rank_timeout,
                 "How long ranks wait for each other before they name the one that is missing: 60s")
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
                 "Print what a case measures, and its source; of a family, its axes")
      ->group(group);
  app.add_option("--families", raw.families,
                 "Print families and their questions: all, those that words ask for, or json")
      ->expected(0, 1)
      ->default_str("text")
      ->group(group);
  app.add_option("--env", raw.environment, "Print the machine report: text or json")
      ->expected(0, 1)
      ->default_str("text")
      ->group(group);
  app.add_flag("--full", raw.full, "All of it, where --env, --families or --plan shows one screen")
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
  app.add_option("--v", options.verbosity, "1: whole names in the table; of what is shown instead, --full")
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
    "  grainscope --benchmark_filter=peer some of its cases\n"
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
  if (flag == "--features" || flag == "--labels" || flag == "--train-ids") {
    return std::filesystem::absolute(value).string();
  }
  const std::string of_graphs = std::string(kGraphAxis) + "=";
  if (flag == "--axis" && value.starts_with(of_graphs)) {
    return of_graphs + wherever_it_runs("--graph", value.substr(of_graphs.size()));
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

namespace {

// What is run goes into the journal and the result file, whose text is UTF-8.
void require_text(const std::vector<std::string>& flags) {
  for (const std::string& flag : flags) {
    try {
      static_cast<void>(nlohmann::json(flag).dump());
    } catch (const nlohmann::json::type_error&) {
      const std::string shown =
          nlohmann::json(flag).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
      throw UsageError(
          shown +
          " is not UTF-8 text, which result files are in: write it otherwise; if it names a file, "
          "rename the file, or make a link to it with another name");
    }
  }
}

// Google Benchmark says of what it cannot read that it does not know the flag.
void require_context(const std::string& context) {
  require_text({"--benchmark_context=" + context});
  if (std::any_of(context.begin(), context.end(),
                  [](unsigned char letter) { return std::iscntrl(letter) != 0; })) {
    throw UsageError(
        "--benchmark_context: a control character is in it, which Google Benchmark cannot write");
  }
  for (const std::string& pair : context.empty() ? std::vector<std::string>() : by_commas(context)) {
    const std::size_t sign = pair.find('=');
    if (sign == std::string::npos || sign == 0 || pair.find('=', sign + 1) != std::string::npos) {
      throw UsageError("--benchmark_context " + context + ": write KEY=VALUE, several by commas");
    }
  }
}

void understand_output(const CLI::App& app, Options& options, const RawOptions& raw) {
  require_one_of(options.display_format, {"console", "json", "csv"}, "--benchmark_format");
  require_one_of(options.file_format, {"json", "csv", "console"}, "--benchmark_out_format");
  if (app.count("--benchmark_out_format") > 0 && options.file_out.empty()) {
    throw UsageError("--benchmark_out_format is of --benchmark_out, which names the file");
  }
  if (options.color == "yes" || options.color == "1") {
    options.color = "true";
  }
  require_one_of(options.color, {"auto", "true", "false", "no", "0"}, "--benchmark_color");
  const auto hand_on = [&](bool given, const std::string& flag) {
    if (given) {
      options.library_flags.push_back(flag);
    }
  };
  require_context(raw.context);
  hand_on(!raw.context.empty(), "--benchmark_context=" + raw.context);
  hand_on(!raw.time_unit.empty(), "--benchmark_time_unit=" + raw.time_unit);
  options.file_aggregates_only = raw.aggregates_only;
  options.display_aggregates_only = raw.aggregates_only || raw.display_aggregates_only;
  hand_on(app.count("--v") > 0, "--v=" + std::to_string(options.verbosity));
  if (!raw.time_unit.empty()) {
    require_one_of(raw.time_unit, {"ns", "us", "ms", "s"}, "--benchmark_time_unit");
  }
}

// The path of a file that says something of each vertex of --graph's one graph.
std::string of_one_graph(const CLI::App& app, const Options& options, const std::string& flag,
                         const std::string& path, const std::string& says) {
  if (app.count(flag) > 0 && options.graphs.size() != 1) {
    throw UsageError(flag + " " + path + " " + says +
                     " of one graph: name it by --graph, e.g. --graph file:PATH");
  }
  return path;
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
  if (!raw.gpu_memory.empty()) {
    const std::vector<std::uint64_t> sizes = parse_sizes(raw.gpu_memory, "--gpu-memory");
    if (sizes.size() > 1) {
      throw UsageError("--gpu-memory " + raw.gpu_memory +
                       " names several sizes: it takes one, for every GPU");
    }
    options.gpu_memory = sizes.front();
  }
  require_no_ranks(options);
  options.axes = parse_axes(raw.axes);
  for (const std::string& line : raw.transfers) {
    const auto written = parse_transfers(line);
    options.transfers.insert(options.transfers.end(), written.begin(), written.end());
  }
  if (!options.transfers.empty() && (app.count("--gpu") > 0 || app.count("--numa") > 0)) {
    throw UsageError("--transfer says which GPUs and nodes: leave out --gpu and --numa");
  }
  if (!options.transfers.empty() && !(raw.axes.empty() && raw.graphs.empty())) {
    throw UsageError("--transfer says all of what moves: leave out --axis and --graph");
  }
  const auto has_axis = [&](const char* key) {
    return std::any_of(options.axes.begin(), options.axes.end(),
                       [&](const auto& axis) { return axis.first == key; });
  };
  if (has_axis(kGraphAxis) && !raw.graphs.empty()) {
    throw UsageError("--graph and --axis both give values of graph: leave one out");
  }
  if (has_axis("gpu") && app.count("--gpu") > 0) {
    throw UsageError("--gpu names the GPUs, all of which are taken: leave out --axis gpu");
  }
  if (!raw.graphs.empty()) {
    options.graphs = parse_graphs(raw.graphs);
  }
  // As --graph, which looks after its files.
  std::erase_if(options.axes, [&](const auto& axis) {
    if (axis.first != kGraphAxis) {
      return false;
    }
    options.graphs = parse_graphs(axis.second);
    return true;
  });
  options.features = of_one_graph(app, options, "--features", raw.features, "has a row for each vertex");
  options.labels = of_one_graph(app, options, "--labels", raw.labels, "has a label for each vertex");
  options.train_ids = of_one_graph(app, options, "--train-ids", raw.train_ids, "names vertices");
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
    if (raw.visits < 1 || raw.visits > kMostVisits) {
      throw UsageError("--benchmark_repetitions must lie between 1 and " + std::to_string(kMostVisits));
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
  if (raw.full && options.action == Action::run) {
    throw UsageError(
        "--full shows all of what --env, --families or --plan says; for whole names in the table of a run "
        "give "
        "--v=1, for more cases --preset full");
  }
  options.verbosity = std::max(options.verbosity, int{raw.full});
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
    if (word == "-h" || word == "--help") {
      throw HelpRequested{help_text(app, "")};
    }
    for (const std::string topic : {"-h=", "--help="}) {
      if (word.starts_with(topic)) {
        throw HelpRequested{help_text(app, word.substr(topic.size()))};
      }
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
  if (app.count("--help") > 0) {
    throw HelpRequested{help_text(app, raw.help)};  // -hall
  }
  if (raw.version) {
    throw HelpRequested{version_text()};
  }
  understand_selection(app, options, raw);
  understand_output(app, options, raw);
  choose_action(app, options, raw);
  if (!raw.max_time.empty()) {
    options.max_time_s = parse_duration_s(raw.max_time, "--max-time");
  }
  if (!raw.rank_timeout.empty()) {
    options.rank_timeout_s = parse_duration_s(raw.rank_timeout, "--rank-timeout");
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
