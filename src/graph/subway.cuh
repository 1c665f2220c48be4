#ifndef GRAINSCOPE_SRC_GRAPH_SUBWAY_CUH
#define GRAINSCOPE_SRC_GRAPH_SUBWAY_CUH

// The skeleton of traversals by compaction: levels of find, gather, copy and walk, until no vertex is
// active. Programs are those of program.cuh, and so is the walk: only what it walks is a partition of the
// level's lists, laid end to end in the GPU's memory.

#include <algorithm>
#include <deque>
#include <vector>

#include "frontier.cuh"
#include "grainscope/cuda/device.hpp"
#include "grainscope/cuda/memory.hpp"
#include "program.cuh"
#include "subway_plan.hpp"
#include "traversals.hpp"

namespace grainscope::graph {

// The lists of a level's active vertices: found on the GPU, read by the host, cut into work items on the GPU.

// List i of a level, device memory: whose it is, where it lies in the graph and where in the sequence.
struct ListArrays {
  Vertex* vertices;        // [V]
  std::uint32_t* degrees;  // [V + 1]
  Edge* begins;            // [V]
  Edge* positions;         // [V + 1]
};

class ActiveLists {
 public:
  // Memory for all vertices of a graph placed on a GPU. `most_items`: of one partition.
  ActiveLists(const GraphView& graph, int gpu, std::uint64_t most_items);

  // What a count kernel with one item for each active vertex fills (frontier.cuh); its summary is cleared.
  [[nodiscard]] FrontierArrays frontier(const cuda::Stream& stream) const;
  // After that kernel: writes the list arrays, and waits until the host knows how many there are.
  [[nodiscard]] LevelSummary list(const cuda::Stream& stream);
  // Then, if there are some: their positions, and the copies to the host, which the host need not await.
  // Returns the bytes copied.
  std::uint64_t send_to_host(const LevelSummary& summary, const cuda::Stream& stream);

  // Cuts the partition with elements [begin, end) from the sequence, once so many lists have come.
  [[nodiscard]] Partition cut(Edge begin, Edge end);
  // What has come, host memory.
  [[nodiscard]] ListSequence on_host() const;
  // Submits the writing of a partition's work items; they are good until the next call.
  void write_items(const Partition& partition, int edge_bytes, const cuda::Stream& stream) const;
  [[nodiscard]] const WorkItem* items() const { return static_cast<const WorkItem*>(items_.data()); }
  [[nodiscard]] const std::uint64_t* item_count() const;

  // The active vertices of the level, ascending; waits.
  [[nodiscard]] std::vector<Vertex> vertices(std::uint64_t count) const;
  [[nodiscard]] std::uint64_t gpu_bytes() const;

 private:
  [[nodiscard]] ListArrays lists() const;
  void copy_chunk(std::uint64_t first, std::uint64_t count);

  GraphView graph_;
  std::uint64_t words_;
  cuda::DeviceBuffer active_;
  cuda::DeviceBuffer counts_;
  cuda::DeviceBuffer word_positions_;
  cuda::DeviceBuffer summary_;  // and the number of work items
  cuda::DeviceBuffer vertices_;
  cuda::DeviceBuffer degrees_;
  cuda::DeviceBuffer begins_;
  cuda::DeviceBuffer positions_;
  cuda::DeviceBuffer items_;
  CountsScan scan_;
  cuda::PinnedBuffer seen_;
  cuda::PinnedBuffer host_begins_;
  cuda::PinnedBuffer host_positions_;
  unsigned grid_;
  cuda::Stream to_host_;
  cuda::Event laid_out_;
  std::deque<cuda::Event> chunk_copied_;
  std::uint64_t count_ = 0;  // lists of the level
  std::uint64_t come_ = 0;   // of them that the host has
};

// The skeleton of traversals by compaction: levels of find, gather, copy and walk, until no vertex is active.
// Programs are those of program.cuh, and so is the walk: only what it walks is a partition of the level's
// lists, laid end to end in the GPU's memory.

// A graph of which only the offsets are on the GPU.
class OffsetsOnGpu final : public PlacedGraph {
 public:
  OffsetsOnGpu(const Csr& graph, const SubwayRequest& request)
      : PlacedGraph({EdgePlacement::mapped, request.edge_bytes, request.weights, request.gpu}),
        offsets_(request.gpu, graph.offsets.bytes()) {
    cuda::check(cudaMemcpy(offsets_.data(), graph.offsets.data(), graph.offsets.bytes(), cudaMemcpyDefault),
                "copy offsets to the GPU");
    view_.offsets = static_cast<const std::uint64_t*>(offsets_.data());
    view_.vertices = graph.vertices();
    view_.edges = graph.edges();
    view_.range = {0, graph.vertices()};
    view_.edge_bytes = request.edge_bytes;
  }
  void make_cold() override {}
  [[nodiscard]] std::uint64_t gpu_bytes() const override { return offsets_.bytes(); }

