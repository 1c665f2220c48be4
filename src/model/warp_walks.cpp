#include "warp_walks.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>
#include <span>
#include <string>

#include "grainscope/core/error.hpp"

namespace grainscope::model {
namespace {

// Sets bits `first` to `last`, both included; how many of them were not set before. Of several threads that
// set the same bit, one counts it.
std::uint64_t set_bits(std::span<std::uint64_t> words, std::uint64_t first, std::uint64_t last) {
  std::uint64_t fresh = 0;
  for (std::uint64_t i = first / 64; i <= last / 64; ++i) {
    std::uint64_t mask = ~std::uint64_t{0};
    if (i == first / 64) {
      mask &= ~std::uint64_t{0} << (first % 64);
    }
    if (i == last / 64) {
      mask &= ~std::uint64_t{0} >> (63 - last % 64);
    }
    const std::atomic_ref word(words[i]);
    // Looked at first: a level that reads what another has read locks nothing.
    if ((mask & ~word.load(std::memory_order_relaxed)) != 0) {
      fresh +=
          static_cast<std::uint64_t>(std::popcount(mask & ~word.fetch_or(mask, std::memory_order_relaxed)));
    }
  }
  return fresh;
}

using graph::Access;
using graph::Edge;
using graph::kWarpLanes;
using graph::Vertex;

// The block whose warp takes the turn that is on.
class Turns {
 public:
  Turns(const Grid& grid, std::uint64_t turn)
      : blocks_(static_cast<std::uint64_t>(grid.blocks)),
        warps_(static_cast<std::uint64_t>(grid.warps_per_block)),
        block_(turn / warps_ % blocks_),
        warp_(turn % warps_) {}

  [[nodiscard]] std::size_t block() const { return block_; }
  void next() {
    if (++warp_ == warps_) {
      warp_ = 0;
      block_ = block_ + 1 == blocks_ ? 0 : block_ + 1;
    }
  }

