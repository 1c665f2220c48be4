#ifndef GRAINSCOPE_BENCHMARKS_MODEL_TRIALS_HPP
#define GRAINSCOPE_BENCHMARKS_MODEL_TRIALS_HPP

// What the model says of one algorithm on one graph: every walk and every card that rows ask for, in one pass
// over the levels of each trial.

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "grainscope/model/link.hpp"
#include "grainscope/model/paging.hpp"
#include "loaded_graph.hpp"

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

}  // namespace grainscope::harness

#endif
