#ifndef GRAINSCOPE_SRC_GRAPH_FRONTIER_CUH
#define GRAINSCOPE_SRC_GRAPH_FRONTIER_CUH

// From "these vertices are active" to work items in ascending order of addresses: count, scan, emit. A warp
// looks after 32 vertices at a time, whose activity is one word.

#include <cuda_runtime.h>
#include <cuda_runtime_api.h>

#include <cstdint>
#include <cuda/atomic>
#include <optional>
#include <vector>

#include "../cuda/launch.cuh"
#include "grainscope/cuda/check.hpp"
#include "grainscope/cuda/memory.hpp"
#include "walk.cuh"

namespace grainscope::graph {

// Where counted things begin in a sequence: the sums of the counts before each. CUB's scan, compiled once:
// its headers take longer than a traversal.

class CountsScan {
 public:
  // For up to `most` counts at a time, fewer than 2³¹, on a GPU.
  CountsScan(int gpu, std::uint64_t most);

  // Submits to[i] = from[0] + … + from[i - 1] for `count` of them. Device memory.
  void submit(const std::uint32_t* from, std::uint64_t* to, std::uint64_t count, cudaStream_t stream) const;
  void submit(const std::uint64_t* from, std::uint64_t* to, std::uint64_t count, cudaStream_t stream) const;

  // Of its own.
  [[nodiscard]] std::uint64_t bytes() const { return scratch_.bytes(); }

