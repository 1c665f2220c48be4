#include "grainscope/model/replay.hpp"

namespace grainscope::model {

Replay replay(const graph::Csr& graph, graph::Algorithm algorithm, graph::Vertex source, graph::Access access,
              const Layout& layout, const Grid& grid) {
  Replayer replayer(graph, access, layout, grid);
  graph::run_levels(graph, algorithm, source,
                    [&](std::span<const graph::Vertex> active) { replayer.level(active); });
  return replayer.result();
}

}  // namespace grainscope::model
