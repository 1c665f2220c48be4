#ifndef GRAINSCOPE_GRAPH_ACCESS_HPP
#define GRAINSCOPE_GRAPH_ACCESS_HPP

// How warps walk adjacency lists: the one description that kernels run and the model counts.
//
// A frontier's lists, in ascending order of vertices, are cut into work items; warps of a grid take turns of
// items in ascending order (turn t is taken by warp t mod warps), so that host addresses rise over the whole
// grid. In step s of an item lane l loads element index(item, s, l), or nothing. Source: EMOGI (VLDB 2020)
// 4.2-4.3, whose listing 2 loses a misaligned list's first step; lanes below a list's start are masked before
// they read.

#include <compare>
#include <cstdint>

namespace grainscope::graph {

inline constexpr int kWarpLanes = 32;
inline constexpr std::uint64_t kLineBytes = 128;
inline constexpr int kPieceSteps = 8;  // steps of one work item, all of whose loads are in flight at once
inline constexpr std::uint64_t kNoElement = UINT64_MAX;

// A piece of one adjacency list: elements [begin, end) of the edge arrays, walked from `first`, which is
// `begin`, or below it where the walk starts at a boundary of 128 bytes.
struct WorkItem {
  std::uint64_t first = 0;
  std::uint32_t skip = 0;    // lanes of the first step that lie before the list: begin − first
  std::uint32_t length = 0;  // elements from `first` to the end, the skipped included
  std::uint32_t vertex = 0;  // whose list it is
  std::uint32_t whole = 0;   // 1: it is all of the list

  [[nodiscard]] constexpr std::uint64_t begin() const { return first + skip; }
  [[nodiscard]] constexpr std::uint64_t end() const { return first + length; }
};

enum class Access {
  naive,
  merged,
  merged_aligned,
  merged_aligned_by_16,
  merged_aligned_by_8,
  merged_aligned_by_4,
  merged_aligned_chunked,
  block_mapped,
  merge_path,
  edge_gather
};
inline constexpr Access kAllAccess[] = {
    Access::naive,
    Access::merged,
    Access::merged_aligned,
    Access::merged_aligned_by_16,
    Access::merged_aligned_by_8,
    Access::merged_aligned_by_4,
    Access::merged_aligned_chunked,
    Access::block_mapped,
    Access::merge_path,
    Access::edge_gather,
};
// As it stands in case names.
[[nodiscard]] constexpr const char* name(Access access) {
  switch (access) {
    case Access::naive:
      return "naive";
    case Access::merged:
      return "merged";
    case Access::merged_aligned:
      return "merged_aligned";
    case Access::merged_aligned_by_16:
      return "merged_aligned_by_16";
    case Access::merged_aligned_by_8:
      return "merged_aligned_by_8";
    case Access::merged_aligned_by_4:
      return "merged_aligned_by_4";
    case Access::merged_aligned_chunked:
      return "merged_aligned_chunked";
    case Access::block_mapped:
      return "block_mapped";
    case Access::merge_path:
      return "merge_path";
    case Access::edge_gather:
      return "edge_gather";
  }
  return "?";
}

// Lanes of a warp that walk a list together; of naive each walks one by itself.
[[nodiscard]] constexpr int team_lanes(Access access) {
  return access == Access::merged_aligned_by_16  ? 16
         : access == Access::merged_aligned_by_8 ? 8
         : access == Access::merged_aligned_by_4 ? 4
         : access == Access::naive               ? 1
                                                 : kWarpLanes;
}
// Whether blocks share tiles of lists.
[[nodiscard]] constexpr bool is_tiled(Access access) {
  return access == Access::block_mapped || access == Access::merge_path;
}

// An item is a whole list.
struct WholeLists {
  static constexpr std::uint64_t items(std::uint64_t begin, std::uint64_t end, int /*element_bytes*/) {
    return begin < end ? 1 : 0;
  }
  static constexpr WorkItem item(std::uint32_t vertex, std::uint64_t begin, std::uint64_t end,
                                 std::uint64_t /*part*/, int /*element_bytes*/) {
    return {begin, 0, static_cast<std::uint32_t>(end - begin), vertex, 1};
  }
};

// A thread walks one list: 32 items a turn, one a lane; a list is never cut.
struct Naive : WholeLists {
  static constexpr Access kAccess = Access::naive;
  static constexpr int kItemsPerTurn = kWarpLanes;
  static constexpr bool kLaneOwnsItem = true;
};

// A team of lanes, a warp or an aligned part of one, walks one list in steps of an element a lane, from
// `first`, in pieces of kPieceSteps steps. Whether the walk starts at the list or at the boundary before it
// differs (of 128 bytes, or of a step where that is less), how many lists a warp takes at a turn, and how
// many lanes a list has, which EMOGI calls the size of a worker (4.3.1).
template <bool kAligned, int kItems, Access kName, int kLanes = kWarpLanes>
struct WarpWalk {
  static constexpr Access kAccess = kName;
  static constexpr int kTeamLanes = kLanes;
  static constexpr int kItemsPerTurn = kItems;
  static constexpr bool kLaneOwnsItem = false;
  static constexpr std::uint64_t kPiece = std::uint64_t{kPieceSteps} * kLanes;

