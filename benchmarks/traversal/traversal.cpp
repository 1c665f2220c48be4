// The families of traversals: traversal/bfs, cc, pr and sssp. A case is trials from many sources, each
// verified, and what they asked of the link.

#include "grainscope/graph/traversal.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "families.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/cuda/runtime.hpp"
#include "grainscope/graph/answers.hpp"
#include "grainscope/model/replay.hpp"
#include "grainscope/system/numa.hpp"
#include "harness/benchmark.hpp"
#include "traffic.hpp"
#include "traversal/loaded_graph.hpp"
#include "traversal/trials.hpp"

namespace grainscope::harness {

// What tells one placed graph from another.
struct PlacedKey {
  GraphKey graph;
  graph::PlacementRequest request;  // of the first GPU; others differ in GPU, node and part
  int node = 0;                     // where its host memory lies
  // GPUs that traverse beside it, each with a part of the lists and its nearest node.
  std::vector<std::pair<int, int>> others;

  [[nodiscard]] int gpus() const { return 1 + static_cast<int>(others.size()); }
  [[nodiscard]] std::vector<int> walkers() const {
    std::vector<int> all{request.gpu};
    for (const auto& [gpu, near] : others) {
      all.push_back(gpu);
    }
    return all;
  }
  friend bool operator==(const PlacedKey&, const PlacedKey&) = default;
};

// A graph as the GPUs of a case have it within reach: whole, or a part each.
struct PlacedParts {
  std::vector<std::unique_ptr<graph::PlacedGraph>> parts;

  PlacedParts() = default;
  PlacedParts(PlacedParts&&) = default;
  PlacedParts& operator=(PlacedParts&&) = delete;
  // In the reverse order: each made its GPU the current one.
  ~PlacedParts() {
    while (!parts.empty()) {
      parts.pop_back();
    }
  }

  [[nodiscard]] graph::PlacedGraph& first() const { return *parts.front(); }
  // By pull of one GPU alone.
  [[nodiscard]] std::unique_ptr<graph::Traversal> traversal(graph::Algorithm algorithm, graph::Access access,
                                                            graph::Direction direction) const {
    if (parts.size() == 1) {
      return graph::make_traversal(first(), algorithm, access, direction);
    }
    std::vector<const graph::PlacedGraph*> all;
    all.reserve(parts.size());
    for (const auto& part : parts) {
      all.push_back(part.get());
    }
    return graph::make_traversal(all, algorithm, access);
  }
  void expect_on_host() const {
    for (const auto& part : parts) {
      part->expect_on_host();
    }
  }
  [[nodiscard]] std::uint64_t gpu_bytes() const {
    return std::accumulate(parts.begin(), parts.end(), std::uint64_t{0},
                           [](std::uint64_t sum, const auto& part) { return sum + part->gpu_bytes(); });
  }
};

using PlacedCache = ClaimCache<PlacedKey, PlacedParts>;

struct TraversalPoint {
  graph::GraphSpec spec;
  PlacedKey where;
  graph::Algorithm algorithm = graph::Algorithm::bfs;
  graph::Access access = graph::Access::merged_aligned;
  graph::Direction direction = graph::Direction::push;
  int trials = 8;
  std::vector<graph::Vertex> sources;  // taken in turn; empty: GAP's
  bool subway = false;                 // by compaction: neither placed nor accessed in any other way
  int gpus = 1;                        // that traverse, as asked for
  int over = 1;                        // GPUs in whose memory interleaved edges lie, as asked for

