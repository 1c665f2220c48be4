#ifndef GRAINSCOPE_BENCHMARKS_LEAN_RUNS_HPP
#define GRAINSCOPE_BENCHMARKS_LEAN_RUNS_HPP

// The four lean algorithms, each beside its model.

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "grainscope/lean/run.hpp"
#include "lean_layout.hpp"
#include "trials.hpp"

namespace grainscope::harness {

// What a model reads over the link in each step, and what it says beside that for the row.
struct LeanModel {
  std::vector<model::Requests> steps;
  double hybrid_s = 0;  // of a hybrid run: that these and its copies take
  std::map<std::string, double> counters;
  std::string agreement;  // a clause: how what was read is its own
  // Of each step, where the run does not tell how many: vertices whose lists it reads.
  std::vector<std::uint64_t> active;
  double copied_bytes = 0;  // of a hybrid run of sssp
};

// An algorithm, and how a row tells of its runs.
struct LeanRun {
  std::unique_ptr<graph::Traversal> traversal;
  // Of the last run.
  std::function<std::map<std::string, double>()> counters;
  // Throws FailedError where a run from there read what its model does not.
  std::function<LeanModel(graph::Vertex source, const std::vector<lean::LinkReads>& reads)> model;
};

// `lists`, which were placed by `layout`, and both outlive it.
[[nodiscard]] LeanRun make_lean_run(const LeanPoint& point, const LoadedGraph& graph,
                                    const lean::LeanLists& lists, const LeanLayout& layout);

}  // namespace grainscope::harness

#endif
