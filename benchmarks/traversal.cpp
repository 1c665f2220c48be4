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

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "families.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/system/numa.hpp"
#include "loaded_graph.hpp"
#include "traversal_case.hpp"
#include "trials.hpp"

namespace grainscope::harness {
namespace {

using graph::Access;
using graph::Algorithm;
using graph::EdgePlacement;
using graph::GraphSpec;
using graph::Order;

constexpr EdgePlacement kPlacements[] = {EdgePlacement::mapped, EdgePlacement::managed,
                                         EdgePlacement::device};
constexpr Order kOrders[] = {Order::original, Order::degree, Order::halo_like};

// By compaction edges are neither placed nor walked as they lie.
const char* const kSubway = "subway";
const char* const kCompact = "compact";
const char* const kEmogiSources = "emogi";

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

class Lister {
 public:
  Lister(const Machine& machine, const Scope& scope, const Grids& grids)
      : machine_(machine), scope_(scope), grids_(grids) {}

  std::vector<Benchmark> list() {
    std::vector<std::pair<GpuTarget, TraversalPoint>> points;
    grids_.each_graph([&](const GraphSpec& spec, const Grid& grid) {
      for (const GpuTarget& gpu : grids_.gpus(grid)) {
        for (const Values& values : grid.points()) {
          if (auto point = point_of(gpu, spec, values)) {
            points.emplace_back(gpu, std::move(*point));
          }
        }
      }
    });
    stand_together(points, [](const auto& each) { return each.second.where; });
    stand_together(points, [](const auto& each) { return each.second.where.graph; });
    for (const auto& [gpu, point] : points) {
      add(gpu, point);
    }
    return std::move(benchmarks_);
  }

 private:
  // Absent, with the reason, where it cannot be.
  [[nodiscard]] std::optional<TraversalPoint> point_of(const GpuTarget& gpu, const GraphSpec& spec,
                                                       const Values& values) const {
    TraversalPoint point;
    point.spec = spec;
    point.algorithm = algorithm_of(values);
    point.subway = values.is("placement", kSubway);
    if (point.subway != values.is("access", kCompact)) {
      grids_.leave_out(
          "placement subway gathers lists before they are walked: its access is compact, of others it is "
          "not");
      return std::nullopt;
    }
    if (!point.subway) {
      point.access =
          enumerator(values.word("access"), graph::kAllAccess, [](Access each) { return name(each); });
    }
    point.where.graph.name = spec.name();
    point.where.graph.order =
        enumerator(values.word("order"), kOrders, [](Order each) { return graph::name(each); });
    point.where.request = {point.subway ? EdgePlacement::mapped
                                        : enumerator(values.word("placement"), kPlacements,
                                                     [](EdgePlacement each) { return name(each); }),
                           edge_bytes_of(values), point.algorithm == Algorithm::sssp, gpu.ordinal};
    point.where.node = scope_.nearest_node(gpu);
    point.trials = trials_of(point.algorithm, scope_.trials);
    if (values.is("sources", kEmogiSources)) {
      point.sources = emogi_sources(spec);
      if (point.sources.empty() || !starts_somewhere(point.algorithm)) {
        grids_.leave_out("EMOGI's authors name sources of bfs and sssp on kron:24 and urand:24 alone");
        return std::nullopt;
      }
      point.trials = 4 * static_cast<int>(std::max<std::size_t>(2, point.sources.size()));
    }
    return point;
  }

  void add(const GpuTarget& gpu, const TraversalPoint& point) {
    Benchmark benchmark;
    benchmark.id = case_of(gpu, point);
    benchmark.skip = why_not(gpu, point);
    benchmark.explanation = explain(point);
    benchmark.needs = needs_of(point);
    const bool runs = benchmark.skip.empty();
    const auto graph_claim = runs ? graphs_->claim(point.where.graph, scope_.visits_here) : nullptr;
    const auto placed_claim =
        runs && !point.subway ? placed_->claim(point.where, scope_.visits_here) : nullptr;
    benchmark.run = [point, graphs = graphs_, placed = placed_, graph_claim, placed_claim,
                     cache_dir = scope_.graph_cache](Session& session) {
      const GraphCache::Lease graph(*graphs, *graph_claim, [&](const GraphKey& key) {
        return std::make_unique<LoadedGraph>(point.spec, key.order, cache_dir);
      });
      if (point.algorithm == Algorithm::sssp) {
        graph->require_weights();
      }
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
            {{"access", point.subway ? kCompact : name(point.access), AxisStyle::bare},
             {"placement", point.subway ? kSubway : name(request.placement), AxisStyle::bare},
             {"locality", gpu.locality(point.where.node), AxisStyle::hidden},
             {"order", name(order), order == Order::original ? AxisStyle::hidden : AxisStyle::keyed},
             {"graph", point.spec.name()},
             {"edge", std::int64_t{request.edge_bytes}}},
            {{"numa", point.where.node}, {"gpu", gpu.ordinal}}};
    if (!point.sources.empty()) {
      id.axes.push_back({"sources", kEmogiSources});
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
  const Grids& grids_;
  std::shared_ptr<GraphCache> graphs_ = std::make_shared<GraphCache>();
  std::shared_ptr<PlacedCache> placed_ = std::make_shared<PlacedCache>();
  std::vector<Benchmark> benchmarks_;
};

}  // namespace

Family traversal() {
  std::vector<std::string> accesses = names_of(graph::kAllAccess, [](Access each) { return name(each); });
  accesses.emplace_back(kCompact);
  std::vector<std::string> placements = names_of(kPlacements, [](EdgePlacement each) { return name(each); });
  placements.emplace_back(kSubway);
  return {
      "traversal",
      "How fast does a GPU traverse a graph whose edges lie in host memory?",
      {algorithm_axis(),
       word_axis("access", "how warps walk lists of neighbours", std::move(accesses),
                 name(Access::merged_aligned)),
       word_axis("placement", "where the edges lie; subway gathers and copies them level by level",
                 std::move(placements)),
       word_axis("order", "how vertices are numbered",
                 names_of(kOrders, [](Order each) { return graph::name(each); }),
                 graph::name(Order::original)),
       graph_axis(), edge_axis(),
       word_axis("sources", "where searches start: drawn as GAP draws them, or where EMOGI's authors start",
                 {"gap", kEmogiSources}, "gap")},
      [](const Machine& machine, const Scope& scope, const Grids& grids) {
        return Lister(machine, scope, grids).list();
      }};
}

}  // namespace grainscope::harness
