#ifndef GRAINSCOPE_GRAPH_TRAVERSAL_HPP
#define GRAINSCOPE_GRAPH_TRAVERSAL_HPP

// The four algorithms on a GPU, over edges that need not fit into its memory: by walks of lists where they
// lie, or by compacted copies of what a level reads; and the toy that walks are compared with.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "grainscope/core/error.hpp"
#include "grainscope/core/operation.hpp"
#include "grainscope/cuda/hint.hpp"
#include "grainscope/cuda/mapped.hpp"
#include "grainscope/graph/access.hpp"
#include "grainscope/graph/answers.hpp"
#include "grainscope/graph/csr.hpp"

namespace grainscope::cuda {
class Stream;  // cuda/device.hpp
}

namespace grainscope::graph {

enum class EdgePlacement {
  mapped,       // host memory that the GPU reads over the link
  managed,      // managed memory, under a hint; on the host when a trial starts
  device,       // the GPU's own memory: what no link could beat
  peer,         // another GPU's memory
  interleaved,  // the memory of several GPUs in turns, its own among them
};
inline constexpr EdgePlacement kEdgePlacements[] = {EdgePlacement::mapped, EdgePlacement::managed,
                                                    EdgePlacement::device, EdgePlacement::peer,
                                                    EdgePlacement::interleaved};
[[nodiscard]] constexpr const char* name(EdgePlacement placement) {
  switch (placement) {
    case EdgePlacement::mapped:
      return "mapped";
    case EdgePlacement::managed:
      return "managed";
    case EdgePlacement::device:
      return "device";
    case EdgePlacement::peer:
      return "peer";
    case EdgePlacement::interleaved:
      return "interleaved";
  }
  return "?";
}

// Whether a GPU reads such edges in place over a link, some of them at least.
[[nodiscard]] constexpr bool is_over_link(EdgePlacement placement) {
  return placement == EdgePlacement::mapped || placement == EdgePlacement::peer ||
         placement == EdgePlacement::interleaved;
}

struct PlacementRequest {
  EdgePlacement placement = EdgePlacement::mapped;
  int edge_bytes = 8;    // of a neighbour: 4 or 8
  bool weights = false;  // placed too, 4 bytes an edge
  int gpu = 0;
  cuda::MemoryKind memory = cuda::MemoryKind::host_alloc;  // of `mapped`
  int node = 0;                                            // where that lies
  cuda::Hint hint = cuda::Hint::read_mostly;               // of `managed`
  std::vector<int> gpus =
      {};  // whose memory it is: of `peer` the other's, of `interleaved` all in their turn
  // Which lists are placed: one of so many parts of the vertices.
  int part = 0;
  int parts = 1;
  Division division = Division::edges;
  friend bool operator==(const PlacementRequest&, const PlacementRequest&) = default;
};

// Addresses of a graph as the GPU's kernels use them. Where a part of the lists is placed, these are of the
// whole arrays, of which only that part may be read.
struct GraphView {
  const std::uint64_t* offsets = nullptr;  // [V + 1], device
  const void* targets = nullptr;           // u32[E] or u64[E], where placed; starts on a page
  const Weight* weights = nullptr;         // [E], where placed, or null; starts on a page
  Vertex vertices = 0;
  Edge edges = 0;     // of the lists that are placed
  VertexRange range;  // of these; begins at a multiple of 32
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
  // Enqueues what a run of a traversal begins with, timed: under Hint::prefetch all edges. Else nothing.
  virtual void begin(const cuda::Stream& stream) const { static_cast<void>(stream); }
  // Throws FailedError where mapped edges, or managed ones that are to be read in place, have left the host.
  virtual void expect_on_host() const {}
  // Of managed edges, after a trial: bytes of the pages that have left the host, where the system tells.
  [[nodiscard]] virtual std::optional<std::uint64_t> moved_bytes() const { return std::nullopt; }
  // Of GPU memory, its own and others', by what is placed there for good.
  [[nodiscard]] virtual std::uint64_t gpu_bytes() const = 0;

 protected:
  explicit PlacedGraph(const PlacementRequest& request) : request_(request) {}
  GraphView view_;

