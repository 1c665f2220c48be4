#ifndef GRAINSCOPE_BENCHMARKS_OPENMP_VARIABLES_HPP
#define GRAINSCOPE_BENCHMARKS_OPENMP_VARIABLES_HPP

// OpenMP's environment variables take CPUs and threads away from a case under the same name, and its library
// binds the main thread by them before `main`. So this program takes all of them out of its environment
// before any library sees them, and says which they were. A mask of CPUs (taskset, Slurm, a cpuset) stays.

#include <optional>

#include "grainscope/system/warnings.hpp"

namespace grainscope::harness {

// Which variables were set and are not used; absent where none was set.
[[nodiscard]] std::optional<Warning> openmp_warning();

}  // namespace grainscope::harness

#endif
