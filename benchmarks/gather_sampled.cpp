#include "gather_sampled.hpp"

#include <algorithm>
#include <optional>

#include "gnn_case.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/gnn/scores.hpp"
#include "grainscope/gnn/seeds.hpp"
#include "grainscope/gnn/tiers.hpp"

namespace grainscope::harness {
namespace {

using gnn::Mode;
using gnn::Store;

constexpr std::uint64_t kPresampledFrom = 0;  // epochs
constexpr std::uint64_t kTraced = 1;

// A table with a row for every vertex. Rows cross no chunk, so that up to one more a chunk is needed.
std::uint64_t span_of(std::uint64_t vertices, std::uint32_t row_bytes) {
  const std::uint64_t bytes = vertices * row_bytes;
  return (bytes + bytes / kGiB * row_bytes) / kMiB * kMiB + kMiB;
}

GatherPoint point_of(Mode mode, Store store, std::uint32_t row_bytes, int window = 1, int hot = 0) {
  GatherPoint point;
  point.mode = mode;
  point.store = store;
  point.row_bytes = row_bytes;
  point.indices = gnn::Indices::sampled;
  const bool narrow = mode == Mode::naive || mode == Mode::circular_shift;
  point.width = narrow ? point.element : gnn::widest_load(mode, row_bytes);
  point.window = window;
  point.hot = hot;
  return point;
}

std::vector<GatherPoint> gathers_of_rows(const Scope& scope, std::uint32_t row) {
  if (scope.preset == Preset::smoke) {
    return {point_of(Mode::address_ordered, Store::mapped, row)};
  }
  if (!scope.dense()) {
    return {point_of(Mode::masked, Store::mapped, row), point_of(Mode::graphbolt, Store::mapped, row),
            point_of(Mode::address_ordered, Store::mapped, row),
            point_of(Mode::address_ordered, Store::mapped, row, 4),
            point_of(Mode::masked, Store::tiered, row, 1, 10)};
  }
  std::vector<GatherPoint> points;
  for (const Mode mode : {Mode::naive, Mode::circular_shift, Mode::masked, Mode::graphbolt}) {
    points.push_back(point_of(mode, Store::mapped, row));
  }
  for (const int window : {1, 4, 16}) {
    points.push_back(point_of(Mode::address_ordered, Store::mapped, row, window));
  }
  points.push_back(point_of(Mode::cpu_gather_dma, Store::pinned, row));
  for (const int hot : {1, 5, 10, 25, 50}) {
    points.push_back(point_of(Mode::masked, Store::tiered, row, 1, hot));
  }
  points.push_back(point_of(Mode::masked, Store::device, row));
  return points;
}

// The modes and stores that `gathers_of_rows` leaves out.
std::vector<GatherPoint> others_of(std::uint32_t row, int most_gpus) {
  std::vector<GatherPoint> points{
      point_of(Mode::cpu_gather, Store::pageable, row), point_of(Mode::cpu_gather_dma, Store::pageable, row),
      point_of(Mode::row_dma, Store::pinned, row),      point_of(Mode::vector, Store::mapped, row),
      point_of(Mode::masked, Store::managed, row),      point_of(Mode::masked, Store::multi_gpu, row, 1, 10)};
  points.back().gpus = most_gpus;
  return points;
}

std::vector<GatherPoint> gathers_of(const Scope& scope, int most_gpus) {
  if (scope.features == nullptr) {
    std::vector<GatherPoint> points = gathers_of_rows(scope, scope.preset == Preset::smoke ? 128 : 512);
    if (scope.preset == Preset::full) {
      const std::vector<GatherPoint> others = others_of(512, most_gpus);
      points.insert(points.end(), others.begin(), others.end());
    }
    if (scope.dense()) {
      const std::vector<GatherPoint> others = gathers_of_rows(scope, 1260);
      points.insert(points.end(), others.begin(), others.end());
    }
    return points;
  }
  const gnn::NpyFile& own = *scope.features;
  std::vector<GatherPoint> points = gathers_of_rows(scope, own.row_bytes());
  points.push_back(point_of(Mode::cpu_gather, Store::pageable, own.row_bytes()));
  for (GatherPoint& point : points) {
    point.element = own.element();
    const bool narrow = point.mode == Mode::naive || point.mode == Mode::circular_shift;
    point.width = narrow ? point.element : point.width;
    point.span_bytes = own.bytes();
  }
  return points;
}

}  // namespace

std::unique_ptr<SampledTrace> make_trace(const graph::GraphSpec& spec, const TraceKey& key,
                                         const std::string& cache_dir, const gnn::NpyFile* own) {
  const GnnGraph graph(spec, cache_dir);
  if (own != nullptr) {
    require_row_for_each(*own, graph.vertices(), key.graph);
  }
  const auto labelled = gnn::labelled_vertices(graph.vertices(), kTracedLabels, kGnnSeed);
  const auto trace_of = [&](std::uint64_t epoch) {
    return gnn::sampled_trace(graph.in_edges(), labelled,
                              {{gnn::parse_fanouts(key.fanout), kGnnSeed}, key.seeds, epoch, 1, key.batches});
  };
  const auto counts = gnn::access_counts(trace_of(kPresampledFrom), graph.vertices());
  const auto by_degree = gnn::ranking(gnn::degree_scores(graph.out_edges()).span());
  auto result = std::make_unique<SampledTrace>();
  result->vertex_of_row = gnn::ranking(counts.span(), by_degree);
  const auto row_of = gnn::old_to_new(result->vertex_of_row);
  result->trace = trace_of(kTraced);
  for (std::uint32_t& row : result->trace.rows) {
    row = row_of[row];
  }
  return result;
}

gnn::RowLists lists_of_trace(const gnn::Trace& trace, int lists, int window) {
  if (trace.batches() == 0) {
    throw UsageError("a trace without mini-batches asks for no rows");
  }
  gnn::RowLists result(static_cast<std::size_t>(lists));
  std::size_t next = 0;
  std::size_t shortest = SIZE_MAX;
  for (std::vector<std::uint32_t>& list : result) {
    for (int batch = 0; batch < window; ++batch) {
      const auto rows = trace.batch(next++ % trace.batches());
      list.insert(list.end(), rows.begin(), rows.end());
    }
    shortest = std::min(shortest, list.size());
  }
  for (std::vector<std::uint32_t>& list : result) {
    list.resize(shortest);
  }
  return result;
}

std::vector<SampledPoint> sampled_points(const Scope& scope, int most_gpus) {
  std::vector<SampledPoint> points;
  if (scope.preset == Preset::acceptance) {
    return points;
  }
  for (const graph::GraphSpec& spec :
       gnn_graphs(scope, {"power"}, {"pareto:20"}, {"pareto:22"}, {"pareto:22"})) {
    const auto vertices =
        scope.features != nullptr ? std::optional<std::uint64_t>(scope.features->rows()) : spec.vertices();
    if (!vertices) {
      continue;  // of a file nobody knows them before it is read
    }
    TraceKey trace{spec.name(), "10x25", 1000, scope.dense() ? std::uint64_t{64} : std::uint64_t{16}};
    if (scope.preset == Preset::smoke) {
      trace.seeds = 100;
    }
    for (const GatherPoint& gather : gathers_of(scope, most_gpus)) {
      points.push_back({gather, spec, trace});
      if (scope.features == nullptr) {
        points.back().gather.span_bytes = span_of(*vertices, gather.row_bytes);
      }
      // For judging what fits: the most that the seeds can reach.
      const auto most =
          gnn::most_of(gnn::parse_fanouts(trace.fanout), trace.seeds, static_cast<graph::Vertex>(*vertices));
      points.back().gather.rows = most.nodes.back();
    }
  }
  return points;
}

}  // namespace grainscope::harness
