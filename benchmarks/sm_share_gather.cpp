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
constexpr std::uint64_t kRows = 64 * kKiB;
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

Measurement measure(Session& session, const SharePoint& point, const GatherSite& site,
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

class Points {
 public:
  explicit Points(const Scope& scope) : span_(span_of(scope)) {
    if (!scope.in_range(span_)) {
      return;
    }
    switch (scope.preset) {
      case Preset::smoke:
        add_sms(ShareBy::green_context, {8}, {16});
        add_percent(ShareBy::mps_percentage, {10}, {16});
        break;
      case Preset::acceptance:
        add_sms(ShareBy::green_context, {8}, {16});
        break;
      case Preset::quick:
        add_sms(ShareBy::green_context, {8, 16, 32}, {4, 16});
        add_sms(ShareBy::grid_cap, {8}, {16});
        add_percent(ShareBy::unlimited, {100}, {4, 16});
        add_percent(ShareBy::mps_percentage, {10}, {16});
        add_sms(ShareBy::exec_affinity, {8}, {16});
        break;
      case Preset::full:
        add_full();
        break;
      case Preset::paper:
        add_all();
    }
  }
  std::vector<SharePoint> take() { return std::move(points_); }

 private:
  static std::uint64_t span_of(const Scope& scope) {
    return scope.preset == Preset::smoke ? 64 * kMiB : scope.preset == Preset::quick ? 256 * kMiB : kGiB;
  }

  // Clients of MPS take a second to start: fewer shares of theirs.
  void add_full() {
    add_in_this_process();
    add_percent(ShareBy::mps_percentage, {2.5, 5, 10, 25, 50, 100}, {4, 16});
    add_percent(ShareBy::mps_percentage, {10}, {8});
    add_sms(ShareBy::exec_affinity, {4, 16, 64}, {4, 8, 16});
  }

  void add_in_this_process() {
    const std::vector<std::uint32_t> widths{4, 8, 16};
    const std::vector<int> sms{2, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96};
    add_sms(ShareBy::green_context, sms, widths);
    add_sms(ShareBy::grid_cap, sms, {4, 16});
    add_sms(ShareBy::grid_cap, {8, 16, 32}, {8});
    add_percent(ShareBy::unlimited, {100}, widths);
  }

  void add_all() {
    add_in_this_process();
    const std::vector<std::uint32_t> widths{4, 8, 16};
    const std::vector<double> percents{2.5, 5, 7.5, 10, 15, 20, 25, 50, 100};
    add_percent(ShareBy::mps_percentage, percents, widths);
    add_sms(ShareBy::exec_affinity, {2, 4, 8, 16, 32, 64}, widths);
  }

  void add_sms(ShareBy by, const std::vector<int>& sms, const std::vector<std::uint32_t>& widths) {
    for (const std::uint32_t width : widths) {
      for (const int each : sms) {
        points_.push_back(share_point(by, width, kRows, span_));
        points_.back().sms = each;
      }
    }
  }
  void add_percent(ShareBy by, const std::vector<double>& percents,
                   const std::vector<std::uint32_t>& widths) {
    for (const std::uint32_t width : widths) {
      for (const double percent : percents) {
        points_.push_back(share_point(by, width, kRows, span_));
        points_.back().percent = percent;
      }
    }
  }

  std::uint64_t span_;
  std::vector<SharePoint> points_;
};

std::vector<Benchmark> list(const Machine& machine, const Scope& scope, const Spans& spans) {
  return list_shares(kFamily, machine, scope, Points(scope).take(), explain, measure, false, spans);
}

}  // namespace

Family sm_share_gather(const Spans& spans) {
  return {kFamily, "How much of the link does a gather fill from a few of a GPU's multiprocessors?",
          [spans](const Machine& machine, const Scope& scope) { return list(machine, scope, spans); }};
}

}  // namespace grainscope::harness
