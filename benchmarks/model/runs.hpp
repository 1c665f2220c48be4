#ifndef GRAINSCOPE_BENCHMARKS_MODEL_RUNS_HPP
#define GRAINSCOPE_BENCHMARKS_MODEL_RUNS_HPP

// What the model says of one algorithm on one graph: every walk and every card that rows ask for, in one pass
// over the levels of each trial.

#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "grainscope/core/error.hpp"
#include "grainscope/model/link.hpp"
#include "grainscope/model/paging.hpp"
#include "traversal/loaded_graph.hpp"

namespace grainscope::harness {

// A walk that is replayed.
struct WalkRequest {
  graph::Access access = graph::Access::merged_aligned;
  int edge_bytes = 8;
  // clang-tidy 14 sees a null pointer in it. NOLINTNEXTLINE(modernize-use-nullptr)
  friend auto operator<=>(const WalkRequest&, const WalkRequest&) = default;
};

// How far address translation reaches over a link that says so.
struct ReachRequest {
  int edge_bytes = 8;
  std::uint64_t reach_bytes = 0;
  std::uint64_t granule_bytes = 0;
  // clang-tidy 14 sees a null pointer in it. NOLINTNEXTLINE(modernize-use-nullptr)
  friend auto operator<=>(const ReachRequest&, const ReachRequest&) = default;
};

// A card that holds some percent of the pages that the edge list (and the weights) are on.
struct CardRequest {
  int edge_bytes = 8;
  int percent = 50;
  std::uint64_t page_bytes = 65536;
  // clang-tidy 14 sees a null pointer in it. NOLINTNEXTLINE(modernize-use-nullptr)
  friend auto operator<=>(const CardRequest&, const CardRequest&) = default;
};

struct ModelRequests {
  std::set<WalkRequest> walks;
  std::set<ReachRequest> reaches;
  std::set<CardRequest> cards;
};

// One run of the algorithm.
struct TrialModel {
  std::string label;                  // "source:17", "trial:0"
  std::vector<std::uint64_t> active;  // vertices of each level
  std::vector<std::uint64_t> edges;   // in their lists
  std::uint64_t reached = 0;          // vertices that were ever active
  std::uint64_t entries = 0;          // in their lists, each counted once
  std::map<WalkRequest, model::Replay> walks;
  std::map<ReachRequest, std::vector<std::uint64_t>> misses;  // of each level
  std::map<CardRequest, model::Paging> cards;

  [[nodiscard]] std::uint64_t edges_read() const;
};

struct TraversalModel {
  graph::Algorithm algorithm = graph::Algorithm::bfs;
  GraphFacts graph;
  bool directed = false;
  std::vector<TrialModel> trials;
};

// Whether an algorithm reads weights.
[[nodiscard]] bool reads_weights(graph::Algorithm algorithm);
[[nodiscard]] model::Layout layout_of(graph::Algorithm algorithm, int edge_bytes);
// Pages of all that a walk reads, and how many of them a card holds: its share, rounded up.
[[nodiscard]] std::uint64_t data_pages(const CardRequest& card, graph::Algorithm algorithm,
                                       std::uint64_t entries);
[[nodiscard]] std::uint64_t card_pages(const CardRequest& card, graph::Algorithm algorithm,
                                       std::uint64_t entries);

// bfs and sssp from the first `sources` GAP sources, cc and pr once. Throws SkipError for cc on a directed
// graph, Interrupted where a signal came.
[[nodiscard]] TraversalModel model_traversal_of(const LoadedGraph& loaded, graph::Algorithm algorithm,
                                                int sources, const ModelRequests& requests);

// One pass over an algorithm's levels for all rows about it: rows that differ in their link share a replay,
// and all walks and cards are fed from the same levels. A graph is there while something is to be computed on
// it, an answer while some row is to read it.

class ModelRuns {
 public:
  using Load =
      std::function<std::unique_ptr<LoadedGraph>(const graph::GraphSpec& spec, const std::string& cache_dir)>;

  // What one case will ask for. Its body owns the claim: a case that a filter or a resumed run leaves out is
  // destroyed, and nothing is computed for it.
  struct Claim {
    graph::GraphSpec graph;
    graph::Algorithm algorithm = graph::Algorithm::bfs;
    int sources = 1;
    std::string cache_dir;
    ModelRequests requests;
    int sessions_left = 0;
  };

  ModelRuns();  // graphs in their original order
  explicit ModelRuns(Load load) : load_(std::move(load)) {}

  // A case that will ask in each of its `sessions`.
  [[nodiscard]] std::shared_ptr<Claim> add(Claim claim, int sessions);

  // What was claimed, and all that was claimed with it for the same algorithm and graph; computed at the
  // first call. Counts as a session of the claim, whatever comes of it. Throws as `load` and
  // model_traversal_of; a case that comes after one that was refused is refused with the same words.
  [[nodiscard]] std::shared_ptr<const TraversalModel> get(Claim& claim);

  [[nodiscard]] bool holds_a_graph() const { return graph_ != nullptr; }
  [[nodiscard]] std::size_t answers() const { return answers_.size(); }

 private:
  struct Key {
    std::string graph;
    graph::Algorithm algorithm = graph::Algorithm::bfs;
    int sources = 1;
    // clang-tidy 14 sees a null pointer in it. NOLINTNEXTLINE(modernize-use-nullptr)
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  struct Answer {
    std::shared_ptr<const TraversalModel> model;  // null: refused
    std::string refused;
  };

  [[nodiscard]] static Key key_of(const Claim& claim);
  [[nodiscard]] std::vector<std::shared_ptr<Claim>> open_claims() const;
  [[nodiscard]] Answer compute(const Claim& claim);
  void provide_graph(const Claim& claim);
  // Frees what no open claim will ask for.
  void tidy();

  Load load_;
  std::vector<std::weak_ptr<Claim>> claims_;
  std::unique_ptr<LoadedGraph> graph_;
  std::string graph_name_;
  std::map<Key, Answer> answers_;
};

// Means over the trials of a model, and its complaint.

using TrialModels = std::vector<TrialModel>;

// The mean of what f says of each trial.
template <class F>
[[nodiscard]] double mean_of(const TrialModels& trials, const F& f) {
  const double sum = std::accumulate(
      trials.begin(), trials.end(), 0.0,
      [&](double so_far, const TrialModel& trial) { return so_far + static_cast<double>(f(trial)); });
  return sum / static_cast<double>(trials.size());
}

// Throws FailedError, with `what` cannot be right about a trial, unless `right`.
inline void require_conserved(bool right, const TrialModel& trial, const std::string& what) {
  if (!right) {
    throw FailedError("wrong model, " + trial.label + ": " + what);
  }
}

// Bytes that the edges read have (with their weights), the mean over trials.
[[nodiscard]] inline std::uint64_t asked_bytes(const TraversalModel& model, int edge_bytes) {
  const double edges = mean_of(model.trials, [](const TrialModel& trial) { return trial.edges_read(); });
  const std::uint64_t element = layout_of(model.algorithm, edge_bytes).element_bytes();
  return static_cast<std::uint64_t>(std::llround(edges * static_cast<double>(element)));
}

}  // namespace grainscope::harness

#endif
