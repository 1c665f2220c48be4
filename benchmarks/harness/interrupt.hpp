#ifndef GRAINSCOPE_BENCHMARKS_HARNESS_INTERRUPT_HPP
#define GRAINSCOPE_BENCHMARKS_HARNESS_INTERRUPT_HPP

// SIGINT and SIGTERM end a run between two samples, with what there is; a second one ends it at once.

namespace grainscope::harness {

// Installs the handlers; call once, in main.
void catch_signals();

// The signal that arrived, or 0.
[[nodiscard]] int signal_received() noexcept;

}  // namespace grainscope::harness

#endif
