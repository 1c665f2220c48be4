#include "grainscope/lean/hot_tier.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <vector>

#include "grainscope/core/error.hpp"
#include "grainscope/lean/steps.hpp"

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

}  // namespace grainscope::lean