 private:
  PlacementRequest request_;
};

// On the NUMA node that the calling thread is bound to. Throws SkipError, with the numbers, where a GPU or
// the budget has no room, or a GPU does not reach another, UsageError where weights are wanted and the graph
// has none, and as MappedMemory; in a build without CUDA always SkipError.
[[nodiscard]] std::unique_ptr<PlacedGraph> place_graph(const Csr& graph, const PlacementRequest& request,
                                                       const cuda::Surroundings& surroundings);

// How evenly a traversal's edges fell to lanes and blocks, over all its levels.
struct WalkStatistics {
  std::uint64_t loads = 0;     // warp-wide loads of neighbours; of edge_gather hand-outs of up to 32 edges
  std::uint64_t lanes = 0;     // lanes of these that had an edge
  int blocks = 0;              // of the grid
  double block_imbalance = 1;  // the most loaded block's loads over the mean of all blocks
  // Of walks on one GPU, in this run: time between the end of a walk and the beginning of the next, in which
  // lists are found and cut into items or tiles. The clearing of the state and waits for the host are in it,
  // the last look, which finds nothing, is not.
  std::optional<double> frontier_s = std::nullopt;
  [[nodiscard]] double lane_use() const {
    return loads == 0 ? 1 : static_cast<double>(lanes) / (static_cast<double>(loads) * kWarpLanes);
  }
};

// What a run read over the link, counted by its own kernels.
struct LinkReads {
  std::uint64_t sectors = 0;       // of 32 bytes over the link, no cache
  std::uint64_t elements = 0;      // neighbours that are not hot
  std::uint64_t hot = 0;           // neighbours from GPU memory
  std::uint64_t copied_bytes = 0;  // of segments that were copied whole (lean/run.hpp)
};

// Where a level's time went. The three overlap: their sum may exceed the level's time.
struct SubwayLevel {
  double gather_s = 0;  // the CPU's gathering
  double copy_s = 0;    // copies of edges and weights to the GPU
  double walk_s = 0;    // cutting lists into work items, and walking
  std::uint64_t partitions = 0;
  std::uint64_t edge_bytes = 0;  // copied to the GPU: edges and weights
  std::uint64_t list_bytes = 0;  // copied from the GPU: which lists are active
};

// Each byte of a spoiled answer: no depth, distance, label or rank.
inline constexpr int kSpoiled = 0x7f;

// An algorithm with its state in GPU memory, whatever the strategy by which it reads lists. Whoever samples
// it holds its answers against the graph. What a strategy has nothing to say of throws UsageError.
class Traversal {
 public:
  virtual ~Traversal() = default;
  Traversal(const Traversal&) = delete;
  Traversal& operator=(const Traversal&) = delete;

  // One run, in seconds between two events around everything it does on the GPU, the clearing of its state
  // included. `source` is not read by cc and pr. Throws UsageError for a source that is no vertex,
  // FailedError where the run does not come to an end.
  virtual double run(Vertex source) = 0;
  // Overwrites the last run's answer on every GPU, so that a run that leaves a vertex out does not show what
  // the one before it found. Waits until that is done.
  virtual void spoil() = 0;
  // Of the last run: vertices, edges and time of each level (the first includes clearing the state). Of
  // compacted copies `link_bytes` are all bytes copied: edge_bytes + list_bytes.
  [[nodiscard]] virtual std::vector<LevelResult> levels() const = 0;

  // The last run's answer, copied from the GPU: depths, distances or labels; pr's ranks. [V], host memory.
  // Throws UsageError for the other kind.
  [[nodiscard]] virtual std::vector<std::uint32_t> answer() const {
    throw UsageError("an answer of ranks is read as ranks");
  }
  [[nodiscard]] virtual std::vector<float> ranks() const {
    throw UsageError("an answer of whole numbers is not read as ranks");
  }

  // Where the GPU has it, four bytes a vertex: [V], device memory. Of lean traversals; of a search that keeps
  // parents these.
  [[nodiscard]] virtual const void* answer_on_gpu() const { cannot("tell where its answer lies"); }

  [[nodiscard]] virtual std::uint64_t gpu_bytes() const = 0;  // of its state

  // Walks over a placed graph, followed in runs of their own, untimed; of compacted copies all but trace.
  // Tells each level's active vertices, ascending, before their lists are walked.
  virtual void follow(Vertex /*source*/, const LevelVisitor& /*visit*/) { cannot("follow levels"); }
  // Records every warp-wide load of neighbours of each level: small graphs only.
  [[nodiscard]] virtual std::vector<std::vector<WarpLoad>> trace(Vertex /*source*/) { cannot("trace loads"); }
  // Counts what each block's warps load; the grid is that of the timed run, but of edge_gather smaller where
  // fewer of the counting blocks fit the GPU at once.
  [[nodiscard]] virtual WalkStatistics statistics(Vertex /*source*/) { cannot("count loads by block"); }

  // Compacted copies, of the last run, one for each of levels().
  [[nodiscard]] virtual std::vector<SubwayLevel> parts() const { cannot("tell a level's parts"); }

  // Lean lists: what each step reads, in an untimed run; and of a search's last run, whether each level was a
  // pull.
  [[nodiscard]] virtual std::vector<LinkReads> count(Vertex /*source*/) { cannot("count reads by step"); }
  [[nodiscard]] virtual std::vector<bool> pulled() const { cannot("tell pulls"); }

