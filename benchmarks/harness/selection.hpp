#ifndef GRAINSCOPE_BENCHMARKS_HARNESS_SELECTION_HPP
#define GRAINSCOPE_BENCHMARKS_HARNESS_SELECTION_HPP

// Which cases a run consists of: what families list, what the filter and the shard leave. empty_choice.cpp
// says why nothing is left.

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "benchmark.hpp"

namespace grainscope::harness {

struct Selection {
  std::vector<Benchmark> runnable;  // of this shard
  std::vector<Benchmark> skipped;   // of this shard: matched, but this machine cannot; `skip` says why
  std::size_t of_all_shards = 0;    // how many cases, those of them that are skipped included
  // Values of --axis that families of cases like these cannot take, a line each.
  std::vector<std::string> without_effect;
};

// Lists, filters, skips what is larger than memory, and takes the i-th of n parts, which put together hold
// each case once, whenever each of them runs. So the first part carries all cases that the machine cannot
// run, but for those that lack memory at the moment: of these each part carries what would be its own. Throws
// UsageError where the filter matches nothing: what emptied it, of what the user asked and of families that
// the filter is about, else near names.
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

// What one family lists here, each case once, and why combinations with the user's values cannot be.
struct Listed {
  std::vector<Benchmark> cases;
  std::set<std::string> left_out;
};
[[nodiscard]] Listed list_family(const Family& family, const Machine& machine, const Scope& scope);

// transfer/memcpy is of the group transfer.
[[nodiscard]] std::string group_of(const std::string& family);

// The axis of a family to which somebody can give values; null where it has none of that name.
[[nodiscard]] const DeclaredAxis* given_axis(const Family& family, const std::string& key);

// The declarations of an axis, of all families that have it.
[[nodiscard]] std::vector<const DeclaredAxis*> declarations_of(const std::vector<Family>& families,
                                                               const std::string& key);

// Whether an axis can have these values, written as on the command line.
[[nodiscard]] bool takes(const DeclaredAxis& axis, const std::string& values);

// Throws UsageError for an axis whose value follows from others in every family that has it.
void require_given(const std::vector<Family>& families, const std::string& key);

// Throws UsageError for a filter, or words, that are right in themselves and leave no case.
[[noreturn]] void refuse_empty_choice(const std::vector<Family>& families, const Machine& machine,
                                      const Scope& scope, const std::string& filter);

// What the user's values for axes do not do: throws UsageError for an axis that no case which is kept has. Of
// families whose cases would be kept, but which cannot take a value, a line for each value.
[[nodiscard]] std::vector<std::string> without_effect(const std::vector<Family>& families,
                                                      const Machine& machine, const Scope& scope,
                                                      const std::function<bool(const Case&)>& keeps);

}  // namespace grainscope::harness

#endif
