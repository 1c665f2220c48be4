// The vertices that GAP starts its trials from.

#include <algorithm>
#include <random>

#include "generators.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/graph/generate.hpp"
#include "mersenne.hpp"

namespace grainscope::graph {

std::vector<Vertex> gap_sources(const Csr& graph, int count) {
  if (graph.edges() == 0) {
    throw UsageError("choosing sources in the graph '" + graph.name + "': no vertex has an edge");
  }
  std::mt19937_64 random(kGapSeed);
  const GapUniform uniform(std::mt19937_64::max(), graph.vertices());
  std::vector<Vertex> sources(static_cast<std::size_t>(std::max(count, 0)));
  for (Vertex& source : sources) {
    do {
      source = uniform(random);
    } while (graph.degree(source) == 0);
  }
  return sources;
}

}  // namespace grainscope::graph
