#include "model_case.hpp"

#include <utility>

#include "grainscope/graph/io.hpp"
#include "harness/link_peaks.hpp"

namespace grainscope::harness {
namespace {

using graph::Algorithm;

constexpr std::uint64_t kBuildBytesAnEntry = 24;  // two lists of ends and weights beside the graph, at most

std::vector<std::string> graphs_of(Preset preset) {
  switch (preset) {
    case Preset::smoke:
      return {"power"};
    case Preset::quick:
      return {"power", "pgp", "kron:14"};
    case Preset::full:
    case Preset::paper:
      return {"power", "pgp", "kron:20", "urand:20", "dense:16", "web:20"};
    case Preset::acceptance:
      return {};  // what is modelled says nothing of a machine
  }
  return {};
}

// Whether the user's range of sizes has the edge list.
bool in_range(const Scope& scope, const graph::GraphSpec& spec) {
  const auto entries = spec.most_entries();
  return !entries || scope.in_range(*entries * sizeof(std::uint64_t));
}

std::string weights_text(const graph::GraphSpec& spec) {
  return spec.kind == graph::GraphSpec::Kind::file && graph::holds_weights(spec.path) ? "own" : "8-72";
}

std::string why_not(const ModelPoint& point) {
  if (point.algorithm == Algorithm::cc && point.graph.directed()) {
    return "connected components need an undirected graph, and " + point.graph.name() + " is directed";
  }
  return point.link.gpu ? point.link.gpu->unavailable : "";
}

}  // namespace

model::Link ModelLink::get(const Session& session) const {
  if (!gpu) {
    return model::link_named(name);
  }
  return model::link_measured(session.link_peak_gb_s(LinkPath::host_to_gpu(node, gpu->ordinal)));
}

ModelLink named_link(const char* name) {
  return {name, {}, 0};
}

std::vector<ModelLink> measured_links(const Scope& scope) {
  std::vector<ModelLink> links;
  for (const GpuTarget& gpu : scope.gpus) {
    const std::vector<int> nodes = scope.nodes_for(gpu);
    if (!nodes.empty()) {
      links.push_back({"measured", gpu, gpu.local_node.value_or(nodes.front())});
    }
  }
  return links;
}

std::vector<graph::GraphSpec> model_graphs(const Scope& scope) {
  if (!scope.graphs.empty()) {
    return scope.graphs;
  }
  std::vector<graph::GraphSpec> graphs;
  for (const std::string& text : graphs_of(scope.preset)) {
    graph::GraphSpec spec = graph::parse_graph_spec(text);
    if (in_range(scope, spec)) {
      graphs.push_back(std::move(spec));
    }
  }
  return graphs;
}

Benchmark model_benchmark(const std::string& family, std::vector<Axis> before, const ModelPoint& point,
                          std::vector<Axis> behind) {
  std::vector<Axis> axes = std::move(before);
  axes.push_back({"graph", point.graph.name()});
  axes.push_back({"edge", static_cast<std::int64_t>(point.edge_bytes)});
  if (reads_weights(point.algorithm)) {
    axes.push_back({"weights", weights_text(point.graph)});
  }
  axes.insert(axes.end(), behind.begin(), behind.end());
  axes.push_back({"link", point.link.name});
  Benchmark benchmark;
  benchmark.id = {family, std::move(axes), {}};
  if (point.link.gpu) {
    benchmark.id.site = {{"numa", point.link.node}, {"gpu", point.link.gpu->ordinal}};
  }
  benchmark.skip = why_not(point);
  benchmark.needs.host_bytes =
      point.graph.most_entries().value_or(0) * kBuildBytesAnEntry + point.graph.vertices().value_or(0) * 16;
  return benchmark;
}

}  // namespace grainscope::harness
