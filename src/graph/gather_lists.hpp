#ifndef GRAINSCOPE_SRC_GRAPH_GATHER_LISTS_HPP
#define GRAINSCOPE_SRC_GRAPH_GATHER_LISTS_HPP

// The CPU's part of a compaction: lists that lie here and there, copied end to end.

#include "subway_plan.hpp"

namespace grainscope::graph {

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
