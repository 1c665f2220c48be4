// sm_share/split: how are a GPU's multiprocessors best divided between a gather and what it feeds?
//
// The producer gathers rows of a KiB from mapped host memory; the consumer multiplies float32 matrices, so
// often that alone, with all of the GPU, it takes as long as the gather does alone: the hardest case to
// overlap. A sample is one of each at once, a mini-batch of a pipeline whose stages overlap. Timed: from the
// opening of the gate, one for both, to the end of the later; of two processes (MPS) on the steady clock,
// between two gates that open at one moment of it, else by events. Bytes: those of the gather. `alone_s` of
// each lane is its time on the whole GPU. Source: dissertation section 3.3.2 and figure 3.12: shares of 2.5
// to 50 percent for the producer. Limits: products stand for a training step: they are bound by arithmetic,
// and hardly touch memory. `unlimited` parts nothing: both find what they find.

#include <algorithm>
#include <cmath>
#include <utility>

#include "families.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/system/numa.hpp"
#include "share_worker.hpp"
#include "sm_share_case.hpp"

namespace grainscope::harness {
namespace {

using cuda::ShareBy;

const char* const kFamily = "sm_share/split";
constexpr std::uint64_t kRows = 128 * kKiB;
constexpr std::uint32_t kWidth = 16;
constexpr int kMostProducts = 4096;

// Each side with all of the GPU to itself.
struct Alone {
  double gather_s = 0;
  double products_s = 0;
  int products = 1;
};

double median_alone_s(gnn::ShareClock& clock, gnn::ShareWork& work) {
  constexpr std::size_t kRuns = 9;
  std::vector<double> seconds;
  seconds.reserve(kRuns);
  static_cast<void>(clock.alone(work));
  while (seconds.size() < kRuns) {
    seconds.push_back(clock.alone(work));
  }
  static_cast<void>(work.verify());
  return summarize(seconds).median;
}

Alone measure_alone(int gpu, const GatherSide& side, int available) {
  const auto whole = cuda::make_partition(gpu, ShareBy::unlimited, available);
  gnn::ShareClock clock(gpu);
  Alone alone;
  alone.gather_s = median_alone_s(clock, *side.on(*whole));
  const double one_s = median_alone_s(clock, *gnn::make_product_work(gpu, 1, *whole));
  alone.products =
      static_cast<int>(std::clamp(std::round(alone.gather_s / one_s), 1.0, double{kMostProducts}));
  alone.products_s = median_alone_s(clock, *gnn::make_product_work(gpu, alone.products, *whole));
  return alone;
}

// What a sample of both says, gathered over a session.
class Recorder {
 public:
  double add(double seconds, double gather_s, double products_s) {
    seconds_.push_back(seconds);
    gather_s_.push_back(gather_s);
    products_s_.push_back(products_s);
    return seconds;
  }

  void write(const Alone& alone, const SharePoint& point, const GatherSite& site, Measurement& measurement) {
    const std::string gpu = "gpu:" + std::to_string(site.gpu->ordinal);
    const std::size_t drawn = measurement.samples.seconds.size();
    for (auto* each : {&seconds_, &gather_s_, &products_s_}) {
      each->erase(each->begin(), each->end() - static_cast<std::ptrdiff_t>(drawn));  // warm-ups
    }
    std::vector<double> overlaps;
    overlaps.reserve(drawn);
    for (std::size_t i = 0; i < drawn; ++i) {
      const double both_s = gather_s_[i] + products_s_[i] - seconds_[i];
      overlaps.push_back(std::clamp(both_s / seconds_[i], 0.0, 1.0));
    }
    measurement.overlap = summarize(overlaps).median;
    const double gather_s = summarize(gather_s_).median;
    const double products_s = summarize(products_s_).median;
    measurement.lanes = {{"gather", "host:" + std::to_string(site.node), gpu, point.gather.asked_bytes(),
                          std::move(gather_s_), false, alone.gather_s},
                         {"compute", gpu, gpu, 0, std::move(products_s_), false, alone.products_s}};
    const double sum_s = alone.gather_s + alone.products_s;
    const double slowest_s = std::max(alone.gather_s, alone.products_s);
    auto& counters = measurement.counters;
    counters["gather_slowdown"] = gather_s / alone.gather_s;
    counters["compute_slowdown"] = products_s / alone.products_s;
    counters["products"] = alone.products;
    counters["pipeline_overlap"] = (sum_s - measurement.samples.summary.median) / (sum_s - slowest_s);
  }