  static constexpr std::uint64_t start(std::uint64_t begin, int element_bytes) {
    const std::uint64_t line = kLineBytes / static_cast<std::uint64_t>(element_bytes);
    const std::uint64_t boundary = line < std::uint64_t{kLanes} ? line : std::uint64_t{kLanes};
    return kAligned ? begin / boundary * boundary : begin;
  }
  static constexpr std::uint64_t items(std::uint64_t begin, std::uint64_t end, int element_bytes) {
    return begin < end ? (end - start(begin, element_bytes) + kPiece - 1) / kPiece : 0;
  }
  static constexpr WorkItem item(std::uint32_t vertex, std::uint64_t begin, std::uint64_t end,
                                 std::uint64_t part, int element_bytes) {
    const std::uint64_t first = start(begin, element_bytes) + part * kPiece;
    const std::uint64_t last = end - first < kPiece ? end : first + kPiece;
    const std::uint64_t skip = first < begin ? begin - first : 0;
    return {first, static_cast<std::uint32_t>(skip), static_cast<std::uint32_t>(last - first), vertex,
            first <= begin && last == end ? 1U : 0U};
  }
  // The element that `lane` of the team loads in step `step` of an item, or kNoElement.
  static constexpr std::uint64_t index(const WorkItem& item, int step, int lane) {
    const auto offset = static_cast<std::uint32_t>(step * kLanes + lane);
    return offset >= item.skip && offset < item.length ? item.first + offset : kNoElement;
  }
};

using Merged = WarpWalk<false, 1, Access::merged>;
using MergedAligned = WarpWalk<true, 1, Access::merged_aligned>;
// As in EMOGI's public code: a warp takes 8 items in a row.
using MergedAlignedChunked = WarpWalk<true, 8, Access::merged_aligned_chunked>;
// Teams of fewer lanes: a warp takes as many items as it has teams, one a team.
using MergedAlignedBy16 = WarpWalk<true, 2, Access::merged_aligned_by_16, 16>;
using MergedAlignedBy8 = WarpWalk<true, 4, Access::merged_aligned_by_8, 8>;
using MergedAlignedBy4 = WarpWalk<true, 8, Access::merged_aligned_by_4, 4>;

// Balancing in the manner of Gunrock (PPoPP 2016 and its later versions): a block shares the edges of a tile
// of lists among its threads, in their order, one an edge, whosever list it is from; a thread looks up in the
// block's shared memory whose. Tile t is taken by block t mod blocks; its edges are read by warps of the
// block from its first one on, 32 in a row at a time, wherever that lies.

// A tile is so many lists, however long.
struct BlockMapped : WholeLists {
  static constexpr Access kAccess = Access::block_mapped;
  static constexpr int kTileLists = 256;
};

// A tile is so many lists and edges together, a list counted when it ends (merge path: Green, McColl and
// Bader 2012; Merrill and Garland 2016): all tiles but the last are alike, and a list may lie in several.
// Finding where tiles begin takes a sum over all lists and a search for each tile.
struct MergePath : WholeLists {
  static constexpr Access kAccess = Access::merge_path;
  static constexpr int kTileWork = 2048;
  // At most: no list is empty, so that one that begins in a tile has an edge there but may end beyond it.
  static constexpr int kTileLists = kTileWork / 2 + 2;
};

// Where a tile begins: in list `list`, before edge `edge` of all lists one after another.
struct TileStart {
  std::uint64_t list = 0;
  std::uint64_t edge = 0;
  friend constexpr bool operator==(const TileStart&, const TileStart&) = default;
};

// Of tile `tile` of merge_path over `lists` lists; `ends(i)`: edges of lists 0 to i. Beyond the last tile:
// where all end.
template <class Ends>
[[nodiscard]] constexpr TileStart merge_path_start(std::uint64_t tile, std::uint64_t lists,
                                                   std::uint64_t edges, const Ends& ends) {
  const std::uint64_t all = lists + edges;
  const std::uint64_t work = tile * MergePath::kTileWork < all ? tile * MergePath::kTileWork : all;
  std::uint64_t low = work < edges ? 0 : work - edges;
  std::uint64_t high = work < lists ? work : lists;
  while (low < high) {  // the first list that does not end within the work
    const std::uint64_t middle = low + (high - low) / 2;
    if (ends(middle) + middle < work) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return {low, work - low};
}

// GraphPEG's interface (TACO 2021), emulated: a block gathers the lists of the vertices that it pops in the
// steps of MergedAligned, and hands edges out one a lane, whosever list they are from. An item stands for a
// whole list and names its vertex alone; where the list lies is fetched by the block.
struct EdgeGather {
  static constexpr Access kAccess = Access::edge_gather;

  static constexpr std::uint64_t items(std::uint64_t begin, std::uint64_t end, int /*element_bytes*/) {
    return begin < end ? 1 : 0;
  }
  static constexpr WorkItem item(std::uint32_t vertex) { return {0, 0, 0, vertex, 1}; }
};

// One warp-wide load of neighbours, as a device records it and as the model expects it.
struct WarpLoad {
  std::uint64_t first = 0;   // element that the lowest active lane reads
  std::uint32_t vertex = 0;  // whose list that is
  std::uint32_t lanes = 0;   // mask of those that read
  // clang-tidy 14 sees a null pointer in it. NOLINTNEXTLINE(modernize-use-nullptr)
  friend constexpr auto operator<=>(const WarpLoad&, const WarpLoad&) = default;
};

}  // namespace grainscope::graph

#endif
