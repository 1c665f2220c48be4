#ifndef GRAINSCOPE_SRC_LEAN_SEARCH_KERNELS_CUH
#define GRAINSCOPE_SRC_LEAN_SEARCH_KERNELS_CUH

// The phases of a search's levels, each by all warps of the grid; search.cu puts them together. A set of
// vertices is a bit each, and a word of 32 vertices is one warp's.

#include <cstdint>

#include "grainscope/lean/steps.hpp"
#include "lean_view.hpp"
#include "state.hpp"

namespace grainscope::lean {

inline constexpr int kSearchThreads = 256;
inline constexpr unsigned kAllLanes = 0xffffffffU;

// A list's two parts: hot elements [hot_begin, hot_begin + hot) of the tier, then elements [begin, end) of
// the edge array.
struct ListParts {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint32_t hot_begin = 0;
  std::uint32_t hot = 0;
};

__device__ inline ListParts parts_of(const ListsView& view, std::uint32_t vertex) {
  ListParts parts;
  parts.begin = view.offsets[vertex];
  parts.end = view.offsets[vertex + std::uint64_t{1}];
  if (view.hot_offsets != nullptr) {
    parts.hot_begin = view.hot_offsets[vertex];
    parts.hot = view.hot_offsets[vertex + std::uint64_t{1}] - parts.hot_begin;
    parts.begin += parts.hot;
  }
  return parts;
}

// A piece of a long list, to be pushed by whichever warp comes to it.
struct PieceItem {
  std::uint32_t vertex;
  std::uint32_t piece;
};
// What a level comes to; two of them take turns.
struct LevelCounters {
  unsigned long long active;  // vertices of the next frontier
  unsigned long long edges;   // in their lists
  unsigned long long pieces;  // of long lists
  unsigned long long left;    // vertices whose list's beginning did not answer
};
struct ReadNote {
  unsigned long long sectors;
  unsigned long long elements;
  unsigned long long hot;
};

// All device memory.
struct SearchArrays {
  std::uint32_t* seen;      // [words]: reached by now
  std::uint32_t* front;     // [words]: of these, in the last level
  std::uint32_t* next;      // [words]: found in this one
  std::uint32_t* listed;    // [words]: has a list to pull from
  std::uint32_t* depths;    // [V]
  std::uint32_t* left;      // [V]
  PieceItem* pieces;        // [most_pieces]
  LevelCounters* counters;  // [2]
  LevelNote* notes;         // [most_levels]
  ReadNote* reads;          // [most_levels]; null: nothing is counted
  std::uint64_t* begun_ns;
  std::uint32_t* levels;  // of the search; 0: there were more than most_levels
  std::uint32_t words;
  std::uint32_t most_levels;
};

__device__ inline int lane_of_warp() {
  return static_cast<int>(threadIdx.x % kWarpLanes);
}
__device__ inline std::uint32_t warp_of_grid() {
  return (blockIdx.x * kSearchThreads + threadIdx.x) / kWarpLanes;
}
__device__ inline std::uint32_t warps_of_grid() {
  return gridDim.x * (kSearchThreads / kWarpLanes);
}
__device__ inline std::uint32_t or_of_warp(std::uint32_t bits) {
  for (int lanes = kWarpLanes / 2; lanes > 0; lanes /= 2) {
    bits |= __shfl_xor_sync(kAllLanes, bits, lanes);
  }
  return bits;
}
__device__ inline bool has(const std::uint32_t* bits, std::uint32_t vertex) {
  return (bits[vertex / kWarpLanes] >> vertex % kWarpLanes & 1) != 0;
}

// Notes the sectors of one load by the lanes that `reads`, of an element of 4 bytes each.
__device__ inline void count_sectors(ReadNote* note, bool reads, std::uint64_t element) {
  // Idle lanes have sectors of their own.
  const unsigned long long sector = reads ? element / kSectorElements : ~0ULL - lane_of_warp();
  const unsigned same = __match_any_sync(kAllLanes, sector);
  const bool first = reads && __ffs(static_cast<int>(same)) - 1 == lane_of_warp();
  const unsigned sectors = __ballot_sync(kAllLanes, first);
  if (lane_of_warp() == 0 && sectors != 0) {
    atomicAdd(&note->sectors, static_cast<unsigned long long>(__popc(sectors)));
  }
}
// Notes one load by the lanes that `reads`, of an element over the link each. By all lanes of a warp.
__device__ inline void count_link(ReadNote* note, bool reads, std::uint64_t element) {
  const unsigned reading = __ballot_sync(kAllLanes, reads);
  count_sectors(note, reads, element);
  if (lane_of_warp() == 0 && reading != 0) {
    atomicAdd(&note->elements, static_cast<unsigned long long>(__popc(reading)));
  }
}
__device__ inline void count_hot(ReadNote* note, bool reads) {
  const unsigned reading = __ballot_sync(kAllLanes, reads);
  if (lane_of_warp() == 0 && reading != 0) {
    atomicAdd(&note->hot, static_cast<unsigned long long>(__popc(reading)));
  }
}

__device__ inline void reach(const SearchArrays& a, std::uint32_t vertex) {
  const std::uint32_t bit = 1U << vertex % kWarpLanes;
  const std::uint32_t word = vertex / kWarpLanes;
  // A stale answer costs an atomic operation, never a vertex.
  if (((a.seen[word] | a.next[word]) & bit) == 0) {
    atomicOr(a.next + word, bit);
  }
}

// All loads of a piece are sent out before the first neighbour is looked at.
template <bool kCount>
__device__ void push_piece(const ListsView& lists, const Step& piece, const SearchArrays& a, ReadNote* note) {
  constexpr int kLoads = static_cast<int>(kPieceElements / kLineElements);
  const std::uint64_t first = piece.from / kLineElements * kLineElements + lane_of_warp();
  std::uint32_t neighbours[kLoads];
#pragma unroll
  for (int load = 0; load < kLoads; ++load) {
    const std::uint64_t element = first + load * kLineElements;
    const bool mine = element >= piece.from && element < piece.to;
    if constexpr (kCount) {
      count_link(note, mine, element);
    }
    if (mine) {
      neighbours[load] = lists.targets[element];
    }
  }
#pragma unroll
  for (int load = 0; load < kLoads; ++load) {
    const std::uint64_t element = first + load * kLineElements;
    if (element >= piece.from && element < piece.to) {
      reach(a, neighbours[load]);
    }
  }
}

// Lists of the frontier, but for the long ones' parts over the link, which are handed out in pieces.
template <bool kCount>
__device__ void push_lists(const ListsView& lists, const SearchArrays& a, LevelCounters& level,
                           ReadNote* note) {
  for (std::uint32_t word = warp_of_grid(); word < a.words; word += warps_of_grid()) {
    for (std::uint32_t bits = a.front[word]; bits != 0; bits &= bits - 1) {
      const std::uint32_t vertex = word * kWarpLanes + static_cast<std::uint32_t>(__ffs(bits)) - 1;
      const ListParts parts = parts_of(lists, vertex);
      for (std::uint32_t at = 0; at < parts.hot; at += kWarpLanes) {
        const bool mine = at + lane_of_warp() < parts.hot;
        if constexpr (kCount) {
          count_hot(note, mine);
        }
        if (mine) {
          reach(a, lists.hot[parts.hot_begin + at + lane_of_warp()]);
        }
      }
      const auto pieces = static_cast<std::uint32_t>(pieces_of(parts.begin, parts.end));
      if (parts.end - parts.begin <= kLongList) {
        for (std::uint32_t piece = 0; piece < pieces; ++piece) {
          push_piece<kCount>(lists, piece_of(parts.begin, parts.end, piece), a, note);
        }
        continue;
      }
      unsigned long long at = 0;
      if (lane_of_warp() == 0) {
        at = atomicAdd(&level.pieces, static_cast<unsigned long long>(pieces));
      }
      at = __shfl_sync(kAllLanes, at, 0);
      for (std::uint32_t piece = lane_of_warp(); piece < pieces; piece += kWarpLanes) {
        a.pieces[at + piece] = {vertex, piece};
      }
    }
  }
}

template <bool kCount>
__device__ void push_pieces(const ListsView& lists, const SearchArrays& a, std::uint64_t pieces,
                            ReadNote* note) {
  for (std::uint64_t i = warp_of_grid(); i < pieces; i += warps_of_grid()) {
    const PieceItem item = a.pieces[i];
    const ListParts parts = parts_of(lists, item.vertex);
    push_piece<kCount>(lists, piece_of(parts.begin, parts.end, item.piece), a, note);
  }
}

// One of up to four vertices of a word, by the eight lanes of a team; all of a warp call together. Tells the
// whole team whether the beginning of its list has a neighbour in the frontier, and whether more is there.
struct Beginning {
  bool found;
  bool more;
};
template <bool kCount>
__device__ Beginning pull_beginning(const ListsView& lists, const SearchArrays& a, bool there,
                                    std::uint32_t vertex, ReadNote* note) {
  const int member = lane_of_warp() % kTeamLanes;
  const int team = lane_of_warp() / kTeamLanes;
  const auto of_team = [team](unsigned lanes) { return (lanes >> (team * kTeamLanes) & 0xff) != 0; };
  const ListParts parts = there ? parts_of(lists, vertex) : ListParts{};
  bool found = false;
  for (std::uint32_t at = 0; __any_sync(kAllLanes, !found && at < parts.hot); at += kTeamLanes) {
    const bool mine = !found && at + member < parts.hot;
    if constexpr (kCount) {
      count_hot(note, mine);
    }
    const bool hit = mine && has(a.front, lists.hot[parts.hot_begin + at + member]);
    found |= of_team(__ballot_sync(kAllLanes, hit));
  }
  std::uint64_t from = parts.begin;
  if (__any_sync(kAllLanes, there && parts.hot == 0)) {
    const Step step = first_step(parts.begin, parts.end);
    const bool reads = there && parts.hot == 0;
    const bool mine = reads && step.from + member < step.to;
    if constexpr (kCount) {
      count_link(note, mine, step.from + member);
    }
    const bool hit = mine && has(a.front, lists.targets[step.from + member]);
    found |= of_team(__ballot_sync(kAllLanes, hit));
    from = reads ? step.to : from;
  }
  return {found, !found && from < parts.end};
}

// Beginnings of the lists of all vertices that are not yet reached.
template <bool kCount>
__device__ void pull_beginnings(const ListsView& lists, const SearchArrays& a, LevelCounters& level,
                                ReadNote* note) {
  constexpr int kTeams = kWarpLanes / kTeamLanes;
  const int team = lane_of_warp() / kTeamLanes;
  const bool leads = lane_of_warp() % kTeamLanes == 0;
  for (std::uint32_t word = warp_of_grid(); word < a.words; word += warps_of_grid()) {
    std::uint32_t rest = a.listed[word] & ~a.seen[word];
    std::uint32_t found = 0;
    std::uint32_t left = 0;
    while (rest != 0) {
      std::uint32_t bit = 0;  // of this team's vertex
#pragma unroll
      for (int k = 0; k < kTeams; ++k) {
        const std::uint32_t lowest = rest & (0U - rest);
        bit = k == team ? lowest : bit;
        rest &= ~lowest;
      }
      const std::uint32_t vertex = word * kWarpLanes + static_cast<std::uint32_t>(__ffs(bit)) - 1;
      const Beginning beginning = pull_beginning<kCount>(lists, a, bit != 0, vertex, note);
      found |= or_of_warp(leads && beginning.found ? bit : 0);
      left |= or_of_warp(leads && beginning.more ? bit : 0);
    }
    if (found != 0 && lane_of_warp() == 0) {
      a.next[word] = found;
    }
    if (left != 0) {
      unsigned long long at = 0;
      if (lane_of_warp() == 0) {
        at = atomicAdd(&level.left, static_cast<unsigned long long>(__popc(left)));
      }
      at = __shfl_sync(kAllLanes, at, 0);
      if ((left >> lane_of_warp() & 1) != 0) {
        const std::uint32_t before = left & ((1U << lane_of_warp()) - 1);
        a.left[at + static_cast<unsigned>(__popc(before))] = word * kWarpLanes + lane_of_warp();
      }
    }
  }
}

// The rest of those that did not answer, a line at a time.
template <bool kCount>
__device__ void pull_rest(const ListsView& lists, const SearchArrays& a, std::uint64_t left, ReadNote* note) {
  for (std::uint64_t i = warp_of_grid(); i < left; i += warps_of_grid()) {
    const std::uint32_t vertex = a.left[i];
    const ListParts parts = parts_of(lists, vertex);
    std::uint64_t from = parts.hot == 0 ? first_step(parts.begin, parts.end).to : parts.begin;
    bool found = false;
    while (!found && from < parts.end) {
      const Step step = line_step(from, parts.end);
      const std::uint64_t element = step.from + lane_of_warp();
      const bool mine = element < step.to;
      if constexpr (kCount) {
        count_link(note, mine, element);
      }
      found = __any_sync(kAllLanes, mine && has(a.front, lists.targets[mine ? element : step.from])) != 0;
      from = step.to;
    }
    if (found && lane_of_warp() == 0) {
      atomicOr(a.next + vertex / kWarpLanes, 1U << vertex % kWarpLanes);
    }
  }
}

// What was found is reached, and becomes the frontier.
__device__ inline void settle(const ListsView& out, const SearchArrays& a, std::uint32_t depth,
                              LevelCounters& level) {
  unsigned long long active = 0;
  unsigned long long edges = 0;
  for (std::uint32_t word = warp_of_grid(); word < a.words; word += warps_of_grid()) {
    const std::uint32_t fresh = a.next[word];
    if ((fresh >> lane_of_warp() & 1) != 0) {
      const std::uint32_t vertex = word * kWarpLanes + lane_of_warp();
      a.depths[vertex] = depth;
      edges += out.offsets[vertex + std::uint64_t{1}] - out.offsets[vertex];
      ++active;
    }
    __syncwarp();
    if (lane_of_warp() == 0) {
      if (fresh != 0) {
        a.seen[word] |= fresh;
        a.next[word] = 0;
      }
      a.front[word] = fresh;
    }
  }
  for (int lanes = kWarpLanes / 2; lanes > 0; lanes /= 2) {
    active += __shfl_down_sync(kAllLanes, active, lanes);
    edges += __shfl_down_sync(kAllLanes, edges, lanes);
  }
  if (lane_of_warp() == 0 && active > 0) {
    atomicAdd(&level.active, active);
    atomicAdd(&level.edges, edges);
  }
}

}  // namespace grainscope::lean

#endif
