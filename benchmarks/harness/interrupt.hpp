#ifndef GRAINSCOPE_BENCHMARKS_HARNESS_INTERRUPT_HPP
#define GRAINSCOPE_BENCHMARKS_HARNESS_INTERRUPT_HPP

// SIGINT and SIGTERM end a run between two samples, with what there is; one more ends it at once.

namespace grainscope::harness {

// Signals within this time of the first are the same request to stop: timeout(1) sends its signal to the
// program and again to the program's process group, as supervisors of whole groups do.
inline constexpr double kOneRequestS = 1;

// Installs the handlers; call once, in main.
void catch_signals();

// The signal that arrived, or 0.
[[nodiscard]] int signal_received() noexcept;

}  // namespace grainscope::harness

#endif