 private:
  cuda::DeviceBuffer scratch_;
};

// From "these vertices are active" to work items in ascending order of addresses: count, scan, emit. A warp
// looks after 32 vertices at a time, whose activity is one word.

// What one level amounts to; device memory, copied to the host at its end.
struct LevelSummary {
  unsigned long long active;  // vertices
  unsigned long long edges;   // in their lists
  double rest;                // what the program has left to do, in its own measure (pr's residual)
  unsigned long long pushed;  // vertices, by push_vertex (vertex_list.cuh)
};

struct FrontierArrays {
  std::uint32_t* active = nullptr;     // [words], a bit a vertex
  std::uint32_t* counts = nullptr;     // [words + 1], items of each word's vertices; the last is 0
  std::uint64_t* positions = nullptr;  // [words + 1], their exclusive sum
  WorkItem* items = nullptr;           // [capacity]
  // Of merge_path alone: edges of each word's vertices, the last 0; their exclusive sum; edges before each
  // item.
  std::uint64_t* edge_counts = nullptr;     // [words + 1]
  std::uint64_t* edge_positions = nullptr;  // [words + 1]
  std::uint64_t* edges_before = nullptr;    // [capacity + 1]
  LevelSummary* summary = nullptr;
  LevelSummary* total = nullptr;  // of all GPUs that share the level; of one alone its summary
  std::uint32_t words = 0;
  std::uint32_t first_word = 0;  // of the graph's, in which these vertices begin
};

inline constexpr int kFrontierThreads = 256;

// Asks the program which vertices are active (it may change their state on the way) and counts their items.
template <class Policy, class Program>
__global__ void __launch_bounds__(kFrontierThreads)
    count_items(GraphView graph, FrontierArrays arrays, Program program) {
  const int lane = static_cast<int>(threadIdx.x % kWarpLanes);
  const std::uint32_t warps = gridDim.x * (kFrontierThreads / kWarpLanes);
  unsigned long long active = 0;
  unsigned long long edges = 0;
  double rest = 0;
  std::uint32_t word = blockIdx.x * (kFrontierThreads / kWarpLanes) + threadIdx.x / kWarpLanes;
  for (; word < arrays.words; word += warps) {
    const std::uint32_t vertex = (arrays.first_word + word) * kWarpLanes + lane;
    const bool mine = vertex < graph.vertices;
    if constexpr (Program::kMeasuresRest) {
      rest += mine ? program.rest_of(vertex) : 0;
    }
    bool wants = program.activate(vertex, mine, lane);
    std::uint64_t items = 0;
    std::uint64_t degree = 0;
    if (wants) {
      const std::uint64_t begin = graph.offsets[vertex];
      const std::uint64_t end = graph.offsets[vertex + std::uint64_t{1}];
      wants = begin < end;
      items = Policy::items(begin, end, graph.edge_bytes);
      degree = end - begin;
      edges += degree;
      active += wants ? 1 : 0;
    }
    const std::uint32_t bits = __ballot_sync(~0U, wants);
    items = cuda::sum_of_warp(items);
    if constexpr (Policy::kAccess == Access::merge_path) {
      degree = cuda::sum_of_warp(degree);
      if (lane == 0) {
        arrays.edge_counts[word] = degree;
      }
    }
    if (lane == 0) {
      arrays.active[word] = bits;
      arrays.counts[word] = static_cast<std::uint32_t>(items);
    }
  }
  const std::uint64_t all_active = cuda::sum_of_warp(static_cast<std::uint64_t>(active));
  const std::uint64_t all_edges = cuda::sum_of_warp(static_cast<std::uint64_t>(edges));
  if (lane == 0 && all_active > 0) {
    atomicAdd(&arrays.summary->active, static_cast<unsigned long long>(all_active));
    atomicAdd(&arrays.summary->edges, static_cast<unsigned long long>(all_edges));
  }
  if constexpr (Program::kMeasuresRest) {
    rest = cuda::sum_of_warp(rest);
    if (lane == 0) {
      atomicAdd(&arrays.summary->rest, rest);
    }
  }
}

// Writes the items where the scan says. A program that is satisfied gets none.
template <class Policy, class Program>
__global__ void __launch_bounds__(kFrontierThreads)
    emit_items(GraphView graph, FrontierArrays arrays, Program program) {
  if (program.satisfied(*arrays.total)) {
    return;
  }
  const int lane = static_cast<int>(threadIdx.x % kWarpLanes);
  const std::uint32_t warps = gridDim.x * (kFrontierThreads / kWarpLanes);
  std::uint32_t word = blockIdx.x * (kFrontierThreads / kWarpLanes) + threadIdx.x / kWarpLanes;
  for (; word < arrays.words; word += warps) {
    const std::uint32_t bits = arrays.active[word];
    if (bits == 0) {
      continue;
    }
    const std::uint32_t vertex = (arrays.first_word + word) * kWarpLanes + lane;
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    if ((bits >> lane & 1) != 0) {
      begin = graph.offsets[vertex];
      end = graph.offsets[vertex + std::uint64_t{1}];
    }
    const auto items = static_cast<std::uint32_t>(Policy::items(begin, end, graph.edge_bytes));
    const std::uint64_t at = arrays.positions[word] + cuda::sum_up_to_lane(items, lane) - items;
    for (std::uint32_t part = 0; part < items; ++part) {
      arrays.items[at + part] = Policy::item(vertex, begin, end, part, graph.edge_bytes);
    }
    if constexpr (Policy::kAccess == Access::merge_path) {
      const std::uint64_t degree = end - begin;
      const std::uint64_t before = arrays.edge_positions[word] + cuda::sum_up_to_lane(degree, lane) - degree;
      if (items != 0) {
        arrays.edges_before[at] = before;
      }
    }
  }
}

// One thread: how many items there are to walk.
template <class Program>
__global__ void settle_level(FrontierArrays arrays, std::uint64_t* item_count, Program program) {
  *item_count = program.satisfied(*arrays.total) ? 0 : arrays.positions[arrays.words];
  if (arrays.edges_before != nullptr) {
    arrays.edges_before[*item_count] = *item_count == 0 ? 0 : arrays.edge_positions[arrays.words];
  }
}

// The GPU memory of a frontier and its work items, and the scan between counting and emitting them.

// Work items that all lists together can be cut into, at most: ceil((degree + lanes - 1) / piece) each, a
// piece being kPieceSteps steps of a team of so many lanes.
inline std::uint64_t most_items(const GraphView& graph, std::uint64_t piece) {
  const std::uint64_t lists = graph.range.last - graph.range.first;
  return lists + lists / kPieceSteps + graph.edges / piece + 1;
}

// What the buffers of a frontier are for.
struct FrontierShape {
  std::uint64_t piece = std::uint64_t{kPieceSteps} * kWarpLanes;  // elements of a work item, at most
  bool tiles = false;                                             // of merge_path
};

class FrontierBuffers {
 public:
  FrontierBuffers(const GraphView& graph, int gpu, const FrontierShape& shape)
      : first_word_(graph.range.first / kWarpLanes),
        words_((graph.range.last - graph.range.first + kWarpLanes - 1) / kWarpLanes),
        active_(gpu, std::max(1U, words_) * sizeof(std::uint32_t)),
        counts_(gpu, (words_ + 1) * sizeof(std::uint32_t)),
        positions_(gpu, (words_ + 1) * sizeof(std::uint64_t)),
        items_(gpu, most_items(graph, shape.piece) * sizeof(WorkItem)),
        summary_(gpu, sizeof(LevelSummary) + sizeof(std::uint64_t)),
        scan_(gpu, words_ + std::uint64_t{1}) {
    // The scan reads one count more than there are words.
    cuda::check(cudaMemset(counts_.data(), 0, counts_.bytes()), "clear the counts of a frontier");
    if (shape.tiles) {
      tiles_.emplace(gpu, words_, most_items(graph, shape.piece), graph.edges);
    }
  }