 private:
  std::uint64_t blocks_;
  std::uint64_t warps_;
  std::uint64_t block_;
  std::uint64_t warp_;
};

// Sectors of elements [begin, end) of an array of `bytes` a piece that begins at address `at`.
std::uint64_t mark(const Walk& walk, std::uint64_t first_bit, std::uint64_t at, unsigned bytes, Edge begin,
                   Edge end) {
  const std::uint64_t within = at % kSectorBytes;
  return set_bits(walk.seen, first_bit + (within + begin * bytes) / kSectorBytes,
                  first_bit + (within + end * bytes - 1) / kSectorBytes);
}

std::uint64_t mark_list(const Walk& walk, Edge begin, Edge end) {
  const Layout& layout = walk.layout;
  std::uint64_t fresh = mark(walk, 0, layout.edges_at, static_cast<unsigned>(layout.edge_bytes), begin, end);
  if (layout.weights) {
    fresh += mark(walk, walk.first_weight_bit, layout.weights_at, 4, begin, end);
  }
  return fresh;
}

// A list that a warp walks from `start`, at or before its first element, in steps of 32: the first step and
// the last may be partial, those between are all alike, since a step is a multiple of a line.
void add_steps(Requests& requests, std::uint64_t at, unsigned bytes, Edge start, Edge begin, Edge end) {
  const auto span = [&](Edge from, Edge to, std::uint64_t times) {
    add_span(requests, at + from * bytes, at + to * bytes, times);
  };
  const std::uint64_t steps = (end - start + kWarpLanes - 1) / kWarpLanes;
  span(begin, std::min(start + kWarpLanes, end), 1);
  if (steps > 2) {
    span(start + kWarpLanes, start + Edge{2} * kWarpLanes, steps - 2);
  }
  if (steps > 1) {
    span(start + (steps - 1) * kWarpLanes, end, 1);
  }
}

// Of these steps, requests whose sectors the step before asked for, which of the first is the end of the list
// before: 0 where there is none. Steps but the first begin at the same place of a line.
std::uint64_t shared_requests(std::uint64_t at, unsigned bytes, Edge before, Edge start, Edge begin,
                              Edge end) {
  const auto sector = [&](Edge element) { return (at + element * bytes) / kSectorBytes; };
  const auto last_sector = [&](Edge up_to) { return (at + up_to * bytes - 1) / kSectorBytes; };
  // A request in the sector `first` is for no other one of its line.
  const auto alone = [&](std::uint64_t first, Edge up_to) {
    return first % kSectorsPerLine == kSectorsPerLine - 1 || last_sector(up_to) == first;
  };
  std::uint64_t shared = 0;
  if (before > 0 && last_sector(before) == sector(begin)) {
    shared += alone(sector(begin), std::min(start + kWarpLanes, end)) ? 1 : 0;
  }
  const std::uint64_t steps = (end - start + kWarpLanes - 1) / kWarpLanes;
  const Edge second = start + kWarpLanes;
  if (steps > 1 && last_sector(second) == sector(second)) {
    const Edge last = start + (steps - 1) * kWarpLanes;
    shared += (steps - 2) * (alone(sector(second), second + kWarpLanes) ? 1 : 0);
    shared += alone(sector(last), end) ? 1 : 0;
  }
  return shared;
}

template <class Policy, bool kGather>
void walk_lists(const Walk& walk, std::span<const Vertex> lists, std::uint64_t first_item, Edge before,
                Tally& tally) {
  const Layout& layout = walk.layout;
  const auto arrays = static_cast<std::uint64_t>(walk.arrays());
  Turns turns(walk.grid, first_item / Policy::kItemsPerTurn);
  std::uint64_t item_of_turn = first_item % Policy::kItemsPerTurn;
  Requests sum;
  for (const Vertex v : lists) {
    const Edge begin = walk.graph.offsets[v];
    const Edge end = walk.graph.offsets[v + std::uint64_t{1}];
    if (begin == end) {
      continue;
    }
    const Edge start = Policy::start(begin, layout.edge_bytes);
    add_steps(sum, layout.edges_at, static_cast<unsigned>(layout.edge_bytes), start, begin, end);
    tally.shared +=
        shared_requests(layout.edges_at, static_cast<unsigned>(layout.edge_bytes), before, start, begin, end);
    if (layout.weights) {
      add_steps(sum, layout.weights_at, 4, start, begin, end);
      tally.shared += shared_requests(layout.weights_at, 4, before, start, begin, end);
    }
    before = end;
    sum.loads += arrays * ((end - start + kWarpLanes - 1) / kWarpLanes);
    sum.elements += end - begin;
    tally.fresh_sectors += mark_list(walk, begin, end);
    for (Edge at = start; at < end; at += Policy::kPiece) {
      const Edge stop = std::min(end, at + Policy::kPiece);
      tally.of_block[turns.block()] +=
          kGather ? stop - std::max(at, begin) : arrays * ((stop - at + kWarpLanes - 1) / kWarpLanes);
      if (++item_of_turn == Policy::kItemsPerTurn) {
        item_of_turn = 0;
        turns.next();
      }
    }
  }
  sum.lanes = arrays * sum.elements;
  tally.requests += sum;
}

// The lanes of a warp that still read, in ascending order of lists and so of addresses.
struct Lanes {
  std::array<Edge, kWarpLanes> at;    // the element that each reads next
  std::array<Edge, kWarpLanes> left;  // how many more it reads
  std::size_t count = 0;
};

// Adds `steps` steps of all lanes in an array of `bytes` an element. As all lanes go on by one element, the
// gaps between them stay: lanes a line apart never meet, and each asks for a sector of its own in every step.
// Only a run of lanes whose gaps are smaller is looked at step by step.
void add_lockstep(BySectorMask& masks, const Lanes& lanes, std::uint64_t base, unsigned bytes, Edge steps) {
  std::size_t first = 0;
  while (first < lanes.count) {
    std::size_t end = first + 1;
    while (end < lanes.count && (lanes.at[end] - lanes.at[end - 1]) * bytes < graph::kLineBytes) {
      ++end;
    }
    if (end == first + 1) {
      masks[1] += steps;  // which of the four sectors makes no difference
    } else {
      for (Edge step = 0; step < steps; ++step) {
        std::uint64_t line = UINT64_MAX;
        unsigned mask = 0;
        for (std::size_t lane = first; lane < end; ++lane) {
          const std::uint64_t sector = (base + (lanes.at[lane] + step) * bytes) / kSectorBytes;
          if (sector / kSectorsPerLine != line) {
            ++masks[mask];  // of mask 0, which nobody reads, for the first
            line = sector / kSectorsPerLine;
            mask = 0;
          }
          mask |= 1U << (sector % kSectorsPerLine);
        }
        ++masks[mask];
      }
    }
    first = end;
  }
}

// Lanes that have `steps` steps less to do; those that are done are no more.
void advance(Lanes& lanes, Edge steps) {
  std::size_t kept = 0;
  for (std::size_t lane = 0; lane < lanes.count; ++lane) {
    const Edge left = lanes.left[lane] - steps;
    lanes.at[kept] = lanes.at[lane] + steps;
    lanes.left[kept] = left;
    kept += left > 0 ? 1 : 0;
  }
  lanes.count = kept;
}

// One warp's 32 lists in lockstep; the steps that it took.
Edge walk_turn(const Walk& walk, Lanes& lanes, BySectorMask& masks) {
  const Layout& layout = walk.layout;
  Edge taken = 0;
  while (lanes.count > 0) {
    const Edge steps = *std::min_element(lanes.left.begin(), lanes.left.begin() + lanes.count);
    add_lockstep(masks, lanes, layout.edges_at, static_cast<unsigned>(layout.edge_bytes), steps);
    if (layout.weights) {
      add_lockstep(masks, lanes, layout.weights_at, 4, steps);
    }
    advance(lanes, steps);
    taken += steps;
  }
  return taken;
}

// Requests of one array's loads, each of which names its spans of elements in ascending order.
class Asking {
 public:
  Asking(std::uint64_t at, unsigned bytes) : at_(at), bytes_(bytes) {}

