#ifndef GRAINSCOPE_GRAPH_BUCKETS_HPP
#define GRAINSCOPE_GRAPH_BUCKETS_HPP

// Arcs sorted roughly, by ranges of the vertices they leave: the first half of building a graph. What follows
// then works on one range at a time, in a core's cache.

#include <vector>

#include "grainscope/graph/build.hpp"

namespace grainscope::graph {

struct Buckets {
  int shift = 0;                  // vertex >> shift is its bucket
  int words = 2;                  // an arc: from, to, and with weights the weight
  std::vector<Edge> begin;        // [buckets + 1] arcs
  HostArray<std::uint32_t> arcs;  // [words * arcs]
  [[nodiscard]] std::uint64_t count() const noexcept { return begin.size() - 1; }
};

// Both directions of every edge, or the one, without self-loops. Frees the list. All threads. Throws
// UsageError for an endpoint that is no vertex.
[[nodiscard]] Buckets fill_buckets(EdgeList edges, bool symmetrise);

}  // namespace grainscope::graph

#endif
