#ifndef GRAINSCOPE_BENCHMARKS_GATHER_SAMPLED_HPP
#define GRAINSCOPE_BENCHMARKS_GATHER_SAMPLED_HPP

// Rows that sampled mini-batches ask for: the same trace for all modes.

#include <cstdint>
#include <string>

#include "claim_cache.hpp"
#include "gather_case.hpp"
#include "grainscope/gnn/features.hpp"
#include "grainscope/gnn/sampling.hpp"
#include "grainscope/graph/generate.hpp"

namespace grainscope::harness {

// A part of an epoch of training.
struct TraceKey {
  std::string graph;  // name of its spec
  std::string fanout;
  std::uint64_t seeds = 1000;  // of a mini-batch
  std::uint64_t batches = 16;
  friend bool operator==(const TraceKey&, const TraceKey&) = default;
};

struct SampledTrace {
  gnn::Trace trace;
  std::vector<graph::Vertex> vertex_of_row;
};
using TraceCache = ClaimCache<TraceKey, SampledTrace>;

inline constexpr double kTracedLabels = 10;  // percent of the vertices that mini-batches start from

// Samples an epoch's mini-batches. Rows are numbered by how often another epoch asked for them, most often
// first, and where that is the same by degree: the presampled order. Throws as make_graph, and UsageError
// where a table of features, `own`, has not as many rows as the graph has vertices.
[[nodiscard]] std::unique_ptr<SampledTrace> make_trace(const graph::GraphSpec& spec, const TraceKey& key,
                                                       const std::string& cache_dir,
                                                       const gnn::NpyFile* own = nullptr);

// `lists` windows of mini-batches, one behind another and from the first again at the end; all cut to the
// length of the shortest. Throws UsageError for a trace without mini-batches.
[[nodiscard]] gnn::RowLists lists_of_trace(const gnn::Trace& trace, int lists, int window);

// A gather over such a trace; its `rows` are not known before it is sampled.
struct SampledPoint {
  GatherPoint gather;
  graph::GraphSpec spec;
  TraceKey trace;
};
// Of a graph with `vertices` vertices: the table has a row for each, unless it is the file `own`, and `rows`
// are the most that the seeds of a mini-batch can reach.
[[nodiscard]] SampledPoint sampled_point(GatherPoint gather, const graph::GraphSpec& spec,
                                         const TraceKey& trace, std::uint64_t vertices,
                                         const gnn::NpyFile* own);

}  // namespace grainscope::harness

#endif
