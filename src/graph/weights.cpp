// Weights for graphs that have none.

#include <algorithm>
#include <string>

#include "edge_chunks.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/graph/build.hpp"
#include "hash.hpp"

namespace grainscope::graph {

void draw_weights(Csr& graph, Weight low, Weight high, std::uint64_t seed) {
  if (low > high || high - low == UINT32_MAX) {
    throw UsageError("weights from " + std::to_string(low) + " to " + std::to_string(high) +
                     ": the first must not be above the second, nor may they span all of 32 bits");
  }
  HostArray<Weight> weights(graph.edges());
  const std::uint32_t span = high - low + 1;
  const std::uint64_t key = mixed(seed);
  for_all(graph, [&](std::uint64_t v) {
    for (Edge i = graph.offsets[v]; i < graph.offsets[v + 1]; ++i) {
      const std::uint64_t u = graph.targets[i];
      const std::uint64_t ends = std::min(u, v) << 32 | std::max(u, v);
      weights[i] = low + below(mixed(ends ^ key), span);
    }
  });
  graph.weights = std::move(weights);
}

}  // namespace grainscope::graph
