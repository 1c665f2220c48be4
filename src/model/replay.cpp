// The replay of a walk, level by level: its sums and ratios, the whole of an algorithm, and the trace of a
// level.

#include "grainscope/model/replay.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <string>

#include "grainscope/core/error.hpp"
#include "warp_walks.hpp"

namespace grainscope::model {

std::uint64_t Requests::count() const {
  return std::accumulate(by_sectors.begin(), by_sectors.end(), std::uint64_t{0});
}

std::uint64_t Requests::bytes() const {
  std::uint64_t sectors = 0;
  for (std::size_t i = 0; i < by_sectors.size(); ++i) {
    sectors += (i + 1) * by_sectors[i];
  }
  return sectors * kSectorBytes;
}

double Requests::lane_use() const {
  return loads == 0 ? 0 : static_cast<double>(lanes) / (graph::kWarpLanes * static_cast<double>(loads));
}

Requests& Requests::operator+=(const Requests& other) {
  for (std::size_t i = 0; i < by_sectors.size(); ++i) {
    by_sectors[i] += other.by_sectors[i];
  }
  split += other.split;
  loads += other.loads;
  lanes += other.lanes;
  elements += other.elements;
  return *this;
}

namespace {

double over_asked(const Replay& replay, std::uint64_t bytes) {
  const std::uint64_t asked = replay.total.elements * replay.element_bytes;
  return asked == 0 ? 0 : static_cast<double>(bytes) / static_cast<double>(asked);
}

}  // namespace

double Replay::amplification() const {
  return over_asked(*this, total.bytes());
}

std::uint64_t Replay::least_bytes(std::uint64_t cache_bytes) const {
  std::uint64_t sum = 0;
  for (std::size_t level = 0; level < level_bytes.size(); ++level) {
    const std::uint64_t kept = level == 0 ? 0 : std::min(cache_bytes, level_bytes[level]);
    sum += level_bytes[level] - kept;
  }
  return std::max(sum, cached_bytes);
}

std::uint64_t Replay::cached_requests() const {
  return std::accumulate(level_requests.begin(), level_requests.end(), std::uint64_t{0});
}

double Replay::cached_amplification() const {
  return over_asked(*this, cached_bytes);
}

// A level is cut into parts of lists that go one after another; each thread counts its parts for itself, and
// the counts are whole numbers, so their sum is the same for any number of threads.
namespace {

using graph::Access;
using graph::Csr;
using graph::Vertex;

constexpr std::size_t kListsAPart = 2048;  // a multiple of a warp's lanes

void require_possible(const Layout& layout, const Grid& grid) {
  if (layout.edge_bytes != 4 && layout.edge_bytes != 8) {
    throw FailedError("cannot replay edges of " + std::to_string(layout.edge_bytes) + " bytes: 4 or 8");
  }
  if (layout.edges_at % static_cast<unsigned>(layout.edge_bytes) != 0 || layout.weights_at % 4 != 0) {
    throw FailedError("cannot replay edges or weights at an address that is no multiple of their size");
  }
  if (grid.blocks < 1 || grid.warps_per_block < 1) {
    throw FailedError("cannot replay on a grid of " + std::to_string(grid.blocks) + " blocks of " +
                      std::to_string(grid.warps_per_block) + " warps");
  }
}

void require_ascending(const Csr& graph, std::span<const Vertex> active) {
  bool ascending = active.empty() || active.back() < graph.vertices();
#pragma omp parallel for reduction(&& : ascending) if (active.size() > kListsAPart)
  for (std::size_t i = 1; i < active.size(); ++i) {
    ascending = ascending && active[i - 1] < active[i];
  }
  if (!ascending) {
    throw FailedError("cannot replay a frontier whose vertices do not ascend below " +
                      std::to_string(graph.vertices()));
  }
}

std::size_t parts_of(std::span<const Vertex> lists) {
  return (lists.size() + kListsAPart - 1) / kListsAPart;
}
std::span<const Vertex> part_of(std::span<const Vertex> lists, std::size_t part) {
  return lists.subspan(part * kListsAPart, std::min(kListsAPart, lists.size() - part * kListsAPart));
}

// work(part, tally) for all parts; the sum of the tallies.
template <class Work>
Tally in_parts(std::size_t parts, const Grid& grid, const Work& work) {
  Tally sum(grid);
#pragma omp parallel if (parts > 1)
  {
    Tally mine(grid);
#pragma omp for schedule(dynamic)
    for (std::size_t part = 0; part < parts; ++part) {
      work(part, mine);
    }
#pragma omp critical
    {
      sum.requests += mine.requests;
      sum.fresh_sectors += mine.fresh_sectors;
      sum.shared += mine.shared;
      std::transform(sum.of_block.begin(), sum.of_block.end(), mine.of_block.begin(), sum.of_block.begin(),
                     std::plus<>());
    }
  }
  return sum;
}

// Those that are not empty.
std::vector<Vertex> lists_of(const Walk& walk, std::span<const Vertex> active) {
  std::vector<Vertex> lists;
  lists.reserve(active.size());
  std::copy_if(active.begin(), active.end(), std::back_inserter(lists),
               [&](Vertex v) { return walk.graph.degree(v) > 0; });
  return lists;
}

// The element up to which the lists before list `first` reach; 0: there are none.
graph::Edge end_before(const Walk& walk, std::span<const Vertex> active, std::size_t first) {
  const auto listed = std::find_if(active.rend() - static_cast<std::ptrdiff_t>(first), active.rend(),
                                   [&](Vertex v) { return walk.graph.degree(v) > 0; });
  return listed == active.rend() ? 0 : walk.graph.offsets[*listed + std::uint64_t{1}];
}

// Tiles of so many lists, or of so many lists and edges.
Tally replay_tiles(const Walk& walk, Access access, std::span<const Vertex> active) {
  const std::vector<Vertex> lists = lists_of(walk, active);
  std::vector<graph::Edge> ends(lists.size());
  std::transform_inclusive_scan(lists.begin(), lists.end(), ends.begin(), std::plus<>(),
                                [&](Vertex v) { return walk.graph.degree(v); });
  const graph::Edge edges = ends.empty() ? 0 : ends.back();
  const auto end_of = [&](std::uint64_t list) { return ends[list]; };
  const auto begins = [&](std::uint64_t tile) {
    if (access == Access::merge_path) {
      return graph::merge_path_start(tile, lists.size(), edges, end_of);
    }
    const std::uint64_t list = std::min<std::uint64_t>(lists.size(), tile * graph::BlockMapped::kTileLists);
    return graph::TileStart{list, list == 0 ? 0 : ends[list - 1]};
  };
  const std::uint64_t work = access == Access::merge_path ? lists.size() + edges : lists.size();
  const std::uint64_t size =
      access == Access::merge_path ? graph::MergePath::kTileWork : graph::BlockMapped::kTileLists;
  const std::uint64_t tiles = (work + size - 1) / size;
  return in_parts(tiles, walk.grid, [&](std::size_t tile, Tally& tally) {
    const graph::TileStart from = begins(tile);
    const graph::TileStart to = begins(tile + std::uint64_t{1});
    if (from.edge == to.edge) {
      return;
    }
    const graph::Edge skip = from.edge - (from.list == 0 ? 0 : ends[from.list - 1]);
    const graph::Edge before =
        skip != 0 ? walk.graph.offsets[lists[from.list]] + skip : end_before(walk, lists, from.list);
    const std::uint64_t last = std::min<std::uint64_t>(lists.size(), to.list + 1);
    walk_tile(walk, std::span(lists).subspan(from.list, last - from.list), skip, to.edge - from.edge, tile,
              before, tally);
  });
}

Tally replay_lanes(const Walk& walk, std::span<const Vertex> active) {
  const std::vector<Vertex> lists = lists_of(walk, active);
  return in_parts(parts_of(lists), walk.grid, [&](std::size_t part, Tally& tally) {
    walk_by_lanes(walk, part_of(lists, part), part * (kListsAPart / graph::kWarpLanes), tally);
  });
}

Tally replay_warps(const Walk& walk, Access access, std::span<const Vertex> active) {
  const std::size_t parts = parts_of(active);
  std::vector<std::uint64_t> first_item(parts + 1);
#pragma omp parallel for if (parts > 1)
  for (std::size_t part = 0; part < parts; ++part) {
    const auto lists = part_of(active, part);
    first_item[part + 1] =
        std::accumulate(lists.begin(), lists.end(), std::uint64_t{0},
                        [&](std::uint64_t sum, Vertex v) { return sum + items_of(walk, access, v); });
  }
  std::partial_sum(first_item.begin(), first_item.end(), first_item.begin());
  return in_parts(parts, walk.grid, [&](std::size_t part, Tally& tally) {
    const std::size_t first = part * kListsAPart;
    const graph::Edge before = end_before(walk, active, first);
    if (graph::team_lanes(access) < graph::kWarpLanes) {
      walk_by_teams(walk, access, active, {first, first + part_of(active, part).size()}, first_item[part],
                    before, tally);
      return;
    }
    walk_by_warps(walk, access, part_of(active, part), first_item[part], before, tally);
  });
}

// Different pieces of so many bytes that lists of one array touch, whose elements are of `element_bytes` and
// begin at byte `at`.
std::uint64_t pieces_of_lists(const Csr& graph, std::span<const Vertex> active, std::uint64_t piece_bytes,
                              std::uint64_t element_bytes, std::uint64_t at) {
  const auto first = [&](Vertex v) { return (at + graph.offsets[v] * element_bytes) / piece_bytes; };
  const auto last = [&](Vertex v) {
    return (at + graph.offsets[v + std::uint64_t{1}] * element_bytes - 1) / piece_bytes;
  };
  std::uint64_t pieces = 0;
#pragma omp parallel for reduction(+ : pieces) if (active.size() > kListsAPart)
  for (std::size_t i = 0; i < active.size(); ++i) {
    if (graph.degree(active[i]) == 0) {
      continue;
    }
    pieces += last(active[i]) - first(active[i]) + 1;
    // Lists ascend: the one before may end in the piece in which this one begins.
    std::size_t before = i;
    while (before > 0 && graph.degree(active[before - 1]) == 0) {
      --before;
    }
    if (before > 0 && last(active[before - 1]) == first(active[i])) {
      --pieces;
    }
  }
  return pieces;
}

// Of edge_gather: from the edges that each block gathered to the hand-outs of 32 that its lanes work on.
void hand_out(Tally& tally) {
  tally.requests.loads = 0;
  for (std::uint64_t& edges : tally.of_block) {
    edges = (edges + graph::kWarpLanes - 1) / graph::kWarpLanes;
    tally.requests.loads += edges;
  }
  tally.requests.lanes = tally.requests.elements;
}

// The largest over the mean; 1 where there is nothing.
double imbalance(std::span<const std::uint64_t> loads) {
  const std::uint64_t sum = std::accumulate(loads.begin(), loads.end(), std::uint64_t{0});
  return sum == 0 ? 1
                  : static_cast<double>(*std::max_element(loads.begin(), loads.end())) *
                        static_cast<double>(loads.size()) / static_cast<double>(sum);
}

}  // namespace

Replayer::Replayer(const Csr& graph, Access access, const Layout& layout, const Grid& grid)
    : graph_(graph), access_(access), layout_(layout), grid_(grid) {
  require_possible(layout, grid);
  seen_.assign((seen_bits(graph, layout) + 63) / 64, 0);
  loads_of_block_.assign(static_cast<std::size_t>(grid.blocks), 0);
  replay_.element_bytes = layout.element_bytes();
  replay_.data_bytes = graph.edges() * layout.element_bytes();
}

void Replayer::level(std::span<const Vertex> active) {
  require_ascending(graph_, active);
  const Walk walk{graph_, layout_, grid_, seen_, first_weight_bit(graph_, layout_)};
  Tally tally = access_ == Access::naive ? replay_lanes(walk, active)
                : is_tiled(access_)      ? replay_tiles(walk, access_, active)
                                         : replay_warps(walk, access_, active);
  if (access_ == Access::edge_gather) {
    hand_out(tally);
  }
  replay_.total += tally.requests;
  replay_.levels.push_back(tally.requests);
  replay_.active.push_back(active.size());
  const auto pieces = [&](std::uint64_t bytes) {
    const std::uint64_t edges = pieces_of_lists(
        graph_, active, bytes, static_cast<std::uint64_t>(layout_.edge_bytes), layout_.edges_at);
    return layout_.weights
               ? edges + pieces_of_lists(graph_, active, bytes, sizeof(graph::Weight), layout_.weights_at)
               : edges;
  };
  replay_.level_bytes.push_back(pieces(kSectorBytes) * kSectorBytes);
  replay_.level_requests.push_back(access_ == Access::naive ? pieces(graph::kLineBytes)
                                                            : tally.requests.count() - tally.shared);
  replay_.cached_bytes += tally.fresh_sectors * kSectorBytes;
  std::transform(loads_of_block_.begin(), loads_of_block_.end(), tally.of_block.begin(),
                 loads_of_block_.begin(), std::plus<>());
  replay_.block_imbalance = imbalance(loads_of_block_);
}

const Replay& Replayer::result() const {
  return replay_;
}

Replay replay(const graph::Csr& graph, graph::Algorithm algorithm, graph::Vertex source, graph::Access access,
              const Layout& layout, const Grid& grid) {
  Replayer replayer(graph, access, layout, grid);
  graph::run_levels(graph, algorithm, source,
                    [&](std::span<const graph::Vertex> active) { replayer.level(active); });
  return replayer.result();
}

}  // namespace grainscope::model
