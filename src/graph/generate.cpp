// From a name to edges.

#include "grainscope/graph/generate.hpp"

#include "generators.hpp"
#include "grainscope/core/error.hpp"
#include "require_memory.hpp"

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
    case GraphSpec::Kind::pareto:
      return pareto_edges(spec.scale, spec.degree);
    case GraphSpec::Kind::builtin:
    case GraphSpec::Kind::file:
      break;
  }
  throw UsageError("generating the graph '" + spec.name() + "': it is read, not generated");
}

}  // namespace

EdgeList unfilled_list(int scale, int degree) {
  const std::uint64_t count = static_cast<std::uint64_t>(degree) << scale;
  require_memory(2 * count * sizeof(Vertex));
  return {std::uint64_t{1} << scale, HostArray<Vertex>(count), HostArray<Vertex>(count), {}};
}

EdgeList generate_edges(const GraphSpec& spec, bool weights) {
  EdgeList edges = edges_of(spec);
  if (weights) {
    add_gap_weights(edges);
  }
  return edges;
}

}  // namespace grainscope::graph
