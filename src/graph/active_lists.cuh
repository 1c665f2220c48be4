#ifndef GRAINSCOPE_SRC_GRAPH_ACTIVE_LISTS_CUH
#define GRAINSCOPE_SRC_GRAPH_ACTIVE_LISTS_CUH

// The lists of a level's active vertices: found on the GPU, read by the host, cut into work items on the GPU.

#include <deque>
#include <vector>

#include "counts_scan.hpp"
#include "frontier.cuh"
#include "gather_lists.hpp"
#include "grainscope/cuda/device.hpp"
#include "grainscope/cuda/memory.hpp"

namespace grainscope::graph {

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

}  // namespace grainscope::graph

#endif
