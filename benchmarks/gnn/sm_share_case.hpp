#ifndef GRAINSCOPE_BENCHMARKS_GNN_SM_SHARE_CASE_HPP
#define GRAINSCOPE_BENCHMARKS_GNN_SM_SHARE_CASE_HPP

// What the families of shared GPUs have in common: a gather on a share of the multiprocessors, as a case.

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "claim_cache.hpp"
#include "families.hpp"
#include "gather/case.hpp"
#include "gnn/share_worker.hpp"
#include "grainscope/cuda/sm_partition.hpp"
#include "grainscope/gnn/share_work.hpp"
#include "grainscope/system/mps.hpp"
#include "harness/benchmark.hpp"

namespace grainscope::harness {

// A share as it is asked for, in multiprocessors or in percent of them, and the gather that has it.
struct SharePoint {
  cuda::ShareBy by = cuda::ShareBy::green_context;
  int sms = 0;                             // 0: `percent` says it
  double percent = 0;                      // of the GPU's multiprocessors
  GatherPoint gather;                      // masked or bulk, of rows that are mapped
  Consumer consumer = Consumer::products;  // of a split

  // Of a GPU's `available`: at least one, and no fewer than the percentage.
  [[nodiscard]] int sms_of(int available) const;
};

// The axes of all families of shares; `width` and `rows`: where nobody says them.
[[nodiscard]] std::vector<DeclaredAxis> share_axes(const std::string& width, const std::string& rows);

[[nodiscard]] Case share_case(const std::string& family, const SharePoint& point, const GatherSite& site);
// "2.5", "10".
[[nodiscard]] std::string percent_text(double percent);

// Why it cannot be here; empty: nothing is known against it.
[[nodiscard]] std::string why_no_share(const Machine& machine, const SharePoint& point,
                                       const GatherSite& site);

// A GPU's multiprocessors as the machine's report tells them.
[[nodiscard]] int available_sms(const Session& session, const GatherSite& site);

// One daemon for the cases that need it, by GPU.
using MpsCache = ClaimCache<int, MpsDaemon>;
[[nodiscard]] std::unique_ptr<MpsDaemon> start_mps(const Machine& machine, int gpu);

// What the cases of a family share.
struct ShareCaches {
  Spans spans;
  std::shared_ptr<MpsCache> daemons = std::make_shared<MpsCache>();
  std::shared_ptr<FixedBatchCache> batches = std::make_shared<FixedBatchCache>();
  // How many products or steps take the time of a gather, by GPU, consumer and gather: cases that differ in
  // shares alone do the same work.
  std::shared_ptr<std::map<std::string, int>> counts = std::make_shared<std::map<std::string, int>>();
};
// Claims of a case that runs; null where it needs none.
struct ShareClaims {
  std::shared_ptr<SpanCache::Claim> span;
  std::shared_ptr<MpsCache::Claim> daemon;
  std::shared_ptr<FixedBatchCache::Claim> batch;
};

// Of a benchmark that is not skipped: what it needs, and its claims. `here_too`: this process gathers beside
// the clients of MPS.
[[nodiscard]] ShareClaims claim_share(Benchmark& benchmark, const SharePoint& point, const GatherSite& site,
                                      const ShareCaches& caches, const Scope& scope, bool here_too);

// What a client of MPS does: the gather with its share of a GPU's `available` multiprocessors, and `count`
// products of matrices or training steps with the rest.
[[nodiscard]] ShareJob gather_job(const SharePoint& point, const GatherSite& site, int available);
[[nodiscard]] ShareJob consumer_job(const SharePoint& point, const GatherSite& site, int available,
                                    int count);

// Throws SkipError where the process that gathers asked for so many of a GPU's `available` multiprocessors,
// and has all by both ways to look: one that finds no daemon works without MPS, and says nothing. Asked for
// nearly all, it may have been given all: shares are rounded up, to kSmsTogether at most.
inline constexpr int kSmsTogether = 16;
void require_client(int asked, int told, int seen, int available);

// A table on the host for the gathers of this process, and the rows that they ask for.
class GatherSide {
 public:
  GatherSide(Session& session, const SharePoint& point, const GatherSite& site, SpanCache& cache,
             SpanCache::Claim& claim);
  [[nodiscard]] std::unique_ptr<gnn::ShareWork> on(const cuda::SmPartition& part) const;
  [[nodiscard]] gnn::UniqueRows unique() const { return median_unique(lists_, store_->shape()); }

 private:
  gnn::Mode mode_;
  std::uint32_t width_;
  SpanLease lease_;
  std::unique_ptr<gnn::FeatureStore> store_;
  gnn::RowLists lists_;
};

// One session of a case.
using MeasureShare =
    std::function<Measurement(Session& session, const SharePoint& point, const GatherSite& site,
                              const ShareCaches& caches, const ShareClaims& claims)>;
// The cases of a family; GPU by GPU, one consumer after another, by rising spans. `here_too`: as of
// claim_share.
[[nodiscard]] std::vector<Benchmark> list_shares(const std::string& family, const Machine& machine,
                                                 const Scope& scope, const Grids& grids,
                                                 const std::function<Explanation(const SharePoint&)>& explain,
                                                 const MeasureShare& measure, bool here_too,
                                                 const Spans& spans);

// Bytes, limits and what was asked and given, of a measurement whose samples are drawn.
void add_share(const Session& session, const SharePoint& point, const GatherSite& site,
               const gnn::UniqueRows& unique, int given_sms, Measurement& measurement);

}  // namespace grainscope::harness

#endif
