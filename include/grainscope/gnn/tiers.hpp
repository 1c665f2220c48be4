#ifndef GRAINSCOPE_GNN_TIERS_HPP
#define GRAINSCOPE_GNN_TIERS_HPP

// What a ranking is worth: how many accesses its best rows take; and a graph numbered by it.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "grainscope/graph/csr.hpp"

namespace grainscope::gnn {

// The share of all accesses (`counts`: u32[V] by vertex) that the first `share` of the ranking take, the
// number of rows rounded to the nearest; 0 where there is no access. For each of `shares`, from 0 to 1.
// Throws UsageError for a share outside, and where ranking and counts differ in size.
[[nodiscard]] std::vector<double> hit_rates(std::span<const std::uint32_t> counts,
                                            std::span<const graph::Vertex> ranking,
                                            std::span<const double> shares);

// Where each old vertex goes: the inverse of a ranking. Throws UsageError where that is no permutation.
[[nodiscard]] std::vector<graph::Vertex> old_to_new(std::span<const graph::Vertex> ranking);

// The graph under new numbers, by dissertation 4.2.2: new offsets by a cumulative sum, each list pasted to
// its new place, each neighbour looked up in the map; all in parallel. A list keeps its order, so it is no
// longer ascending (graph::relabel sorts it again); sampling does not mind. Throws UsageError where
// `new_of_old` is no permutation of the vertices, EnvironmentError where memory for a second graph is not to
// be had.
[[nodiscard]] graph::Csr reorder(const graph::Csr& graph, std::span<const graph::Vertex> new_of_old);

// Throws FailedError, naming a vertex, unless `reordered` is `graph` under new numbers: every list of the old
// vertex, looked up and in its order, or `sorted` ascending. Says what was checked. All threads.
std::string certify_reordered(const graph::Csr& graph, std::span<const graph::Vertex> new_of_old,
                              const graph::Csr& reordered, bool sorted);

}  // namespace grainscope::gnn

#endif
