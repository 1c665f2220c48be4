#ifndef GRAINSCOPE_BENCHMARKS_HARNESS_SUITE_HPP
#define GRAINSCOPE_BENCHMARKS_HARNESS_SUITE_HPP

// Runs a selection, round after round: each comes to every case once, under Google Benchmark, one iteration
// of which is one visit. Google Benchmark owns registration, running and output formats; when a case samples
// enough, and in what order cases come, is decided here.

#include "machine.hpp"
#include "options.hpp"
#include "result_store.hpp"
#include "selection.hpp"

namespace grainscope::harness {

struct RunRequest {
  const Options& options;
  Machine& machine;  // warnings found under load are added
  const Scope& scope;
  Selection selection;
  ResultStore* store = nullptr;      // null: nothing is kept
  const Journal* resumed = nullptr;  // what an earlier part of this run finished
  bool starts_processes = false;     // one for each round
};

// The program's exit status: 0, 1 where a row failed, 128 + n for signal n.
[[nodiscard]] int run_suite(RunRequest request);

// The other end of a round that a process of its own makes: runs what standard input names, and says on
// standard output what becomes of it.
void run_round(RunRequest request);

}  // namespace grainscope::harness

#endif
