#ifndef GRAINSCOPE_GRAPH_SWEEP_HPP
#define GRAINSCOPE_GRAPH_SWEEP_HPP

// Walking lists for nothing but their bytes: what a traversal's level could reach if it had no work to do.

#include <memory>
#include <span>

#include "grainscope/graph/traversal.hpp"

namespace grainscope::graph {

class Sweep {
 public:
  virtual ~Sweep() = default;
  Sweep(const Sweep&) = delete;
  Sweep& operator=(const Sweep&) = delete;

  // Seconds, between two events, that one kernel takes to read the lists of `active` (ascending, host memory)
  // as the access walks them; finding the work items is not timed. Each neighbour is added up, and the sum
  // checked: throws FailedError where it is wrong. `expected`: sum of all neighbours in these lists.
  [[nodiscard]] virtual double run(std::span<const Vertex> active, std::uint64_t expected) = 0;

 protected:
  Sweep() = default;
};

// Throws as make_traversal. `graph` outlives it.
[[nodiscard]] std::unique_ptr<Sweep> make_sweep(const PlacedGraph& graph, Access access);

}  // namespace grainscope::graph

#endif
