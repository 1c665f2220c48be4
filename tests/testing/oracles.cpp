#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <numeric>
#include <queue>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "../../src/graph/answers.hpp"
#include "grainscope/core/error.hpp"
#include "oracles.hpp"

namespace grainscope::graph {

// Breadth-first search with a queue: the depth of every vertex that is reached from a source.

std::vector<std::uint32_t> serial_bfs(const Csr& graph, Vertex source) {
  require_source(graph, source);
  std::vector<std::uint32_t> depths(graph.vertices(), kUnreached);
  std::vector<Vertex> queue{source};
  depths[source] = 0;
  for (std::size_t next = 0; next < queue.size(); ++next) {
    const Vertex v = queue[next];
    for (const Vertex u : graph.neighbours(v)) {
      if (depths[u] == kUnreached) {
        depths[u] = depths[v] + 1;
        queue.push_back(u);
      }
    }
  }
  return depths;
}

// Dijkstra's algorithm with a heap: the distance of every vertex that is reached from a source.
namespace {

using Reached = std::pair<std::uint64_t, Vertex>;  // distance and vertex, the nearest first
using Heap = std::priority_queue<Reached, std::vector<Reached>, std::greater<>>;

// Throws UsageError where a distance cannot be told from "not reached" in 32 bits.
std::vector<std::uint32_t> in_32_bits(const std::vector<std::uint64_t>& distances) {
  std::vector<std::uint32_t> result(distances.size(), kUnreached);
  for (std::size_t v = 0; v < distances.size(); ++v) {
    if (distances[v] == UINT64_MAX) {
      continue;
    }
    if (distances[v] >= kUnreached) {
      throw UsageError("vertex " + std::to_string(v) + " lies " + std::to_string(distances[v]) +
                       " from the source: distances are counted in 32 bits, use smaller weights");
    }
    result[v] = static_cast<std::uint32_t>(distances[v]);
  }
  return result;
}

}  // namespace

std::vector<std::uint32_t> serial_sssp(const Csr& graph, Vertex source) {
  require_source(graph, source);
  require_weights(graph, "sssp");
  std::vector<std::uint64_t> nearest(graph.vertices(), UINT64_MAX);
  Heap heap;
  nearest[source] = 0;
  heap.emplace(0, source);
  while (!heap.empty()) {
    const auto [distance, v] = heap.top();
    heap.pop();
    if (distance != nearest[v]) {
      continue;  // a shorter way was found since
    }
    const auto neighbours = graph.neighbours(v);
    const auto weights = graph.weights_of(v);
    for (std::size_t i = 0; i < neighbours.size(); ++i) {
      const std::uint64_t further = distance + weights[i];
      if (further < nearest[neighbours[i]]) {
        nearest[neighbours[i]] = further;
        heap.emplace(further, neighbours[i]);
      }
    }
  }
  return in_32_bits(nearest);
}

// Connected components by one breadth-first search after another, from the lowest vertex not yet labelled.

std::vector<Vertex> serial_cc(const Csr& graph) {
  require_undirected(graph, "cc");
  constexpr Vertex kNone = 0xffffffffU;
  std::vector<Vertex> labels(graph.vertices(), kNone);
  std::vector<Vertex> queue;
  for (Vertex lowest = 0; lowest < graph.vertices(); ++lowest) {
    if (labels[lowest] != kNone) {
      continue;
    }
    labels[lowest] = lowest;
    queue.assign(1, lowest);
    for (std::size_t next = 0; next < queue.size(); ++next) {
      for (const Vertex u : graph.neighbours(queue[next])) {
        if (labels[u] == kNone) {
          labels[u] = lowest;
          queue.push_back(u);
        }
      }
    }
  }
  return labels;
}

// PageRank by power iteration in double precision: every vertex pushes its rank in equal parts along its
// edges.
namespace {

// What one step makes of the ranks: 0.15 / V each, and 0.85 of what the in-neighbours hand out. Vertices
// without out-edges hand out nothing, and the mass is lost.
std::vector<double> power_step(const Csr& graph, const std::vector<double>& ranks) {
  std::vector<double> next(ranks.size(), (1 - kDamping) / static_cast<double>(ranks.size()));
  for (Vertex v = 0; v < graph.vertices(); ++v) {
    const double share = kDamping * ranks[v] / static_cast<double>(graph.degree(v));
    for (const Vertex u : graph.neighbours(v)) {
      next[u] += share;
    }
  }
  return next;
}

}  // namespace

std::vector<double> serial_pr(const Csr& graph, double tolerance) {
  constexpr int kMostSteps = 1000;  // 0.85^1000 is far below what a double tells from 0
  std::vector<double> ranks(graph.vertices(), 1 / static_cast<double>(graph.vertices()));
  for (int i = 0; i < kMostSteps; ++i) {
    std::vector<double> next = power_step(graph, ranks);
    double change = 0;
    for (std::size_t v = 0; v < ranks.size(); ++v) {
      change += std::abs(next[v] - ranks[v]);
    }
    ranks = std::move(next);
    if (change < tolerance) {
      return ranks;  // a further step changes at most 0.85 of that
    }
  }
  throw UsageError("no ranks in double precision change by less than " + std::to_string(tolerance) +
                   " in a step");
}

}  // namespace grainscope::graph

