#ifndef GRAINSCOPE_BENCHMARKS_TRAVERSAL_CASE_HPP
#define GRAINSCOPE_BENCHMARKS_TRAVERSAL_CASE_HPP

// One traversal, measured: trials from many sources, each verified, and what they asked of the link.

#include <cstdint>
#include <string>
#include <vector>

#include "grainscope/graph/traversal.hpp"
#include "harness/benchmark.hpp"
#include "loaded_graph.hpp"

namespace grainscope::harness {

// What tells one placed graph from another.
struct PlacedKey {
  GraphKey graph;
  graph::PlacementRequest request;
  int node = 0;  // where host memory lies
  friend bool operator==(const PlacedKey&, const PlacedKey&) = default;
};

using PlacedCache = ClaimCache<PlacedKey, graph::PlacedGraph>;

struct TraversalPoint {
  graph::GraphSpec spec;
  PlacedKey where;
  graph::Algorithm algorithm = graph::Algorithm::bfs;
  graph::Access access = graph::Access::merged_aligned;
  int trials = 8;
  std::vector<graph::Vertex> sources;  // taken in turn; empty: GAP's
  bool subway = false;                 // by compaction: neither placed nor accessed in any other way

  // Bytes that a walk reads of an edge.
  [[nodiscard]] std::uint64_t element_bytes() const;
  // Where each trial starts.
  [[nodiscard]] std::vector<graph::Vertex> starts(const LoadedGraph& graph) const;
  [[nodiscard]] bool over_link() const { return where.request.placement != graph::EdgePlacement::device; }
};

// Runs, verifies and counts. Throws FailedError for a wrong answer.
[[nodiscard]] Measurement measure_traversal(Session& session, const TraversalPoint& point,
                                            const LoadedGraph& graph, graph::PlacedGraph& placed);

// The same by compaction: lists are gathered on the host and copied, level by level.
[[nodiscard]] Measurement measure_subway(Session& session, const TraversalPoint& point,
                                         const LoadedGraph& graph);

}  // namespace grainscope::harness

#endif
