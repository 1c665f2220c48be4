// Every warp load of a level, lane by lane: slow, and the very functions that kernels run.

#include <algorithm>
#include <array>

#include "grainscope/core/error.hpp"
#include "grainscope/model/replay.hpp"

namespace grainscope::model {
namespace {

using graph::Csr;
using graph::Vertex;
using graph::WarpLoad;
using graph::WorkItem;

template <class Policy>
std::vector<WorkItem> items_of(const Csr& graph, int edge_bytes, std::span<const Vertex> active) {
  std::vector<WorkItem> items;
  for (const Vertex v : active) {
    const std::uint64_t begin = graph.offsets[v];
    const std::uint64_t end = graph.offsets[v + std::uint64_t{1}];
    for (std::uint64_t part = 0; part < Policy::items(begin, end, edge_bytes); ++part) {
      items.push_back(Policy::item(v, begin, end, part, edge_bytes));
    }
  }
  return items;
}

// Adds lane `lane`, lanes in ascending order.
void add_lane(WarpLoad& load, int lane, Vertex vertex, std::uint64_t element) {
  if (load.lanes == 0) {
    load.vertex = vertex;
    load.first = element;
  }
  load.lanes |= 1U << lane;
}

template <class Policy>
std::vector<WarpLoad> trace_items(const Csr& graph, int edge_bytes, std::span<const Vertex> active) {
  std::vector<WarpLoad> loads;
  for (const WorkItem& item : items_of<Policy>(graph, edge_bytes, active)) {
    for (std::uint32_t at = 0; at < item.length; at += graph::kWarpLanes) {
      WarpLoad load;
      for (int lane = 0; lane < graph::kWarpLanes; ++lane) {
        const std::uint64_t element = Policy::index(item, static_cast<int>(at) / graph::kWarpLanes, lane);
        if (element != graph::kNoElement) {
          add_lane(load, lane, item.vertex, element);
        }
      }
      loads.push_back(load);
    }
  }
  return loads;
}

// 32 lists in lockstep: a lane whose list has ended reads no more.
std::vector<WarpLoad> trace_naive(const Csr& graph, int edge_bytes, std::span<const Vertex> active) {
  const std::vector<WorkItem> items = items_of<graph::Naive>(graph, edge_bytes, active);
  std::vector<WarpLoad> loads;
  for (std::size_t turn = 0; turn < items.size(); turn += graph::kWarpLanes) {
    const std::size_t lanes = std::min<std::size_t>(graph::kWarpLanes, items.size() - turn);
    for (std::uint32_t step = 0;; ++step) {
      WarpLoad load;
      for (std::size_t lane = 0; lane < lanes; ++lane) {
        const WorkItem& item = items[turn + lane];
        if (step < item.length) {
          add_lane(load, static_cast<int>(lane), item.vertex, item.first + step);
        }
      }
      if (load.lanes == 0) {
        break;
      }
      loads.push_back(load);
    }
  }
  return loads;
}

}  // namespace

std::vector<WarpLoad> trace_level(const Csr& graph, graph::Access access, int edge_bytes,
                                  std::span<const Vertex> active) {
  switch (access) {
    case graph::Access::naive:
      return trace_naive(graph, edge_bytes, active);
    case graph::Access::merged:
      return trace_items<graph::Merged>(graph, edge_bytes, active);
    case graph::Access::merged_aligned:
    case graph::Access::edge_gather:
      return trace_items<graph::MergedAligned>(graph, edge_bytes, active);
    case graph::Access::merged_aligned_chunked:
      return trace_items<graph::MergedAlignedChunked>(graph, edge_bytes, active);
  }
  throw FailedError("there is no such access");
}

}  // namespace grainscope::model
