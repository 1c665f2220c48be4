#include "buckets.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "grainscope/core/error.hpp"
#include "grainscope/core/thread_team.hpp"
#include "threads.hpp"

namespace grainscope::graph {
namespace {

// Arcs that a core's cache holds with room to spare; buckets whose ends a core can write to at once; and so
// few vertices, as a power of two, that 2³² of them make no more buckets than that.
constexpr std::uint64_t kArcsABucket = 65536;
constexpr std::uint64_t kMostBuckets = 4096;
constexpr int kLargestShift = 20;

int shift_for(std::uint64_t vertices, std::uint64_t arcs) {
  const std::uint64_t wished = std::clamp<std::uint64_t>(arcs / kArcsABucket, 1, kMostBuckets);
  int shift = 0;
  while (shift < kLargestShift && (vertices >> shift) + 1 > wished && vertices >> shift != 0) {
    ++shift;
  }
  return shift;
}

[[noreturn]] void throw_no_vertex(const EdgeList& edges) {
  for (std::uint64_t i = 0; i < edges.from.size(); ++i) {
    if (edges.from[i] >= edges.vertices || edges.to[i] >= edges.vertices) {
      throw UsageError("edge " + std::to_string(i) + ", from " + std::to_string(edges.from[i]) + " to " +
                       std::to_string(edges.to[i]) + ": the graph has " + std::to_string(edges.vertices) +
                       " vertices");
    }
  }
  throw FailedError("the list of edges changed while it was read");
}

// Calls take(edge, from, to) for every arc of edges [first, last).
template <class Take>
void for_arcs(const EdgeList& edges, bool symmetrise, Share share, const Take& take) {
  for (std::size_t i = share.first; i < share.last; ++i) {
    const Vertex from = edges.from[i];
    const Vertex to = edges.to[i];
    if (from != to) {
      take(i, from, to);
      if (symmetrise) {
        take(i, to, from);
      }
    }
  }
}

// counts[part of the list][bucket]; false where an endpoint is no vertex.
bool count_arcs(const EdgeList& edges, bool symmetrise, int shift, std::vector<std::vector<Edge>>& counts) {
  bool valid = true;
#pragma omp parallel num_threads(static_cast <int>(counts.size())) reduction(&& : valid)
  {
    const int thread = omp_get_thread_num();
    std::vector<Edge>& mine = counts[thread];
    const Share share = share_of(edges.from.size(), thread, static_cast<int>(counts.size()));
    Vertex largest = 0;
    for (std::size_t i = share.first; i < share.last; ++i) {
      largest = std::max({largest, edges.from[i], edges.to[i]});
    }
    if (share.first != share.last && largest >= edges.vertices) {
      valid = false;
    } else {
      for_arcs(edges, symmetrise, share, [&](std::size_t, Vertex from, Vertex) { ++mine[from >> shift]; });
    }
  }
  return valid;
}

// Counts to places: bucket by bucket, in each the parts of the list in order.
std::vector<Edge> place(std::vector<std::vector<Edge>>& counts) {
  const std::size_t buckets = counts[0].size();
  std::vector<Edge> begin(buckets + 1);
  Edge next = 0;
  for (std::size_t bucket = 0; bucket < buckets; ++bucket) {
    begin[bucket] = next;
    for (std::vector<Edge>& part : counts) {
      next += std::exchange(part[bucket], next);
    }
  }
  begin[buckets] = next;
  return begin;
}

template <int words>
void scatter(const EdgeList& edges, bool symmetrise, int shift, std::vector<std::vector<Edge>>& places,
             std::uint32_t* arcs) {
#pragma omp parallel num_threads(static_cast <int>(places.size()))
  {
    const int thread = omp_get_thread_num();
    Edge* const mine = places[thread].data();
    const Share share = share_of(edges.from.size(), thread, static_cast<int>(places.size()));
    for_arcs(edges, symmetrise, share, [&](std::size_t i, Vertex from, Vertex to) {
      std::uint32_t* const arc = arcs + mine[from >> shift]++ * words;
      arc[0] = from;
      arc[1] = to;
      if constexpr (words == 3) {
        arc[2] = edges.weights[i];
      }
    });
  }
}

}  // namespace

Buckets fill_buckets(const EdgeList& edges, bool symmetrise) {
  Buckets buckets;
  buckets.vertices = edges.vertices;
  buckets.shift = shift_for(edges.vertices, edges.from.size() * (symmetrise ? 2 : 1));
  buckets.words = edges.weights.empty() ? 2 : 3;
  std::vector<std::vector<Edge>> counts(static_cast<std::size_t>(threads_for(edges.from.size())),
                                        std::vector<Edge>((edges.vertices >> buckets.shift) + 1));
  if (!count_arcs(edges, symmetrise, buckets.shift, counts)) {
    throw_no_vertex(edges);
  }
  buckets.begin = place(counts);
  buckets.arcs = HostArray<std::uint32_t>(buckets.begin.back() * static_cast<unsigned>(buckets.words));
  (buckets.words == 3 ? scatter<3> : scatter<2>)(edges, symmetrise, buckets.shift, counts,
                                                 buckets.arcs.data());
  return buckets;
}

}  // namespace grainscope::graph
