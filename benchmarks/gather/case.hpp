#ifndef GRAINSCOPE_BENCHMARKS_GATHER_CASE_HPP
#define GRAINSCOPE_BENCHMARKS_GATHER_CASE_HPP

// A gather as a case: what is asked of which table, its name, what it needs, and its measurement.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "claim_cache.hpp"
#include "grainscope/cuda/hint.hpp"
#include "grainscope/gnn/features.hpp"
#include "grainscope/gnn/gather.hpp"
#include "grainscope/gnn/sampling.hpp"
#include "grainscope/gnn/table.hpp"
#include "grainscope/graph/generate.hpp"
#include "harness/benchmark.hpp"

namespace grainscope::harness {

// One gather: what is asked of which table, and how.
struct GatherPoint {
  gnn::Mode mode = gnn::Mode::masked;
  gnn::Store store = gnn::Store::mapped;
  std::uint32_t row_bytes = 128;
  std::uint64_t rows = 1 << 20;  // of a mini-batch
  std::uint64_t span_bytes = 0;  // of the table
  gnn::Indices indices = gnn::Indices::uniform;
  std::uint32_t element = 4;  // bytes: float32 or float16
  std::uint32_t width = 4;    // bytes of a load, of kernels
  int window = 1;             // mini-batches that are gathered together, of address_ordered
  cuda::MemoryKind memory = cuda::MemoryKind::host_alloc;  // of the rows on the host
  cuda::Hint hint = cuda::Hint::none;                      // of a managed table
  int hot = 0;         // percent of the rows that are on GPUs: tiered, multi_gpu
  int replicated = 0;  // percent that each of several GPUs has, before those: multi_gpu
  int gpus = 1;        // that share the hot rows: multi_gpu
  int neighbours = 0;  // GPUs that gather a share each over their own links: kernels, mapped

  [[nodiscard]] std::uint64_t asked_rows() const { return rows * static_cast<std::uint64_t>(window); }
  [[nodiscard]] std::uint64_t asked_bytes() const { return asked_rows() * row_bytes; }
  friend bool operator==(const GatherPoint&, const GatherPoint&) = default;
};

// Where a point is measured.
struct GatherSite {
  int node = 0;
  std::optional<GpuTarget> gpu;      // absent: the CPU alone
  std::vector<int> gpus;             // that share the hot rows of a multi_gpu store, the reading one first
  std::vector<int> neighbours = {};  // that gather for the reading one; fewer where the machine has fewer

