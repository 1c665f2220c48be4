// From a name to edges.

#include "grainscope/graph/generate.hpp"

#include "generators.hpp"
#include "grainscope/core/error.hpp"

namespace grainscope::graph {
namespace {

EdgeList edges_of(const GraphSpec& spec) {
  switch (spec.kind) {
    case GraphSpec::Kind::kron:
      return kron_edges(spec.scale, spec.degree);
    case GraphSpec::Kind::urand:
      return urand_edges(spec.scale, spec.degree);
    case GraphSpec::Kind::dense:
      return dense_edges(spec.scale, spec.degree);
    case GraphSpec::Kind::web:
      return web_edges(spec.scale, spec.degree);
    case GraphSpec::Kind::builtin:
    case GraphSpec::Kind::file:
      break;
  }
  throw UsageError("generating the graph '" + spec.name() + "': it is read, not generated");
}

}  // namespace

EdgeList generate_edges(const GraphSpec& spec, bool weights) {
  EdgeList edges = edges_of(spec);
  if (weights) {
    add_gap_weights(edges);
  }
  return edges;
}

}  // namespace grainscope::graph
