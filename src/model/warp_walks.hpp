#ifndef GRAINSCOPE_SRC_MODEL_WARP_WALKS_HPP
#define GRAINSCOPE_SRC_MODEL_WARP_WALKS_HPP

// The walks of graph/access.hpp over a part of a level, counted without going lane by lane: what a warp does
// between two events (a step that is not full, a lane whose list ends) is the same over and over.

#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "grainscope/model/replay.hpp"

namespace grainscope::model {

// From the bytes of a warp-wide load to requests: a request for each line of 128 bytes, of as many sectors of
// 32 bytes as the load touches in it.

inline constexpr std::uint64_t kSectorsPerLine = graph::kLineBytes / kSectorBytes;

// Adds the requests of `times` loads of bytes [begin, end) without a gap, begin < end.
inline void add_span(Requests& requests, std::uint64_t begin, std::uint64_t end, std::uint64_t times = 1) {
  const std::uint64_t first = begin / kSectorBytes;
  const std::uint64_t last = (end - 1) / kSectorBytes;
  const std::uint64_t lines = last / kSectorsPerLine - first / kSectorsPerLine;
  if (lines == 0) {
    requests.by_sectors[last - first] += times;
    return;
  }
  requests.by_sectors[kSectorsPerLine - 1 - first % kSectorsPerLine] += times;
  requests.by_sectors[last % kSectorsPerLine] += times;
  requests.by_sectors[kSectorsPerLine - 1] += (lines - 1) * times;
}

// Requests by which of a line's four sectors they ask for.
using BySectorMask = std::array<std::uint64_t, 1U << kSectorsPerLine>;

inline void add_masks(Requests& requests, const BySectorMask& masks) {
  for (std::size_t mask = 1; mask < masks.size(); ++mask) {
    const auto sectors = static_cast<std::size_t>(std::popcount(mask));
    const auto span = static_cast<std::size_t>(std::bit_width(mask) - std::countr_zero(mask));
    requests.by_sectors[sectors - 1] += masks[mask];
    requests.split += span > sectors ? masks[mask] : 0;
  }
}

// The walks of graph/access.hpp over a part of a level, counted without going lane by lane: what a warp does
// between two events (a step that is not full, a lane whose list ends) is the same over and over.

// What one thread has counted.
struct Tally {
  explicit Tally(const Grid& grid) : of_block(static_cast<std::size_t>(grid.blocks)) {}
  Requests requests;
  std::vector<std::uint64_t> of_block;  // loads of each block; of edge_gather its edges
  std::uint64_t fresh_sectors = 0;      // that nothing had read before
  std::uint64_t shared = 0;             // requests for nothing but what steps before asked for as well
};

// What the threads share.
struct Walk {
  const graph::Csr& graph;
  Layout layout;
  Grid grid;
  std::span<std::uint64_t> seen;       // a bit a sector: of the edges, then of the weights
  std::uint64_t first_weight_bit = 0;  // a multiple of 64

  [[nodiscard]] int arrays() const { return layout.weights ? 2 : 1; }
};
// Bits that a walk's `seen` needs, and where those of the weights begin.
[[nodiscard]] std::uint64_t first_weight_bit(const graph::Csr& graph, const Layout& layout);
[[nodiscard]] std::uint64_t seen_bits(const graph::Csr& graph, const Layout& layout);

// Work items of one list.
[[nodiscard]] std::uint64_t items_of(const Walk& walk, graph::Access access, graph::Vertex v);

// Walks by warps: `lists` ascend, and their first item is number `first_item` of the level. `before`: the
// element up to which the level's lists before them reach; 0: there are none.
void walk_by_warps(const Walk& walk, graph::Access access, std::span<const graph::Vertex> lists,
                   std::uint64_t first_item, graph::Edge before, Tally& tally);

// Walks by teams of fewer lanes than a warp: those turns whose first item is of the lists [first, last) of
// `active`. `first_item`: the level's number of the first of these lists' items. `before`: as above.
struct ListRange {
  std::size_t first = 0;
  std::size_t last = 0;
};
void walk_by_teams(const Walk& walk, graph::Access access, std::span<const graph::Vertex> active,
                   const ListRange& range, std::uint64_t first_item, graph::Edge before, Tally& tally);

// A tile of lists that a block shares: `edges` edges of `lists`, none of them empty, beginning with edge
// `skip` of the first. `before`: as above.
void walk_tile(const Walk& walk, std::span<const graph::Vertex> lists, graph::Edge skip, graph::Edge edges,
               std::uint64_t tile, graph::Edge before, Tally& tally);

// Walk by lanes: `lists`, none of them empty, begin a turn of 32, which is number `first_turn` of the level.
void walk_by_lanes(const Walk& walk, std::span<const graph::Vertex> lists, std::uint64_t first_turn,
                   Tally& tally);

}  // namespace grainscope::model

#endif
