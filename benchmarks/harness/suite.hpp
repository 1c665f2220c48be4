#ifndef GRAINSCOPE_BENCHMARKS_HARNESS_SUITE_HPP
#define GRAINSCOPE_BENCHMARKS_HARNESS_SUITE_HPP

// Runs a selection under Google Benchmark, which owns registration, running, repetitions and reporters;
// one of its iterations is one sampling session of ours.

#include "machine.hpp"
#include "options.hpp"
#include "result_store.hpp"
#include "scope.hpp"
#include "selection.hpp"

namespace grainscope::harness {

struct RunRequest {
  const Options& options;
  Machine& machine;  // warnings found under load are added
  const Scope& scope;
  Selection selection;
  ResultStore* store = nullptr;      // null: nothing is kept
  const Journal* resumed = nullptr;  // what an earlier part of this run finished
};

// The program's exit status: 0, 1 where a row failed, 128 + n for signal n.
[[nodiscard]] int run_suite(RunRequest request);

}  // namespace grainscope::harness

#endif