 private:
  std::vector<double> seconds_;
  std::vector<double> gather_s_;
  std::vector<double> products_s_;
};

Measurement measure_here(Session& session, const SharePoint& point, const GatherSite& site,
                         const GatherSide& side) {
  const int gpu = site.gpu->ordinal;
  const int available = available_sms(session, site);
  const Alone alone = measure_alone(gpu, side, available);
  const cuda::SmSplit split = cuda::split_multiprocessors(gpu, point.by, point.sms_of(available));
  const auto gather = side.on(*split.part);
  const auto products = gnn::make_product_work(gpu, alone.products, *split.rest);
  gnn::ShareClock clock(gpu);

  Measurement measurement;
  Recorder recorder;
  const auto one_sample = [&] {
    const gnn::ShareClock::Together times = clock.together(*gather, *products);
    return recorder.add(times.seconds, times.first, times.second);
  };
  measurement.samples = session.sample(one_sample, gpu, measurement);
  measurement.verification = gather->verify() + "; " + products->verify();
  measurement.timing = {Clock::event, true,
                        "a gather and products of matrices at once, until both have ended"};
  add_share(session, point, site, side.unique(), split.part->given_sms(), measurement);
  measurement.counters["rest_sms"] = split.rest->given_sms();
  recorder.write(alone, point, site, measurement);
  return measurement;
}

Measurement measure_by_clients(Session& session, const SharePoint& point, const GatherSite& site,
                               const GatherSide& side, const MpsDaemon& daemon) {
  const int available = available_sms(session, site);
  const Alone alone = measure_alone(site.gpu->ordinal, side, available);
  ShareWorker gather(gather_job(point, site, available), daemon.client_variables());
  require_share(point, gather, available);
  ShareWorker products(product_job(point, site, available, alone.products), daemon.client_variables());

  Measurement measurement;
  Recorder recorder;
  const auto one_sample = [&] {
    const SidesTimes times = run_together(gather, products);
    return recorder.add(times.seconds, times.first.seconds, times.second.seconds);
  };
  measurement.samples = session.sample(one_sample, site.gpu->ordinal, measurement);
  measurement.verification = gather.verify() + "; " + products.verify();
  measurement.timing = {Clock::steady, true,
                        "a gather and products of matrices by two processes at once, until both have ended"};
  add_share(session, point, site, side.unique(), gather.given_sms(), measurement);
  measurement.counters["rest_sms"] = products.given_sms();
  recorder.write(alone, point, site, measurement);
  return measurement;
}

Measurement measure(Session& session, const SharePoint& point, const GatherSite& site,
                    const ShareCaches& caches, const ShareClaims& claims) {
  const NodeBinding binding(session.machine().topology, site.node);
  if (!cuda::needs_mps(point.by)) {
    const GatherSide side(session, point, site, *caches.spans, *claims.span);
    return measure_here(session, point, site, side);
  }
  // The daemon first: where it does not start, nothing else need be made.
  const MpsCache::Lease daemon(*caches.daemons, *claims.daemon,
                               [&](int gpu) { return start_mps(session.machine(), gpu); });
  const GatherSide side(session, point, site, *caches.spans, *claims.span);
  return measure_by_clients(session, point, site, side, *daemon);
}

Explanation explain(const SharePoint& point) {
  return {
      std::string("a mini-batch's time, and each side's slowdown, when a gather and a computation share a "
                  "GPU by ") +
          name(point.by),
      "a gather and products of matrices at once, from the opening of the gate to the end of the later; not "
      "overwriting outputs and cache before, nor checking after",
      "bytes = rows * row; as many products as take the time of the gather, each alone on the whole GPU; "
      "slowdown = time / time alone on the whole GPU",
      "dissertation section 3.3.2, figure 3.12",
      "products stand for a training step: arithmetic, hardly any memory"};
}

std::vector<SharePoint> points_of(const Scope& scope) {
  const std::uint64_t span = scope.dense() ? kGiB : scope.preset == Preset::smoke ? 64 * kMiB : 256 * kMiB;
  std::vector<SharePoint> points;
  const auto add = [&](ShareBy by, const std::vector<double>& percents) {
    for (const double percent : percents) {
      points.push_back(share_point(by, kWidth, kRows, span));
      points.back().percent = percent;
    }
  };
  if (!scope.in_range(span)) {
    return points;
  }
  if (scope.dense()) {
    const std::vector<double> percents{2.5, 5, 7.5, 10, 15, 20, 25, 30, 40, 50};
    for (const ShareBy by :
         {ShareBy::grid_cap, ShareBy::green_context, ShareBy::mps_percentage, ShareBy::exec_affinity}) {
      add(by, percents);
    }
    add(ShareBy::unlimited, {100});
  } else if (scope.preset == Preset::quick) {
    add(ShareBy::unlimited, {100});
    add(ShareBy::grid_cap, {10});
    add(ShareBy::green_context, {5, 10, 25});
    add(ShareBy::mps_percentage, {10});
  } else {
    add(ShareBy::green_context, {10});
  }
  return points;
}

std::vector<Benchmark> list(const Machine& machine, const Scope& scope) {
  return list_shares(kFamily, machine, scope, points_of(scope), explain, measure, true);
}

}  // namespace

Family sm_share_split() {
  return {kFamily, "How are a GPU's multiprocessors best divided between a gather and what it feeds?", list};
}

}  // namespace grainscope::harness
