#ifndef GRAINSCOPE_BENCHMARKS_HARNESS_OPTIONS_HPP
#define GRAINSCOPE_BENCHMARKS_HARNESS_OPTIONS_HPP

// The flags, understood: their values one by one, and all of them together. What cannot be understood throws
// UsageError, with what to write instead.

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "grainscope/graph/generate.hpp"
#include "grainscope/transfer/written.hpp"
#include "machine.hpp"

namespace grainscope::harness {

// The words between commas: at least one, which may be empty.
[[nodiscard]] std::vector<std::string> by_commas(const std::string& text);

// "i/n" with 1 <= i <= n.
[[nodiscard]] std::pair<int, int> parse_shard(const std::string& text);

// "90", "90s", "10m", "1h" to seconds.
[[nodiscard]] double parse_duration_s(const std::string& text, const char* flag);

// "0,2,1" to numbers in order, each once; "all" to none.
[[nodiscard]] std::vector<int> parse_ids(const std::string& text, const char* flag);

// "kron:24,urand:20:4" to graphs, each once.
[[nodiscard]] std::vector<graph::GraphSpec> parse_graphs(const std::string& text);

// "512MiB,2GiB" to bytes in order, each once and above 0.
[[nodiscard]] std::vector<std::uint64_t> parse_sizes(const std::string& text, const char* flag);

// "bytes=4KiB,1MiB", one for each axis, to axes and their values.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> parse_axes(
    const std::vector<std::string>& given);

// A line of transfers that start at once, for each of its sizes.
[[nodiscard]] std::vector<transfer::WrittenLanes> parse_transfers(const std::string& line);

void require_one_of(const std::string& value, std::initializer_list<const char*> allowed, const char* flag);

// The command line. Google Benchmark's flags keep their meaning; one that this suite cannot honour is
// refused, with what to use instead.

enum class Action { run, list, plan, explain, environment, families };

struct Options {
  Action action = Action::run;

  // What is run: these come back from the journal when a run is resumed.
  std::string filter;    // POSIX extended regular expression; a leading '-' turns it round
  std::string question;  // words that ask for cases; empty: none do
  Preset preset = Preset::quick;
  std::vector<int> gpus;  // empty: those of the preset, or all
  bool all_gpus = false;
  std::vector<int> nodes;  // empty: all usable
  int shard_index = 1;     // of `shard_count`, from 1
  int shard_count = 1;
  std::optional<std::uint64_t> min_bytes;
  std::optional<std::uint64_t> max_bytes;
  std::optional<double> ci_target;
  std::optional<int> visits;
  bool power = false;                    // of the GPUs' boards is read, too
  bool one_process = false;              // for all of them
  std::vector<graph::GraphSpec> graphs;  // empty: those of each family
  std::string features;                  // path of a .npy file; empty: synthetic ones
  std::string labels;
  std::string train_ids;
  std::optional<int> trials;
  std::vector<std::uint64_t> hot_budgets;
  std::optional<std::uint64_t> gpu_memory;                // what each GPU is to have; else all that it has
  std::vector<std::pair<std::string, std::string>> axes;  // values in place of the preset's
  std::vector<transfer::WrittenLanes> transfers;
  bool allow_managed_oversubscription = false;

  // How it is run and shown.
  std::string out_dir;
  bool resume = false;
  std::string graph_cache;
  std::optional<double> max_time_s;
  bool wait_for_gpu = true;
  std::string ranks;           // where processes of one launch meet; empty: this one is alone
  double rank_timeout_s = 60;  // how long they wait for each other
  std::string explain_case;
  std::string environment_format = "text";
  std::string families_format = "text";
  std::string families_asked;              // words that ask for families; empty: all
  std::string display_format = "console";  // console, json, csv: on stdout
  std::string file_out;                    // --benchmark_out
  std::string file_format = "json";
  bool display_aggregates_only = false;
  bool file_aggregates_only = false;
  std::string color = "auto";
  int verbosity = 0;                       // above 0: whole names, whole lists
  std::vector<std::string> library_flags;  // handed on to Google Benchmark as they are

  // The flags that decide what is run, as they were given.
  std::vector<std::string> selection_flags;
};

// What parsing ends in when there is nothing left to do: text for stdout and success.
struct HelpRequested {
  std::string text;
};

// Throws UsageError with one sentence for anything that cannot be honoured, HelpRequested for --help and
// --version.
[[nodiscard]] Options parse_options(const std::vector<std::string>& arguments);

// Throws UsageError for flags that are not of a launch of several processes.
void require_no_ranks(const Options& options);

// `--version`: the suite, its commit, its compilers and libraries, a line each.
[[nodiscard]] std::string version_text();

}  // namespace grainscope::harness

#endif
