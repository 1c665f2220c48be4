#ifndef GRAINSCOPE_BENCHMARKS_GATHER_OWN_HPP
#define GRAINSCOPE_BENCHMARKS_GATHER_OWN_HPP

// Gathers from a feature table of one's own, a file: rows that sampled mini-batches of its graph ask for.

#include <memory>

#include "claim_cache.hpp"
#include "gather_case.hpp"
#include "gather_sampled.hpp"
#include "grainscope/gnn/features.hpp"
#include "grainscope/gnn/training.hpp"

namespace grainscope::harness {

// The file's rows, page-locked on a node in the order of a trace.
struct OwnTable {
  gnn::Features features;
  std::unique_ptr<gnn::FeatureTable> table;
};
struct OwnTableKey {
  TraceKey trace;
  int node = 0;
  friend bool operator==(const OwnTableKey&, const OwnTableKey&) = default;
};
using OwnTableCache = ClaimCache<OwnTableKey, OwnTable>;

[[nodiscard]] FeatureFacts facts_of(const gnn::NpyFile& own);

// Why a case cannot be, and what it needs; a file that is only mapped needs no memory.
[[nodiscard]] std::string why_no_own_store(const Machine& machine, const GatherPoint& point,
                                           const GatherSite& site);
[[nodiscard]] Needs own_gather_needs(const SampledPoint& sampled, const GatherSite& site);

// The CPU gathers from the mapped file, where rows stand as they do there; all others from a page-locked copy
// whose first rows are those asked for most. Throws as measure_gather and make_pinned_table.
[[nodiscard]] Measurement measure_own_gather(Session& session, const SampledPoint& sampled,
                                             const GatherSite& site, const SampledTrace& trace,
                                             const std::shared_ptr<const gnn::NpyFile>& own,
                                             OwnTableCache& tables, OwnTableCache::Claim* claim);

}  // namespace grainscope::harness

#endif