  // Elements [begin, end) of the load that is on. `anew(sector)`: whether nothing asked for it before.
  template <class Anew>
  void add(Edge begin, Edge end, const Anew& anew) {
    const std::uint64_t last = (at_ + end * bytes_ - 1) / kSectorBytes;
    for (std::uint64_t sector = (at_ + begin * bytes_) / kSectorBytes; sector <= last; ++sector) {
      if (sector / kSectorsPerLine != line_) {
        finish_request();
        line_ = sector / kSectorsPerLine;
      }
      mask_ |= 1U << sector % kSectorsPerLine;
      anew_ = anew(sector) || anew_;
    }
  }
  // The load has no more.
  void finish_load() {
    finish_request();
    line_ = UINT64_MAX;
  }
  void tell(Tally& tally) const {
    add_masks(tally.requests, masks_);
    tally.shared += shared_;
  }

 private:
  void finish_request() {
    if (mask_ != 0) {
      ++masks_[mask_];
      shared_ += anew_ ? 0 : 1;
    }
    mask_ = 0;
    anew_ = false;
  }

  std::uint64_t at_;
  unsigned bytes_;
  std::uint64_t line_ = UINT64_MAX;
  unsigned mask_ = 0;
  bool anew_ = false;
  BySectorMask masks_{};
  std::uint64_t shared_ = 0;
};

// The arrays that a load reads from.
std::vector<Asking> asking(const Walk& walk) {
  std::vector<Asking> arrays{{walk.layout.edges_at, static_cast<unsigned>(walk.layout.edge_bytes)}};
  if (walk.layout.weights) {
    arrays.emplace_back(walk.layout.weights_at, 4U);
  }
  return arrays;
}

// Where a sector of one array stands among those of a turn's items, which ascend, and which have been asked
// for.
class TurnSectors {
 public:
  static constexpr std::size_t kMost = 128;

