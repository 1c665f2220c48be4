#ifndef GRAINSCOPE_BENCHMARKS_HARNESS_OPTION_FLAGS_HPP
#define GRAINSCOPE_BENCHMARKS_HARNESS_OPTION_FLAGS_HPP

// The table of flags: their names, their texts, and where what they are given goes.

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "options.hpp"

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
  std::string hot_budgets;
  std::vector<std::string> axes;
  std::vector<std::string> transfers;
  std::string max_time;
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

}  // namespace grainscope::harness

#endif
