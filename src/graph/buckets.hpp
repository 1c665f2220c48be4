#ifndef GRAINSCOPE_SRC_GRAPH_BUCKETS_HPP
#define GRAINSCOPE_SRC_GRAPH_BUCKETS_HPP

// Arcs sorted roughly, by ranges of the vertices they leave: the first half of building a graph. What follows
// then works on one range at a time, in a core's cache.

#include <algorithm>
#include <vector>

#include "grainscope/graph/build.hpp"

namespace grainscope::graph {

struct Buckets {
  std::uint64_t vertices = 0;
  int shift = 0;                  // vertex >> shift is its bucket
  int words = 2;                  // an arc: from, to, and with weights the weight
  std::vector<Edge> begin;        // [buckets + 1] arcs
  HostArray<std::uint32_t> arcs;  // [words * arcs]

  [[nodiscard]] std::uint64_t count() const noexcept { return begin.size() - 1; }
  [[nodiscard]] std::uint64_t arcs_in(std::uint64_t bucket) const noexcept {
    return begin[bucket + 1] - begin[bucket];
  }
  // Where a bucket's arcs stand.
  [[nodiscard]] std::uint32_t* words_of(std::uint64_t bucket) const noexcept {
    return arcs.data() + begin[bucket] * static_cast<unsigned>(words);
  }
  // Its vertices are first(bucket) … first(bucket + 1) − 1.
  [[nodiscard]] std::uint64_t first(std::uint64_t bucket) const noexcept {
    return std::min(bucket << shift, vertices);
  }
};

// Both directions of every edge, or the one, without self-loops. All threads. Throws
// UsageError for an endpoint that is no vertex, EnvironmentError where memory does not suffice.
[[nodiscard]] Buckets fill_buckets(const EdgeList& edges, bool symmetrise);

}  // namespace grainscope::graph

#endif
