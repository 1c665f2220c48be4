#ifndef GRAINSCOPE_GRAPH_TRAVERSAL_HPP
#define GRAINSCOPE_GRAPH_TRAVERSAL_HPP

// The four algorithms on a GPU, over edges that need not fit into its memory.
//
// Offsets and the vertices' state are in GPU memory; the edge list, and weights, are where the placement
// says. A traversal goes level by level: the vertices that the last one changed are collected in ascending
// order, their lists cut into work items (access.hpp), and walked. Source: EMOGI, VLDB 2020.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "grainscope/core/error.hpp"
#include "grainscope/core/operation.hpp"
#include "grainscope/graph/access.hpp"
#include "grainscope/graph/csr.hpp"
#include "grainscope/graph/frontiers.hpp"

namespace grainscope::cuda {
class ManagedBudget;
}

namespace grainscope::graph {

enum class EdgePlacement {
  mapped,   // page-locked host memory that the GPU reads over the link
  managed,  // managed memory, read-mostly; on the host when a trial starts
  device,   // the GPU's own memory: what no link could beat
};
[[nodiscard]] constexpr const char* name(EdgePlacement placement) {
  switch (placement) {
    case EdgePlacement::mapped:
      return "mapped";
    case EdgePlacement::managed:
      return "managed";
    case EdgePlacement::device:
      return "device";
  }
  return "?";
}

struct PlacementRequest {
  EdgePlacement placement = EdgePlacement::mapped;
  int edge_bytes = 8;    // of a neighbour: 4 or 8
  bool weights = false;  // placed too, 4 bytes an edge
  int gpu = 0;
  friend bool operator==(const PlacementRequest&, const PlacementRequest&) = default;
};

// Addresses of a graph as the GPU's kernels use them.
struct GraphView {
  const std::uint64_t* offsets = nullptr;  // [V + 1], device
  const void* targets = nullptr;           // u32[E] or u64[E], where placed; starts on a page
  const Weight* weights = nullptr;         // [E], where placed, or null; starts on a page
  Vertex vertices = 0;
  Edge edges = 0;
  int edge_bytes = 8;
};

// A graph within a GPU's reach. It copies what it needs: the graph may go.
class PlacedGraph {
 public:
  virtual ~PlacedGraph() = default;
  PlacedGraph(const PlacedGraph&) = delete;
  PlacedGraph& operator=(const PlacedGraph&) = delete;

  [[nodiscard]] const PlacementRequest& request() const noexcept { return request_; }
  [[nodiscard]] const GraphView& view() const noexcept { return view_; }
  // Before a trial, untimed: managed pages go back to the host, and that is proved. Else nothing.
  virtual void make_cold() = 0;
  // Of the GPU's memory, by what is placed there for good.
  [[nodiscard]] virtual std::uint64_t gpu_bytes() const = 0;

 protected:
  explicit PlacedGraph(const PlacementRequest& request) : request_(request) {}
  GraphView view_;

 private:
  PlacementRequest request_;
};

// On the NUMA node that the calling thread is bound to. Throws SkipError, with the numbers, where the GPU or
// the budget has no room (`budget` is asked for `managed` alone), UsageError where weights are wanted and the
// graph has none, FailedError where host memory cannot be locked; in a build without CUDA always SkipError.
[[nodiscard]] std::unique_ptr<PlacedGraph> place_graph(const Csr& graph, const PlacementRequest& request,
                                                       cuda::ManagedBudget* budget);

// How evenly a traversal's edges fell to lanes and blocks, over all its levels.
struct WalkStatistics {
  std::uint64_t loads = 0;     // warp-wide loads of neighbours; of edge_gather hand-outs of up to 32 edges
  std::uint64_t lanes = 0;     // lanes of these that had an edge
  int blocks = 0;              // of the grid
  double block_imbalance = 1;  // the most loaded block's loads over the mean of all blocks
  [[nodiscard]] double lane_use() const {
    return loads == 0 ? 1 : static_cast<double>(lanes) / (static_cast<double>(loads) * kWarpLanes);
  }
};

// An algorithm with its state in GPU memory. Whoever samples it holds its answers against the graph.
class Traversal {
 public:
  virtual ~Traversal() = default;
  Traversal(const Traversal&) = delete;
  Traversal& operator=(const Traversal&) = delete;

  // One run, in seconds between two events around everything it does on the GPU, the clearing of its state
  // included. `source` is not read by cc and pr. Throws UsageError for a source that is no vertex,
  // FailedError where the run does not come to an end.
  virtual double run(Vertex source) = 0;
  // Of the last run: vertices, edges and time of each level (the first includes clearing the state).
  [[nodiscard]] virtual std::vector<LevelResult> levels() const = 0;

  // The last run's answer, copied from the GPU: depths, distances or labels; pr's ranks. [V], host memory.
  // Throws UsageError for the other kind.
  [[nodiscard]] virtual std::vector<std::uint32_t> answer() const {
    throw UsageError("an answer of ranks is read as ranks");
  }
  [[nodiscard]] virtual std::vector<float> ranks() const {
    throw UsageError("an answer of whole numbers is not read as ranks");
  }

  [[nodiscard]] virtual std::uint64_t gpu_bytes() const = 0;  // of its state

 protected:
  Traversal() = default;
};

// One whose walks over a placed graph can be followed, untimed.
class WalkingTraversal : public Traversal {
 public:
  // Tells each level's active vertices, ascending, before their lists are walked.
  virtual void follow(Vertex source, const LevelVisitor& visit) = 0;
  // Records every warp-wide load of neighbours of each level: small graphs only.
  [[nodiscard]] virtual std::vector<std::vector<WarpLoad>> trace(Vertex source) = 0;
  // Counts what each block's warps load; the grid is that of the timed run, but of edge_gather smaller where
  // fewer of the counting blocks fit the GPU at once.
  [[nodiscard]] virtual WalkStatistics statistics(Vertex source) = 0;
};

// `graph` outlives it. Throws SkipError where the GPU has no room for the state, with the numbers, or
// UsageError for sssp over a graph placed without weights; in a build without CUDA always SkipError.
[[nodiscard]] std::unique_ptr<WalkingTraversal> make_traversal(const PlacedGraph& graph, Algorithm algorithm,
                                                               Access access);

}  // namespace grainscope::graph

#endif
