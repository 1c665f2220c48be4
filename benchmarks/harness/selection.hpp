#ifndef GRAINSCOPE_BENCHMARKS_HARNESS_SELECTION_HPP
#define GRAINSCOPE_BENCHMARKS_HARNESS_SELECTION_HPP

// Which cases a run consists of: what families list, what the filter and the shard leave.

#include <set>
#include <string>
#include <vector>

#include "benchmark.hpp"

namespace grainscope::harness {

// A filter as Google Benchmark understands it: a POSIX extended expression found anywhere in the name; a
// leading '-' keeps what does not match; empty and "all" keep everything.
class Filter {
 public:
  // Throws UsageError for an expression that does not compile.
  explicit Filter(const std::string& text);
  [[nodiscard]] bool keeps(const std::string& name) const;

 private:
  std::string expression_;
  bool inverted_ = false;
};

struct Selection {
  std::vector<Benchmark> runnable;  // of this shard
  std::vector<Benchmark> skipped;   // matched, but this machine cannot; `skip` says why
  // Values of --axis that families of cases like these cannot take, a line each.
  std::vector<std::string> without_effect;
};

// Lists, filters, skips what is larger than memory, and takes the i-th of n parts. The first part carries
// all skipped cases, so that parts put together hold each once.
// Throws UsageError where the filter matches nothing: what emptied it, of what the user asked and of families
// that the filter is about, else near names.
[[nodiscard]] Selection select(const std::vector<Family>& families, const Machine& machine,
                               const Scope& scope, const std::string& filter, int shard_index,
                               int shard_count);

// What words asked for: "grainscope: transfer/memcpy, to the device, pinned, 64 MiB: 2 cases" in a line,
// where words did; and what values of --axis did not do.
[[nodiscard]] std::string understood_text(const Selection& selection, const Scope& scope);

// The families whose names have these letters; else those that words ask for. All for no words. Throws
// UsageError for words that are not known.
[[nodiscard]] std::vector<Family> families_asked(const std::vector<Family>& families,
                                                 const std::string& words);

// Everything the families list here, unfiltered. Families that can take none of the values that the user
// gives an axis of theirs list nothing. `left_out`: gets why combinations with the user's values cannot be.
// Throws UsageError, with what would be right, for an axis that no family declares, a value that none can
// take, or several of an axis that no name tells.
[[nodiscard]] std::vector<Benchmark> list_all(const std::vector<Family>& families, const Machine& machine,
                                              const Scope& scope, std::set<std::string>* left_out = nullptr);

// The names nearest to `text`, best first: those that share most of its parts, then by spelling.
[[nodiscard]] std::vector<std::string> near_names(const std::string& text,
                                                  const std::vector<std::string>& names, std::size_t most);

}  // namespace grainscope::harness

#endif