  TurnSectors(std::uint64_t at, unsigned bytes) : at_(at), bytes_(bytes) {}

  // `before`: the element up to which what was walked before reaches; 0: nothing was.
  void begin(std::span<const graph::WorkItem> items, Edge before) {
    seen_.fill(0);
    count_ = items.size();
    std::uint64_t next = before == 0 ? UINT64_MAX : (at_ + before * bytes_ - 1) / kSectorBytes;
    std::size_t place = 0;
    for (std::size_t i = 0; i < count_; ++i) {
      first_[i] = (at_ + items[i].begin() * bytes_) / kSectorBytes;
      const bool shares = first_[i] == next;  // with the end of what comes before
      place_[i] = shares && i > 0 ? place - 1 : place;
      if (shares && i == 0) {
        set(place_[i]);
      }
      next = (at_ + items[i].end() * bytes_ - 1) / kSectorBytes;
      place = place_[i] + static_cast<std::size_t>(next - first_[i]) + 1;
    }
  }
  // Of an item. Whether it had not been asked for.
  bool ask(std::size_t item, std::uint64_t sector) {
    const std::size_t place = place_[item] + static_cast<std::size_t>(sector - first_[item]);
    const bool anew = (seen_[place / 64] >> place % 64 & 1) == 0;
    set(place);
    return anew;
  }

 private:
  void set(std::size_t place) { seen_[place / 64] |= std::uint64_t{1} << place % 64; }

