#include "model_case.hpp"

#include <algorithm>
#include <utility>

#include "harness/link_peaks.hpp"

namespace grainscope::harness {
namespace {

using graph::Algorithm;

std::vector<std::string> graphs_of(Preset preset) {
  switch (preset) {
    case Preset::smoke:
      return {"power"};
    case Preset::quick:
      return {"power", "pgp", "kron:16"};
    case Preset::full:
      return {"power", "pgp", "kron:18", "urand:18", "dense:14", "web:18"};
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

std::string why_not(const ModelPoint& point) {
  if (point.algorithm == Algorithm::cc && point.graph.directed()) {
    return kNoDirectedComponents;
  }
  return point.link.gpu ? point.link.gpu->unavailable : "";
}

// Seconds that a row adds to the pass over the levels of all trials, roughly, on two cores.
double about_s(const std::string& family, const ModelPoint& point) {
  const double edges_per_s = family == "model/uvm" ? 1.6e10 : 1.6e9;
  const bool has_source = point.algorithm == Algorithm::bfs || point.algorithm == Algorithm::sssp;
  const double passes = point.algorithm == Algorithm::bfs ? 1 : point.algorithm == Algorithm::pr ? 30 : 5;
  const auto entries = static_cast<double>(point.graph.most_entries().value_or(0));
  return 0.002 + entries * passes * (has_source ? point.sources : 1) / edges_per_s;
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
  links.reserve(scope.program_gpus().size());
  for (const GpuTarget& gpu : scope.program_gpus()) {
    links.push_back({"measured", gpu, scope.nearest_node(gpu)});
  }
  return links;
}

int model_sources(const Scope& scope) {
  const int most = scope.preset == Preset::paper ? 16 : 8;
  return std::min(scope.trials, most);
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
    axes.push_back({"weights", weights_of(point.graph)});
  }
  axes.insert(axes.end(), behind.begin(), behind.end());
  axes.push_back({"link", point.link.name});
  std::vector<Site> site;
  if (point.link.gpu) {
    axes.push_back({"locality", point.link.gpu->locality(point.link.node), AxisStyle::hidden});
    site = {{"numa", point.link.node}, {"gpu", point.link.gpu->ordinal}};
  }
  Benchmark benchmark;
  benchmark.id = {family, std::move(axes), std::move(site)};
  benchmark.skip = why_not(point);
  benchmark.about_s = about_s(family, point);
  benchmark.needs.host_bytes = host_bytes(point.graph, graph::Order::original, 0);
  return benchmark;
}

}  // namespace grainscope::harness
