#ifndef GRAINSCOPE_BENCHMARKS_GATHER_CASE_HPP
#define GRAINSCOPE_BENCHMARKS_GATHER_CASE_HPP

// A gather as a case: its name, what it needs, and its measurement.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gather_points.hpp"
#include "grainscope/gnn/gather.hpp"
#include "harness/benchmark.hpp"
#include "span_cache.hpp"

namespace grainscope::harness {

// Where a point is measured.
struct GatherSite {
  int node = 0;
  std::optional<GpuTarget> gpu;  // absent: the CPU alone
  std::vector<int> gpus;         // that share the hot rows of a multi_gpu store, the reading one first
};

// Lists that samples take turns with, of `rows` rows each: at least four, and of short ones so many that the
// others together ask for more places than translations of addresses are kept of (some 10 000 pieces of
// 64 KiB on an H200), for a new mini-batch does not find its own there.
[[nodiscard]] int gather_lists(std::uint64_t rows);

[[nodiscard]] Case gather_id(const GatherPoint& point, const GatherSite& site);
// The axes of what is asked for, without mode, store and site: of measured and of modelled gathers.
[[nodiscard]] std::vector<Axis> gather_axes(const GatherPoint& point);

[[nodiscard]] gnn::StoreRequest store_request(const GatherPoint& point, const GatherSite& site);
[[nodiscard]] Needs gather_needs(const GatherPoint& point, const GatherSite& site);

// Whether its rows on the host lie in memory of a SpanCache, and in which.
[[nodiscard]] bool shares_memory(const GatherPoint& point);
[[nodiscard]] inline SpanKey span_key(const GatherSite& site) {
  return {reach::SpanKind::host_alloc, site.gpu ? site.gpu->ordinal : 0, site.node};
}

// How many threads gather, bound as the calling one is.
[[nodiscard]] int gathering_threads();

// GPUs whose memory `gpu` reads, itself first.
[[nodiscard]] std::vector<int> sharing_gpus(const Machine& machine, int gpu);
// Why there are no two of them.
[[nodiscard]] std::string why_no_sharing(const Machine& machine, int gpu);

// Why a point's table cannot be there; empty: nothing is known against it.
[[nodiscard]] std::string why_no_store(const Machine& machine, const Scope& scope, const GatherPoint& point,
                                       const GatherSite& site);

// What links and CPUs allow, and the measured peak: of a measurement whose link_bytes are known.
void add_limits(const Session& session, const GatherSite& site, Measurement& measurement);
// Different rows of a sample: of the list in the middle by those on the host, as the time is of the sample in
// the middle; of an even number of lists the lower.
[[nodiscard]] gnn::UniqueRows median_unique(const gnn::RowLists& lists, const gnn::TableShape& table);
// Those rows as counters, with rates.
void add_unique(const GatherPoint& point, const gnn::UniqueRows& unique, Measurement& measurement);

// The lists of rows, given how many the table has.
using ListsOf = std::function<gnn::RowLists(std::uint32_t table_rows)>;
// Those that a point draws by its law.
[[nodiscard]] gnn::RowLists drawn_lists(const GatherPoint& point, std::uint32_t table_rows);

// `cache` is looked at where there is a claim: where the point shares memory. Throws as make_feature_store
// and make_gather.
[[nodiscard]] Measurement measure_gather(Session& session, const GatherPoint& point, const GatherSite& site,
                                         const ListsOf& lists_of, SpanCache& cache, SpanCache::Claim* claim);

// The same of a store that is there.
[[nodiscard]] Measurement measure_store(Session& session, const GatherPoint& point, const GatherSite& site,
                                        const gnn::RowLists& lists, gnn::FeatureStore& store);

}  // namespace grainscope::harness

#endif
