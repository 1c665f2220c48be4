#ifndef GRAINSCOPE_MODEL_LEAN_HYBRID_HPP
#define GRAINSCOPE_MODEL_LEAN_HYBRID_HPP

// What hybrid traversals (lean/hybrid.hpp) choose, segment by segment, and how long that takes over a link.

#include <span>

#include "grainscope/lean/hybrid.hpp"
#include "grainscope/model/lean_bfs.hpp"
#include "grainscope/model/link.hpp"

namespace grainscope::model {

// Of a link over which this machine was seen to copy and read so fast; what requests cost is the link's.
[[nodiscard]] lean::LinkCosts costs_of(const Link& link, const lean::SegmentRates& seen);

// One step of a hybrid traversal.
struct HybridStep {
  lean::StepPlan plan;
  Requests read;  // of lists that begin in segments which are not copied
};
// That reads the lists of these vertices, ascending; what is hot of them is not asked for.
[[nodiscard]] HybridStep hybrid_step(const TieredLists& lists, std::span<const graph::Vertex> vertices,
                                     const lean::LinkCosts& costs);
// That reads all lists.
[[nodiscard]] HybridStep hybrid_step(const TieredLists& lists, const lean::LinkCosts& costs);

}  // namespace grainscope::model

#endif