  std::uint64_t at_;
  unsigned bytes_;
  std::size_t count_ = 0;
  std::array<std::uint64_t, kWarpLanes> first_{};
  std::array<std::size_t, kWarpLanes> place_{};
  std::array<std::uint64_t, kMost / 64> seen_{};
};

template <class Policy>
void walk_teams(const Walk& walk, std::span<const Vertex> active, const ListRange& range,
                std::uint64_t first_item, Edge before, Tally& tally) {
  constexpr std::size_t kTeams = Policy::kItemsPerTurn;
  // 256 elements of 8 bytes, and of each item a sector more at either end.
  static_assert(std::size_t{graph::kWarpLanes} * graph::kPieceSteps * 8 / kSectorBytes + 2 * kTeams <=
                TurnSectors::kMost);
  const auto arrays = static_cast<std::uint64_t>(walk.arrays());
  std::vector<Asking> askings = asking(walk);
  std::vector<TurnSectors> sectors{{walk.layout.edges_at, static_cast<unsigned>(walk.layout.edge_bytes)}};
  sectors.emplace_back(walk.layout.weights_at, 4U);
  std::vector<graph::WorkItem> turn;
  const auto walk_turn = [&](std::uint64_t number) {
    for (std::size_t array = 0; array < arrays; ++array) {
      sectors[array].begin(turn, before);
    }
    for (int step = 0; step < graph::kPieceSteps; ++step) {
      std::uint64_t lanes = 0;
      for (std::size_t i = 0; i < turn.size(); ++i) {
        const graph::WorkItem& item = turn[i];
        const auto from = static_cast<std::uint32_t>(step * Policy::kTeamLanes);
        const Edge begin = item.first + std::max(from, item.skip);
        const Edge end = item.first + std::min(from + static_cast<unsigned>(Policy::kTeamLanes), item.length);
        if (begin >= end) {
          continue;
        }
        lanes += end - begin;
        for (std::size_t array = 0; array < arrays; ++array) {
          askings[array].add(begin, end, [&](std::uint64_t sector) { return sectors[array].ask(i, sector); });
        }
      }
      if (lanes != 0) {
        for (std::size_t array = 0; array < arrays; ++array) {
          askings[array].finish_load();
        }
        tally.requests.loads += arrays;
        tally.requests.lanes += arrays * lanes;
        tally.requests.elements += lanes;
        tally.of_block[Turns(walk.grid, number).block()] += arrays;
      }
    }
    before = turn.back().end();
    turn.clear();
  };
  std::uint64_t number = first_item;
  for (std::size_t list = range.first; list < active.size(); ++list) {
    // A turn that begins in these lists is walked to its end; one that began before is others'.
    if (list >= range.last && turn.empty()) {
      break;
    }
    const Edge begin = walk.graph.offsets[active[list]];
    const Edge end = walk.graph.offsets[active[list] + std::uint64_t{1}];
    if (list < range.last && begin < end) {
      tally.fresh_sectors += mark_list(walk, begin, end);
    }
    const std::uint64_t items = Policy::items(begin, end, walk.layout.edge_bytes);
    for (std::uint64_t part = 0; part < items; ++part, ++number) {
      const graph::WorkItem item = Policy::item(active[list], begin, end, part, walk.layout.edge_bytes);
      if (turn.empty() && number % kTeams != 0) {
        before = item.end();
        continue;
      }
      if (turn.empty() && list >= range.last) {
        break;
      }
      turn.push_back(item);
      if (turn.size() == kTeams) {
        walk_turn(number / kTeams);
      }
    }
  }
  if (!turn.empty()) {
    walk_turn(number / kTeams);
  }
  for (const Asking& each : askings) {
    each.tell(tally);
  }
}

}  // namespace

void walk_by_teams(const Walk& walk, Access access, std::span<const Vertex> active, const ListRange& range,
                   std::uint64_t first_item, Edge before, Tally& tally) {
  switch (graph::team_lanes(access)) {
    case graph::MergedAlignedBy16::kTeamLanes:
      return walk_teams<graph::MergedAlignedBy16>(walk, active, range, first_item, before, tally);
    case graph::MergedAlignedBy8::kTeamLanes:
      return walk_teams<graph::MergedAlignedBy8>(walk, active, range, first_item, before, tally);
    case graph::MergedAlignedBy4::kTeamLanes:
      return walk_teams<graph::MergedAlignedBy4>(walk, active, range, first_item, before, tally);
    default:
      throw FailedError(std::string("no walk by teams is called ") + name(access));
  }
}

void walk_tile(const Walk& walk, std::span<const Vertex> lists, Edge skip, Edge edges, std::uint64_t tile,
               Edge before, Tally& tally) {
  const auto arrays = static_cast<std::uint64_t>(walk.arrays());
  std::uint64_t& of_block = tally.of_block[tile % static_cast<std::uint64_t>(walk.grid.blocks)];
  std::uint64_t loads = 0;
  std::vector<Asking> askings = asking(walk);
  // What was asked for last: elements ascend from load to load.
  std::array<std::uint64_t, 2> asked{};
  const std::array<std::uint64_t, 2> at{walk.layout.edges_at, walk.layout.weights_at};
  const std::array<std::uint64_t, 2> bytes{static_cast<std::uint64_t>(walk.layout.edge_bytes), 4};
  std::array<bool, 2> any{before != 0, before != 0};
  for (std::size_t array = 0; array < 2 && before != 0; ++array) {
    asked[array] = (at[array] + before * bytes[array] - 1) / kSectorBytes;
  }
  std::uint64_t lanes = 0;  // of the load that is on
  const auto finish_load = [&] {
    for (Asking& each : askings) {
      each.finish_load();
    }
    loads += arrays;
    lanes = 0;
  };
  Edge left = edges;
  for (const Vertex v : lists) {
    Edge begin = walk.graph.offsets[v] + skip;
    const Edge end = std::min(walk.graph.offsets[v + std::uint64_t{1}], begin + left);
    skip = 0;
    if (begin < end) {
      tally.fresh_sectors += mark_list(walk, begin, end);
      left -= end - begin;
    }
    while (begin < end) {
      const Edge take = std::min<Edge>(end - begin, kWarpLanes - lanes);
      for (std::size_t array = 0; array < arrays; ++array) {
        askings[array].add(begin, begin + take, [&](std::uint64_t sector) {
          const bool anew = !any[array] || sector > asked[array];
          any[array] = true;
          asked[array] = sector;
          return anew;
        });
      }
      begin += take;
      lanes += take;
      if (lanes == kWarpLanes) {
        finish_load();
      }
    }
  }
  if (lanes != 0) {
    finish_load();
  }
  for (const Asking& each : askings) {
    each.tell(tally);
  }
  tally.requests.loads += loads;
  tally.requests.lanes += arrays * edges;
  tally.requests.elements += edges;
  of_block += loads;
}

std::uint64_t first_weight_bit(const graph::Csr& graph, const Layout& layout) {
  const std::uint64_t bytes =
      layout.edges_at % kSectorBytes + graph.edges() * static_cast<unsigned>(layout.edge_bytes);
  return (bytes + 64 * kSectorBytes - 1) / (64 * kSectorBytes) * 64;
}

std::uint64_t seen_bits(const graph::Csr& graph, const Layout& layout) {
  const std::uint64_t weights =
      layout.weights ? (layout.weights_at % kSectorBytes + graph.edges() * 4) / kSectorBytes + 1 : 0;
  return first_weight_bit(graph, layout) + weights;
}

std::uint64_t items_of(const Walk& walk, Access access, Vertex v) {
  const Edge begin = walk.graph.offsets[v];
  const Edge end = walk.graph.offsets[v + std::uint64_t{1}];
  const int bytes = walk.layout.edge_bytes;
  switch (access) {
    case Access::naive:
      return graph::Naive::items(begin, end, bytes);
    case Access::merged:
      return graph::Merged::items(begin, end, bytes);
    case Access::merged_aligned_by_16:
      return graph::MergedAlignedBy16::items(begin, end, bytes);
    case Access::merged_aligned_by_8:
      return graph::MergedAlignedBy8::items(begin, end, bytes);
    case Access::merged_aligned_by_4:
      return graph::MergedAlignedBy4::items(begin, end, bytes);
    case Access::merged_aligned:
    case Access::merged_aligned_chunked:
    case Access::edge_gather:
      return graph::MergedAligned::items(begin, end, bytes);
    case Access::block_mapped:
    case Access::merge_path:
      return graph::WholeLists::items(begin, end, bytes);
  }
  throw FailedError("there is no such access");
}

void walk_by_warps(const Walk& walk, Access access, std::span<const Vertex> lists, std::uint64_t first_item,
                   Edge before, Tally& tally) {
  switch (access) {
    case Access::merged:
      return walk_lists<graph::Merged, false>(walk, lists, first_item, before, tally);
    case Access::merged_aligned:
      return walk_lists<graph::MergedAligned, false>(walk, lists, first_item, before, tally);
    case Access::merged_aligned_chunked:
      return walk_lists<graph::MergedAlignedChunked, false>(walk, lists, first_item, before, tally);
    case Access::edge_gather:
      return walk_lists<graph::MergedAligned, true>(walk, lists, first_item, before, tally);
    default:
      break;
  }
}

void walk_by_lanes(const Walk& walk, std::span<const Vertex> lists, std::uint64_t first_turn, Tally& tally) {
  const auto arrays = static_cast<std::uint64_t>(walk.arrays());
  Turns turns(walk.grid, first_turn);
  BySectorMask masks{};
  Requests sum;
  for (std::size_t turn = 0; turn < lists.size(); turn += kWarpLanes) {
    Lanes lanes;
    lanes.count = std::min<std::size_t>(kWarpLanes, lists.size() - turn);
    for (std::size_t lane = 0; lane < lanes.count; ++lane) {
      const Vertex v = lists[turn + lane];
      lanes.at[lane] = walk.graph.offsets[v];
      lanes.left[lane] = walk.graph.degree(v);
      sum.elements += lanes.left[lane];
      tally.fresh_sectors += mark_list(walk, lanes.at[lane], lanes.at[lane] + lanes.left[lane]);
    }
    const std::uint64_t loads = arrays * walk_turn(walk, lanes, masks);
    sum.loads += loads;
    tally.of_block[turns.block()] += loads;
    turns.next();
  }
  sum.lanes = arrays * sum.elements;
  add_masks(sum, masks);
  tally.requests += sum;
}

}  // namespace grainscope::model