 protected:
  Traversal() = default;

 private:
  [[noreturn]] static void cannot(const char* what) {
    throw UsageError(std::string("this way of traversing cannot ") + what);
  }
};

// What a list is walked for: its vertex tells its neighbours something, or asks them.
enum class Direction { push, pull };
inline constexpr Direction kDirections[] = {Direction::push, Direction::pull};
[[nodiscard]] constexpr const char* name(Direction direction) {
  return direction == Direction::push ? "push" : "pull";
}
// Null where there is such a pull.
[[nodiscard]] constexpr const char* why_no_pull(Algorithm algorithm, Access access) {
  return algorithm != Algorithm::bfs && algorithm != Algorithm::pr
             ? "direction=pull is for bfs and pr: cc asks and tells in one walk, and sssp only pushes"
         : access != Access::merged_aligned && access != Access::edge_gather
             ? "direction=pull walks by merged_aligned and edge_gather"
             : nullptr;
}

// Walks of lists where they lie. Offsets and the vertices' state are in GPU memory; the edge list, and
// weights, are where the placement says. A traversal goes level by level: the vertices that the last one
// changed are collected in ascending order, their lists cut into work items (access.hpp), and walked. Source:
// EMOGI, VLDB 2020.
// By pull the lists are of in-neighbours, those of an undirected graph or of a transpose, and a level has all
// vertices that may still change: of bfs those not yet reached, of pr all. `graph` outlives it. Throws
// SkipError where the GPU has no room for the state, with the numbers, or UsageError for sssp over a graph
// placed without weights, and for a pull that is not there; in a build without CUDA always SkipError.
[[nodiscard]] std::unique_ptr<Traversal> make_traversal(const PlacedGraph& graph, Algorithm algorithm,
                                                        Access access, Direction direction = Direction::push);

// The same over several GPUs. Each walks the lists of its own part, wherever that is placed for it, and keeps
// the state of all vertices: what it finds of others' goes into its own copy. Before a level each GPU takes
// from the others, over their links, what they found of its vertices. `parts`: of one graph, every part
// once, in order, and they outlive it; several may be of one GPU. Traces are not recorded. Throws as
// make_traversal; UsageError where parts are not of one whole; SkipError where a GPU does not reach another.
[[nodiscard]] std::unique_ptr<Traversal> make_traversal(std::span<const PlacedGraph* const> parts,
                                                        Algorithm algorithm, Access access);

// Traversal by compaction, after Subway (EuroSys 2020): in every level the GPU finds the active vertices, the
// CPU gathers their lists, end to end, into page-locked buffers, these are copied to the GPU, and a kernel
// walks the copy.
//
// The sequence of a level's lists is cut into partitions (a list that lies across a cut is walked in two
// parts). Two buffers take turns, so that one partition is gathered while another is copied and a third
// walked. All of it is timed, from the clearing of the state to the last wait. Subway's own code begins to
// time after the first generation, and an integer division in its gathering can leave out up to 63 vertices.

struct SubwayRequest {
  int edge_bytes = 8;    // of a neighbour in the copies: 4 or 8
  bool weights = false;  // gathered and copied too, 4 bytes an edge
  int gpu = 0;
  // Of the GPU's memory, at most, for both buffers of edges and weights. 0: a quarter of what all edges and
  // weights take. More than two partitions (64 MiB) is not used: smaller ones overlap better.
  std::uint64_t cap_bytes = 0;
  friend bool operator==(const SubwayRequest&, const SubwayRequest&) = default;
};

// `graph` outlives the result: lists are gathered from its own arrays. Throws UsageError where the cap does
// not hold two buffers of 32 edges, and for weights that are needed and not asked for, or asked for and not
// there; SkipError, with the numbers, where the GPU has no room; EnvironmentError, with the numbers, or
// FailedError where host memory is lacking or cannot be locked. In a build without CUDA always SkipError.
[[nodiscard]] std::unique_ptr<Traversal> make_subway(const Csr& graph, const SubwayRequest& request,
                                                     Algorithm algorithm);

// Walking lists for nothing but their bytes: what a traversal's level could reach if it had no work to do.

// Timed is one kernel, between two events, that reads the lists of `active` (ascending, host memory) as the
// access walks them; finding the work items is not timed. Each neighbour is added up, and the sum checked
// after each sample. `expected`: sum of all neighbours in these lists. Throws as make_traversal. `graph`
// outlives it.
[[nodiscard]] std::unique_ptr<Operation> make_sweep(const PlacedGraph& graph, Access access,
                                                    std::span<const Vertex> active, std::uint64_t expected);

}  // namespace grainscope::graph

#endif
