#ifndef GRAINSCOPE_BENCHMARKS_HARNESS_EMPTY_CHOICE_HPP
#define GRAINSCOPE_BENCHMARKS_HARNESS_EMPTY_CHOICE_HPP

// Why what a user chose leaves no case, or does nothing, and what would leave some.

#include <functional>
#include <string>
#include <vector>

#include "selection.hpp"

namespace grainscope::harness {

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
