#include "gather_sampled.hpp"

#include <algorithm>

#include "gnn_case.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/gnn/sampling.hpp"
#include "grainscope/gnn/scores.hpp"

namespace grainscope::harness {
namespace {

constexpr std::uint64_t kPresampledFrom = 0;  // epochs
constexpr std::uint64_t kTraced = 1;

// A table with a row for every vertex. Rows cross no chunk, so that up to one more a chunk is needed.
std::uint64_t span_of(std::uint64_t vertices, std::uint32_t row_bytes) {
  const std::uint64_t bytes = vertices * row_bytes;
  return (bytes + bytes / kGiB * row_bytes) / kMiB * kMiB + kMiB;
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

SampledPoint sampled_point(GatherPoint gather, const graph::GraphSpec& spec, const TraceKey& trace,
                           std::uint64_t vertices, const gnn::NpyFile* own) {
  gather.span_bytes = own != nullptr ? own->bytes() : span_of(vertices, gather.row_bytes);
  gather.rows =
      gnn::most_of(gnn::parse_fanouts(trace.fanout), trace.seeds, static_cast<graph::Vertex>(vertices))
          .nodes.back();
  return {gather, spec, trace};
}

}  // namespace grainscope::harness
