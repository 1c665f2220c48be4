// traversal/bfs, sssp, cc, pr: how fast does a GPU traverse a graph whose edges lie in host memory?
//
// EMOGI (VLDB 2020): offsets and state in GPU memory, the edge list where the placement says, walked by the
// access that the case names. Timed: everything a traversal does on the GPU, from clearing its state to the
// last level, between two events. Not timed: making and placing the graph, sending managed pages back to the
// host before each trial, and verifying, which every trial is.
// Bytes: edges in the lists that were walked × bytes of an edge (and of its weight in sssp); link bytes: of
// each level the different 32-byte sectors of these lists, less what the GPU's L2 can have kept from the
// level before, the least that can have crossed the link, and `link_gb_s` these over the first trial's time.
// `traffic` is the model's count of requests over that trial's frontiers, with no cache. TEPS: adjacency
// entries of what was reached, half of them in undirected graphs, over the time; the harmonic mean over
// sources. Source: EMOGI sections 4 and 5; dissertation chapter 2; GAP's sources, conventions and tolerance.
// Limits: managed edges are cold in each trial, and oversubscribed only where
// --allow-managed-oversubscription lets them: else the papers' thrashing is model/uvm's.

#include <memory>
#include <utility>

#include "families.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/system/numa.hpp"
#include "loaded_graph.hpp"
#include "traversal_points.hpp"

namespace grainscope::harness {
namespace {

using graph::Algorithm;
using graph::EdgePlacement;
using graph::Order;

std::string link_text(EdgePlacement placement) {
  switch (placement) {
    case EdgePlacement::mapped:
      return "in page-locked host memory, read over the link";
    case EdgePlacement::managed:
      return "in managed memory, read-mostly, on the host when a trial starts; cold, and "
             "oversubscribed only where --allow-managed-oversubscription lets it be";
    case EdgePlacement::device:
      return "in the GPU's own memory: what no link could beat";
  }
  return {};
}

Explanation explain(const TraversalPoint& point) {
  return {
      "the time of a whole " + std::string(name(point.algorithm)) + " whose edges lie " +
          (point.subway ? "on the host, gathered and copied level by level (after Subway, all of it timed)"
                        : link_text(point.where.request.placement)),
      "everything on the GPU between two events, from clearing the state to the last level; not making "
      "or placing the graph, nor verifying, which every trial is",
      "bytes = edges in the lists walked * bytes of an edge; traffic: the model's requests over the first "
      "trial's frontiers; teps = entries reached (half of them where undirected) / time, harmonic mean",
      "EMOGI (VLDB 2020), sections 4 and 5; GAP benchmark suite: sources and conventions",
      "TEPS says nothing of the work that was saved or wasted; managed edges exceed the card only "
      "where --allow-managed-oversubscription lets them"};
}

class Lister {
 public:
  Lister(const Machine& machine, const Scope& scope) : machine_(machine), scope_(scope) {}

  std::vector<Benchmark> list() {
    for (const GpuTarget& gpu : scope_.program_gpus()) {
      for (const TraversalPoint& point : traversal_points(scope_, gpu)) {
        add(gpu, point);
      }
    }
    return std::move(benchmarks_);
  }

 private:
  void add(const GpuTarget& gpu, const TraversalPoint& point) {
    Benchmark benchmark;
    benchmark.id = case_of(gpu, point);
    benchmark.skip = why_not(gpu, point);
    benchmark.explanation = explain(point);
    benchmark.needs = needs_of(point);
    const bool runs = benchmark.skip.empty();
    const auto graph_claim = runs ? graphs_->claim(point.where.graph, scope_.repetitions) : nullptr;
    const auto placed_claim =
        runs && !point.subway ? placed_->claim(point.where, scope_.repetitions) : nullptr;
    benchmark.run = [point, graphs = graphs_, placed = placed_, graph_claim, placed_claim,
                     cache_dir = scope_.graph_cache](Session& session) {
      const GraphCache::Lease graph(*graphs, *graph_claim, [&](const GraphKey& key) {
        return std::make_unique<LoadedGraph>(point.spec, key.order, cache_dir);
      });
      if (point.subway) {
        const NodeBinding binding(session.machine().topology, point.where.node);
        return measure_subway(session, point, *graph);
      }
      const PlacedCache::Lease placed_graph(*placed, *placed_claim, [&](const PlacedKey& key) {
        const NodeBinding binding(session.machine().topology, key.node);
        return graph::place_graph(graph->csr(), key.request, session.surroundings().managed);
      });
      return measure_traversal(session, point, *graph, *placed_graph);
    };
    benchmarks_.push_back(std::move(benchmark));
  }

  [[nodiscard]] Case case_of(const GpuTarget& gpu, const TraversalPoint& point) const {
    const Order order = point.where.graph.order;
    const auto& request = point.where.request;
    Case id{std::string("traversal/") + name(point.algorithm),
            {{"access", point.subway ? "compact" : name(point.access), AxisStyle::bare},
             {"placement", point.subway ? "subway" : name(request.placement), AxisStyle::bare},
             {"locality", gpu.locality(point.where.node), AxisStyle::hidden},
             {"order", name(order), order == Order::original ? AxisStyle::hidden : AxisStyle::keyed},
             {"graph", point.spec.name()},
             {"edge", std::int64_t{request.edge_bytes}}},
            {{"numa", point.where.node}, {"gpu", gpu.ordinal}}};
    if (!point.sources.empty()) {
      id.axes.push_back({"sources", "emogi"});
    }
    if (point.algorithm == Algorithm::sssp) {
      id.axes.push_back({"weights", weights_of(point.spec)});
    }
    return id;
  }

  [[nodiscard]] std::string why_not(const GpuTarget& gpu, const TraversalPoint& point) const {
    if (!gpu.unavailable.empty()) {
      return gpu.unavailable;
    }
    if (point.algorithm == Algorithm::cc && point.spec.directed()) {
      return kNoDirectedComponents;
    }
    return point.where.request.placement == EdgePlacement::mapped    ? why_no_mapping(machine_, gpu.ordinal)
           : point.where.request.placement == EdgePlacement::managed ? why_no_migration(machine_, gpu.ordinal)
                                                                     : std::string();
  }

  [[nodiscard]] static Needs needs_of(const TraversalPoint& point) {
    const std::uint64_t entries = point.spec.most_entries().value_or(0);
    const std::uint64_t vertices = point.spec.vertices().value_or(0);
    const std::uint64_t edges = entries * (point.element_bytes());
    // Managed edges are filled by the host, and come home before each trial.
    const bool on_host = point.where.request.placement != EdgePlacement::device;
    Needs needs{host_bytes(point.spec, point.where.graph.order, on_host ? edges : 0),
                vertices * 48 + entries / 8, 0};
    switch (point.where.request.placement) {
      case EdgePlacement::mapped:
        break;
      case EdgePlacement::managed:
        needs.managed_bytes = edges;
        break;
      case EdgePlacement::device:
        needs.device_bytes += edges;
        break;
    }
    return needs;
  }

  const Machine& machine_;
  const Scope& scope_;
  std::shared_ptr<GraphCache> graphs_ = std::make_shared<GraphCache>();
  std::shared_ptr<PlacedCache> placed_ = std::make_shared<PlacedCache>();
  std::vector<Benchmark> benchmarks_;
};

}  // namespace

Family traversal() {
  return {"traversal",
          "How fast does a GPU traverse a graph whose edges lie in host memory?",
          {},
          [](const Machine& machine, const Scope& scope, const Grids& /*grids*/) {
            return Lister(machine, scope).list();
          }};
}

}  // namespace grainscope::harness