namespace grainscope::model {

using graph::Csr;
using graph::Vertex;

graph::Csr graph_of(const std::vector<graph::Edge>& degrees) {
  graph::Csr graph;
  graph.offsets = HostArray<graph::Edge>(degrees.size() + 1);
  graph.offsets[0] = 0;
  std::partial_sum(degrees.begin(), degrees.end(), graph.offsets.begin() + 1);
  graph.targets = HostArray<graph::Vertex>(graph.offsets[degrees.size()]);
  return graph;
}

graph::Csr random_graph(graph::Vertex vertices, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<graph::Edge> degrees(vertices);
  for (graph::Edge& degree : degrees) {
    const auto kind = random() % 100;
    degree = kind < 25 ? 0 : random() % (kind < 98 ? 40 : 2000);
  }
  return graph_of(degrees);
}

std::vector<graph::Vertex> random_frontier(graph::Vertex vertices, int percent, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<graph::Vertex> frontier;
  for (graph::Vertex v = 0; v < vertices; ++v) {
    if (static_cast<int>(random() % 100) < percent) {
      frontier.push_back(v);
    }
  }
  return frontier;
}

std::vector<graph::Vertex> all_vertices(const graph::Csr& graph) {
  std::vector<graph::Vertex> all(graph.vertices());
  std::iota(all.begin(), all.end(), 0);
  return all;
}

namespace {

using graph::Access;
using graph::WorkItem;

// f(policy) with the policy of an access; edge_gather gathers as merged_aligned reads.
template <class F>
auto with_policy(Access access, const F& f) {
  switch (access) {
    case Access::merged:
      return f(graph::Merged{});
    case Access::merged_aligned:
    case Access::edge_gather:
      return f(graph::MergedAligned{});
    case Access::merged_aligned_by_16:
      return f(graph::MergedAlignedBy16{});
    case Access::merged_aligned_by_8:
      return f(graph::MergedAlignedBy8{});
    case Access::merged_aligned_by_4:
      return f(graph::MergedAlignedBy4{});
    case Access::merged_aligned_chunked:
      return f(graph::MergedAlignedChunked{});
    default:
      break;
  }
  return decltype(f(graph::Merged{})){};
}

std::size_t items_per_turn(Access access) {
  return access == Access::naive ? 32
         : access == Access::merged_aligned_chunked
             ? 8
             : 32 / static_cast<std::size_t>(graph::team_lanes(access));
}

// Edges, one by one, of the tiles that blocks share: whose each is, and its element.
using TileEdges = std::vector<std::pair<Vertex, std::uint64_t>>;

std::vector<TileEdges> tiles_of(const Csr& graph, Access access, std::span<const Vertex> active) {
  std::vector<TileEdges> tiles;
  std::uint64_t work = 0;  // what stands in the last tile: lists, or of merge_path edges and ends of lists
  const auto work_on = [&](std::uint64_t most) {
    if (tiles.empty() || work == most) {
      tiles.emplace_back();
      work = 0;
    }
    ++work;
  };
  for (const Vertex v : active) {
    if (graph.offsets[v] == graph.offsets[v + std::uint64_t{1}]) {
      continue;
    }
    if (access == Access::block_mapped) {
      work_on(256);
    }
    for (std::uint64_t e = graph.offsets[v]; e < graph.offsets[v + std::uint64_t{1}]; ++e) {
      if (access == Access::merge_path) {
        work_on(2048);
      }
      tiles.back().emplace_back(v, e);
    }
    if (access == Access::merge_path) {
      work_on(2048);
    }
  }
  return tiles;
}

}  // namespace

LaneByLane::LaneByLane(const graph::Csr& graph, Access access, const Layout& layout, const Grid& grid)
    : graph_(graph), access_(access), layout_(layout), grid_(grid), loads_of_block_(grid.blocks) {}

std::vector<WorkItem> LaneByLane::items(std::span<const graph::Vertex> active) const {
  std::vector<WorkItem> all;
  const auto add = [&](auto policy, graph::Vertex v) {
    const std::uint64_t begin = graph_.offsets[v];
    const std::uint64_t end = graph_.offsets[v + 1];
    const std::uint64_t count = policy.items(begin, end, layout_.edge_bytes);
    for (std::uint64_t part = 0; part < count; ++part) {
      all.push_back(policy.item(v, begin, end, part, layout_.edge_bytes));
    }
    return 0;
  };
  for (const graph::Vertex v : active) {
    if (access_ == Access::naive) {
      add(graph::Naive{}, v);
    } else {
      with_policy(access_, [&](auto policy) { return add(policy, v); });
    }
  }
  return all;
}

LaneByLane::Turn LaneByLane::steps_of(std::span<const WorkItem> items) const {
  Turn turn;
  if (access_ == Access::naive) {
    for (std::uint64_t step = 0;; ++step) {
      Elements elements;
      for (const WorkItem& item : items) {
        if (item.begin() + step < item.end()) {
          elements.push_back(item.begin() + step);
        }
      }
      if (elements.empty()) {
        return turn;
      }
      turn.push_back(elements);
    }
  }
  const int team = graph::team_lanes(access_);
  const std::size_t teams = 32 / static_cast<std::size_t>(team);
  for (std::size_t first = 0; first < items.size(); first += teams) {
    for (int step = 0; step < graph::kPieceSteps; ++step) {
      Elements elements;
      for (std::size_t lane = 0; lane < 32; ++lane) {
        const std::size_t item = first + lane / static_cast<std::size_t>(team);
        const std::uint64_t element =
            item < items.size()
                ? with_policy(access_,
                              [&](auto policy) {
                                return policy.index(items[item], step, static_cast<int>(lane) % team);
                              })
                : graph::kNoElement;
        if (element != graph::kNoElement) {
          elements.push_back(element);
        }
      }
      if (!elements.empty()) {
        turn.push_back(elements);
      }
    }
  }
  return turn;
}

void LaneByLane::walk_tiles(std::span<const graph::Vertex> active, Requests& sum) {
  const std::vector<TileEdges> tiles = tiles_of(graph_, access_, active);
  for (std::size_t tile = 0; tile < tiles.size(); ++tile) {
    for (std::size_t first = 0; first < tiles[tile].size(); first += 32) {
      Elements elements;
      for (std::size_t i = first; i < std::min(first + 32, tiles[tile].size()); ++i) {
        elements.push_back(tiles[tile][i].second);
      }
      for (int array = 0; array <= (layout_.weights ? 1 : 0); ++array) {
        load(elements, array, sum);
        ++loads_of_block_[tile % static_cast<std::size_t>(grid_.blocks)];
      }
    }
  }
}

void LaneByLane::load(const Elements& elements, int array, Requests& sum) {
  const std::uint64_t base = array == 0 ? layout_.edges_at : layout_.weights_at;
  const std::uint64_t bytes = array == 0 ? layout_.edge_bytes : 4;
  std::map<std::uint64_t, std::set<std::uint64_t>> lines;
  for (const std::uint64_t element : elements) {
    // An element is aligned to its size, and so lies in one sector.
    const std::uint64_t byte = base + element * bytes;
    lines[byte / 128].insert(byte / 32);
    sectors_.insert({array, byte / 32});
  }
  for (const auto& [line, sectors] : lines) {
    bool anew = false;
    for (const std::uint64_t sector : sectors) {
      anew |= level_sectors_.insert({array, sector}).second;
    }
    level_requests_ += anew ? 1 : 0;
    level_lines_.insert({array, line});
    ++sum.by_sectors[sectors.size() - 1];
    sum.split += *sectors.rbegin() - *sectors.begin() + 1 > sectors.size() ? 1 : 0;
  }
  ++sum.loads;
  sum.lanes += elements.size();
  sum.elements += array == 0 ? elements.size() : 0;
}

void LaneByLane::hand_out(const std::vector<std::uint64_t>& edges_of_block, Requests& sum) {
  sum.loads = 0;
  sum.lanes = sum.elements;
  for (std::size_t block = 0; block < edges_of_block.size(); ++block) {
    for (std::uint64_t left = edges_of_block[block]; left > 0; left -= std::min<std::uint64_t>(left, 32)) {
      ++sum.loads;
      ++loads_of_block_[block];
    }
  }
}

Requests LaneByLane::level(std::span<const graph::Vertex> active) {
  level_sectors_.clear();
  level_lines_.clear();
  level_requests_ = 0;
  Requests sum;
  if (is_tiled(access_)) {
    walk_tiles(active, sum);
    return sum;
  }
  std::vector<std::uint64_t> edges_of_block(grid_.blocks);
  const std::vector<WorkItem> all = items(active);
  const std::size_t warps = static_cast<std::size_t>(grid_.blocks) * grid_.warps_per_block;
  for (std::size_t first = 0, turn = 0; first < all.size(); first += items_per_turn(access_), ++turn) {
    const std::size_t block = turn % warps / grid_.warps_per_block;
    const std::size_t count = std::min(items_per_turn(access_), all.size() - first);
    for (const Elements& elements : steps_of(std::span(all).subspan(first, count))) {
      for (int array = 0; array <= (layout_.weights ? 1 : 0); ++array) {
        load(elements, array, sum);
        loads_of_block_[block] += access_ == Access::edge_gather ? 0 : 1;
      }
      edges_of_block[block] += elements.size();
    }
  }
  if (access_ == Access::edge_gather) {
    hand_out(edges_of_block, sum);
  }
  return sum;
}

double LaneByLane::block_imbalance() const {
  const std::uint64_t sum = std::accumulate(loads_of_block_.begin(), loads_of_block_.end(), std::uint64_t{0});
  const std::uint64_t most = *std::max_element(loads_of_block_.begin(), loads_of_block_.end());
  return sum == 0 ? 1 : static_cast<double>(most) * grid_.blocks / static_cast<double>(sum);
}

// Every warp load of a level, lane by lane: slow, and the very functions that kernels run.
namespace {

using graph::WarpLoad;

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
  constexpr std::size_t kTeams = graph::kWarpLanes / Policy::kTeamLanes;
  const std::vector<WorkItem> items = items_of<Policy>(graph, edge_bytes, active);
  std::vector<WarpLoad> loads;
  for (std::size_t first = 0; first < items.size(); first += kTeams) {
    for (int step = 0; step < graph::kPieceSteps; ++step) {
      WarpLoad load;
      for (int lane = 0; lane < graph::kWarpLanes; ++lane) {
        const std::size_t item = first + static_cast<std::size_t>(lane / Policy::kTeamLanes);
        if (item < items.size()) {
          const std::uint64_t element = Policy::index(items[item], step, lane % Policy::kTeamLanes);
          if (element != graph::kNoElement) {
            add_lane(load, lane, items[item].vertex, element);
          }
        }
      }
      if (load.lanes != 0) {
        loads.push_back(load);
      }
    }
  }
  return loads;
}

std::vector<WarpLoad> trace_tiles(const Csr& graph, graph::Access access, std::span<const Vertex> active) {
  std::vector<WarpLoad> loads;
  for (const TileEdges& tile : tiles_of(graph, access, active)) {
    for (std::size_t first = 0; first < tile.size(); first += graph::kWarpLanes) {
      WarpLoad& load = loads.emplace_back();
      for (std::size_t i = first; i < std::min(first + graph::kWarpLanes, tile.size()); ++i) {
        add_lane(load, static_cast<int>(i - first), tile[i].first, tile[i].second);
      }
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
    case graph::Access::merged_aligned_by_16:
      return trace_items<graph::MergedAlignedBy16>(graph, edge_bytes, active);
    case graph::Access::merged_aligned_by_8:
      return trace_items<graph::MergedAlignedBy8>(graph, edge_bytes, active);
    case graph::Access::merged_aligned_by_4:
      return trace_items<graph::MergedAlignedBy4>(graph, edge_bytes, active);
    case graph::Access::merged_aligned_chunked:
      return trace_items<graph::MergedAlignedChunked>(graph, edge_bytes, active);
    case graph::Access::block_mapped:
    case graph::Access::merge_path:
      return trace_tiles(graph, access, active);
  }
  throw FailedError("there is no such access");
}

}  // namespace grainscope::model