 private:
  cuda::DeviceBuffer offsets_;
};

// Elements of one buffer, once it is known that there is host memory for all that will be page-locked.
inline Edge capacity_of(const Csr& graph, const SubwayRequest& request) {
  const Edge capacity = partition_capacity(request.cap_bytes, element_bytes(request), graph.edges());
  require_memory(2 * capacity * element_bytes(request) + 2 * graph.offsets.bytes());
  return capacity;
}

template <class Program>
class SubwayLoop {
 public:
  using Observer = LevelObserver;

  SubwayLoop(const PlacedGraph& placed, const Csr& graph, const SubwayRequest& request)
      : graph_(placed.view()),
        element_bytes_(element_bytes(request)),
        capacity_(capacity_of(graph, request)),
        lists_(graph_, request.gpu, most_partition_items()),
        buffers_(graph, request, capacity_),
        walk_(walk_noting<Note::nothing>(graph_.edge_bytes)),
        walk_counted_(walk_noting<Note::loads>(graph_.edge_bytes)),
        count_grid_(static_cast<unsigned>(cuda::sm_count(request.gpu)) * 8) {
    int blocks = 0;
    cuda::check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, walk_, kWalkThreads, 0),
                "ask how many blocks a multiprocessor holds");
    cudaFuncAttributes attributes{};
    cuda::check(cudaFuncGetAttributes(&attributes, walk_counted_), "load walk_lists");
    cuda::check(cudaFuncGetAttributes(&attributes, count_items<Naive, Program>), "load count_items");
    walk_grid_ = static_cast<unsigned>(std::max(1, blocks * cuda::sm_count(request.gpu)));
  }

  // As LevelLoop::run. Seconds between two events around everything, the host's work in between included.
  template <class Start>
  double run(Program program, const Start& start, std::uint64_t most_levels, const Observer& observer = {}) {
    if (observer.trace != nullptr) {
      throw UsageError("what a traversal by compaction walks are copies: there are no loads to trace");
    }
    buffers_.begin_run();
    times_.begin(stream_);
    start(stream_);
    for (std::uint64_t level = 0;; ++level) {
      LevelTimes::require(level, most_levels);
      const LevelSummary summary = find_active(program);
      if (program.satisfied(summary)) {
        break;
      }
      if (observer.visit != nullptr) {
        (*observer.visit)(lists_.vertices(summary.active));
      }
      times_.add(summary.active, summary.edges);
      walk_level(program, summary, observer.blocks);
      times_.end(level).record(stream_);
      program.next_level();
    }
    times_.end(times_.size()).record(stream_);
    stream_.synchronize();
    buffers_.finish_run();
    return times_.all_s();
  }

  // Of the last run, with their times.
  [[nodiscard]] std::vector<LevelResult> levels() const {
    std::vector<LevelResult> levels = times_.read();
    for (std::size_t i = 0; i < levels.size(); ++i) {
      const SubwayLevel& parts = buffers_.levels()[i];
      levels[i].link_bytes = parts.edge_bytes + parts.list_bytes;
    }
    return levels;
  }
  [[nodiscard]] const std::vector<SubwayLevel>& parts() const { return buffers_.levels(); }
  [[nodiscard]] std::uint64_t gpu_bytes() const { return lists_.gpu_bytes() + buffers_.gpu_bytes(); }
  // Blocks of a walk.
  [[nodiscard]] unsigned noted_grid() const { return walk_grid_; }
  [[nodiscard]] const cuda::Stream& stream() const { return stream_; }

 private:
  // Asks the program which vertices are active; the host has to know before it can gather.
  LevelSummary find_active(const Program& program) {
    const FrontierArrays arrays = lists_.frontier(stream_);
    // One item for each list: counts of vertices.
    count_items<Naive, Program><<<count_grid_, kFrontierThreads, 0, stream_.get()>>>(graph_, arrays, program);
    cuda::check_launch("count_items");
    return lists_.list(stream_);
  }

  using Walk = void (*)(WalkInput, Program);
  template <Note kNote>
  static Walk walk_noting(int edge_bytes) {
    return edge_bytes == 4 ? walk_lists<std::uint32_t, MergedAligned, Program, kNote>
                           : walk_lists<std::uint64_t, MergedAligned, Program, kNote>;
  }

  // `blocks`: where their loads are counted, or null.
  void walk_level(const Program& program, const LevelSummary& summary, BlockLoads* blocks) {
    buffers_.begin_level().list_bytes = lists_.send_to_host(summary, stream_);
    const Edge length = partition_length(summary.edges, capacity_, element_bytes_);
    for (Edge begin = 0; begin < summary.edges; begin += length) {
      const Partition partition = lists_.cut(begin, std::min<Edge>(summary.edges, begin + length));
      const GraphView copy = buffers_.bring(partition, lists_.on_host(), stream_);
      lists_.write_items(partition, graph_.edge_bytes, stream_);
      const WalkInput input{lists_.items(), lists_.item_count(), copy, {}, blocks, {}};
      const Walk walk = blocks == nullptr ? walk_ : walk_counted_;
      walk<<<walk_grid_, kWalkThreads, 0, stream_.get()>>>(input, program);
      cuda::check_launch("walk_lists, of a partition");
      buffers_.walk_submitted(stream_);
    }
  }

  // Work items of a partition, at most: lists that have an element there, and blocks.
  [[nodiscard]] std::uint64_t most_partition_items() const {
    return Partition{0, capacity_, 0, std::min<std::uint64_t>(graph_.vertices, capacity_)}.items();
  }

  GraphView graph_;
  std::uint64_t element_bytes_;
  Edge capacity_;
  ActiveLists lists_;
  EdgeBuffers buffers_;
  Walk walk_;
  Walk walk_counted_;
  unsigned count_grid_;
  unsigned walk_grid_ = 1;
  cuda::Stream stream_;
  LevelTimes times_;
};

// What a traversal by compaction has before it is one.
struct CompactedGraph {
  CompactedGraph(const Csr& graph, const SubwayRequest& request)
      : guard(request.gpu), placed(graph, request) {}
  cuda::DeviceGuard guard;
  OffsetsOnGpu placed;
};

// An algorithm's traversal by compaction, from the state that its other traversals have too.
template <class State>
class CompactingTraversal final : private CompactedGraph,
                                  public ProgramTraversal<State, SubwayLoop<typename State::Program>> {
  using Walks = ProgramTraversal<State, SubwayLoop<typename State::Program>>;

 public:
  CompactingTraversal(const Csr& graph, const SubwayRequest& request)
      : CompactedGraph(graph, request), Walks(placed, graph, request) {}

  [[nodiscard]] std::uint64_t gpu_bytes() const override { return placed.gpu_bytes() + Walks::gpu_bytes(); }
  [[nodiscard]] std::vector<SubwayLevel> parts() const override { return this->loop().parts(); }
};

}  // namespace grainscope::graph

#endif
