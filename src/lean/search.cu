// A direction-optimising search (run.hpp): the phases of a level, each by all warps of the grid, and the one
// kernel that goes through them. A set of vertices is a bit each, and a word of 32 vertices is one warp's.

#include <cooperative_groups.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <type_traits>

#include "grainscope/core/error.hpp"
#include "grainscope/graph/answers.hpp"
#include "lists.cuh"
#include "stepped_run.cuh"
#include "team.cuh"

namespace grainscope::lean {

// What a level comes to; two of them take turns.
struct LevelCounters {
  unsigned long long active;  // vertices of the next frontier
  unsigned long long edges;   // in their lists
  unsigned long long pieces;  // of long lists
  unsigned long long left;    // vertices whose list's beginning did not answer
};

// What is not there takes no room.
struct Nothing {};

// All device memory. `kParents`: from which vertex each was reached is kept too.
template <bool kParents>
struct SearchArrays {
  std::uint32_t* seen;    // [words]: reached by now
  std::uint32_t* front;   // [words]: of these, in the last level
  std::uint32_t* next;    // [words]: found in this one
  std::uint32_t* listed;  // [words]: has a list to pull from
  std::uint32_t* depths;  // [V]
  [[no_unique_address]] std::conditional_t<kParents, std::uint32_t*, Nothing> parents;  // [V]
  std::uint32_t* left;                                                                  // [V]
  PieceItem* pieces;                                                                    // [most_pieces]
  LevelCounters* counters;                                                              // [2]
  const unsigned long long* listed_count;  // vertices that have one
  std::uint32_t words;
};

__device__ inline bool has(const std::uint32_t* bits, std::uint32_t vertex) {
  return (bits[vertex / kWarpLanes] >> vertex % kWarpLanes & 1) != 0;
}
__device__ inline std::uint32_t or_of_warp(std::uint32_t bits) {
  return cuda::all_of_warp(bits, [](std::uint32_t one, std::uint32_t other) { return one | other; });
}

// What led to a vertex that this level reaches: of several any will do, and the last one's stays.
template <bool kParents>
__device__ void note_parent(const SearchArrays<kParents>& a, bool mine, std::uint32_t vertex,
                            std::uint32_t parent) {
  if constexpr (kParents) {
    if (mine) {
      a.parents[vertex] = parent;
    }
  }
}

template <bool kParents>
struct Reach {
  const SearchArrays<kParents>& a;
  std::uint32_t from = 0;
  __device__ void start(std::uint32_t vertex) {
    if constexpr (kParents) {
      from = vertex;
    }
  }
  __device__ void visit(const Neighbour& neighbour) {
    const std::uint32_t bit = 1U << neighbour.vertex % kWarpLanes;
    const std::uint32_t word = neighbour.vertex / kWarpLanes;
    // A stale answer costs an atomic operation, never a vertex.
    if (((a.seen[word] | a.next[word]) & bit) == 0) {
      atomicOr(a.next + word, bit);
      note_parent(a, true, neighbour.vertex, from);
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
template <Coding kCoding, bool kCount, bool kParents>
__device__ Beginning pull_first_step(const ListsView& lists, const SearchArrays<kParents>& a, bool reads,
                                     std::uint32_t vertex, const ListParts& parts, std::uint64_t degree,
                                     ReadNote* note) {
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
    if constexpr (kParents) {
      note_parent(a, hit, vertex, first && has(a.front, sector.first) ? sector.first : sector.next);
    }
    const unsigned told = __ballot_sync(kAllLanes, next) >> (cuda::lane_of_warp() - member) & 0xff;
    return {any_of_team(hit), reads && 1 + static_cast<unsigned>(__popc(told)) < degree};
  } else {
    if constexpr (kCount) {
      add_lanes(&note->elements, mine);
    }
    const bool hit = mine && has(a.front, word);
    note_parent(a, hit, vertex, word);
    return {any_of_team(hit), reads && step.to < parts.end};
  }
}

// The hot part of a list, or else its first step over the link, by a team as above. `there`: whether the team
// has a vertex.
template <Coding kCoding, bool kCount, bool kParents>
__device__ Beginning pull_beginning(const ListsView& lists, const SearchArrays<kParents>& a, bool there,
                                    std::uint32_t vertex, ReadNote* note) {
  const int member = cuda::lane_of_warp() % kTeamLanes;
  const HotPart hot = there ? hot_of(lists, vertex) : HotPart{};
  bool found = false;
  for (std::uint32_t at = 0; __any_sync(kAllLanes, !found && at < hot.count); at += kTeamLanes) {
    const bool mine = !found && at + member < hot.count;
    if constexpr (kCount) {
      add_lanes(&note->hot, mine);
    }
    const bool hit = mine && has(a.front, lists.hot[hot.begin + at + member]);
    if constexpr (kParents) {
      note_parent(a, hit, vertex, hit ? lists.hot[hot.begin + at + member] : 0);
    }
    found |= any_of_team(hit);
  }
  // What lies behind the link is looked up where it is wanted.
  const std::uint64_t degree = there && !found ? degree_of(lists, vertex) : 0;
  bool more = degree > hot.count;
  const bool reads = more && hot.count == 0;
  if (__any_sync(kAllLanes, reads)) {
    const ListParts parts = reads ? parts_of<kCoding>(lists, vertex) : ListParts{};
    const Beginning step =
        pull_first_step<kCoding, kCount, kParents>(lists, a, reads, vertex, parts, degree, note);
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
template <bool kCount, bool kParents>
__device__ Looked look_at_firsts(const ListsView& lists, const SearchArrays<kParents>& a, std::uint32_t word,
                                 std::uint32_t asked, ReadNote* note) {
  const std::uint32_t vertex = word * kWarpLanes + static_cast<std::uint32_t>(cuda::lane_of_warp());
  const bool mine = (asked >> cuda::lane_of_warp() & 1) != 0;
  const bool cold = mine && hot_of(lists, vertex).count == 0;
  const std::uint32_t first = first_of<kCount>(lists, word, cold, note);
  const bool hit = cold && has(a.front, first);
  note_parent(a, hit, vertex, first);
  const bool more = mine && !hit && (!cold || degree_of(lists, vertex) > 1);
  return {__ballot_sync(kAllLanes, hit), __ballot_sync(kAllLanes, more)};
}

// Notes the vertices of a word, a bit each, whose lists' beginnings did not answer.
template <bool kParents>
__device__ void leave(const SearchArrays<kParents>& a, std::uint32_t word, std::uint32_t bits,
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

// Beginnings of the lists of all vertices that are not yet reached, of some words; before them first
// neighbours, where these lie side by side.
template <Coding kCoding, bool kCount, class Words, bool kParents>
__device__ void pull_beginnings(const ListsView& lists, const SearchArrays<kParents>& a, const Words& words,
                                LevelCounters& level, ReadNote* note) {
  constexpr int kTeams = kWarpLanes / kTeamLanes;
  const int team = cuda::lane_of_warp() / kTeamLanes;
  const bool leads = cuda::lane_of_warp() % kTeamLanes == 0;
  const auto unreached = [&](std::uint32_t i) {
    const std::uint32_t word = words.word(i);
    return a.listed[word] & ~a.seen[word];
  };
  for_words({0, words.count(a.words)}, unreached, [&](std::uint32_t i, std::uint32_t rest) {
    const std::uint32_t word = words.word(i);
    std::uint32_t found = 0;
    std::uint32_t left = 0;
    if (lists.firsts != nullptr) {
      const Looked firsts = look_at_firsts<kCount, kParents>(lists, a, word, rest, note);
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
      const Beginning beginning = pull_beginning<kCoding, kCount, kParents>(lists, a, bit != 0, vertex, note);
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
template <Coding kCoding, bool kCount, bool kParents>
__device__ bool pull_lines(const ListsView& lists, const SearchArrays<kParents>& a, std::uint32_t vertex,
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
      const bool in_front = there && has(a.front, neighbour.vertex);
      note_parent(a, in_front, vertex, neighbour.vertex);
      hit |= in_front;
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
template <Coding kCoding, bool kCount, bool kParents>
__device__ void pull_rest(const ListsView& lists, const SearchArrays<kParents>& a, std::uint64_t left,
                          ReadNote* note) {
  for (std::uint64_t i = warp_of_grid(); i < left; i += warps_of_grid()) {
    const std::uint32_t vertex = a.left[i];
    if (pull_lines<kCoding, kCount, kParents>(lists, a, vertex, note) && cuda::lane_of_warp() == 0) {
      atomicOr(a.next + vertex / kWarpLanes, 1U << vertex % kWarpLanes);
    }
  }
}

// What a level comes to on all GPUs.
struct LevelTotal {
  unsigned long long active;
  unsigned long long edges;

  __device__ void join(const LevelTotal& other) {
    active += other.active;
    edges += other.edges;
  }
};

// Vertices that a level reaches, as far as a lane takes them: their depths, and what they come to.
template <bool kParents>
struct Reached {
  const ListsView& out;
  const SearchArrays<kParents>& a;
  std::uint32_t depth;
  unsigned long long active = 0;
  unsigned long long edges = 0;

  // This lane's of a word.
  __device__ void take(std::uint32_t word, std::uint32_t fresh) {
    const int lane = cuda::lane_of_warp();
    if ((fresh >> lane & 1) != 0) {
      const std::uint32_t vertex = word * kWarpLanes + static_cast<std::uint32_t>(lane);
      a.depths[vertex] = depth;
      edges += degree_of(out, vertex);
      ++active;
    }
  }
  // By all lanes of a warp.
  __device__ void finish(LevelCounters& level) const {
    const unsigned long long all_active = cuda::sum_of_warp(active);
    const unsigned long long all_edges = cuda::sum_of_warp(edges);
    if (cuda::lane_of_warp() == 0 && all_active > 0) {
      atomicAdd(&level.active, all_active);
      atomicAdd(&level.edges, all_edges);
    }
  }
};

// On one GPU: what was found is reached, and becomes the frontier.
struct SearchAlone : Alone {
  template <bool kParents>
  __device__ void begin_level(SearchArrays<kParents>& /*a*/, std::uint32_t /*level*/) const {}
  template <bool kParents>
  __device__ void settle(const ListsView& out, const SearchArrays<kParents>& a, std::uint32_t depth,
                         LevelCounters& level) const {
    Reached<kParents> reached{out, a, depth};
    const auto take_found = [&](std::uint32_t word) {
      const std::uint32_t fresh = a.next[word];
      a.front[word] = fresh;
      if (fresh != 0) {
        a.seen[word] |= fresh;
        a.next[word] = 0;
      }
      return fresh;
    };
    for_words({0, a.words}, take_found,
              [&](std::uint32_t word, std::uint32_t fresh) { reached.take(word, fresh); });
    reached.finish(level);
  }
};

// Direction-optimising bfs: all levels in one kernel, whose blocks wait for each other between phases.
namespace {

namespace cg = cooperative_groups;
using graph::Vertex;

// Deeper than that a search is not followed: a graph of such depth has no use for a GPU.
constexpr std::uint32_t kMostLevels = 1 << 16;

// Blocks of a multiprocessor: a search waits for memory, and the more of it waits at a time the better.
constexpr int kSearchBlocks = 6;

// Depths of vertices whose lists another GPU reads are that one's.
template <bool kParents, class Place>
__device__ void clear_state(const SearchArrays<kParents>& a, const Place& place, Vertex vertices,
                            Vertex source) {
  const std::uint64_t first = cuda::thread_of_grid();
  for (std::uint64_t word = first; word < a.words; word += cuda::threads_of_grid()) {
    const std::uint32_t bit = word == source / kWarpLanes ? 1U << source % kWarpLanes : 0;
    a.seen[word] = bit;
    a.front[word] = bit;
    a.next[word] = 0;
  }
  const auto words = place.words();
  for (std::uint64_t vertex = first; vertex < vertices; vertex += cuda::threads_of_grid()) {
    if (words.has(vertex / kWarpLanes)) {
      a.depths[vertex] = vertex == source ? 0 : graph::kUnreached;
      note_parent(a, true, static_cast<Vertex>(vertex), vertex == source ? source : graph::kUnreached);
    }
  }
  if (first < 2) {
    a.counters[first] = {};
  }
}

// What a block knows of the level to come, in its shared memory: one thread's to change.
struct LevelChoice {
  LevelAhead ahead;
  bool pull;

  template <bool kParents>
  __device__ __noinline__ void begin(const PlacedView& lists, const SearchArrays<kParents>& a,
                                     Vertex source) {
    ahead = LevelAhead::of_source(degree_of(lists.out, source), degree_of(lists.in, source) > 0,
                                  *a.listed_count, lists.edges);
    pull = false;
  }
  // By what the level before came to.
  __device__ __noinline__ void turn(const LevelTotal& total, const Turning& turning) {
    ahead.advance(total.active, total.edges);
    pull = turning.pulls(ahead);
  }
};

// A level's reads, in two phases: lists or their beginnings, then what these left.
template <Coding kCoding, bool kCount, class Words, bool kParents, class Meeting>
__device__ void read_level(Meeting& meeting, const PlacedView& lists, const Words& words,
                           const SearchArrays<kParents>& a, const LevelChoice& choice,
                           LevelCounters& counters, ReadNote* note) {
  if (choice.pull) {
    pull_beginnings<kCoding, kCount>(lists.in, a, words, counters, note);
    meeting.here();
    pull_rest<kCoding, kCount, kParents>(lists.in, a, __ldcg(&counters.left), note);
    return;
  }
  Reach<kParents> reach{a};
  const HandOut out{a.pieces, &counters.pieces, long_list(choice.ahead.active)};
  visit_words<kCoding, kCount>(
      lists.out, a.words, words, [&](std::uint32_t word) { return a.front[word]; }, out, note, reach);
  meeting.here();
  visit_pieces<kCoding, kCount>(lists.out, out, __ldcg(&counters.pieces), note, reach);
}

template <Coding kCoding, bool kCount, bool kParents, class Place>
__global__ void __launch_bounds__(kLeanThreads, kSearchBlocks)
    search_levels(PlacedView lists, SearchArrays<kParents> a, StepBoard board, Vertex source, Turning turning,
                  Place place) {
  __shared__ alignas(LevelChoice) unsigned char of_block[sizeof(LevelChoice)];
  LevelChoice& choice = *reinterpret_cast<LevelChoice*>(of_block);
  typename Place::Meeting meeting(place);
  const bool notes = cg::this_grid().thread_rank() == 0;
  if (notes) {
    board.begin();
  }
  if (threadIdx.x == 0) {
    choice.begin(lists, a, source);
  }
  clear_state(a, place, lists.vertices, source);
  if (!meeting.all()) {
    return;
  }
  for (std::uint32_t level = 0; level < board.most; ++level) {
    LevelCounters& counters = a.counters[level % 2];
    place.begin_level(a, level);
    read_level<kCoding, kCount>(meeting, lists, place.words(), a, choice, counters,
                                kCount ? board.reads + level : nullptr);
    if (!meeting.all()) {
      return;
    }
    place.settle(lists.out, a, level + 1, counters);
    if (notes) {
      a.counters[(level + 1) % 2] = {};
    }
    const auto own = [&] { return LevelTotal{__ldcg(&counters.active), __ldcg(&counters.edges)}; };
    if (!meeting.tell(own)) {
      return;
    }
    if (notes) {
      board.note(level, choice.ahead.active, choice.ahead.edges, choice.pull);
    }
    if (threadIdx.x == 0) {
      choice.turn(meeting.total(own), turning);
    }
    __syncthreads();
    if (choice.ahead.active == 0) {
      if (notes) {
        *board.steps = level + 1;
      }
      return;
    }
  }
}

constexpr const char* kSearch = "a search";

std::uint32_t most_levels(Vertex vertices) {
  return std::min(vertices, kMostLevels - 1) + 1;
}

std::vector<bool> pulled_in(const std::vector<StepNote>& notes) {
  std::vector<bool> pulled;
  for (const StepNote& note : notes) {
    pulled.push_back(note.pull != 0);
  }
  return pulled;
}

class CudaLeanBfs final : public graph::Traversal {
 public:
  CudaLeanBfs(const LeanLists& lists, const Turning& turning, bool parents)
      : lists_(view_of(lists)),
        turning_(turning),
        guard_(lists.gpu()),
        words_((lists_.vertices + kWarpLanes - 1) / kWarpLanes),
        bits_(lists.gpu(), std::uint64_t{4} * words_),
        depths_(lists.gpu(), lists_.vertices),
        left_(lists.gpu(), lists_.vertices),
        pieces_(lists.gpu(), lists_.most_pieces),
        counters_(lists.gpu(), 2),
        listed_count_(lists.gpu(), 1),
        run_(lists.gpu(), most_levels(lists_.vertices), kSearch) {
    if (parents) {
      parents_.emplace(lists.gpu(), lists_.vertices);
    }
    listed_count_.fill_bytes(0, run_.stream());
    mark_listed(lists_.in, lists_.vertices, arrays<false>().listed, listed_count_.data(), run_.stream());
  }

  double run(Vertex source) override {
    graph::require_vertex(source, lists_.vertices);
    return launch_as<false>(run_.board(), source);
  }
  void spoil() override {
    depths_.fill_bytes(graph::kSpoiled, run_.stream());
    if (parents_) {
      parents_->fill_bytes(graph::kSpoiled, run_.stream());
    }
    run_.stream().synchronize();
  }
  std::vector<LinkReads> count(Vertex source) override {
    graph::require_vertex(source, lists_.vertices);
    return run_.count([&](const StepBoard& board) { return launch_as<true>(board, source); });
  }

  [[nodiscard]] std::vector<LevelResult> levels() const override { return run_.levels(); }
  [[nodiscard]] std::vector<bool> pulled() const override { return pulled_in(run_.notes()); }
  [[nodiscard]] std::vector<std::uint32_t> answer() const override { return depths_.read(lists_.vertices); }
  [[nodiscard]] const void* answer_on_gpu() const override {
    return parents_ ? parents_->data() : depths_.data();
  }
  [[nodiscard]] std::uint64_t gpu_bytes() const override {
    return bits_.bytes() + depths_.bytes() + (parents_ ? parents_->bytes() : 0) + left_.bytes() +
           pieces_.bytes() + counters_.bytes() + run_.bytes();
  }

 private:
  [[nodiscard]] bool compressed() const { return lists_.out.coding == Coding::compressed; }

  template <bool kParents>
  [[nodiscard]] SearchArrays<kParents> arrays() const {
    SearchArrays<kParents> a{};
    a.seen = bits_.data();
    a.front = a.seen + words_;
    a.next = a.front + words_;
    a.listed = a.next + words_;
    a.depths = depths_.data();
    if constexpr (kParents) {
      a.parents = parents_->data();
    }
    a.left = left_.data();
    a.pieces = pieces_.data();
    a.counters = counters_.data();
    a.listed_count = listed_count_.data();
    a.words = words_;
    return a;
  }

  template <bool kCount>
  double launch_as(const StepBoard& board, Vertex source) {
    if (parents_) {
      return compressed() ? launch<Coding::compressed, kCount, true>(board, source)
                          : launch<Coding::plain, kCount, true>(board, source);
    }
    return compressed() ? launch<Coding::compressed, kCount, false>(board, source)
                        : launch<Coding::plain, kCount, false>(board, source);
  }
  template <Coding kCoding, bool kCount, bool kParents>
  double launch(const StepBoard& board, Vertex source) {
    return run_.run(search_levels<kCoding, kCount, kParents, SearchAlone>, lists_, arrays<kParents>(), board,
                    source, turning_, {});
  }

  PlacedView lists_;
  Turning turning_;
  cuda::DeviceGuard guard_;
  std::uint32_t words_;
  cuda::DeviceArray<std::uint32_t> bits_;
  cuda::DeviceArray<std::uint32_t> depths_;
  std::optional<cuda::DeviceArray<std::uint32_t>> parents_;  // where they are kept
  cuda::DeviceArray<std::uint32_t> left_;
  cuda::DeviceArray<PieceItem> pieces_;
  cuda::DeviceArray<LevelCounters> counters_;
  cuda::DeviceArray<unsigned long long> listed_count_;
  SteppedRun run_;
};

}  // namespace

// The same by several GPUs.
namespace {

// What any GPU found becomes the frontier, of which each counts its own words. What they find in the next
// level goes elsewhere: to words that nobody looks at any more, and clears before.
struct SearchOfTeam : TeamPlace {
  std::uint32_t* found;           // [2][words]: of levels in turn
  Others<std::uint32_t*> theirs;  // of each other GPU

  __device__ void begin_level(SearchArrays<false>& a, std::uint32_t level) const {
    a.next = found + level % 2 * std::uint64_t{a.words};
  }
  // A warp has 32 words that lie side by side: over NVLink they are few requests.
  __device__ void settle(const ListsView& out, const SearchArrays<false>& a, std::uint32_t depth,
                         LevelCounters& level) const {
    const std::uint64_t of_level = (depth - 1) % 2 * std::uint64_t{a.words};
    std::uint32_t* const later = found + depth % 2 * std::uint64_t{a.words};
    const int lane = cuda::lane_of_warp();
    Reached<false> reached{out, a, depth};
    for (std::uint64_t first = std::uint64_t{warp_of_grid()} * kWarpLanes; first < a.words;
         first += std::uint64_t{warps_of_grid()} * kWarpLanes) {
      const std::uint64_t word = first + static_cast<std::uint32_t>(lane);
      const std::uint32_t fresh = word < a.words ? take_found(a, of_level, later, word) : 0;
      const std::uint32_t own = dealt.has(word) ? fresh : 0;
      for (std::uint32_t with = __ballot_sync(kAllLanes, own != 0); with != 0; with &= with - 1) {
        const int of = __ffs(static_cast<int>(with)) - 1;
        reached.take(static_cast<std::uint32_t>(first) + static_cast<std::uint32_t>(of),
                     __shfl_sync(kAllLanes, own, of));
      }
    }
    reached.finish(level);
  }

 private:
  __device__ std::uint32_t take_found(const SearchArrays<false>& a, std::uint64_t of_level,
                                      std::uint32_t* later, std::uint64_t word) const {
    std::uint32_t fresh = a.next[word];
    for (int i = 0; i < theirs.count; ++i) {
      fresh |= __ldcg(theirs.of[i] + of_level + word);
    }
    const std::uint32_t seen = a.seen[word];
    fresh &= ~seen;
    a.front[word] = fresh;
    later[word] = 0;
    if (fresh != 0) {
      a.seen[word] = seen | fresh;
    }
    return fresh;
  }
};

// One GPU's copy of the state.
class DealtSearch {
 public:
  DealtSearch(const PlacedView& lists, int gpu, const cuda::Stream& stream)
      : words_((lists.vertices + kWarpLanes - 1) / kWarpLanes),
        bits_(gpu, std::uint64_t{5} * words_),
        depths_(gpu, lists.vertices),
        left_(gpu, lists.vertices),
        pieces_(gpu, lists.most_pieces),
        counters_(gpu, 2),
        listed_count_(gpu, 1) {
    listed_count_.fill_bytes(0, stream);
    mark_listed(lists.in, lists.vertices, arrays().listed, listed_count_.data(), stream);
  }

  [[nodiscard]] SearchArrays<false> arrays() const {
    SearchArrays<false> a{};
    a.seen = bits_.data();
    a.front = a.seen + words_;
    a.listed = a.front + words_;
    a.next = found();
    a.depths = depths_.data();
    a.left = left_.data();
    a.pieces = pieces_.data();
    a.counters = counters_.data();
    a.listed_count = listed_count_.data();
    a.words = words_;
    return a;
  }
  // What is found in the first level of a run; behind it there is room for that of the next.
  [[nodiscard]] std::uint32_t* found() const { return bits_.data() + std::uint64_t{3} * words_; }
  [[nodiscard]] std::vector<std::uint32_t> depths(Vertex vertices) const { return depths_.read(vertices); }
  void spoil(const cuda::Stream& stream) const { depths_.fill_bytes(graph::kSpoiled, stream); }
  [[nodiscard]] std::uint64_t bytes() const {
    return bits_.bytes() + depths_.bytes() + left_.bytes() + pieces_.bytes() + counters_.bytes();
  }

 private:
  std::uint32_t words_;
  cuda::DeviceArray<std::uint32_t> bits_;  // seen, front, listed, and next twice
  cuda::DeviceArray<std::uint32_t> depths_;
  cuda::DeviceArray<std::uint32_t> left_;
  cuda::DeviceArray<PieceItem> pieces_;
  cuda::DeviceArray<LevelCounters> counters_;
  cuda::DeviceArray<unsigned long long> listed_count_;
};

class TeamBfs final : public graph::Traversal {
 public:
  TeamBfs(LeanTeam team, const Turning& turning)
      : run_(team),
        turning_(turning),
        vertices_(run_.view(0).vertices),
        steps_(run_, most_levels(vertices_), kSearch) {
    run_.each([&](std::size_t i, const cuda::Stream& stream) {
      states_.push_back(std::make_unique<DealtSearch>(run_.view(i), run_.gpu(i), stream));
    });
  }

  double run(Vertex source) override {
    graph::require_vertex(source, vertices_);
    return steps_.run(kernel<false>(), [&](const auto&... of_gpu) { return arguments(of_gpu..., source); });
  }
  void spoil() override { spoil_all(run_, states_); }
  std::vector<LinkReads> count(Vertex source) override {
    graph::require_vertex(source, vertices_);
    return steps_.count(kernel<true>(), [&](const auto&... of_gpu) { return arguments(of_gpu..., source); });
  }
  [[nodiscard]] std::vector<LevelResult> levels() const override { return steps_.levels(); }
  [[nodiscard]] std::vector<bool> pulled() const override { return pulled_in(steps_.notes()); }
  [[nodiscard]] std::vector<std::uint32_t> answer() const override {
    return run_.gathered<std::uint32_t>([&](std::size_t i) { return states_[i]->depths(vertices_); });
  }
  [[nodiscard]] std::uint64_t gpu_bytes() const override { return bytes_of(states_) + steps_.bytes(); }

 private:
  using Kernel = void (*)(PlacedView, SearchArrays<false>, StepBoard, Vertex, Turning, SearchOfTeam);
  template <bool kCount>
  [[nodiscard]] Kernel kernel() const {
    return run_.view(0).out.coding == Coding::compressed
               ? search_levels<Coding::compressed, kCount, false, SearchOfTeam>
               : search_levels<Coding::plain, kCount, false, SearchOfTeam>;
  }
  using Arguments = std::tuple<PlacedView, SearchArrays<false>, StepBoard, Vertex, Turning, SearchOfTeam>;
  [[nodiscard]] Arguments arguments(std::size_t i, const TeamPlace& place, const StepBoard& board,
                                    Vertex source) const {
    const auto theirs =
        run_.others<std::uint32_t*>(i, [&](std::size_t other) { return states_[other]->found(); });
    return {run_.view(i), states_[i]->arrays(),
            board,        source,
            turning_,     SearchOfTeam{place, states_[i]->found(), theirs}};
  }

  TeamRun run_;
  Turning turning_;
  Vertex vertices_;
  std::vector<std::unique_ptr<DealtSearch>> states_;
  TeamSteps steps_;
  TeamDrain drain_{run_};
};

void require_no_weights(const LeanLists& lists) {
  if (view_of(lists).weighted) {
    throw UsageError("a search is over lists that are placed without weights");
  }
}

}  // namespace

std::unique_ptr<graph::Traversal> make_lean_bfs(const LeanLists& lists, const Turning& turning,
                                                bool parents) {
  require_no_weights(lists);
  return std::make_unique<CudaLeanBfs>(lists, turning, parents);
}

std::unique_ptr<graph::Traversal> make_lean_bfs(LeanTeam team, const Turning& turning) {
  if (team.size() == 1) {
    return make_lean_bfs(*team.front(), turning);
  }
  for (const LeanLists* each : team) {
    require_no_weights(*each);
  }
  return std::make_unique<TeamBfs>(team, turning);
}

}  // namespace grainscope::lean
