#ifndef GRAINSCOPE_BENCHMARKS_LEAN_RUNS_HPP
#define GRAINSCOPE_BENCHMARKS_LEAN_RUNS_HPP

// The four lean algorithms as a case runs them, each beside its model.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "grainscope/lean/lean_bfs.hpp"
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

class LeanRun {
 public:
  virtual ~LeanRun() = default;
  LeanRun(const LeanRun&) = delete;
  LeanRun& operator=(const LeanRun&) = delete;

  [[nodiscard]] virtual double run(graph::Vertex source) = 0;  // seconds
  // Of the last run.
  [[nodiscard]] virtual Verdict verify(const LoadedGraph& graph, graph::Vertex source) const = 0;
  [[nodiscard]] virtual std::vector<LevelResult> levels() const = 0;
  [[nodiscard]] virtual std::map<std::string, double> counters() const { return {}; }
  // Another run, counting what each step reads.
  [[nodiscard]] virtual std::vector<lean::LinkReads> count(graph::Vertex source) = 0;
  // Throws FailedError where a run from there read what its model does not.
  [[nodiscard]] virtual LeanModel model(const LeanLayout& layout, graph::Vertex source,
                                        const std::vector<lean::LinkReads>& reads) const = 0;
  [[nodiscard]] virtual std::uint64_t gpu_bytes() const = 0;  // of its state

 protected:
  LeanRun() = default;
};

// `lists`, which were placed by `layout`, outlive it.
[[nodiscard]] std::unique_ptr<LeanRun> make_lean_run(const LeanPoint& point, const LoadedGraph& graph,
                                                     const lean::LeanLists& lists, const LeanLayout& layout);

}  // namespace grainscope::harness

#endif
