#include "traversal_points.hpp"

#include <algorithm>

#include "trials.hpp"

namespace grainscope::harness {
namespace {

using graph::Access;
using graph::Algorithm;
using graph::EdgePlacement;
using graph::GraphSpec;
using graph::Order;

// In full one graph of three is walked in every way, and any that the user asks for.
bool walks_all(const Scope& scope, const GraphSpec& spec) {
  return scope.preset == Preset::paper ||
         (scope.preset == Preset::full && (!scope.graphs.empty() || spec.kind == GraphSpec::Kind::kron));
}

// What is walked how: every access over the link, one elsewhere to compare with.
std::vector<Access> accesses_of(const Scope& scope, const GraphSpec& spec,
                                const graph::PlacementRequest& request, Algorithm algorithm) {
  if (request.placement != EdgePlacement::mapped || scope.preset == Preset::smoke) {
    return {Access::merged_aligned};
  }
  const bool papers = scope.preset == Preset::paper || (walks_all(scope, spec) && request.edge_bytes == 8);
  if (algorithm != Algorithm::bfs && !papers) {
    return {Access::merged_aligned};
  }
  const bool few = scope.preset == Preset::quick || (scope.preset == Preset::full && scope.graphs.empty());
  if (few && request.edge_bytes == 4) {
    return {Access::merged_aligned, Access::edge_gather};
  }
  return {Access::naive, Access::merged, Access::merged_aligned, Access::merged_aligned_chunked,
          Access::edge_gather};
}

// Where EMOGI's authors start on graphs of this kind and size; empty: they have none.
std::vector<graph::Vertex> emogi_sources(const GraphSpec& spec) {
  constexpr int kTheirScale = 24;
  if (spec.scale != kTheirScale || !spec.vertices()) {
    return {};
  }
  const auto vertices = static_cast<graph::Vertex>(*spec.vertices());
  switch (spec.kind) {
    case GraphSpec::Kind::kron:
      return {vertices / 4 - 1};
    case GraphSpec::Kind::urand:
      return {0, vertices / 4, vertices / 2, vertices / 4 * 3};
    default:
      return {};
  }
}

class Points {
 public:
  Points(const Scope& scope, const GpuTarget& gpu) : scope_(scope), gpu_(gpu) {}

  std::vector<TraversalPoint> list() {
    for (const GraphSpec& spec : traversed_graphs(scope_)) {
      add_order(spec, Order::original);
      add_subway(spec);
      if (walks_all(scope_, spec)) {
        add_order(spec, Order::degree);
        add_order(spec, Order::halo_like);
      }
    }
    return std::move(points_);
  }

 private:
  [[nodiscard]] TraversalPoint point_of(const GraphSpec& spec, const graph::PlacementRequest& request,
                                        Order order, Algorithm algorithm, Access access) const {
    TraversalPoint point;
    point.spec = spec;
    point.where.graph.name = spec.name();
    point.where.graph.order = order;
    point.where.request = request;
    point.where.node = scope_.nearest_node(gpu_);
    point.algorithm = algorithm;
    point.access = access;
    point.trials = trials_of(algorithm, scope_.trials);
    return point;
  }

  // Whether the preset has time for managed edges beyond bfs.
  [[nodiscard]] bool takes_time(const GraphSpec& spec, int edge_bytes) const {
    if (scope_.preset == Preset::full && scope_.graphs.empty()) {
      return edge_bytes == 8 && walks_all(scope_, spec);
    }
    return scope_.preset != Preset::quick;
  }

  // Cases that share a placed graph stand together, so that it is placed once.
  void add_order(const GraphSpec& spec, Order order) {
    for (const EdgePlacement placement :
         {EdgePlacement::mapped, EdgePlacement::managed, EdgePlacement::device}) {
      for (const int edge_bytes : {8, 4}) {
        for (const Algorithm algorithm : {Algorithm::bfs, Algorithm::cc, Algorithm::pr, Algorithm::sssp}) {
          // Bringing managed edges back before each trial takes longer than the trial.
          const bool slow =
              placement == EdgePlacement::managed && (edge_bytes == 4 || algorithm != Algorithm::bfs);
          if (slow && !takes_time(spec, edge_bytes)) {
            continue;
          }
          if (order != Order::original && (algorithm != Algorithm::bfs || edge_bytes != 8)) {
            continue;
          }
          const graph::PlacementRequest request{placement, edge_bytes, algorithm == Algorithm::sssp,
                                                gpu_.ordinal};
          for (const Access access : order == Order::original ? accesses_of(scope_, spec, request, algorithm)
                                                              : std::vector<Access>{Access::merged_aligned}) {
            const TraversalPoint point = point_of(spec, request, order, algorithm, access);
            points_.push_back(point);
            if (order == Order::original && placement == EdgePlacement::mapped) {
              add_emogi_sources(point);
            }
          }
        }
      }
    }
  }

  // In `paper`: beside GAP's sources those that EMOGI's figures are from.
  void add_emogi_sources(TraversalPoint point) {
    point.sources = emogi_sources(point.spec);
    if (scope_.preset != Preset::paper || !starts_somewhere(point.algorithm) || point.sources.empty()) {
      return;
    }
    point.trials = 4 * static_cast<int>(std::max<std::size_t>(2, point.sources.size()));
    points_.push_back(point);
  }

  // The graph's own arrays are what is gathered from: nothing is placed.
  void add_subway(const GraphSpec& spec) {
    for (const int edge_bytes : {8, 4}) {
      for (const Algorithm algorithm : {Algorithm::bfs, Algorithm::cc, Algorithm::pr, Algorithm::sssp}) {
        TraversalPoint point =
            point_of(spec, {EdgePlacement::mapped, edge_bytes, algorithm == Algorithm::sssp, gpu_.ordinal},
                     Order::original, algorithm, Access::merged_aligned);
        point.subway = true;
        points_.push_back(point);
      }
    }
  }

  const Scope& scope_;
  const GpuTarget& gpu_;
  std::vector<TraversalPoint> points_;
};

}  // namespace

std::vector<GraphSpec> traversed_graphs(const Scope& scope) {
  if (!scope.graphs.empty()) {
    return scope.graphs;
  }
  std::vector<const char*> names;
  switch (scope.preset) {
    case Preset::smoke:
      names = {"power"};
      break;
    case Preset::quick:
    case Preset::acceptance:
      names = {"kron:20", "urand:20"};
      break;
    case Preset::full:
      names = {"kron:21", "urand:21", "web:20"};
      break;
    case Preset::paper:
      names = {"kron:24", "urand:24", "dense:18", "web:22"};
      break;
  }
  std::vector<GraphSpec> graphs;
  graphs.reserve(names.size());
  for (const char* name : names) {
    graphs.push_back(graph::parse_graph_spec(name));
  }
  return graphs;
}

std::vector<TraversalPoint> traversal_points(const Scope& scope, const GpuTarget& gpu) {
  return Points(scope, gpu).list();
}

}  // namespace grainscope::harness
