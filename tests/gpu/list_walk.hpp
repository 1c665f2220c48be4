#ifndef GRAINSCOPE_TESTS_LIST_WALK_HPP
#define GRAINSCOPE_TESTS_LIST_WALK_HPP

#include <vector>

#include "grainscope/graph/csr.hpp"
#include "grainscope/lean/run.hpp"

namespace grainscope::lean {

// What kernels find when they walk over every list that is pushed: neighbours, in order, with their weights,
// which are 0 of lists that are placed without.
[[nodiscard]] std::vector<Neighbours> walk_all_lists(const LeanLists& lists, const graph::Csr& graph);

}  // namespace grainscope::lean

#endif
