#include "golden.hpp"

#include <fstream>

namespace grainscope::graph {

std::vector<GoldenGraph> golden_graphs(int largest_scale) {
  std::ifstream file(GRAINSCOPE_FIXTURES "/golden_graphs.json");
  const nlohmann::json all = nlohmann::json::parse(file).at("graphs");
  std::vector<GoldenGraph> graphs;
  for (const auto& [name, values] : all.items()) {
    GraphSpec spec = parse_graph_spec(name);
    spec.degree = values.at("degree");
    if (spec.scale <= largest_scale) {
      graphs.push_back({spec, values});
    }
  }
  return graphs;
}

}  // namespace grainscope::graph
