#ifndef GRAINSCOPE_BENCHMARKS_HARNESS_SHOW_HPP
#define GRAINSCOPE_BENCHMARKS_HARNESS_SHOW_HPP

// What the program says of its cases without running them.

#include <string>

#include "selection.hpp"

namespace grainscope::harness {

// `--benchmark_list_tests`: the runnable names, a line each.
[[nodiscard]] std::string list_text(const Selection& selection);

// `--plan`: cases, time and memory by group of families, and what is skipped, a line a reason; `whole`: by
// family, with the name of each case that is skipped.
[[nodiscard]] std::string plan_text(const Selection& selection, const Scope& scope, std::size_t width,
                                    bool whole);

// Below a plan, whose times are of CPUs that nothing else uses: how many times as long a run may take where
// other work has them. Empty where it has not.
[[nodiscard]] std::string load_text(const Environment& environment, std::size_t width);

// `--families`: each with its question, on a screen of 40 lines with its beginning unless `whole`; as JSON
// also its axes and what each preset takes of them.
[[nodiscard]] std::string families_text(const std::vector<Family>& families, std::size_t width, bool whole);
[[nodiscard]] std::string families_json(const std::vector<Family>& families);

// `--explain`: of the family named, its axes and what each preset takes of them; of the case named; or else
// of the first that `text` finds as a filter. Throws UsageError, with near names, where there is none.
[[nodiscard]] std::string explain_text(const std::string& text, const std::vector<Family>& families,
                                       const std::vector<Benchmark>& all);

}  // namespace grainscope::harness

#endif