  // Bytes that a walk reads of an edge.
  [[nodiscard]] std::uint64_t element_bytes() const;
  // Where each trial starts.
  [[nodiscard]] std::vector<graph::Vertex> starts(const LoadedGraph& graph) const;
  [[nodiscard]] bool is_managed() const {
    return !subway && where.request.placement == graph::EdgePlacement::managed;
  }
  [[nodiscard]] bool over_link() const { return where.request.placement != graph::EdgePlacement::device; }
  // Of bytes that are read of `all`, how many cross a link: of interleaved edges a GPU has its turns of the
  // pieces itself, as many as the first has, and reads are taken to be spread evenly over all pieces.
  [[nodiscard]] std::uint64_t link_bytes(std::uint64_t bytes, std::uint64_t all) const {
    if (where.request.placement != graph::EdgePlacement::interleaved) {
      return bytes;
    }
    const std::uint64_t pieces = std::max<std::uint64_t>(1, (all + 2 * kMiB - 1) / (2 * kMiB));
    const std::uint64_t own = (pieces + where.request.gpus.size() - 1) / where.request.gpus.size();
    return static_cast<std::uint64_t>(static_cast<double>(bytes) * static_cast<double>(pieces - own) /
                                      static_cast<double>(pieces));
  }
};

// Runs, verifies and counts. Throws FailedError for a wrong answer.
[[nodiscard]] Measurement measure_traversal(Session& session, const TraversalPoint& point,
                                            const LoadedGraph& graph, const PlacedParts& placed);

// The same by compaction: lists are gathered on the host and copied, level by level.
[[nodiscard]] Measurement measure_subway(Session& session, const TraversalPoint& point,
                                         const LoadedGraph& graph);

namespace {

using graph::Access;
using graph::Algorithm;
using graph::EdgePlacement;
using graph::Vertex;

std::uint64_t edges_of(const std::vector<LevelResult>& levels) {
  return std::accumulate(levels.begin(), levels.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const LevelResult& level) { return sum + level.edges; });
}

model::Layout layout_of(const TraversalPoint& point) {
  model::Layout layout;
  layout.edge_bytes = point.where.request.edge_bytes;
  layout.weights = point.algorithm == Algorithm::sssp;
  return layout;
}

// What the first trial's own frontiers ask of the link, by the model; and the heaviest of them.
std::vector<Vertex> replay(const TraversalPoint& point, const LoadedGraph& loaded,
                           graph::Traversal& traversal, Vertex source, std::uint64_t cache_bytes,
                           Measurement& measurement) {
  model::Replayer replayer(loaded.csr(), point.access, layout_of(point));
  std::vector<Vertex> heaviest;
  std::uint64_t most = 0;
  // The very trial that scripts/grainscope-count has a profiler count.
  const cuda::ProfileRange counted("counted trial");
  traversal.follow(source, [&](std::span<const Vertex> active) {
    replayer.level(active);
    if (const std::uint64_t elements = replayer.result().levels.back().elements; elements > most) {
      most = elements;
      heaviest.assign(active.begin(), active.end());
    }
  });
  const model::Replay& result = replayer.result();
  measurement.traffic = traffic_of(result.total, result.total.elements * result.element_bytes);
  measurement.link_bytes_asked = result.total.elements * result.element_bytes;
  measurement.link_bytes_least = result.least_bytes(cache_bytes);
  // Frontiers of cc and sssp differ from run to run: what belongs to this one is told by its own numbers.
  // What must have crossed, as of the row: a rate of more would be one that the link does not have.
  for (std::size_t i = 0; i < std::min(measurement.levels.size(), result.levels.size()); ++i) {
    if (measurement.levels[i].edges == result.levels[i].elements) {
      measurement.levels[i].requests = result.level_requests[i];
      measurement.levels[i].link_bytes = result.level_bytes[i];
    }
  }
  measurement.counters["cached_amplification"] = result.cached_amplification();
  measurement.counters["requests_with_cache"] = static_cast<double>(result.cached_requests());
  measurement.counters["bytes_with_cache"] = static_cast<double>(result.least_bytes(0));
  measurement.counters["amplification_data_set"] =
      static_cast<double>(result.total.bytes()) / static_cast<double>(result.data_bytes);
  return heaviest;
}

// The level that carries most of the work of a search against a kernel that only reads the same lists, run in
// turns. A search goes over the same frontiers every time.
void hold_against_toy(const TraversalPoint& point, const LoadedGraph& loaded,
                      const graph::PlacedGraph& placed, graph::Traversal& traversal, Vertex source,
                      const std::vector<Vertex>& active, Measurement& measurement) {
  std::uint64_t sum = 0;
  std::uint64_t edges = 0;
#pragma omp parallel for schedule(dynamic, 1024) reduction(+ : sum, edges) if (active.size() > 4096)
  for (std::size_t i = 0; i < active.size(); ++i) {
    const auto list = loaded.csr().neighbours(active[i]);
    sum = std::accumulate(list.begin(), list.end(), sum);
    edges += list.size();
  }
  const auto sweep = graph::make_sweep(placed, point.access, active, sum);
  constexpr int kRuns = 5;
  std::vector<double> level_s;
  std::vector<double> toy_s;
  for (int run = 0; run < kRuns; ++run) {
    traversal.run(source);
    const std::vector<LevelResult> levels = traversal.levels();
    const auto heaviest =
        std::max_element(levels.begin(), levels.end(),
                         [](const LevelResult& a, const LevelResult& b) { return a.edges < b.edges; });
    if (heaviest == levels.end() || heaviest->edges != edges) {
      return;
    }
    level_s.push_back(heaviest->seconds);
    toy_s.push_back(sample(*sweep));
  }
  const double level = summarize(level_s).median;
  const double toy = summarize(toy_s).median;
  measurement.counters["heaviest_level_s"] = level;
  measurement.counters["heaviest_level_toy_s"] = toy;
  measurement.counters["heaviest_level_over_toy"] = toy / level;
}

// The parts of a traversal that compacts: on the host, over the link, on the GPU.
constexpr const char* kGather = "gather_s";
constexpr const char* kCopy = "copy_s";
constexpr const char* kWalk = "walk_s";

// Of managed edges: pages that a trial took from the host. Read-mostly ones stay there too.
constexpr const char* kMoved = "moved_bytes";

void note_moved(const graph::PlacedGraph& placed, Trial& trial) {
  const cuda::Hint hint = placed.request().hint;
  const auto moved = hint == cuda::Hint::read_mostly ? std::nullopt : placed.moved_bytes();
  if (!moved) {
    return;
  }
  if (*moved == 0 && cuda::migrates(hint) && trial.link_bytes > 0) {
    throw FailedError(
        std::string("managed edges did not move: all of their pages are on the host after a trial ") +
        "(hint " + cuda::name(hint) + ")");
  }
  trial.counters[kMoved] = static_cast<double>(*moved);
}

void note_parts(const std::vector<graph::SubwayLevel>& levels, Trial& trial) {
  trial.link_bytes = 0;
  for (const graph::SubwayLevel& level : levels) {
    trial.counters[kGather] += level.gather_s;
    trial.counters[kCopy] += level.copy_s;
    trial.counters[kWalk] += level.walk_s;
    trial.link_bytes += level.edge_bytes + level.list_bytes;
  }
}

std::uint64_t median_link_bytes(const std::vector<Trial>& trials) {
  std::vector<double> bytes;
  bytes.reserve(trials.size());
  for (const Trial& trial : trials) {
    bytes.push_back(static_cast<double>(trial.link_bytes));
  }
  return static_cast<std::uint64_t>(summarize(bytes).median);
}

void summarise(const TraversalPoint& point, const LoadedGraph& loaded, std::uint64_t gpu_bytes,
               Measurement& measurement) {
  const double middle = median_of(measurement.trials, "edges_read");
  measurement.bytes = static_cast<std::uint64_t>(middle) * point.element_bytes();
  measurement.graph = loaded.facts();
  auto& counters = measurement.counters;
  counters["edges_read"] = middle;
  counters["edges_per_s"] = middle / measurement.samples.summary.median;
  counters["gpu_bytes"] = static_cast<double>(gpu_bytes);
  if (point.algorithm != Algorithm::pr) {
    counters["teps"] = harmonic_mean(measurement.trials, "teps");
  }
  if (point.where.graph.order != graph::Order::original) {
    counters["prepare_s"] = loaded.order_s();
  }
}

}  // namespace