  [[nodiscard]] FrontierArrays arrays() const {
    auto* const summary = static_cast<LevelSummary*>(summary_.data());
    const auto wide = [&](cuda::DeviceBuffer Tiles::*buffer) {
      return tiles_ ? static_cast<std::uint64_t*>(((*tiles_).*buffer).data()) : nullptr;
    };
    return {.active = static_cast<std::uint32_t*>(active_.data()),
            .counts = static_cast<std::uint32_t*>(counts_.data()),
            .positions = static_cast<std::uint64_t*>(positions_.data()),
            .items = static_cast<WorkItem*>(items_.data()),
            .edge_counts = wide(&Tiles::edge_counts),
            .edge_positions = wide(&Tiles::edge_positions),
            .edges_before = wide(&Tiles::edges_before),
            .summary = summary,
            .total = summary,
            .words = words_,
            .first_word = first_word_};
  }
  // How many items of the level there are; device memory, behind the summary.
  [[nodiscard]] std::uint64_t* item_count() const {
    return reinterpret_cast<std::uint64_t*>(static_cast<LevelSummary*>(summary_.data()) + 1);
  }

  // From counts to positions.
  void scan(cudaStream_t stream) const {
    const FrontierArrays to = arrays();
    scan_.submit(to.counts, to.positions, words_ + std::uint64_t{1}, stream);
    if (tiles_) {
      scan_.submit(to.edge_counts, to.edge_positions, words_ + std::uint64_t{1}, stream);
    }
  }
  // Where tiles begin, once the items are there; null where there are none.
  [[nodiscard]] TileView tiles() const {
    return tiles_ ? TileView{static_cast<const std::uint64_t*>(tiles_->edges_before.data()),
                             static_cast<TileStart*>(tiles_->starts.data())}
                  : TileView{};
  }

