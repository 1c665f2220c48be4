// What is laid out beside the lists: which beginnings are hot, first neighbours side by side, the phases
// that components read lists by, and room for pieces of long lists.

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <vector>

#include "grainscope/core/error.hpp"
#include "grainscope/lean/lists.hpp"
#include "grainscope/lean/run.hpp"
#include "view.hpp"

namespace grainscope::lean {
namespace {

using graph::Csr;
using graph::Vertex;

constexpr std::uint64_t kManyVertices = 1 << 14;  // that a team of threads is worth
constexpr std::uint64_t kMostElements = std::numeric_limits<std::uint32_t>::max();

// From how much of each list is hot: `of(v)`, whose sum is below 2³².
template <class Of>
HotTier tier_of(const Csr& graph, const Of& of) {
  const std::uint64_t vertices = graph.vertices();
  HotTier tier;
  tier.offsets = HostArray<std::uint32_t>(vertices + 1);
  tier.offsets[0] = 0;
#pragma omp parallel for if (vertices >= kManyVertices)
  for (std::uint64_t v = 0; v < vertices; ++v) {
    tier.offsets[v + 1] = static_cast<std::uint32_t>(of(static_cast<Vertex>(v)));
  }
  std::inclusive_scan(tier.offsets.begin(), tier.offsets.end(), tier.offsets.begin());
  return tier;
}

// Elements that k first neighbours of every list amount to.
std::uint64_t heads(const Csr& graph, std::uint64_t k) {
  std::uint64_t sum = 0;
#pragma omp parallel for reduction(+ : sum) if (graph.vertices() >= kManyVertices)
  for (std::uint64_t v = 0; v < graph.vertices(); ++v) {
    sum += std::min<std::uint64_t>(k, graph.degree(static_cast<Vertex>(v)));
  }
  return sum;
}

HotTier plan_heads(const Csr& graph, std::uint64_t elements) {
  // The largest k that fits.
  std::uint64_t low = 0;
  std::uint64_t high = elements;
  while (low < high) {
    const std::uint64_t k = low + (high - low + 1) / 2;
    if (heads(graph, k) <= elements) {
      low = k;
    } else {
      high = k - 1;
    }
  }
  const std::uint64_t k = low;
  std::uint64_t left = elements - heads(graph, k);
  Vertex last = 0;  // the first list that gets no further neighbour
  for (; last < graph.vertices() && left > 0; ++last) {
    left -= graph.degree(last) > k ? 1 : 0;
  }
  return tier_of(graph,
                 [&](Vertex v) { return std::min<std::uint64_t>(k + (v < last ? 1 : 0), graph.degree(v)); });
}

// Vertices by falling degree, those that come first among equals first.
std::vector<Vertex> by_degree(const Csr& graph) {
  std::vector<Vertex> order(graph.vertices());
  std::iota(order.begin(), order.end(), Vertex{0});
  const auto falls = [&](Vertex a, Vertex b) { return graph.degree(a) > graph.degree(b); };
  if (!std::is_sorted(order.begin(), order.end(), falls)) {
    std::stable_sort(order.begin(), order.end(), falls);
  }
  return order;
}

HotTier plan_lists(const Csr& graph, std::uint64_t elements) {
  HostArray<std::uint32_t> hot(graph.vertices());
  std::uint64_t left = elements;
  for (const Vertex v : by_degree(graph)) {
    const std::uint64_t kept = std::min<std::uint64_t>(left, graph.degree(v));
    hot[v] = static_cast<std::uint32_t>(kept);
    left -= kept;
    if (left == 0) {
      break;
    }
  }
  return tier_of(graph, [&](Vertex v) { return hot[v]; });
}

std::uint64_t fits(const Csr& graph, std::uint64_t elements) {
  return std::min({elements, graph.edges(), kMostElements});
}

std::uint64_t sectors_of(std::uint64_t degree) {
  return (degree + kSectorElements - 1) / kSectorElements;
}

}  // namespace

HotTier plan_tier(const Csr& graph, TierPolicy policy, std::uint64_t elements) {
  const std::uint64_t most = fits(graph, elements);
  switch (policy) {
    case TierPolicy::heads:
      return plan_heads(graph, most);
    case TierPolicy::lists:
      return plan_lists(graph, most);
    case TierPolicy::reuse:
      break;
  }
  throw UsageError("a hot tier by reuse needs to know what is read");
}

std::uint64_t cold_lists(const Csr& graph, const HotTier* tier) {
  std::uint64_t cold = 0;
#pragma omp parallel for reduction(+ : cold) if (graph.vertices() >= kManyVertices)
  for (std::uint64_t i = 0; i < graph.vertices(); ++i) {
    const auto v = static_cast<Vertex>(i);
    cold += graph.degree(v) > 0 && (tier == nullptr || tier->of(v) == 0) ? 1 : 0;
  }
  return cold;
}

ReadCounts no_reads(const Csr& graph) {
  ReadCounts reads;
  reads.before = HostArray<std::uint64_t>(graph.vertices() + std::uint64_t{1});
  reads.before[0] = 0;
  for (std::uint64_t v = 0; v < graph.vertices(); ++v) {
    reads.before[v + 1] = reads.before[v] + sectors_of(graph.degree(static_cast<Vertex>(v)));
  }
  reads.counts = HostArray<std::uint16_t>(reads.before[graph.vertices()]);
  return reads;
}

HotTier plan_by_reuse(const Csr& graph, const ReadCounts& reads, std::uint64_t elements) {
  const std::uint64_t most = fits(graph, elements);
  constexpr std::size_t kCounts = std::numeric_limits<std::uint16_t>::max() + std::size_t{1};
  // Elements in sectors that were read so often.
  const auto elements_of = [&](Vertex v, std::uint64_t sector) {
    return std::min<std::uint64_t>(kSectorElements, graph.degree(v) - sector * kSectorElements);
  };
  std::vector<std::uint64_t> by_count(kCounts);
  for (Vertex v = 0; v < graph.vertices(); ++v) {
    for (std::uint64_t s = 0; s < sectors_of(graph.degree(v)); ++s) {
      by_count[reads.counts[reads.before[v] + s]] += elements_of(v, s);
    }
  }
  // All sectors above the threshold are hot, and of those at it as many as there is room for.
  std::size_t threshold = kCounts;
  std::uint64_t left = most;
  while (threshold > 0 && by_count[threshold - 1] <= left) {
    left -= by_count[--threshold];
  }
  HostArray<std::uint32_t> hot(graph.vertices());
  for (Vertex v = 0; v < graph.vertices(); ++v) {
    std::uint64_t kept = 0;
    for (std::uint64_t s = 0; s < sectors_of(graph.degree(v)); ++s) {
      const std::uint64_t count = reads.counts[reads.before[v] + s];
      const std::uint64_t more = elements_of(v, s);
      if (count >= threshold) {
        kept += more;
        continue;
      }
      if (count + 1 == threshold && left > 0) {
        const std::uint64_t part = std::min(left, more);
        kept += part;
        left -= part;
        if (part == more) {
          continue;
        }
      }
      break;
    }
    hot[v] = static_cast<std::uint32_t>(kept);
  }
  return tier_of(graph, [&](Vertex v) { return hot[v]; });
}

namespace {

struct Source {
  const Csr& lists;
  const HotTier* tier;
};

// Calls `each(lane, first)` for those vertices of a block that have neighbours, none of them hot.
template <class Each>
void for_cold(const Source& source, std::uint64_t block, const Each& each) {
  const Csr& lists = source.lists;
  const std::uint64_t begin = block * kWarpLanes;
  const std::uint64_t end = std::min<std::uint64_t>(begin + kWarpLanes, lists.vertices());
  for (std::uint64_t i = begin; i < end; ++i) {
    const auto v = static_cast<Vertex>(i);
    if (lists.degree(v) > 0 && (source.tier == nullptr || source.tier->of(v) == 0)) {
      each(static_cast<std::uint32_t>(i - begin), lists.neighbours(v).front());
    }
  }
}

FirstsBlock packed_block(const Source& source, std::uint64_t block) {
  Vertex lowest = source.lists.vertices();
  Vertex highest = 0;
  for_cold(source, block, [&](std::uint32_t /*lane*/, Vertex first) {
    lowest = std::min(lowest, first);
    highest = std::max(highest, first);
  });
  if (lowest >= highest) {
    return {lowest, 0, 0};
  }
  const Vertex higher = highest - lowest;
  return {lowest, higher < 1U << 8 ? 1U : higher < 1U << 16 ? 2U : 4U, 0};
}

HostArray<FirstsBlock> packed_blocks(const Source& source, std::uint64_t count) {
  HostArray<FirstsBlock> blocks(count);
#pragma omp parallel for
  for (std::uint64_t i = 0; i < count; ++i) {
    blocks[i] = packed_block(source, i);
  }
  std::uint64_t begin = 0;
  for (FirstsBlock& block : blocks) {
    block = {block.lowest(), block.bytes(), begin};
    begin = block.words().to;
  }
  return blocks;
}

}  // namespace

Vertex Firsts::of(Vertex v) const {
  const std::uint32_t lane = v % kWarpLanes;
  const FirstsBlock its = block(v / kWarpLanes);
  return its.of(lane, its.bytes() > 0 ? words[its.word_of(lane)] : 0);
}

Firsts first_neighbours(const Csr& lists, const HotTier* tier, bool packed) {
  const Source source{lists, tier};
  const std::uint64_t count = (std::uint64_t{lists.vertices()} + kWarpLanes - 1) / kWarpLanes;
  Firsts firsts;
  firsts.lists = cold_lists(lists, tier);
  if (packed) {
    firsts.blocks = packed_blocks(source, count);
  }
  firsts.words = HostArray<std::uint32_t>(count > 0 ? firsts.block(count - 1).words().to : 0);
#pragma omp parallel for
  for (std::uint64_t i = 0; i < count; ++i) {
    const FirstsBlock block = firsts.block(i);
    for_cold(source, i, [&](std::uint32_t lane, Vertex first) {
      if (block.bytes() > 0) {
        firsts.words[block.word_of(lane)] |= block.placed(lane, first);
      }
    });
  }
  return firsts;
}

namespace {

constexpr std::uint64_t kManyLists = 1 << 12;  // that a team of threads is worth
constexpr std::uint64_t kPairs = kWarpLanes / kPairLanes;
constexpr int kMostSteps = 1000;  // along first neighbours

// Where the last 2^i vertices with a list begin, for all i up to as many as there are.
std::vector<std::uint64_t> begins_of_last(const Csr& graph) {
  std::vector<std::uint64_t> begins;
  std::uint64_t listed = 0;
  for (std::uint64_t v = graph.vertices(); v-- > 0;) {
    listed += graph.degree(static_cast<Vertex>(v)) > 0 ? 1 : 0;
    if (listed == std::uint64_t{1} << begins.size()) {
      begins.push_back(v);
    }
  }
  return begins;
}

// That sample the vertices [first, last), a warp sixteen at a time: one for each line that lists begin in.
std::uint64_t sampling_requests(const Csr& graph, const HotTier* tier, const CompressedLists* compressed,
                                std::uint64_t first, std::uint64_t last) {
  std::uint64_t requests = 0;
#pragma omp parallel for reduction(+ : requests) if (last - first >= kManyLists)
  for (std::uint64_t turn = first / kPairs; turn < (last + kPairs - 1) / kPairs; ++turn) {
    std::uint64_t line = UINT64_MAX;
    for (std::uint64_t v = std::max(first, turn * kPairs); v < std::min(last, (turn + 1) * kPairs); ++v) {
      const Step words = words_of(graph, tier, compressed, static_cast<Vertex>(v));
      const std::uint64_t hot = tier != nullptr ? tier->of(static_cast<Vertex>(v)) : 0;
      if (words.from < words.to && hot < kSampledNeighbours) {
        requests += words.from / kLineElements != line ? 1 : 0;
        line = words.from / kLineElements;
      }
    }
  }
  return requests;
}

// The lower of the two vertices that are each other's first neighbours and to which the way along first
// neighbours leads: the same from all vertices that these join. Where it is long, one on it.
Vertex end_of_firsts(const Csr& graph, Vertex v) {
  const auto first = [&graph](Vertex of) { return graph.neighbours(of).front(); };
  Vertex next = first(v);
  for (int step = 0; step < kMostSteps && first(next) != v; ++step) {
    v = next;
    next = first(v);
  }
  return std::min(v, next);
}

// Whose neighbours mostly have others for their first ones: what these lists join is not joined yet.
Vertex past_first_hubs(const Csr& graph, std::uint64_t listed) {
  const std::uint64_t entries = std::min(2 * listed, graph.edges() / 2);
  const auto* const at = std::lower_bound(graph.offsets.begin(), graph.offsets.end(), entries);
  return static_cast<Vertex>(at - graph.offsets.begin());
}

// Of the vertices with a list, those that are not in the largest part which first neighbours make.
std::uint64_t outside_of_firsts(const Csr& graph, std::uint64_t listed) {
  std::map<Vertex, std::uint64_t> ends;
  std::uint64_t sampled = 0;
  std::uint64_t most = 0;
  for (std::uint32_t i = 0; listed > 0 && i < kSampledVertices; ++i) {
    const Vertex v = sampled_vertex(i, graph.vertices());
    if (graph.degree(v) > 0) {
      ++sampled;
      most = std::max(most, ++ends[end_of_firsts(graph, v)]);
    }
  }
  // One of its kind tells of no part.
  return sampled > 0 && most > 1 ? listed * (sampled - most) / sampled : listed;
}

}  // namespace

std::uint64_t vertices_listed(const Csr& graph) {
  std::uint64_t listed = 0;
#pragma omp parallel for reduction(+ : listed) if (graph.vertices() >= kManyLists)
  for (std::uint64_t v = 0; v < graph.vertices(); ++v) {
    listed += graph.degree(static_cast<Vertex>(v)) > 0 ? 1 : 0;
  }
  return listed;
}

ListPhases list_phases(const Csr& graph, const HotTier* tier, const CompressedLists* compressed) {
  if (graph.directed) {
    throw UsageError("lists are read by phases for components, which are those of an undirected graph");
  }
  const Vertex vertices = graph.vertices();
  ListPhases phases;
  phases.listed = vertices_listed(graph);
  phases.mean_list = graph.edges() / std::max<std::uint64_t>(phases.listed, 1);
  phases.outside = outside_of_firsts(graph, phases.listed);
  std::uint64_t lines = std::max(phases.listed >> (kListPhases - 1), kFewestLines);
  Vertex v = past_first_hubs(graph, phases.listed);
  phases.begins[0] = v;
  for (std::size_t p = 0; p < kListPhases; ++p) {
    std::uint64_t words = 0;
    for (; v < vertices && words < lines * kLineElements; ++v) {
      const Step list = words_of(graph, tier, compressed, v);
      words += list.to - list.from;
      const std::uint64_t hot = tier != nullptr ? tier->of(v) : 0;
      phases.entries[p] += graph.degree(v) - std::min(hot, kSampledNeighbours);
    }
    phases.begins[p + 1] = v;
    phases.lines[p] = words / kLineElements;
    lines *= p == 0 ? 1 : 2;
  }
  std::uint64_t requests = 0;
  std::uint64_t last = vertices;
  std::size_t power = 0;
  for (const std::uint64_t begin : begins_of_last(graph)) {
    requests += sampling_requests(graph, tier, compressed, begin, last);
    phases.samples[power++] = requests;
    last = begin;
  }
  requests += sampling_requests(graph, tier, compressed, 0, last);
  for (; phases.listed > 0 && power < phases.samples.size(); ++power) {
    phases.samples[power] = (requests << power) / phases.listed;
  }
  return phases;
}

std::uint64_t pieces_of_list(const graph::Csr& lists, const HotTier* tier, const CompressedLists* compressed,
                             Vertex vertex, std::uint64_t longer) {
  const Step words = words_of(lists, tier, compressed, vertex);
  const std::uint64_t cold =
      words.to - words.from > longer ? pieces_of(words.from, words.to, piece_elements(longer)) : 0;
  return cold + hot_pieces_of(tier != nullptr ? tier->of(vertex) : 0, longer);
}

std::uint64_t most_pieces(const graph::Csr& lists, const HotTier* tier, const CompressedLists* compressed) {
  std::uint64_t of_all = 0;
  std::vector<std::uint64_t> of_few;
#pragma omp parallel reduction(+ : of_all)
  {
    std::vector<std::uint64_t> mine;
#pragma omp for
    for (std::uint64_t v = 0; v < lists.vertices(); ++v) {
      const auto vertex = static_cast<Vertex>(v);
      of_all += pieces_of_list(lists, tier, compressed, vertex, kLongList);
      const std::uint64_t pieces = pieces_of_list(lists, tier, compressed, vertex, kLongOfFew);
      if (pieces > 0) {
        mine.push_back(pieces);
      }
    }
#pragma omp critical
    of_few.insert(of_few.end(), mine.begin(), mine.end());
  }
  if (of_few.size() > kFewLists) {
    std::nth_element(of_few.begin(), of_few.begin() + kFewLists, of_few.end(), std::greater<>());
    of_few.resize(kFewLists);
  }
  return std::max(of_all, std::accumulate(of_few.begin(), of_few.end(), std::uint64_t{0}));
}

}  // namespace grainscope::lean