std::uint64_t TraversalPoint::element_bytes() const {
  return static_cast<std::uint64_t>(where.request.edge_bytes) + (algorithm == Algorithm::sssp ? 4 : 0);
}

std::vector<Vertex> TraversalPoint::starts(const LoadedGraph& graph) const {
  if (sources.empty()) {
    return graph.sources(trials);
  }
  std::vector<Vertex> starts;
  starts.reserve(static_cast<std::size_t>(trials));
  for (int trial = 0; trial < trials; ++trial) {
    starts.push_back(sources[static_cast<std::size_t>(trial) % sources.size()]);
  }
  return graph.renumbered(std::move(starts));
}

namespace {

// Each part on its GPU's node.
PlacedParts place(const LoadedGraph& graph, const PlacedKey& key, Session& session) {
  PlacedParts placed;
  for (int part = 0; part < key.gpus(); ++part) {
    graph::PlacementRequest request = key.request;
    int node = key.node;
    if (part > 0) {
      std::tie(request.gpu, node) = key.others[static_cast<std::size_t>(part) - 1];
      request.node = node;
    }
    request.part = part;
    request.parts = key.gpus();
    const NodeBinding binding(session.machine().topology, node);
    placed.parts.push_back(graph::place_graph(graph.csr(), request, session.surroundings()));
  }
  return placed;
}

// Trials from the point's sources. `note` adds what a trial has beside that.
Measurement measure_trials(Session& session, const TraversalPoint& point, const LoadedGraph& graph,
                           graph::Traversal& traversal, const std::function<void()>& prepare,
                           const std::function<void(Trial&)>& note,
                           const std::function<void()>& residency = {}) {
  if (point.algorithm == Algorithm::cc && graph.csr().directed) {
    throw SkipError(kNoDirectedComponents);
  }
  int number = 0;
  TrialParts parts;
  parts.algorithm = point.algorithm;
  parts.sources = point.starts(graph);
  parts.timing = {Clock::event, false, "a whole traversal between two events, clearing its state included"};
  parts.prepare = prepare;
  parts.managed = point.is_managed();
  parts.complete = [&](const std::vector<LevelResult>& levels, Trial& trial) {
    if (starts_somewhere(point.algorithm) && !point.sources.empty()) {
      trial.label += "/trial:" + std::to_string(number);  // sources of its own are taken again and again
    }
    ++number;
    const std::uint64_t edges = edges_of(levels);
    if (point.over_link()) {
      // What was read once has crossed the link; a second walk of the same list may have met a cache.
      const std::uint64_t all = graph.csr().edges() * point.element_bytes();
      trial.link_bytes = point.link_bytes(std::min(edges * point.element_bytes(), all), all);
    } else {
      trial.bytes = edges * point.element_bytes();
    }
    trial.counters["edges_read"] = static_cast<double>(edges);
    trial.counters["levels"] = static_cast<double>(levels.size());
    if (!starts_somewhere(point.algorithm)) {
      trial.counters["reached"] = static_cast<double>(graph.csr().vertices());
    }
    note(trial);
  };
  Trials trials(traversal, graph, std::move(parts));
  return measure(session, trials, {.gpu = point.where.request.gpu, .residency = residency});
}

// Of all GPUs that traverse.
std::uint64_t l2_bytes(const Machine& machine, const TraversalPoint& point) {
  std::uint64_t bytes = 0;
  for (const int gpu : point.where.walkers()) {
    const GpuReport* report = machine.find_gpu(gpu);
    bytes += report != nullptr && report->cuda ? report->cuda->l2_bytes : 0;
  }
  return bytes;
}

// What a GPU reads from first of the memory of others.
int other_of(const graph::PlacementRequest& request, int gpu) {
  const auto other =
      std::find_if(request.gpus.begin(), request.gpus.end(), [&](int each) { return each != gpu; });
  return other == request.gpus.end() ? gpu : *other;
}

// What all links carry that a case reads over, and the copies that they are compared with.
void hold_against_links(Session& session, const TraversalPoint& point, Measurement& measurement) {
  const graph::PlacementRequest& request = point.where.request;
  const std::vector<int> walkers = point.where.walkers();
  double peak_gb_s = 0;
  if (request.placement == EdgePlacement::peer || request.placement == EdgePlacement::interleaved) {
    std::optional<PhysicalLimit> limit = PhysicalLimit{};
    for (const int gpu : walkers) {
      const int other = other_of(request, gpu);
      const PeerWire wire =
          request.placement == EdgePlacement::interleaved ? nvlinks_of(session.machine(), gpu) : PeerWire{};
      const auto one = wire.gb_s ? std::optional(PhysicalLimit{*wire.gb_s, "NVLinks of each GPU"})
                                 : peer_link_limit(session.machine(), other, gpu);
      limit =
          limit && one ? std::optional(PhysicalLimit{limit->gb_s + one->gb_s, one->source}) : std::nullopt;
      peak_gb_s += session.link_peak_gb_s(LinkPath::between(other, gpu));
    }
    measurement.limit = std::move(limit);
    // A GPU reads its own part of interleaved edges while a link brings the rest.
    const auto over = static_cast<double>(request.gpus.size());
    measurement.link_peak_gb_s = over > 1 ? peak_gb_s * over / (over - 1) : peak_gb_s;
    return;
  }
  measurement.limit = host_link_limit(session.machine(), walkers);
  peak_gb_s = session.link_peak_gb_s(LinkPath::host_to_gpu(point.where.node, request.gpu));
  for (const auto& [gpu, node] : point.where.others) {
    peak_gb_s += session.link_peak_gb_s(LinkPath::host_to_gpu(node, gpu));
  }
  measurement.link_peak_gb_s = peak_gb_s;
}

// A whole graph for one of several GPUs; null where it has no room beside the parts, or nobody knows.
std::unique_ptr<PlacedParts> place_beside(const LoadedGraph& graph, const PlacedKey& key, Session& session,
                                          std::uint64_t bytes) {
  try {
    if (key.request.placement == EdgePlacement::mapped) {
      graph::require_memory(bytes);
    }
    return std::make_unique<PlacedParts>(place(graph, key, session));
  } catch (const GpuLostError&) {
    throw;
  } catch (const SkipError&) {
    return nullptr;
  } catch (const EnvironmentError&) {
    return nullptr;
  } catch (const FailedError&) {
    return nullptr;  // of memory that could not be locked
  }
}

// Against the first GPU alone, which has the whole graph.
void hold_against_whole(Session& session, const TraversalPoint& point, const LoadedGraph& graph,
                        Measurement& measurement) {
  PlacedKey alone = point.where;
  alone.others.clear();
  const auto placed = place_beside(graph, alone, session, graph.csr().edges() * point.element_bytes());
  if (placed != nullptr) {
    const auto traversal = placed->traversal(point.algorithm, point.access, point.direction);
    hold_against_one_gpu(*traversal, graph, point.algorithm, point.starts(graph), point.where.gpus(),
                         measurement);
  }
}

}  // namespace