  // The active vertices, ascending; none where the level has no items. Waits for the GPU.
  [[nodiscard]] std::vector<Vertex> read_active() const {
    std::uint64_t items = 0;
    cuda::check(cudaMemcpy(&items, item_count(), sizeof(items), cudaMemcpyDefault), "read a level");
    std::vector<Vertex> active;
    if (items == 0) {
      return active;
    }
    std::vector<std::uint32_t> words(words_);
    cuda::check(cudaMemcpy(words.data(), active_.data(), words_ * sizeof(std::uint32_t), cudaMemcpyDefault),
                "read which vertices are active");
    for (std::uint32_t word = 0; word < words_; ++word) {
      for (std::uint32_t bits = words[word]; bits != 0; bits &= bits - 1) {
        active.push_back((first_word_ + word) * kWarpLanes + static_cast<std::uint32_t>(__builtin_ctz(bits)));
      }
    }
    return active;
  }

  [[nodiscard]] std::uint64_t bytes() const {
    return active_.bytes() + counts_.bytes() + positions_.bytes() + items_.bytes() + scan_.bytes() +
           (tiles_ ? tiles_->bytes() : 0);
  }

 private:
  // Of merge_path.
  struct Tiles {
    Tiles(int gpu, std::uint64_t words, std::uint64_t lists, std::uint64_t edges)
        : edge_counts(gpu, (words + 1) * sizeof(std::uint64_t)),
          edge_positions(gpu, (words + 1) * sizeof(std::uint64_t)),
          edges_before(gpu, (lists + 1) * sizeof(std::uint64_t)),
          starts(gpu, (merge_path_tiles(lists + edges) + 1) * sizeof(TileStart)) {
      cuda::check(cudaMemset(edge_counts.data(), 0, edge_counts.bytes()), "clear the edges of a frontier");
    }
    [[nodiscard]] std::uint64_t bytes() const {
      return edge_counts.bytes() + edge_positions.bytes() + edges_before.bytes() + starts.bytes();
    }
    cuda::DeviceBuffer edge_counts;
    cuda::DeviceBuffer edge_positions;
    cuda::DeviceBuffer edges_before;
    cuda::DeviceBuffer starts;
  };

  std::uint32_t first_word_;
  std::uint32_t words_;
  cuda::DeviceBuffer active_;
  cuda::DeviceBuffer counts_;
  cuda::DeviceBuffer positions_;
  cuda::DeviceBuffer items_;
  cuda::DeviceBuffer summary_;
  CountsScan scan_;
  std::optional<Tiles> tiles_;
};

// GraphPEG's vertex lists: pop_vertex() and push_vertex(), each called by all lanes of a warp together, and
// its vertex-list mode, in which a list is filtered by a criterion of the application.

template <class T>
using OfDevice = ::cuda::atomic_ref<T, ::cuda::thread_scope_device>;

// The input of vertex-list mode: all vertices whose lists are placed, 32 at a time for a warp.
class AllVertices {
 public:
  __device__ explicit AllVertices(VertexRange range)
      : next_(range.first +
              (std::uint64_t{blockIdx.x} * kFrontierThreads + threadIdx.x) / kWarpLanes * kWarpLanes),
        last_(range.last) {}

  // `vertex` is the lane's, and below the last where it got one. Returns false, to all, once there are no
  // more.
  __device__ bool pop_vertex(std::uint64_t& vertex) {
    if (next_ >= last_) {
      return false;
    }
    vertex = next_ + threadIdx.x % kWarpLanes;
    next_ += std::uint64_t{gridDim.x} * kFrontierThreads;
    return true;
  }

 private:
  std::uint64_t next_;
  std::uint64_t last_;
};

// The input of edge-gathering mode: a list that the warps of the grid share. It is taken in its order.
class SharedVertexList {
 public:
  __device__ SharedVertexList(const WorkItem* items, std::uint64_t count, unsigned long long* popped)
      : items_(items), count_(count), popped_(popped) {}

