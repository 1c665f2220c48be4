#ifndef GRAINSCOPE_BENCHMARKS_MODEL_CASE_HPP
#define GRAINSCOPE_BENCHMARKS_MODEL_CASE_HPP

// What the families of the model share: graphs, links.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/benchmark.hpp"
#include "model_runs.hpp"

namespace grainscope::harness {

// A link to model for: one by name, or this machine's own, whose copies this run measures.
struct ModelLink {
  std::string name;  // as it stands in case names
  std::optional<GpuTarget> gpu;
  int node = 0;

  // Measures the copies' rate where it is not a named one.
  [[nodiscard]] model::Link get(const Session& session) const;
};
[[nodiscard]] ModelLink named_link(const char* name);
// That of each GPU and its nearest node.
[[nodiscard]] std::vector<ModelLink> measured_links(const Scope& scope);

// Sources of a modelled bfs or sssp: the first of the scope's trials, and 16 at most, since what one source
// asks for differs little from what another does, and a measured time needs 64 for other reasons.
[[nodiscard]] int model_sources(const Scope& scope);

// The graphs of a preset, or those that the user asked for.
[[nodiscard]] std::vector<graph::GraphSpec> model_graphs(const Scope& scope);

// What a case of the model is about.
struct ModelPoint {
  graph::GraphSpec graph;
  graph::Algorithm algorithm = graph::Algorithm::bfs;
  int edge_bytes = 8;
  ModelLink link;
  int sources = 1;
};

// A benchmark about a point: `axes` before and behind those of the graph; its link is the last. Skip, needs
// and site are set.
[[nodiscard]] Benchmark model_benchmark(const std::string& family, std::vector<Axis> before,
                                        const ModelPoint& point, std::vector<Axis> behind);

}  // namespace grainscope::harness

#endif
