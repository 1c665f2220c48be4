#ifndef GRAINSCOPE_SRC_GRAPH_SUBWAY_PLAN_HPP
#define GRAINSCOPE_SRC_GRAPH_SUBWAY_PLAN_HPP

// How the lists of a level's active vertices, laid end to end as one sequence, are cut into partitions, and a
// partition into work items. Plain arithmetic, the same on the host and on a GPU.

#include <cstdint>
#include <span>

#include "grainscope/graph/access.hpp"
#include "grainscope/graph/csr.hpp"

namespace grainscope::graph {

// No work item crosses a boundary of so many elements of a partition: a warp's steps of one item.
inline constexpr std::uint64_t kBlockElements = MergedAligned::kPiece;

// Elements [begin, end) of the sequence; the lists that have elements there are `lists` from number `first`.
struct Partition {
  Edge begin = 0;
  Edge end = 0;
  std::uint64_t first = 0;
  std::uint64_t lists = 0;

  [[nodiscard]] constexpr std::uint64_t elements() const { return end - begin; }
  [[nodiscard]] constexpr std::uint64_t blocks() const {
    return (elements() + kBlockElements - 1) / kBlockElements;
  }
  // A list begins, or a block: every item does so for one of the two reasons. 0 for no elements.
  [[nodiscard]] constexpr std::uint64_t items() const { return lists == 0 ? 0 : lists + blocks() - 1; }
};

// Elements that one of two buffers holds: as many as the cap allows, no more than are worth while or than the
// graph has; a multiple of 32, so that weights behind the edges begin on a boundary of 128 bytes.
// `element_bytes`: of an edge with its weight. Throws UsageError where that would be none.
[[nodiscard]] Edge partition_capacity(std::uint64_t cap_bytes, std::uint64_t element_bytes, Edge edges);

// Elements of each partition but the last of a level of `edges`: short enough that the level has several, for
// overlap, and long enough to be worth a copy.
[[nodiscard]] Edge partition_length(Edge edges, Edge capacity, std::uint64_t element_bytes);

// `positions`: where each list begins in the sequence, ascending without repeats from 0, and a last entry,
// not below `end`, where the last of them ends (of the whole sequence no more need be there).
[[nodiscard]] Partition cut_partition(std::span<const Edge> positions, Edge begin, Edge end);

// One work item of a partition and its place among them. `first` of the item counts from the partition's
// begin.
struct PlacedItem {
  std::uint64_t place = 0;
  WorkItem item;
};

// The piece of list number `list` that lies in `block`, as an item.
constexpr WorkItem piece_in_block(const Partition& partition, const Edge* positions, const Vertex* vertices,
                                  std::uint64_t list, std::uint64_t block, int edge_bytes) {
  const Edge low = partition.begin + block * kBlockElements;
  const Edge high = partition.end - low < kBlockElements ? partition.end : low + kBlockElements;
  const Edge list_begin = positions[list];
  const Edge list_end = positions[list + 1];
  const Edge begin = list_begin < low ? low : list_begin;
  const Edge end = list_end < high ? list_end : high;
  WorkItem item =
      MergedAligned::item(vertices[list], begin - partition.begin, end - partition.begin, 0, edge_bytes);
  item.whole = begin == list_begin && end == list_end ? 1 : 0;
  return item;
}

// What task number `task` below partition.items() writes: each place is written by one. The first tasks write
// the items with which lists begin; the others those with which blocks begin in the midst of a list. A list
// that begins with a block leaves a place over, which gets an item of no elements.
constexpr PlacedItem place_item(const Partition& partition, const Edge* positions, const Vertex* vertices,
                                int edge_bytes, std::uint64_t task) {
  if (task < partition.lists) {
    const std::uint64_t list = partition.first + task;
    const Edge begin = positions[list] < partition.begin ? 0 : positions[list] - partition.begin;
    const std::uint64_t block = begin / kBlockElements;
    return {task + block, piece_in_block(partition, positions, vertices, list, block, edge_bytes)};
  }
  const std::uint64_t block = task - partition.lists + 1;
  const Edge element = partition.begin + block * kBlockElements;
  // The last list that begins at the element or before it.
  std::uint64_t list = partition.first;
  std::uint64_t beyond = partition.first + partition.lists;
  while (beyond - list > 1) {
    const std::uint64_t middle = list + (beyond - list) / 2;
    if (positions[middle] <= element) {
      list = middle;
    } else {
      beyond = middle;
    }
  }
  const std::uint64_t place = list - partition.first + block;
  if (positions[list] == element) {
    return {place - 1, {0, 0, 0, vertices[list], 0}};
  }
  return {place, piece_in_block(partition, positions, vertices, list, block, edge_bytes)};
}

// The CPU's part of a compaction: lists that lie here and there, copied end to end.

// The lists of a level's active vertices in host memory, in ascending order: list i are the elements of the
// graph from begins[i], and of the sequence from positions[i] to positions[i + 1].
struct ListSequence {
  const Edge* begins = nullptr;
  const Edge* positions = nullptr;
};

// Where a partition goes: from its first element on.
struct GatheredEdges {
  void* targets = nullptr;    // u32 or u64 each
  Weight* weights = nullptr;  // or null: not wanted
  int edge_bytes = 8;         // 4 or 8: neighbours are widened on the way
};

// Elements of `partition` to `to`, by all threads, each an equal part of the elements whatever the lists'
// lengths. Returns how many elements were copied.
[[nodiscard]] std::uint64_t gather_lists(const Csr& graph, const ListSequence& lists,
                                         const Partition& partition, const GatheredEdges& to);

}  // namespace grainscope::graph

#endif