  [[nodiscard]] __device__ bool exhausted() const { return exhausted_; }
  // A vertex for every lane that wants one, as long as there are any. Returns whether the lane got one.
  __device__ bool pop_vertex(bool wants, Vertex& vertex) {
    const int lane = static_cast<int>(threadIdx.x % kWarpLanes);
    const unsigned asking = __ballot_sync(~0U, wants);
    if (asking == 0 || exhausted_) {
      return false;
    }
    const auto all = static_cast<unsigned long long>(__popc(asking));
    std::uint64_t first = 0;
    if (lane == 0) {
      first = OfDevice<unsigned long long>(*popped_).fetch_add(all, ::cuda::memory_order_relaxed);
    }
    first = __shfl_sync(~0U, first, 0);
    exhausted_ = first + all >= count_;
    const std::uint64_t at = first + static_cast<std::uint64_t>(cuda::lanes_before(asking, lane));
    if (!wants || at >= count_) {
      return false;
    }
    vertex = items_[at].vertex;
    return true;
  }

 private:
  const WorkItem* items_;
  std::uint64_t count_;
  unsigned long long* popped_;
  bool exhausted_ = false;
};

// An output list, in no particular order: collected in shared memory by each warp, spilled 32 at a time.
class PushedVertices {
 public:
  static constexpr int kStaged = 2 * kWarpLanes;

  // `staged`: [kStaged], shared, the warp's own. `items`: device, with room for all; `pushed` of them so far.
  __device__ PushedVertices(Vertex* staged, WorkItem* items, unsigned long long* pushed)
      : staged_(staged), items_(items), pushed_(pushed) {}

  // Of each lane that wants to.
  __device__ void push_vertex(bool wants, Vertex vertex) {
    const int lane = static_cast<int>(threadIdx.x % kWarpLanes);
    const unsigned pushing = __ballot_sync(~0U, wants);
    if (wants) {
      staged_[count_ + cuda::lanes_before(pushing, lane)] = vertex;
    }
    count_ += __popc(pushing);
    __syncwarp();
    if (count_ >= kWarpLanes) {
      spill(kWarpLanes);
    }
  }
  // What is left, at the end.
  __device__ void flush() {
    if (count_ > 0) {
      spill(count_);
    }
  }

 private:
  // The first `count` of what is staged; the rest moves up.
  __device__ void spill(int count) {
    const int lane = static_cast<int>(threadIdx.x % kWarpLanes);
    unsigned long long at = 0;
    if (lane == 0) {
      at = atomicAdd(pushed_, static_cast<unsigned long long>(count));
    }
    at = __shfl_sync(~0U, at, 0);
    if (lane < count) {
      items_[at + static_cast<unsigned long long>(lane)] = EdgeGather::item(staged_[lane]);
    }
    count_ -= count;
    const Vertex moves = lane < count_ ? staged_[count + lane] : 0;
    __syncwarp();
    if (lane < count_) {
      staged_[lane] = moves;
    }
    __syncwarp();
  }

  Vertex* staged_;
  WorkItem* items_;
  unsigned long long* pushed_;
  int count_ = 0;  // staged, the same in all lanes
};

// Vertex-list mode: the vertices that count_items found active become the list whose edges are gathered. A
// program that is satisfied gets none.
template <class Program>
__global__ void __launch_bounds__(kFrontierThreads)
    list_vertices(GraphView graph, FrontierArrays arrays, Program program) {
  if (program.satisfied(*arrays.total)) {
    return;
  }
  __shared__ Vertex staged[kFrontierThreads / kWarpLanes][PushedVertices::kStaged];
  AllVertices input(graph.range);
  PushedVertices output(staged[threadIdx.x / kWarpLanes], arrays.items, &arrays.summary->pushed);
  for (std::uint64_t vertex = 0; input.pop_vertex(vertex);) {
    const std::uint64_t word = vertex / kWarpLanes - arrays.first_word;
    const bool active = (arrays.active[word] >> vertex % kWarpLanes & 1) != 0;
    output.push_vertex(active, static_cast<Vertex>(vertex));
  }
  output.flush();
}

}  // namespace grainscope::graph

#endif
