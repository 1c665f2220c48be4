// How partitions are cut, and how their lists are gathered by all threads.

#include "subway_plan.hpp"

#include <algorithm>
#include <string>

#include "grainscope/core/error.hpp"
#include "grainscope/core/units.hpp"
#include "parallel.hpp"

namespace grainscope::graph {
namespace {

// Long enough for a copy at the link's full rate, short enough to stay in a processor's cache between the
// gathering and the copy.
constexpr std::uint64_t kMostPartitionBytes = 32 * kMiB;
constexpr std::uint64_t kLeastPartitionBytes = kMiB;
constexpr std::uint64_t kPartitionsALevel = 8;  // the first is gathered, and the last walked, alone

constexpr Edge round_down(Edge elements) {
  return elements / kWarpLanes * kWarpLanes;
}
constexpr Edge round_up(Edge elements) {
  return round_down(elements + kWarpLanes - 1);
}

}  // namespace

Edge partition_capacity(std::uint64_t cap_bytes, std::uint64_t element_bytes, Edge edges) {
  const Edge most = round_down(std::min(cap_bytes / 2, kMostPartitionBytes) / element_bytes);
  if (most == 0) {
    throw UsageError("a cap of " + format_bytes(cap_bytes) + " holds no two buffers of " +
                     std::to_string(kWarpLanes) + " edges of " + std::to_string(element_bytes) +
                     " bytes: ask for " + format_bytes(2 * element_bytes * kWarpLanes) + " or more");
  }
  return std::min(most, round_up(std::max<Edge>(edges, 1)));
}

Edge partition_length(Edge edges, Edge capacity, std::uint64_t element_bytes) {
  const Edge least = round_down(kLeastPartitionBytes / element_bytes);
  const Edge wanted = round_up((edges + kPartitionsALevel - 1) / kPartitionsALevel);
  return std::min(capacity, std::max(least, wanted));
}

Partition cut_partition(std::span<const Edge> positions, Edge begin, Edge end) {
  if (begin >= end) {
    return {begin, begin, 0, 0};
  }
  const auto after = std::upper_bound(positions.begin(), positions.end(), begin);
  const auto stop = std::lower_bound(after, positions.end(), end);
  const auto first = static_cast<std::uint64_t>(after - positions.begin()) - 1;
  return {begin, end, first, static_cast<std::uint64_t>(stop - positions.begin()) - first};
}

namespace {

// Lists far from each other: their first lines are asked for while those before are copied.
constexpr std::uint64_t kListsAhead = 8;
constexpr std::uint64_t kPiecesAThread = 4;
constexpr Edge kLineElements = 64 / sizeof(Vertex);

template <class T>
void prefetch(const T* list) {
  __builtin_prefetch(list);
  __builtin_prefetch(list + kLineElements);
}

template <class From, class To>
void copy_elements(const From* __restrict from, To* __restrict to, std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) {
    to[i] = from[i];
  }
}

// A piece of a partition at a time: elements [begin, end) of the sequence.
template <class Target>
struct Part {
  const Csr& graph;
  const ListSequence& lists;
  const Partition& partition;
  const GatheredEdges& to;

  // Returns how many were copied.
  std::uint64_t gather(Edge begin, Edge end) const {
    const Edge* positions = lists.positions + partition.first;
    const Edge* after = std::upper_bound(positions, positions + partition.lists, begin);
    std::uint64_t list = static_cast<std::uint64_t>(after - lists.positions) - 1;
    std::uint64_t copied = 0;
    for (Edge at = begin; at < end;) {
      const Edge from = lists.begins[list] + (at - lists.positions[list]);
      Edge until = lists.positions[++list];
      // Lists that follow one another in the graph too are copied as one.
      while (until < end && lists.begins[list] == from + (until - at)) {
        until = lists.positions[++list];
      }
      until = std::min(until, end);
      ask_for(list + kListsAhead);
      copy(from, at - partition.begin, until - at);
      copied += until - at;
      at = until;
    }
    return copied;
  }

  void ask_for(std::uint64_t list) const {
    if (list >= partition.first + partition.lists) {
      return;
    }
    prefetch(graph.targets.data() + lists.begins[list]);
    if (to.weights != nullptr) {
      prefetch(graph.weights.data() + lists.begins[list]);
    }
  }

  void copy(Edge from, Edge at, std::uint64_t count) const {
    copy_elements(graph.targets.data() + from, static_cast<Target*>(to.targets) + at, count);
    if (to.weights != nullptr) {
      copy_elements(graph.weights.data() + from, to.weights + at, count);
    }
  }
};

template <class Target>
std::uint64_t gather(const Part<Target>& part) {
  const Partition& partition = part.partition;
  const int threads = threads_for(partition.elements());
  // Several pieces a thread, since some lists come from farther than others; of whole lines, so that no two
  // threads write to the same.
  const std::uint64_t wanted = threads == 1 ? 1 : static_cast<unsigned>(threads) * kPiecesAThread;
  const std::uint64_t length = (partition.elements() / wanted / kWarpLanes + 1) * kWarpLanes;
  const std::uint64_t pieces = (partition.elements() + length - 1) / length;
  std::uint64_t copied = 0;
#pragma omp parallel for num_threads(threads) schedule(dynamic) reduction(+ : copied)
  for (std::uint64_t i = 0; i < pieces; ++i) {
    const Edge begin = partition.begin + i * length;
    copied += part.gather(begin, std::min(partition.end, begin + length));
  }
  return copied;
}

}  // namespace

std::uint64_t gather_lists(const Csr& graph, const ListSequence& lists, const Partition& partition,
                           const GatheredEdges& to) {
  if (to.edge_bytes == 4) {
    return gather(Part<std::uint32_t>{graph, lists, partition, to});
  }
  return gather(Part<std::uint64_t>{graph, lists, partition, to});
}

}  // namespace grainscope::graph
