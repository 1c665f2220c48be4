#ifndef GRAINSCOPE_BENCHMARKS_TRAVERSAL_LEAN_RUNS_HPP
#define GRAINSCOPE_BENCHMARKS_TRAVERSAL_LEAN_RUNS_HPP

// A lean traversal as a case: how its lists are laid out, and the runs of every algorithm.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "grainscope/graph/answers.hpp"
#include "grainscope/lean/lists.hpp"
#include "grainscope/lean/run.hpp"
#include "grainscope/model/lean.hpp"
#include "harness/benchmark.hpp"
#include "traversal/loaded_graph.hpp"
#include "traversal/trials.hpp"

namespace grainscope::harness {

// GPU memory for edges.
struct HotBudget {
  int percent = 0;          // of the edge list
  std::uint64_t bytes = 0;  // or so many, with all that hot edges bring along; 0: `percent` tells
  const char* given_by = "--hot-budget";  // what said how many bytes

  // Of the GPU, where the edge list takes `edges`.
  [[nodiscard]] std::uint64_t most_bytes(std::uint64_t edges) const {
    return bytes > 0 ? bytes : edges * static_cast<std::uint64_t>(percent) / 100;
  }
};

// What a case's answer is, and under whose numbers.
enum class LeanAnswers {
  numbered,  // depths, distances, labels or ranks, under the numbers by degree
  mapped,    // the same under the caller's, brought there within the time
  parents,   // of a bfs, under the caller's
};
inline constexpr LeanAnswers kLeanAnswers[] = {LeanAnswers::numbered, LeanAnswers::mapped,
                                               LeanAnswers::parents};
[[nodiscard]] const char* name(LeanAnswers answers);

struct LeanPoint {
  graph::GraphSpec spec;
  GraphKey graph;
  graph::Algorithm algorithm = graph::Algorithm::bfs;
  std::optional<lean::TierPolicy> tier;  // none: nothing is hot
  HotBudget hot;
  bool compressed = false;  // what is not hot
  bool hybrid = false;      // segments are copied where that is faster; of pr and sssp
  bool packed = true;       // weights share the four bytes of their neighbours where both fit
  LeanAnswers answers = LeanAnswers::numbered;
  int node = 0;  // where host memory lies
  cuda::MemoryKind memory = cuda::MemoryKind::host_alloc;
  int gpu = 0;
  int gpus = 1;             // that traverse together, as asked for
  std::vector<int> others;  // of them, beside the first
  int trials = 8;

  [[nodiscard]] std::vector<int> walkers() const {
    std::vector<int> all{gpu};
    all.insert(all.end(), others.begin(), others.end());
    return all;
  }
};

// Throws FailedError for a wrong answer, and where the GPU's own count of what it read is not the model's.
[[nodiscard]] Measurement measure_lean(Session& session, const LeanPoint& point, const LoadedGraph& graph);

// What of a graph's lists is hot in a lean case, and how the rest lies behind the link.

// How many edges of one direction fit into its part of a budget in bytes, beside the offsets of where each
// list's hot part begins; no more than there are. `weighted`: each has four bytes of weight beside its own.
// Throws SkipError where none fits.
[[nodiscard]] std::uint64_t hot_elements(const graph::Csr& lists, const HotBudget& budget,
                                         std::uint64_t directions, bool weighted);

// Of a directed graph each direction has the same share of its lists hot. The graph outlives it, and it what
// is placed by it.
class LeanLayout {
 public:
  LeanLayout(const LeanPoint& point, const LoadedGraph& graph);

  [[nodiscard]] lean::LeanPlacement placement() const;  // for the first GPU
  [[nodiscard]] model::TieredLists pushed() const;
  [[nodiscard]] model::TieredLists pulled() const;
  // What it took: tier_s, firsts_s where first neighbours lie side by side, of cc phases_s, of compressed
  // lists compress_s; and their bits_per_edge.
  [[nodiscard]] const std::map<std::string, double>& counters() const { return counters_; }

 private:
  struct Direction {
    std::optional<lean::HotTier> tier;
    std::optional<lean::CompressedLists> compressed;
    std::optional<lean::Firsts> firsts;  // of lists that are pulled from
    [[nodiscard]] model::TieredLists of(const graph::Csr& lists) const;
  };
  void plan_tiers();
  void compress();
  // Of lists that have nothing hot, side by side: for searches and components.
  void place_firsts();

  const LeanPoint& point_;
  const LoadedGraph& graph_;
  bool directed_;  // and both directions are read
  Direction out_;
  Direction in_;  // where directed
  std::map<std::string, double> counters_;
};

// The four lean algorithms, each beside its model.

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
  const lean::CallersAnswer* callers = nullptr;  // the same, where it brings answers into the caller's order
  // Of the last run.
  std::function<std::map<std::string, double>()> counters;
  // Throws FailedError where a run from there read what its model does not.
  std::function<LeanModel(graph::Vertex source, const std::vector<lean::LinkReads>& reads)> model;
};

// The same lists for each GPU of a case, which share what is on the host.
class PlacedTeam {
 public:
  PlacedTeam(const LeanPoint& point, const LeanLayout& layout, const cuda::Surroundings& surroundings);
  // In the reverse order: each made its GPU the current one.
  ~PlacedTeam();
  PlacedTeam(const PlacedTeam&) = delete;
  PlacedTeam& operator=(const PlacedTeam&) = delete;

  [[nodiscard]] const lean::LeanLists& first() const { return *placed_.front(); }
  [[nodiscard]] lean::LeanTeam team() const { return team_; }
  // Of all GPUs.
  [[nodiscard]] std::uint64_t hot_bytes() const;
  [[nodiscard]] std::uint64_t gpu_bytes() const;

 private:
  std::vector<std::unique_ptr<lean::LeanLists>> placed_;
  std::vector<const lean::LeanLists*> team_;
};

// `lists`, which were placed by `layout`, and both outlive it. Hybrid, or with answers under the caller's
// numbers, of one GPU's alone.
[[nodiscard]] LeanRun make_lean_run(const LeanPoint& point, const LoadedGraph& graph, lean::LeanTeam lists,
                                    const LeanLayout& layout);

}  // namespace grainscope::harness

#endif
