// From a name to a graph.

#include "grainscope/graph/generate.hpp"

namespace grainscope::graph {

Csr make_graph(const GraphSpec& spec, bool weights, const std::string& /*cache_dir*/) {
  Csr graph = build_csr(generate_edges(spec, weights), {.symmetrise = !spec.directed()});
  graph.name = spec.name();
  return graph;
}

}  // namespace grainscope::graph