Measurement measure_traversal(Session& session, const TraversalPoint& point, const LoadedGraph& graph,
                              const PlacedParts& placed) {
  const auto traversal = placed.traversal(point.algorithm, point.access, point.direction);
  const auto expect_on_host = [&placed] { placed.expect_on_host(); };
  const bool in_place = point.is_managed() && cuda::is_read_in_place(point.where.request.hint);
  Measurement measurement = measure_trials(
      session, point, graph, *traversal, [&placed] { placed.first().make_cold(); },
      [&placed](Trial& trial) { note_moved(placed.first(), trial); },
      in_place ? expect_on_host : residency_of(point.where.request.memory, expect_on_host));
  summarise(point, graph, placed.gpu_bytes() + traversal->gpu_bytes(), measurement);
  const EdgePlacement placement = point.where.request.placement;
  const Vertex first = point.starts(graph).front();
  if (placement == EdgePlacement::mapped) {
    const std::vector<Vertex> heaviest =
        replay(point, graph, *traversal, first, l2_bytes(session.machine(), point), measurement);
    // Loads of small teams are slower without the work: what else takes time there is not known.
    if (point.algorithm == Algorithm::bfs && point.access != Access::edge_gather &&
        graph::team_lanes(point.access) == graph::kWarpLanes && point.where.others.empty()) {
      hold_against_toy(point, graph, placed.first(), *traversal, first, heaviest, measurement);
    }
    hold_against_links(session, point, measurement);
    measurement.counters["link_gb_s"] = gb_per_s(static_cast<double>(*measurement.link_bytes_least),
                                                 measurement.trials.front().samples_s.front());
  } else if (point.is_managed()) {
    measurement.limit = host_link_limit(session.machine(), point.where.request.gpu);
    if (measurement.trials.front().counters.contains(kMoved)) {
      measurement.counters[kMoved] = median_of(measurement.trials, kMoved);
    }
  } else if (point.over_link()) {
    measurement.link_bytes_least = median_link_bytes(measurement.trials);
    hold_against_links(session, point, measurement);
  } else {
    measurement.limit = gpu_memory_limit(session.machine(), point.where.request.gpu, 0);
    if (measurement.limit && point.where.gpus() > 1) {
      measurement.limit->gb_s *= point.where.gpus();
      measurement.limit->source += ", of " + std::to_string(point.where.gpus()) + " GPUs";
    }
  }
  if (!point.is_managed()) {
    const graph::WalkStatistics walked = traversal->statistics(first);
    measurement.counters["lane_use"] = walked.lane_use();
    measurement.counters["block_imbalance"] = walked.block_imbalance;
    if (walked.frontier_s) {
      measurement.counters["frontier_s"] = *walked.frontier_s;
    }
  }
  if (!point.where.others.empty()) {
    hold_against_whole(session, point, graph, measurement);
  }
  return measurement;
}

