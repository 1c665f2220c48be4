#ifndef GRAINSCOPE_BENCHMARKS_HARNESS_REPEAT_HPP
#define GRAINSCOPE_BENCHMARKS_HARNESS_REPEAT_HPP

// Whole runs one after another, each a process of its own: what they differ by is the type B of this machine.

#include <string>
#include <vector>

namespace grainscope::harness {

inline constexpr const char* kRepeatCommand = "repeat";

// `grainscope repeat N --out DIR FLAGS`: runs in DIR/1 to DIR/N; those that are there are gone on with.
// Returns the exit status of the first run that could not be made, and then makes no other; else 1 where a
// row failed in any. Throws UsageError for words that make no sense, HelpRequested for --help.
[[nodiscard]] int repeat_command(const std::vector<std::string>& words);

}  // namespace grainscope::harness

#endif
