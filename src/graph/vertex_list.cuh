#ifndef GRAINSCOPE_SRC_GRAPH_VERTEX_LIST_CUH
#define GRAINSCOPE_SRC_GRAPH_VERTEX_LIST_CUH

// GraphPEG's vertex lists: pop_vertex() and push_vertex(), each called by all lanes of a warp together, and
// its vertex-list mode, in which a list is filtered by a criterion of the application.

#include <cuda/atomic>

#include "frontier.cuh"

namespace grainscope::graph {

template <class T>
using OfDevice = ::cuda::atomic_ref<T, ::cuda::thread_scope_device>;

// The input of vertex-list mode: all vertices of a graph, 32 at a time for a warp.
class AllVertices {
 public:
  __device__ explicit AllVertices(Vertex vertices) : vertices_(vertices) {}

  // `vertex` is the lane's, and below V where it got one. Returns false, to all, once there are no more.
  __device__ bool pop_vertex(std::uint64_t& vertex) {
    if (next_ >= vertices_) {
      return false;
    }
    vertex = next_ + threadIdx.x % kWarpLanes;
    next_ += std::uint64_t{gridDim.x} * kFrontierThreads;
    return true;
  }

 private:
  std::uint64_t vertices_;
  std::uint64_t next_ =
      (std::uint64_t{blockIdx.x} * kFrontierThreads + threadIdx.x) / kWarpLanes * kWarpLanes;
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
  if (program.satisfied(*arrays.summary)) {
    return;
  }
  __shared__ Vertex staged[kFrontierThreads / kWarpLanes][PushedVertices::kStaged];
  AllVertices input(graph.vertices);
  PushedVertices output(staged[threadIdx.x / kWarpLanes], arrays.items, &arrays.summary->pushed);
  for (std::uint64_t vertex = 0; input.pop_vertex(vertex);) {
    const bool active = (arrays.active[vertex / kWarpLanes] >> vertex % kWarpLanes & 1) != 0;
    output.push_vertex(active, static_cast<Vertex>(vertex));
  }
  output.flush();
}

}  // namespace grainscope::graph

#endif
