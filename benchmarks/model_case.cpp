#include "model_case.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "harness/link_peaks.hpp"
#include "trials.hpp"

namespace grainscope::harness {
namespace {

using graph::Algorithm;

const char* const kMeasured = "measured";

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

DeclaredAxis link_axis() {
  std::vector<std::string> names(model::link_names().begin(), model::link_names().end());
  names.emplace_back(kMeasured);
  return word_axis("link", "the link: a named one, or this machine's, whose copies the run measures",
                   std::move(names));
}

std::vector<ModelLink> links_of(const Values& values, const Grid& grid, const Grids& grids,
                                const Scope& scope) {
  if (!values.is("link", kMeasured)) {
    return {{values.word("link"), {}, 0}};
  }
  std::vector<ModelLink> links;
  for (const GpuTarget& gpu : grids.gpus(grid)) {
    links.push_back({kMeasured, gpu, scope.nearest_node(gpu)});
  }
  return links;
}

std::vector<DeclaredAxis> model_axes(std::vector<DeclaredAxis> more) {
  std::vector<DeclaredAxis> axes{
      algorithm_axis(), graph_axis(), edge_axis("8"), link_axis(),
      // What one source asks for differs little from what another does; a measured time needs 64 for other
      // reasons.
      unnamed(number_axis("sources_at_most", "of --trials, how many sources are modelled", {1, kMostSources},
                          "8"))};
  axes.insert(axes.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  return axes;
}

std::vector<std::pair<ModelPoint, Values>> model_points(const Scope& scope, const Grids& grids) {
  std::vector<std::pair<ModelPoint, Values>> points;
  grids.each_graph(
      [&](const graph::GraphSpec& graph, const Grid& grid) {
        for (const Values& values : grid.points()) {
          const int sources = std::min(scope.trials, values.number_as<int>("sources_at_most"));
          for (const ModelLink& link : links_of(values, grid, grids, scope)) {
            points.emplace_back(ModelPoint{graph, algorithm_of(values), edge_bytes_of(values), link, sources},
                                values);
          }
        }
      },
      sizeof(std::uint64_t));
  stand_together(points,
                 [](const auto& each) { return std::pair(each.first.graph.name(), each.first.algorithm); });
  return points;
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
  benchmark.modelled = true;
  benchmark.needs.host_bytes = host_bytes(point.graph, graph::Order::original, 0);
  return benchmark;
}

}  // namespace grainscope::harness
