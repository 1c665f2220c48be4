#ifndef GRAINSCOPE_BENCHMARKS_TRAVERSAL_POINTS_HPP
#define GRAINSCOPE_BENCHMARKS_TRAVERSAL_POINTS_HPP

// Which traversals a preset asks for.

#include <vector>

#include "traversal_case.hpp"

namespace grainscope::harness {

// The user's, or the preset's.
[[nodiscard]] std::vector<graph::GraphSpec> traversed_graphs(const Scope& scope);

// Of one GPU; those that share a placed graph stand together, so that it is placed once.
[[nodiscard]] std::vector<TraversalPoint> traversal_points(const Scope& scope, const GpuTarget& gpu);

}  // namespace grainscope::harness

#endif
