// sm_share/gather: how much of the link does a gather fill from a few of a GPU's multiprocessors?
//
// A network that trains wants the multiprocessors; a gather of its features wants the link, for which few of
// them are enough. Timed: one masked gather of rows of a KiB, at random in mapped host memory, between two
// events behind a closed gate. Not timed: overwriting output and L2 cache before, checking every byte after.
// Bytes: rows × bytes of a row. The share is asked for in multiprocessors, or in percent of them, in one of
// four ways (docs/sm-shares.md), and read back: `given_sms` is the driver's answer, `seen_sms` those on which
// blocks said that they were. Source: dissertation section 3.3.2, figures 3.12 and 3.13. Limits: nothing else
// runs on the GPU; sm_share/split has a computation beside it. With MPS the table lies in a process of its
// own.

#include <algorithm>
#include <utility>

#include "families.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/system/numa.hpp"
#include "share_worker.hpp"
#include "sm_share_case.hpp"

namespace grainscope::harness {
namespace {

using cuda::ShareBy;

const char* const kFamily = "sm_share/gather";
constexpr const char* kTimed = "one gather between two events";

Measurement measure_here(Session& session, const SharePoint& point, const GatherSite& site,
                         const ShareCaches& caches, const ShareClaims& claims) {
  const NodeBinding binding(session.machine().topology, site.node);
  const GatherSide side(session, point, site, *caches.spans, *claims.span);
  const int gpu = site.gpu->ordinal;
  const auto part = cuda::make_partition(gpu, point.by, point.sms_of(available_sms(session, site)));
  const auto work = side.on(*part);
  gnn::SharedRun alone({work.get()});
  Measurement measurement = harness::measure(session, alone, {.gpu = gpu});
  add_share(session, point, site, side.unique(), part->given_sms(), measurement);
  // Blocks of a capped grid go wherever the GPU likes.
  measurement.counters["seen_sms"] =
      cuda::count_multiprocessors(gpu, *part, point.by == ShareBy::grid_cap ? work->blocks() : 0);
  measurement.counters["blocks"] = work->blocks();
  return measurement;
}

Measurement measure_by_client(Session& session, const SharePoint& point, const GatherSite& site,
                              const ShareCaches& caches, const ShareClaims& claims) {
  const MpsCache::Lease daemon(*caches.daemons, *claims.daemon,
                               [&](int gpu) { return start_mps(session.machine(), gpu); });
  const int available = available_sms(session, site);
  ShareWorker worker(gather_job(point, site, available), daemon->client_variables());
  require_share(point, worker, available);

  LocalOperation alone({.run = [&] { return worker.alone(); },
                        .verify = [&] { return worker.verify(); },
                        .timing = {Clock::event, true, kTimed}});
  Measurement measurement = harness::measure(session, alone, {.gpu = site.gpu->ordinal});
  const gnn::TableShape table = gnn::table_shape(store_request(point.gather, site), kGiB);
  add_share(session, point, site, median_unique(drawn_lists(point.gather, table.rows), table),
            worker.given_sms(), measurement);
  measurement.counters["seen_sms"] = worker.seen_sms();
  return measurement;
}

Measurement measure_share(Session& session, const SharePoint& point, const GatherSite& site,
                          const ShareCaches& caches, const ShareClaims& claims) {
  Measurement measurement = cuda::needs_mps(point.by)
                                ? measure_by_client(session, point, site, caches, claims)
                                : measure_here(session, point, site, caches, claims);
  measurement.timing = {Clock::event, true, kTimed};
  return measurement;
}

Explanation explain(const SharePoint& point) {
  return {
      std::string("how much of the link a gather fills from a share of the multiprocessors, by ") +
          name(point.by),
      "one masked gather between two events behind a closed gate; not overwriting output and cache before, "
      "nor checking after",
      "bytes = rows * row; given_sms is the driver's answer, seen_sms those on which blocks were",
      "dissertation section 3.3.2, figures 3.12 and 3.13",
      "nothing else runs on the GPU; a grid cap bounds blocks, not multiprocessors"};
}

}  // namespace

Family sm_share_gather(const Spans& spans) {
  return {kFamily, "How much of the link does a gather fill from a few of a GPU's multiprocessors?",
          share_axes("16", "65536"), [spans](const Machine& machine, const Scope& scope, const Grids& grids) {
            return list_shares(kFamily, machine, scope, grids, explain, measure_share, false, spans);
          }};
}

}  // namespace grainscope::harness
