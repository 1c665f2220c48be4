#ifndef GRAINSCOPE_BENCHMARKS_HARNESS_RUN_HPP
#define GRAINSCOPE_BENCHMARKS_HARNESS_RUN_HPP

// A run from its flags to its exit status, and the signals that end it: SIGINT and SIGTERM end a run between
// two samples, with what there is; one more ends it at once.

#include <string>
#include <vector>

#include "machine.hpp"
#include "options.hpp"
#include "selection.hpp"

namespace grainscope::harness {

// Signals within this time of the first are the same request to stop: timeout(1) sends its signal to the
// program and again to the program's process group, as supervisors of whole groups do.
inline constexpr double kOneRequestS = 1;

// Installs the handlers; call once, in main.
void catch_signals();

// The signal that arrived, or 0.
[[nodiscard]] int signal_received() noexcept;

// A run from its flags to its exit status: what is asked for, where it is kept, and whether it goes on with
// one that ended early.

// How much of parameter space the flags ask for on this machine. Throws EnvironmentError for a GPU or node
// that does not exist.
[[nodiscard]] Scope scope_of(const Options& options, const Machine& machine);

// The cases of it that filter and shard leave. Throws UsageError where there are none.
[[nodiscard]] Selection selection_of(const std::vector<Family>& families, const Options& options,
                                     const Machine& machine, const Scope& scope);

// Runs them: in a new folder, in the one that --resume names, or without keeping anything. Returns the
// program's exit status, as run_suite does. Throws UsageError or EnvironmentError before the first case.
[[nodiscard]] int run_families(const std::vector<Family>& families, const Options& options, Machine& machine);

// The process of one round of visits, which run_families starts as `grainscope visit FLAGS`.
void run_visits(const std::vector<Family>& families, const std::vector<std::string>& flags, Machine& machine);

}  // namespace grainscope::harness

#endif
