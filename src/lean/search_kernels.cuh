#ifndef GRAINSCOPE_SRC_LEAN_SEARCH_KERNELS_CUH
#define GRAINSCOPE_SRC_LEAN_SEARCH_KERNELS_CUH

// The phases of a search's levels, each by all warps of the grid; search.cu puts them together. A set of
// vertices is a bit each, and a word of 32 vertices is one warp's.

#include <cstdint>

#include "lists.cuh"

namespace grainscope::lean {

// What a level comes to; two of them take turns.
struct LevelCounters {
  unsigned long long active;  // vertices of the next frontier
  unsigned long long edges;   // in their lists
  unsigned long long pieces;  // of long lists
  unsigned long long left;    // vertices whose list's beginning did not answer
};

// All device memory.
struct SearchArrays {
  std::uint32_t* seen;                     // [words]: reached by now
  std::uint32_t* front;                    // [words]: of these, in the last level
  std::uint32_t* next;                     // [words]: found in this one
  std::uint32_t* listed;                   // [words]: has a list to pull from
  std::uint32_t* depths;                   // [V]
  std::uint32_t* left;                     // [V]
  PieceItem* pieces;                       // [most_pieces]
  LevelCounters* counters;                 // [2]
  const unsigned long long* listed_count;  // vertices that have one
  std::uint32_t words;
};

__device__ inline bool has(const std::uint32_t* bits, std::uint32_t vertex) {
  return (bits[vertex / kWarpLanes] >> vertex % kWarpLanes & 1) != 0;
}
__device__ inline std::uint32_t or_of_warp(std::uint32_t bits) {
  return cuda::all_of_warp(bits, [](std::uint32_t one, std::uint32_t other) { return one | other; });
}

struct Reach {
  const SearchArrays& a;
  __device__ void start(std::uint32_t /*vertex*/) {}
  __device__ void visit(const Neighbour& neighbour) {
    const std::uint32_t bit = 1U << neighbour.vertex % kWarpLanes;
    const std::uint32_t word = neighbour.vertex / kWarpLanes;
    // A stale answer costs an atomic operation, never a vertex.
    if (((a.seen[word] | a.next[word]) & bit) == 0) {
      atomicOr(a.next + word, bit);
    }
  }
  __device__ void finish(bool /*whole*/) {}
};

// Whether any lane of a team of eight has something to tell.
__device__ inline bool any_of_team(bool mine) {
  const int first = cuda::lane_of_warp() / kTeamLanes * kTeamLanes;
  return (__ballot_sync(kAllLanes, mine) >> first & ((1U << kTeamLanes) - 1)) != 0;
}

// Of a list that is pulled from: whether what was looked at has a neighbour in the frontier, and whether more
// is there.
struct Beginning {
  bool found;
  bool more;
};

// What comes first of a list's part over the link, for one of up to four vertices, by the eight lanes of a
// team; all of a warp call together. `reads`: whether the team has such a list.
template <Coding kCoding, bool kCount>
__device__ Beginning pull_first_step(const ListsView& lists, const SearchArrays& a, bool reads,
                                     const ListParts& parts, std::uint64_t degree, ReadNote* note) {
  const int member = cuda::lane_of_warp() % kTeamLanes;
  const Step step = first_step(parts.begin, parts.end);
  const bool mine = reads && step.from + member < step.to;
  if constexpr (kCount) {
    count_sectors(note, mine, step.from + member);
  }
  const std::uint32_t word = mine ? lists.words[step.from + member] : 0;
  if constexpr (kCoding == Coding::compressed) {
    const auto words = static_cast<int>(step.to - step.from);
    const FirstSector sector = decode_first_sector(word, words, format_of(lists, parts));
    const bool first = reads && member == 0;
    const bool next = reads && sector.mine;
    if constexpr (kCount) {
      add_lanes(&note->elements, first);
      add_lanes(&note->elements, next);
    }
    const bool hit = (first && has(a.front, sector.first)) || (next && has(a.front, sector.next));
    const unsigned told = __ballot_sync(kAllLanes, next) >> (cuda::lane_of_warp() - member) & 0xff;
    return {any_of_team(hit), reads && 1 + static_cast<unsigned>(__popc(told)) < degree};
  } else {
    if constexpr (kCount) {
      add_lanes(&note->elements, mine);
    }
    return {any_of_team(mine && has(a.front, word)), reads && step.to < parts.end};
  }
}

// The hot part of a list, or else its first step over the link, by a team as above. `there`: whether the team
// has a vertex.
template <Coding kCoding, bool kCount>
__device__ Beginning pull_beginning(const ListsView& lists, const SearchArrays& a, bool there,
                                    std::uint32_t vertex, ReadNote* note) {
  const int member = cuda::lane_of_warp() % kTeamLanes;
  const HotPart hot = there ? hot_of(lists, vertex) : HotPart{};
  bool found = false;
  for (std::uint32_t at = 0; __any_sync(kAllLanes, !found && at < hot.count); at += kTeamLanes) {
    const bool mine = !found && at + member < hot.count;
    if constexpr (kCount) {
      add_lanes(&note->hot, mine);
    }
    found |= any_of_team(mine && has(a.front, lists.hot[hot.begin + at + member]));
  }
  // What lies behind the link is looked up where it is wanted.
  const std::uint64_t degree = there && !found ? degree_of(lists, vertex) : 0;
  bool more = degree > hot.count;
  const bool reads = more && hot.count == 0;
  if (__any_sync(kAllLanes, reads)) {
    const ListParts parts = reads ? parts_of<kCoding>(lists, vertex) : ListParts{};
    const Beginning step = pull_first_step<kCoding, kCount>(lists, a, reads, parts, degree, note);
    found |= reads && step.found;
    more = reads ? step.more : more;
  }
  return {found, !found && more};
}

// Which of a word's vertices, a bit each, have the first of their neighbours in the frontier, and of which
// there are others to ask: of those with a hot part all, which is asked first.
struct Looked {
  std::uint32_t found;
  std::uint32_t more;
};
template <bool kCount>
__device__ Looked look_at_firsts(const ListsView& lists, const SearchArrays& a, std::uint32_t word,
                                 std::uint32_t asked, ReadNote* note) {
  const std::uint32_t vertex = word * kWarpLanes + static_cast<std::uint32_t>(cuda::lane_of_warp());
  const bool mine = (asked >> cuda::lane_of_warp() & 1) != 0;
  const bool cold = mine && hot_of(lists, vertex).count == 0;
  const std::uint32_t first = first_of<kCount>(lists, word, cold, note);
  const bool hit = cold && has(a.front, first);
  const bool more = mine && !hit && (!cold || degree_of(lists, vertex) > 1);
  return {__ballot_sync(kAllLanes, hit), __ballot_sync(kAllLanes, more)};
}

// Notes the vertices of a word, a bit each, whose lists' beginnings did not answer.
__device__ inline void leave(const SearchArrays& a, std::uint32_t word, std::uint32_t bits,
                             LevelCounters& level) {
  unsigned long long at = 0;
  if (cuda::lane_of_warp() == 0) {
    at = atomicAdd(&level.left, static_cast<unsigned long long>(__popc(bits)));
  }
  at = __shfl_sync(kAllLanes, at, 0);
  if ((bits >> cuda::lane_of_warp() & 1) != 0) {
    a.left[at + static_cast<unsigned>(cuda::lanes_before(bits, cuda::lane_of_warp()))] =
        word * kWarpLanes + static_cast<std::uint32_t>(cuda::lane_of_warp());
  }
}

// Beginnings of the lists of all vertices that are not yet reached; before them first neighbours, where these
// lie side by side.
template <Coding kCoding, bool kCount>
__device__ void pull_beginnings(const ListsView& lists, const SearchArrays& a, LevelCounters& level,
                                ReadNote* note) {
  constexpr int kTeams = kWarpLanes / kTeamLanes;
  const int team = cuda::lane_of_warp() / kTeamLanes;
  const bool leads = cuda::lane_of_warp() % kTeamLanes == 0;
  const auto unreached = [&](std::uint32_t word) { return a.listed[word] & ~a.seen[word]; };
  for_words({0, a.words}, unreached, [&](std::uint32_t word, std::uint32_t rest) {
    std::uint32_t found = 0;
    std::uint32_t left = 0;
    if (lists.firsts != nullptr) {
      const Looked firsts = look_at_firsts<kCount>(lists, a, word, rest, note);
      found = firsts.found;
      rest = firsts.more;
    }
    while (rest != 0) {
      std::uint32_t bit = 0;  // of this team's vertex
#pragma unroll
      for (int k = 0; k < kTeams; ++k) {
        const std::uint32_t lowest = rest & (0U - rest);
        bit = k == team ? lowest : bit;
        rest &= ~lowest;
      }
      const std::uint32_t vertex = word * kWarpLanes + static_cast<std::uint32_t>(__ffs(bit)) - 1;
      const Beginning beginning = pull_beginning<kCoding, kCount>(lists, a, bit != 0, vertex, note);
      found |= or_of_warp(leads && beginning.found ? bit : 0);
      left |= or_of_warp(leads && beginning.more ? bit : 0);
    }
    if (found != 0 && cuda::lane_of_warp() == 0) {
      a.next[word] = found;
    }
    if (left != 0) {
      leave(a, word, left, level);
    }
  });
}

// A list line by line, by a warp, until one answers; of a compressed list from its first line again.
template <Coding kCoding, bool kCount>
__device__ bool pull_lines(const ListsView& lists, const SearchArrays& a, std::uint32_t vertex,
                           ReadNote* note) {
  const ListParts parts = parts_of<kCoding>(lists, vertex);
  std::uint64_t from = parts.begin;
  if (kCoding != Coding::compressed && parts.hot.count == 0) {
    from = first_step(parts.begin, parts.end).to;
  }
  bool found = false;
  while (!found && from < parts.end) {
    const Step step = line_step(from, parts.end);
    const std::uint64_t word = step.from + cuda::lane_of_warp();
    const bool mine = word < step.to;
    if constexpr (kCount) {
      count_sectors(note, mine, word);
    }
    const std::uint32_t read = mine ? lists.words[word] : 0;
    bool hit = false;
    const auto look = [&](const Neighbour& neighbour, bool there) {
      if constexpr (kCount) {
        add_lanes(&note->elements, there);
      }
      hit |= there && has(a.front, neighbour.vertex);
    };
    if constexpr (kCoding == Coding::compressed) {
      decode_line(read, format_of(lists, parts), look);
    } else {
      look(Neighbour{read, 0}, mine);
    }
    found = __any_sync(kAllLanes, hit) != 0;
    from = step.to;
  }
  return found;
}

// The rest of those that did not answer.
template <Coding kCoding, bool kCount>
__device__ void pull_rest(const ListsView& lists, const SearchArrays& a, std::uint64_t left, ReadNote* note) {
  for (std::uint64_t i = warp_of_grid(); i < left; i += warps_of_grid()) {
    const std::uint32_t vertex = a.left[i];
    if (pull_lines<kCoding, kCount>(lists, a, vertex, note) && cuda::lane_of_warp() == 0) {
      atomicOr(a.next + vertex / kWarpLanes, 1U << vertex % kWarpLanes);
    }
  }
}

// What was found is reached, and becomes the frontier.
__device__ inline void settle(const ListsView& out, const SearchArrays& a, std::uint32_t depth,
                              LevelCounters& level) {
  unsigned long long active = 0;
  unsigned long long edges = 0;
  const int lane = cuda::lane_of_warp();
  const auto take_found = [&](std::uint32_t word) {
    const std::uint32_t fresh = a.next[word];
    a.front[word] = fresh;
    if (fresh != 0) {
      a.seen[word] |= fresh;
      a.next[word] = 0;
    }
    return fresh;
  };
  for_words({0, a.words}, take_found, [&](std::uint32_t word, std::uint32_t fresh) {
    if ((fresh >> lane & 1) != 0) {
      const std::uint32_t vertex = word * kWarpLanes + static_cast<std::uint32_t>(lane);
      a.depths[vertex] = depth;
      edges += degree_of(out, vertex);
      ++active;
    }
  });
  active = cuda::sum_of_warp(active);
  edges = cuda::sum_of_warp(edges);
  if (lane == 0 && active > 0) {
    atomicAdd(&level.active, active);
    atomicAdd(&level.edges, edges);
  }
}

}  // namespace grainscope::lean

#endif
