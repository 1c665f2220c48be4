#ifndef GRAINSCOPE_SRC_GRAPH_FAULTS_HPP
#define GRAINSCOPE_SRC_GRAPH_FAULTS_HPP

// The first place where a graph is not what csr.hpp promises, for who knows where it came from.

#include <optional>
#include <string>

#include "grainscope/graph/csr.hpp"

namespace grainscope::graph {

struct ListFault {
  Vertex vertex = 0;  // whose list it is
  Edge entry = 0;     // the entry of the edge arrays
  std::string what;   // "9 stands behind 12"
};
// Of offsets that are in order: the first neighbour that is out of range, not above the one before it, or
// the vertex itself. All threads.
[[nodiscard]] std::optional<ListFault> first_list_fault(const Csr& graph);

struct Unpaired {
  Vertex vertex = 0;
  Edge entry = 0;
  bool other_weight = false;  // it is there the other way round, with another weight
};
// Of lists that are in order: the first entry that is not there the other way round. All threads.
[[nodiscard]] std::optional<Unpaired> first_unpaired(const Csr& graph);

}  // namespace grainscope::graph

#endif