  [[nodiscard]] int ordinal() const { return gpu ? gpu->ordinal : -1; }
};

// Lists that samples take turns with, of which each asks the host for `places` rows: at least four, and of
// short ones so many that the others together ask for more places than translations of addresses are kept of
// (some 10 000 pieces of 64 KiB on an H200), for a new mini-batch does not find its own there.
[[nodiscard]] int gather_lists(std::uint64_t places);

[[nodiscard]] Case gather_id(const GatherPoint& point, const GatherSite& site);
// The axes of what is asked for, without mode, store and site: of measured and of modelled gathers.
[[nodiscard]] std::vector<Axis> gather_axes(const GatherPoint& point);

[[nodiscard]] gnn::StoreRequest store_request(const GatherPoint& point, const GatherSite& site);
[[nodiscard]] Needs gather_needs(const GatherPoint& point, const GatherSite& site);

// Whether some of its rows are on GPUs, and the others on the host.
[[nodiscard]] constexpr bool has_hot_rows(gnn::Store store) {
  return store == gnn::Store::tiered || store == gnn::Store::multi_gpu;
}

// Whether its rows on the host lie in memory of a SpanCache, and in which.
[[nodiscard]] bool shares_memory(const GatherPoint& point);
[[nodiscard]] SpanKey span_key(const GatherPoint& point, const GatherSite& site);

// How many threads gather, bound as the calling one is.
[[nodiscard]] int gathering_threads();

// The axis `gpus`, and what its name `all` means of GPUs that share: at least two.
[[nodiscard]] DeclaredAxis sharing_axis();
[[nodiscard]] NamedNumbers sharing_names(const std::vector<int>& gpus);
// Those of `sharing` that gather for the first of them, whose memory they reach.
[[nodiscard]] std::vector<int> gpus_that_help(const Machine& machine, const GatherPoint& point,
                                              const std::vector<int>& sharing);
// Those of `sharing` that have rows of a point.
[[nodiscard]] std::vector<int> gpus_with_rows(const GatherPoint& point, std::vector<int> sharing);

// Why a point's table cannot be there, or the GPU not have its mode; empty: nothing is known against it.
[[nodiscard]] std::string why_no_store(const Machine& machine, const GatherPoint& point,
                                       const GatherSite& site);

inline constexpr int kLargestShare = 75;  // percent of what can be taken, unless --max-bytes asks for more
// Of host memory that cases share, as much as is free at the moment.
[[nodiscard]] std::uint64_t most_by_default(const Machine& machine);
// Why so much of it cannot fit at the moment, in any case; whether the rest does is seen chunk by chunk: on
// some virtual machines memory grows as it is touched.
[[nodiscard]] std::string why_too_much(const Machine& machine, const Scope& scope, std::uint64_t bytes);

// What links and CPUs allow, and the measured peak: of a measurement whose link_bytes are known.
void add_limits(const Session& session, const GatherSite& site, Measurement& measurement);
// Different rows of a sample: of the list in the middle by those on the host, as the time is of the sample in
// the middle; of an even number of lists the lower. Where several GPUs gather, of each one's share.
[[nodiscard]] gnn::UniqueRows median_unique(const gnn::RowLists& lists, const gnn::TableShape& table,
                                            std::size_t gpus = 1);
// Those rows as counters, with rates.
void add_unique(const GatherPoint& point, const gnn::UniqueRows& unique, Measurement& measurement);

// So many lists of rows, given how many rows the table has.
using ListsOf = std::function<gnn::RowLists(std::uint32_t table_rows, int lists)>;
// Those that a point draws by its law; as many as gather_lists says where all rows are on the host.
[[nodiscard]] gnn::RowLists drawn_lists(const GatherPoint& point, std::uint32_t table_rows, int lists);
[[nodiscard]] gnn::RowLists drawn_lists(const GatherPoint& point, std::uint32_t table_rows);
// As many as gather_lists says. Which rows a sampled mini-batch has, and how many of these are not hot, is
// seen once some are there.
[[nodiscard]] gnn::RowLists lists_in_turn(const GatherPoint& point, const gnn::TableShape& table,
                                          const ListsOf& lists_of);
// The most that these can be.
[[nodiscard]] int most_lists(const GatherPoint& point);

// `cache` is looked at where there is a claim: where the point shares memory. Throws as make_feature_store
// and make_gather.
[[nodiscard]] Measurement measure_gather(Session& session, const GatherPoint& point, const GatherSite& site,
                                         const ListsOf& lists_of, SpanCache& cache, SpanCache::Claim* claim);

// The same of a store that is there, over `host`, if any.
[[nodiscard]] Measurement measure_store(Session& session, const GatherPoint& point, const GatherSite& site,
                                        const gnn::RowLists& lists, gnn::FeatureStore& store,
                                        const reach::SpanMemory* host = nullptr);

// Rows that sampled mini-batches ask for: the same trace for all modes.

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

// Samples an epoch's mini-batches, from the vertices that `labels` says, or a tenth. Rows are numbered by how
// often another epoch asked for them, most often first, and where that is the same by degree: the presampled
// order. Throws as make_graph, and UsageError where a table of features, `own`, has not as many rows as the
// graph has vertices.
[[nodiscard]] std::unique_ptr<SampledTrace> make_trace(const graph::GraphSpec& spec, const TraceKey& key,
                                                       const std::string& cache_dir,
                                                       const std::shared_ptr<const gnn::OwnLabels>& labels,
                                                       const gnn::NpyFile* own = nullptr);

// `lists` windows of mini-batches, one behind another and from the first again at the end; all cut to the
// length of the shortest. Throws SkipError for a trace that would stand in a window more than once, and
// UsageError for one without mini-batches.
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
