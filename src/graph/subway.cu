// Which lists a level of a traversal by compaction has, and the work items of a partition.

#include "subway.cuh"

#include <cuda_runtime.h>

#include <algorithm>
#include <cub/device/device_scan.cuh>
#include <cuda/std/functional>

#include "frontier.cuh"
#include "grainscope/core/error.hpp"
#include "grainscope/cuda/check.hpp"

namespace grainscope::graph {
namespace {

// Without memory it tells `bytes`, what it needs.
template <class Count>
void scan(void* memory, std::size_t& bytes, const Count* from, std::uint64_t* to, std::uint64_t count,
          cudaStream_t stream) {
  cuda::check(cub::DeviceScan::ExclusiveScan(memory, bytes, from, to, ::cuda::std::plus<std::uint64_t>{},
                                             std::uint64_t{0}, static_cast<int>(count), stream),
              "scan the counts of a frontier");
}

std::size_t scratch_bytes(std::uint64_t count) {
  std::size_t bytes = 0;
  std::size_t wide_bytes = 0;
  scan<std::uint32_t>(nullptr, bytes, nullptr, nullptr, count, nullptr);
  scan<std::uint64_t>(nullptr, wide_bytes, nullptr, nullptr, count, nullptr);
  return std::max({bytes, wide_bytes, std::size_t{1}});
}

}  // namespace

CountsScan::CountsScan(int gpu, std::uint64_t most) : scratch_(gpu, scratch_bytes(most)) {}

void CountsScan::submit(const std::uint32_t* from, std::uint64_t* to, std::uint64_t count,
                        cudaStream_t stream) const {
  std::size_t bytes = scratch_.bytes();
  scan(scratch_.data(), bytes, from, to, count, stream);
}

void CountsScan::submit(const std::uint64_t* from, std::uint64_t* to, std::uint64_t count,
                        cudaStream_t stream) const {
  std::size_t bytes = scratch_.bytes();
  scan(scratch_.data(), bytes, from, to, count, stream);
}

namespace {

// Lists whose begins and positions come to the host at once: the first are gathered while others are copied.
constexpr std::uint64_t kChunkLists = std::uint64_t{1} << 18;

// A warp writes the lists of 32 vertices at a time to where the scan of their counts says.
__global__ void __launch_bounds__(kFrontierThreads)
    write_lists(GraphView graph, FrontierArrays arrays, ListArrays lists) {
  const int lane = static_cast<int>(threadIdx.x % kWarpLanes);
  const std::uint32_t warps = gridDim.x * (kFrontierThreads / kWarpLanes);
  std::uint32_t word = blockIdx.x * (kFrontierThreads / kWarpLanes) + threadIdx.x / kWarpLanes;
  for (; word < arrays.words; word += warps) {
    const std::uint32_t bits = arrays.active[word];
    if ((bits >> lane & 1) == 0) {
      continue;
    }
    const std::uint32_t vertex = word * kWarpLanes + lane;
    const std::uint64_t at = arrays.positions[word] + __popc(bits & ((1U << lane) - 1));
    const Edge begin = graph.offsets[vertex];
    lists.vertices[at] = vertex;
    lists.degrees[at] = static_cast<std::uint32_t>(graph.offsets[vertex + std::uint64_t{1}] - begin);
    lists.begins[at] = begin;
  }
}

__global__ void __launch_bounds__(kFrontierThreads)
    write_partition_items(Partition partition, ListArrays lists, int edge_bytes, WorkItem* items,
                          std::uint64_t* item_count) {
  const std::uint64_t count = partition.items();
  std::uint64_t task = std::uint64_t{blockIdx.x} * kFrontierThreads + threadIdx.x;
  if (task == 0) {
    *item_count = count;
  }
  for (; task < count; task += std::uint64_t{gridDim.x} * kFrontierThreads) {
    const PlacedItem placed = place_item(partition, lists.positions, lists.vertices, edge_bytes, task);
    items[placed.place] = placed.item;
  }
}

Vertex checked(Vertex vertices) {
  if (vertices > INT32_MAX - 1U) {
    throw SkipError("lists of " + std::to_string(vertices) + " vertices are scanned 2^31 - 2 at a time");
  }
  return vertices;
}

}  // namespace

ActiveLists::ActiveLists(const GraphView& graph, int gpu, std::uint64_t most_items)
    : graph_(graph),
      words_((checked(graph.vertices) + std::uint64_t{kWarpLanes} - 1) / kWarpLanes),
      active_(gpu, (words_ + 1) * sizeof(std::uint32_t)),
      counts_(gpu, (words_ + 1) * sizeof(std::uint32_t)),
      word_positions_(gpu, (words_ + 1) * sizeof(std::uint64_t)),
      summary_(gpu, sizeof(LevelSummary) + sizeof(std::uint64_t)),
      vertices_(gpu, (graph.vertices + std::uint64_t{1}) * sizeof(Vertex)),
      degrees_(gpu, (graph.vertices + std::uint64_t{1}) * sizeof(std::uint32_t)),
      begins_(gpu, (graph.vertices + std::uint64_t{1}) * sizeof(Edge)),
      positions_(gpu, (graph.vertices + std::uint64_t{1}) * sizeof(Edge)),
      items_(gpu, std::max<std::uint64_t>(most_items, 1) * sizeof(WorkItem)),
      scan_(gpu, graph.vertices + std::uint64_t{1}),
      seen_(sizeof(LevelSummary), cuda::PinnedBuffer::Kind::cached),
      host_begins_(begins_.bytes(), cuda::PinnedBuffer::Kind::cached),
      host_positions_(positions_.bytes(), cuda::PinnedBuffer::Kind::cached),
      grid_(static_cast<unsigned>(cuda::sm_count(gpu)) * 8),
      chunk_copied_(graph.vertices / kChunkLists + 1) {
  // The scans read one more than is written; what it is does not matter.
  cuda::check(cudaMemsetAsync(counts_.data(), 0, counts_.bytes(), to_host_.get()),
              "clear the counts of a frontier");
  cuda::check(cudaMemsetAsync(degrees_.data(), 0, degrees_.bytes(), to_host_.get()),
              "clear the degrees of a frontier");
  // Kernels are loaded here, not in the first run.
  cudaFuncAttributes attributes{};
  cuda::check(cudaFuncGetAttributes(&attributes, write_lists), "load write_lists");
  cuda::check(cudaFuncGetAttributes(&attributes, write_partition_items), "load write_partition_items");
  scan_.submit(lists().degrees, lists().positions, graph.vertices + std::uint64_t{1}, to_host_.get());
  to_host_.synchronize();
}

FrontierArrays ActiveLists::frontier(const cuda::Stream& stream) const {
  const FrontierArrays arrays{.active = static_cast<std::uint32_t*>(active_.data()),
                              .counts = static_cast<std::uint32_t*>(counts_.data()),
                              .positions = static_cast<std::uint64_t*>(word_positions_.data()),
                              .summary = static_cast<LevelSummary*>(summary_.data()),
                              .words = static_cast<std::uint32_t>(words_)};
  cuda::check(cudaMemsetAsync(arrays.summary, 0, sizeof(LevelSummary), stream.get()),
              "clear a level's summary");
  return arrays;
}

ListArrays ActiveLists::lists() const {
  return {static_cast<Vertex*>(vertices_.data()), static_cast<std::uint32_t*>(degrees_.data()),
          static_cast<Edge*>(begins_.data()), static_cast<Edge*>(positions_.data())};
}

LevelSummary ActiveLists::list(const cuda::Stream& stream) {
  const FrontierArrays arrays{.active = static_cast<std::uint32_t*>(active_.data()),
                              .positions = static_cast<std::uint64_t*>(word_positions_.data()),
                              .words = static_cast<std::uint32_t>(words_)};
  scan_.submit(static_cast<const std::uint32_t*>(counts_.data()), arrays.positions, words_ + 1, stream.get());
  write_lists<<<grid_, kFrontierThreads, 0, stream.get()>>>(graph_, arrays, lists());
  cuda::check_launch("write_lists");
  cuda::check(
      cudaMemcpyAsync(seen_.data(), summary_.data(), sizeof(LevelSummary), cudaMemcpyDefault, stream.get()),
      "read a level's summary");
  stream.synchronize();
  return *static_cast<const LevelSummary*>(seen_.data());
}

std::uint64_t ActiveLists::send_to_host(const LevelSummary& summary, const cuda::Stream& stream) {
  count_ = summary.active;
  come_ = 0;
  scan_.submit(lists().degrees, lists().positions, count_ + 1, stream.get());
  laid_out_.record(stream);
  to_host_.wait_for(laid_out_);
  std::uint64_t bytes = 0;
  for (std::uint64_t first = 0; first < count_; first += kChunkLists) {
    const std::uint64_t lists = std::min(kChunkLists, count_ - first);
    copy_chunk(first, lists);
    bytes += (2 * lists + 1) * sizeof(Edge);
  }
  return bytes;
}

void ActiveLists::copy_chunk(std::uint64_t first, std::uint64_t count) {
  const auto copy = [&](const cuda::PinnedBuffer& to, const cuda::DeviceBuffer& from, std::uint64_t entries) {
    cuda::check(
        cudaMemcpyAsync(static_cast<Edge*>(to.data()) + first, static_cast<const Edge*>(from.data()) + first,
                        entries * sizeof(Edge), cudaMemcpyDefault, to_host_.get()),
        "copy a level's lists to the host");
  };
  copy(host_begins_, begins_, count);
  copy(host_positions_, positions_, count + 1);
  chunk_copied_[first / kChunkLists].record(to_host_);
}

Partition ActiveLists::cut(Edge begin, Edge end) {
  const auto* positions = static_cast<const Edge*>(host_positions_.data());
  while (come_ < count_ && (come_ == 0 || positions[come_] < end)) {
    chunk_copied_[come_ / kChunkLists].synchronize();
    come_ = std::min(count_, come_ + kChunkLists);
  }
  if (count_ == 0 || positions[come_] < end) {
    throw FailedError("the lists of a level end at edge " +
                      std::to_string(count_ == 0 ? 0 : positions[come_]) + ", before edge " +
                      std::to_string(end));
  }
  return cut_partition({positions, come_ + 1}, begin, end);
}

ListSequence ActiveLists::on_host() const {
  return {static_cast<const Edge*>(host_begins_.data()), static_cast<const Edge*>(host_positions_.data())};
}

void ActiveLists::write_items(const Partition& partition, int edge_bytes, const cuda::Stream& stream) const {
  if (partition.items() * sizeof(WorkItem) > items_.bytes()) {
    throw FailedError("a partition has " + std::to_string(partition.items()) + " work items, more than the " +
                      std::to_string(items_.bytes() / sizeof(WorkItem)) + " there is room for");
  }
  const std::uint64_t blocks = (partition.items() + kFrontierThreads - 1) / kFrontierThreads;
  write_partition_items<<<static_cast<unsigned>(std::clamp<std::uint64_t>(blocks, 1, grid_)),
                          kFrontierThreads, 0, stream.get()>>>(partition, lists(), edge_bytes,
                                                               static_cast<WorkItem*>(items_.data()),
                                                               const_cast<std::uint64_t*>(item_count()));
  cuda::check_launch("write_partition_items");
}

const std::uint64_t* ActiveLists::item_count() const {
  return reinterpret_cast<const std::uint64_t*>(static_cast<const LevelSummary*>(summary_.data()) + 1);
}

std::vector<Vertex> ActiveLists::vertices(std::uint64_t count) const {
  std::vector<Vertex> vertices(count);
  cuda::check(cudaMemcpy(vertices.data(), vertices_.data(), count * sizeof(Vertex), cudaMemcpyDefault),
              "read which vertices are active");
  return vertices;
}

std::uint64_t ActiveLists::gpu_bytes() const {
  return active_.bytes() + counts_.bytes() + word_positions_.bytes() + vertices_.bytes() + degrees_.bytes() +
         begins_.bytes() + positions_.bytes() + items_.bytes() + scan_.bytes();
}

}  // namespace grainscope::graph