Measurement measure_subway(Session& session, const TraversalPoint& point, const LoadedGraph& graph) {
  const auto& request = point.where.request;
  const auto traversal =
      graph::make_subway(graph.csr(), {request.edge_bytes, request.weights, request.gpu, 0}, point.algorithm);
  Measurement measurement = measure_trials(
      session, point, graph, *traversal, [] {}, [&](Trial& trial) { note_parts(traversal->parts(), trial); });
  summarise(point, graph, traversal->gpu_bytes(), measurement);
  for (const char* const part : {kGather, kCopy, kWalk}) {
    measurement.counters[part] = median_of(measurement.trials, part);
  }
  measurement.link_bytes_least = median_link_bytes(measurement.trials);
  hold_against_links(session, point, measurement);
  return measurement;
}

namespace {

// traversal

constexpr About kAboutTraversal{
    .question = "How fast do GPUs traverse a graph whose edges need not fit into their memory?",
    .measures =
        "EMOGI (VLDB 2020): offsets and state in GPU memory, the edge list where the placement says, walked "
        "by the access that the case names. With `gpus` each GPU has within reach the lists of one part of "
        "the vertices, and reads them over its own link. Parts have as many edges or, with divide=vertices, "
        "as many vertices. Each GPU keeps a copy of the state of all vertices. Before each level it takes "
        "from the others' copies, "
        "over what joins the GPUs, what they found of its vertices. With direction=pull lists are walked of "
        "vertices that may still change, which ask their neighbours",
    .timed =
        "everything a traversal does on the GPU, from clearing its state to the last level, between two "
        "events; with a hint=prefetch also that. Not timed: making and placing the graph, sending managed "
        "pages back to the host and advising before each trial, and verifying, which every trial is",
    .formula =
        "bytes: edges in the lists that were walked × bytes of an edge (and of its weight in sssp); link "
        "bytes: of each level the different 32-byte sectors of these lists, less what the GPU's L2 can have "
        "kept from the level before. That is the least that can have crossed the link; `link_gb_s` is it "
        "over the first trial's time. `traffic` is the model's count of requests over that trial's "
        "frontiers, "
        "with no cache. TEPS: adjacency entries of what was reached, half of them in undirected graphs, over "
        "the time; the harmonic mean over sources. counters.alone_s is the time of the first GPU by itself "
        "with the whole graph, after the trials and from the first three sources, and `scaling` that over "
        "the time of all times their number. They are absent where a second copy of the edges has no room. "
        "counters.frontier_s is, of one run on one GPU, the time between the end of a walk and the beginning "
        "of the next. In it levels find their lists and cut them, merge_path its tiles, and the host is "
        "waited for. That run counts loads, which slows its walks alone. Of managed edges "
        "counters.moved_bytes are the pages that left the host in a trial: none where a hint has them read "
        "in place. Under read_mostly the host keeps its own, and there is no such counter. "
        "counters.driver_to_gpu_bytes is what the driver says it copied in one more run from the first "
        "source, driver_to_host_bytes what it brought back or evicted, driver_gpu_faults its faults",
    .source = "EMOGI sections 4 and 5; dissertation chapter 2; GAP's sources, conventions and tolerance",
    .limits =
        "managed edges are cold in each trial, and oversubscribed only where "
        "--allow-managed-oversubscription lets them: else the papers' thrashing is model/uvm's",
};

using graph::GraphSpec;
using graph::Order;

constexpr cuda::Hint kUsualHint = cuda::Hint::read_mostly;
constexpr Order kOrders[] = {Order::original, Order::degree, Order::halo_like};

// By compaction edges are neither placed nor walked as they lie.
const char* const kSubway = "subway";
const char* const kCompact = "compact";
const char* const kEmogiSources = "emogi";
constexpr const char* kNoDirectedPull =
    "a pull reads lists of in-neighbours, and a directed graph's are of out-neighbours: lean/bfs and lean/pr "
    "pull over its transpose";

std::string link_text(const graph::PlacementRequest& request) {
  switch (request.placement) {
    case EdgePlacement::mapped:
      return "in page-locked host memory, read over the link";
    case EdgePlacement::managed:
      return std::string("in managed memory, ") +
             (request.hint == kUsualHint ? "read-mostly" : meaning(request.hint)) +
             ", on the host when a trial starts; cold, and oversubscribed only where "
             "--allow-managed-oversubscription lets it be";
    case EdgePlacement::device:
      return "in the GPU's own memory: what no link could beat";
    case EdgePlacement::peer:
      return "in another GPU's memory, read over what joins the two";
    case EdgePlacement::interleaved:
      return "in the memory of several GPUs in turns of 2 MiB, its own among them";
  }
  return {};
}

Explanation explain(const TraversalPoint& point) {
  return {
      .measures =
          "the time of a whole " + std::string(name(point.algorithm)) + " whose edges lie " +
          (point.subway ? "on the host, gathered and copied level by level (after Subway, all of it timed)"
                        : link_text(point.where.request)) +
          (point.gpus > 1 ? ", by several GPUs, each the lists of its own part of the vertices" : "") +
          (point.direction == graph::Direction::pull ? ", by pull: its vertices ask their neighbours" : ""),
      .timed = std::string("everything on the GPU between two events, from ") +
               (point.is_managed() && point.where.request.hint == cuda::Hint::prefetch
                    ? "the prefetch of the edges and "
                    : "") +
               "clearing the state to the last level" +
               (point.gpus > 1 ? ", what the GPUs tell each other between two levels included" : "") +
               "; not making or placing the graph, nor verifying, which every trial is",
      .limits =
          std::string(
              "TEPS says nothing of the work that was saved or wasted; managed edges exceed the card only "
              "where --allow-managed-oversubscription lets them") +
          (point.gpus > 1
               ? "; every GPU holds the state of all vertices, and scaling is that of three sources"
               : "")};
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
        for (const Values& values : grid.points({{"all", all_of(gpu)}})) {
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
                                        : enumerator(values.word("placement"), graph::kEdgePlacements,
                                                     [](EdgePlacement each) { return name(each); }),
                           edge_bytes_of(values), point.algorithm == Algorithm::sssp, gpu.ordinal};
    point.where.node = scope_.nearest_node(gpu);
    if (!point.subway && point.where.request.placement == EdgePlacement::mapped) {
      point.where.request.memory = memory_of(values);
      point.where.request.node = point.where.node;
    }
    point.where.request.hint = hint_of(values);
    if (!point.is_managed() && point.where.request.hint != kUsualHint) {
      grids_.leave_out("hints are of managed memory: placement is managed");
      return std::nullopt;
    }
    if (!add_gpus(gpu, values, point)) {
      return std::nullopt;
    }
    point.direction =
        enumerator(values.word("direction"), graph::kDirections, [](auto each) { return graph::name(each); });
    if (point.direction == graph::Direction::pull) {
      const char* const why =
          point.subway || point.gpus > 1 || point.is_managed()
              ? "direction=pull is of one GPU that walks lists where they lie, not managed"
          : spec.directed() ? kNoDirectedPull
                            : graph::why_no_pull(point.algorithm, point.access);
      if (why != nullptr) {
        grids_.leave_out(why);
        return std::nullopt;
      }
    }
    point.where.graph.weights = weights_of(values);
    if (const std::string why = why_no_case(spec, point.algorithm, point.where.graph.weights); !why.empty()) {
      grids_.leave_out(why);
      return std::nullopt;
    }
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

  // GPUs that could share an edge list, or would on a machine that had two.
  [[nodiscard]] std::size_t all_of(const GpuTarget& gpu) const {
    return std::max<std::size_t>(2, team_of(machine_, gpu.ordinal).size());
  }

  // Who traverses, and whose memory it is. False, with the reason, where that cannot be. Of a machine with
  // fewer GPUs the case is listed, and says so.
  [[nodiscard]] bool add_gpus(const GpuTarget& gpu, const Values& values, TraversalPoint& point) const {
    graph::PlacementRequest& request = point.where.request;
    point.gpus = values.number_as<int>("gpus");
    point.over = values.number_as<int>("over");
    request.division =
        enumerator(values.word("divide"), graph::kDivisions, [](graph::Division each) { return name(each); });
    const bool interleaved = request.placement == EdgePlacement::interleaved;
    if (!interleaved && point.over != static_cast<int>(all_of(gpu))) {
      grids_.leave_out("only interleaved edges lie over several GPUs");
      return false;
    }
    if (point.gpus == 1 && request.division != graph::Division::edges) {
      grids_.leave_out("one GPU has all vertices: nothing is divided");
      return false;
    }
    if (point.gpus > 1 && (point.subway || point.is_managed() || request.placement == EdgePlacement::peer)) {
      grids_.leave_out("several GPUs traverse edges that are mapped, in their own memory or interleaved");
      return false;
    }
    if (interleaved && point.gpus > point.over) {
      grids_.leave_out("a GPU that traverses interleaved edges has some of them: gpus is at most over");
      return false;
    }
    const std::vector<int> team = team_of(machine_, gpu.ordinal);
    const auto of_team = [&](int wanted) {
      return std::vector<int>(team.begin(), team.begin() + std::min(static_cast<int>(team.size()), wanted));
    };
    if (interleaved) {
      request.gpus = of_team(point.over);
    } else if (request.placement == EdgePlacement::peer && team.size() > 1) {
      request.gpus = {team[1]};
    }
    const std::vector<int> walkers = of_team(point.gpus);
    for (std::size_t i = 1; i < walkers.size(); ++i) {
      const auto targets = gpu_targets(machine_, {walkers[i]});
      point.where.others.emplace_back(walkers[i], scope_.nearest_node(targets.front()));
    }
    return true;
  }

  // Lanes of their own lists share few sectors, and ask for an edge's again and again: as if it had so many
  // bytes, by naive walks of H200s.
  [[nodiscard]] static std::uint64_t naive_edge_bytes(const TraversalPoint& point) {
    using Kind = graph::GraphSpec::Kind;
    if (point.algorithm == Algorithm::sssp) {
      return point.spec.kind == Kind::urand ? 140 : point.spec.kind == Kind::kron ? 52 : 100;
    }
    return point.algorithm == Algorithm::pr && point.where.request.edge_bytes == 4 ? 24 : 56;
  }
  // By the plan, of one trial.
  [[nodiscard]] static double trial_s_of(const TraversalPoint& point, const Needs& needs) {
    constexpr double kLink_gb_s = 45;
    constexpr double kMemory_gb_s = 400;
    const bool naive = !point.subway && point.access == Access::naive;
    const double gb_s =
        (is_mapped(point) || point.subway || point.is_managed() ? kLink_gb_s : kMemory_gb_s) * point.gpus;
    const double walk_s =
        trial_s(point.spec, point.algorithm, naive ? naive_edge_bytes(point) : point.element_bytes(), gb_s,
                point.direction);
    if (!point.is_managed()) {
      return walk_s;
    }
    // Pages are sent home before each trial.
    const double home_s_per_byte = cuda::is_read_in_place(point.where.request.hint) ? 0.1e-9 : 0.25e-9;
    return walk_s + static_cast<double>(needs.managed_bytes) * home_s_per_byte;
  }
  [[nodiscard]] static bool is_mapped(const TraversalPoint& point) {
    return !point.subway && point.where.request.placement == EdgePlacement::mapped;
  }

  void add(const GpuTarget& gpu, TraversalPoint point) {
    Benchmark benchmark;
    benchmark.needs = needs_of(point);
    const double each_s = trial_s_of(point, benchmark.needs);
    point.trials = trials_within(scope_.trials_s, each_s, point.trials);
    benchmark.samples_s =
        point.trials * each_s + (is_mapped(point) ? followed_s(point.spec, point.algorithm) : 0);
    benchmark.id = case_of(gpu, point);
    benchmark.skip = why_not(gpu, point);
    benchmark.explanation = explain(point);
    benchmark.other_gpus = others_of(point);
    const bool runs = benchmark.skip.empty();
    const auto graph_claim = runs ? graphs_->claim(point.where.graph, scope_.visits_here) : nullptr;
    const auto placed_claim = runs && !point.subway && point.where.request.placement != EdgePlacement::peer
                                  ? placed_->claim(point.where, scope_.visits_here)
                                  : nullptr;
    benchmark.run = [point, graphs = graphs_, placed = placed_, graph_claim, placed_claim,
                     cache_dir = scope_.graph_cache](Session& session) {
      const GraphCache::Lease graph(*graphs, *graph_claim, [&](const GraphKey& key) {
        return std::make_unique<LoadedGraph>(point.spec, key.order, cache_dir, key.weights);
      });
      if (point.algorithm == Algorithm::sssp) {
        graph->require_weights();
      }
      // The copies that measure a peak need room beside the graph.
      for (const int walker : point.where.walkers()) {
        if (const int other = other_of(point.where.request, walker); other != walker) {
          static_cast<void>(session.link_peak_gb_s(LinkPath::between(other, walker)));
        }
      }
      if (point.subway) {
        const NodeBinding binding(session.machine().topology, point.where.node);
        return measure_subway(session, point, *graph);
      }
      if (point.where.request.placement == EdgePlacement::peer) {
        // Kept for another case it would leave the way to the peer's memory open, which copies between GPUs
        // measure closed, too.
        return measure_traversal(session, point, *graph, place(*graph, point.where, session));
      }
      const PlacedCache::Lease placed_graph(*placed, *placed_claim, [&](const PlacedKey& key) {
        return std::make_unique<PlacedParts>(place(*graph, key, session));
      });
      return measure_traversal(session, point, *graph, *placed_graph);
    };
    benchmarks_.push_back(std::move(benchmark));
  }

  // GPUs that traverse beside the first, or have edges of it.
  [[nodiscard]] static std::vector<int> others_of(const TraversalPoint& point) {
    std::vector<int> others = point.where.request.gpus;
    for (const int gpu : point.where.walkers()) {
      if (std::find(others.begin(), others.end(), gpu) == others.end()) {
        others.push_back(gpu);
      }
    }
    std::erase(others, point.where.request.gpu);
    return others;
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
    add_memory(request.memory, id.axes);
    add_hint(request.hint, kUsualHint, id.axes);
    if (request.placement == EdgePlacement::interleaved) {
      id.axes.push_back({"over", std::int64_t{point.over}});
    }
    if (point.gpus > 1) {
      id.axes.push_back({"gpus", std::int64_t{point.gpus}});
      if (request.division != graph::Division::edges) {
        id.axes.push_back({"divide", name(request.division)});
      }
    }
    if (point.direction != graph::Direction::push) {
      id.axes.push_back({"direction", name(point.direction)});
    }
    if (!point.sources.empty()) {
      id.axes.push_back({"sources", kEmogiSources});
    }
    if (point.algorithm == Algorithm::sssp) {
      id.axes.push_back({"weights", weights_of(point.spec, point.where.graph.weights)});
    }
    return id;
  }

  [[nodiscard]] std::string why_not(const GpuTarget& gpu, const TraversalPoint& point) const {
    if (!gpu.unavailable.empty()) {
      return gpu.unavailable;
    }
    for (const int other : others_of(point)) {
      if (const std::string why = gpu_targets(machine_, {other}).front().unavailable; !why.empty()) {
        return why;
      }
    }
    const std::size_t needed = static_cast<std::size_t>(
        std::max({point.gpus, point.where.request.placement == EdgePlacement::interleaved ? point.over : 1,
                  point.where.request.placement == EdgePlacement::peer ? 2 : 1}));
    if (const std::string why = why_no_team(machine_, gpu.ordinal, needed); !why.empty()) {
      return why;
    }
    const std::uint64_t edges = point.spec.most_entries().value_or(0) * point.element_bytes();
    return point.where.request.placement == EdgePlacement::mapped
               ? why_no_memory(machine_, point.where.request.memory, gpu.ordinal,
                               edges / static_cast<std::uint64_t>(point.gpus))
           : point.where.request.placement == EdgePlacement::managed ? why_no_migration(machine_, gpu.ordinal)
                                                                     : std::string();
  }

  [[nodiscard]] static Needs needs_of(const TraversalPoint& point) {
    const std::uint64_t entries = point.spec.most_entries().value_or(0);
    const std::uint64_t vertices = point.spec.vertices().value_or(0);
    const std::uint64_t edges = entries * (point.element_bytes());
    // Managed edges are filled by the host, and come home before each trial.
    const auto parts = static_cast<std::uint64_t>(point.gpus);
    Needs needs{host_bytes(point.spec, point.where.graph.order, 0), vertices * 48 + entries / 8 / parts, 0};
    switch (point.where.request.placement) {
      case EdgePlacement::mapped:
        needs.host_bytes = host_bytes(point.spec, point.where.graph.order, edges);
        break;
      case EdgePlacement::managed:
        needs.host_bytes = host_bytes(point.spec, point.where.graph.order, edges);
        needs.managed_bytes = edges;
        break;
      case EdgePlacement::device:
        needs.device_bytes += edges / parts;
        break;
      case EdgePlacement::peer:
        needs.device_bytes += edges;
        break;
      case EdgePlacement::interleaved:
        needs.device_bytes += edges / static_cast<std::uint64_t>(std::max(1, point.over));
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
  std::vector<std::string> placements =
      names_of(graph::kEdgePlacements, [](EdgePlacement each) { return name(each); });
  placements.emplace_back(kSubway);
  return {
      "traversal",
      kAboutTraversal,
      {algorithm_axis(),
       word_axis("access", "how warps walk lists of neighbours", std::move(accesses),
                 name(Access::merged_aligned)),
       word_axis("placement", "where the edges lie; subway gathers and copies them level by level",
                 std::move(placements)),
       word_axis("order", "how vertices are numbered",
                 names_of(kOrders, [](Order each) { return graph::name(each); }),
                 graph::name(Order::original)),
       memory_axis("how the host memory came to be in which edges are mapped"),
       hint_axis("what the driver is told of managed edges", kUsualHint), graph_axis(), edge_axis(),
       number_axis("gpus", "GPUs that traverse together, each the lists of its part of the vertices", {1, 16},
                   "1", {}, {"all"}),
       word_axis("divide", "what is alike in the parts of several GPUs",
                 names_of(graph::kDivisions, [](graph::Division each) { return name(each); }),
                 name(graph::Division::edges)),
       number_axis("over",
                   "GPUs in whose memory interleaved edges lie; all: that reach each other, at least 2",
                   {2, 16}, "all", {}, {"all"}),
       word_axis("direction",
                 "push: a list's vertex tells its neighbours; pull: it asks them, one GPU, bfs and pr",
                 names_of(graph::kDirections, [](graph::Direction each) { return name(each); }),
                 name(graph::Direction::push)),
       word_axis("sources", "where searches start: drawn as GAP draws them, or where EMOGI's authors start",
                 {"gap", kEmogiSources}, "gap"),
       weights_axis(), gpu_axis()},
      [](const Machine& machine, const Scope& scope, const Grids& grids) {
        return Lister(machine, scope, grids).list();
      }};
}

}  // namespace grainscope::harness
