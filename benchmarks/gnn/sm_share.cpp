// The families of shared multiprocessors: sm_share/gather and sm_share/split. Each part opens with its
// question.

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "families.hpp"
#include "gnn/share_worker.hpp"
#include "gnn/sm_share_case.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/system/numa.hpp"

namespace grainscope::harness {
namespace {

// sm_share/gather

constexpr About kAboutSmShareGather{
    .question = "How much of the link does a gather fill from a few of a GPU's multiprocessors?",
    .measures =
        "A network that trains wants the multiprocessors; a gather of its features wants the link, for which "
        "few of them are enough. The share is asked for in multiprocessors, or in percent of them, in one of "
        "four ways (docs/sm-shares.md), and read back: `given_sms` is the driver's answer, `seen_sms` those "
        "on which blocks said that they were",
    .timed =
        "one gather of rows of a KiB, at random in mapped host memory, between two events behind a closed "
        "gate. Not timed: overwriting output and L2 cache before, checking every byte after",
    .formula = "bytes = rows * row",
    .source = "dissertation section 3.3.2, figures 3.12 and 3.13",
    .limits =
        "nothing else runs on the GPU; sm_share/split has a computation beside it. With MPS the table lies "
        "in a process of its own. A grid cap bounds blocks, not multiprocessors",
};

using cuda::ShareBy;

const char* const kGatherFamily = "sm_share/gather";
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
  require_client(point.sms_of(available), worker.given_sms(), worker.seen_sms(), available);

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

Measurement measure_share_gather(Session& session, const SharePoint& point, const GatherSite& site,
                                 const ShareCaches& caches, const ShareClaims& claims) {
  Measurement measurement = cuda::needs_mps(point.by)
                                ? measure_by_client(session, point, site, caches, claims)
                                : measure_here(session, point, site, caches, claims);
  measurement.timing = {Clock::event, true, kTimed};
  return measurement;
}

Explanation explain_gather(const SharePoint& point) {
  return {.measures =
              std::string("how much of the link a gather fills from a share of the multiprocessors, by ") +
              name(point.by)};
}

}  // namespace

Family sm_share_gather(const Spans& spans) {
  return {kGatherFamily, kAboutSmShareGather, share_axes("16", "65536"),
          [spans](const Machine& machine, const Scope& scope, const Grids& grids) {
            return list_shares(kGatherFamily, machine, scope, grids, explain_gather, measure_share_gather,
                               false, spans);
          }};
}

namespace {

// sm_share/split

constexpr About kAboutSmShareSplit{
    .question = "How are a GPU's multiprocessors best divided between a gather and what it feeds?",
    .measures =
        "The producer gathers rows of a KiB from mapped host memory. The consumer multiplies float32 "
        "matrices, or (`consumer:graphsage`) trains on a mini-batch that lies in the GPU's memory. It does "
        "so as often as takes the gather's time, each alone with all of the GPU: the hardest case to "
        "overlap. A sample is one of each at once, a mini-batch of a pipeline whose stages overlap",
    .timed =
        "from the opening of the gate, one for both, to the end of the later; of two processes (MPS) on the "
        "steady clock, between two gates that open at one moment of it, else by events",
    .formula = "bytes: those of the gather. `alone_s` of each lane is its time on the whole GPU",
    .source = "dissertation section 3.3.2 and figure 3.12: shares of 2.5 to 50 percent for the producer",
    .limits =
        "products are bound by arithmetic, and hardly touch memory; steps see one mini-batch again and again "
        "(pipeline/graphsage trains). `unlimited` parts nothing: both find what they find",
};

const char* const kSplitFamily = "sm_share/split";

// Each side with all of the GPU to itself.
struct Alone {
  double gather_s = 0;
  double compute_s = 0;
  int count = 1;  // of products or steps
};

// What a case works with.
struct Sides {
  const GatherSide& gather;
  const gnn::FixedBatch* batch;  // of training steps
  std::map<std::string, int>& counts;
};

Summary alone_s(gnn::ShareWork& work) {
  constexpr std::size_t kRuns = 9;
  gnn::SharedRun alone({&work});
  std::vector<double> seconds;
  seconds.reserve(kRuns);
  static_cast<void>(sample(alone));
  while (seconds.size() < kRuns) {
    seconds.push_back(sample(alone));
  }
  static_cast<void>(alone.verify());
  return summarize(seconds);
}

// Names what cases with other shares do, too.
std::string work_of(const SharePoint& point, int gpu) {
  return std::to_string(gpu) + " " + spoken(point.consumer) + " " + name(point.gather.mode) + " " +
         std::to_string(point.gather.width) + " " + std::to_string(point.gather.asked_bytes()) + " " +
         std::to_string(point.gather.span_bytes);
}

Alone measure_alone(const SharePoint& point, int gpu, const Sides& sides, int available) {
  const auto whole = cuda::make_partition(gpu, ShareBy::unlimited, available);
  const auto compute = [&](int count) {
    return alone_s(*make_consumer(point.consumer, gpu, count, sides.batch, *whole));
  };
  const Summary gather = alone_s(*sides.gather.on(*whole));
  const std::string work = work_of(point, gpu);
  if (!sides.counts.contains(work)) {
    // By the shortest of each: what else runs makes some longer.
    const double each = std::round(gather.min / compute(1).min);
    sides.counts[work] =
        static_cast<int>(std::clamp(each, 1.0, static_cast<double>(most_of(point.consumer))));
  }
  const int count = sides.counts.at(work);
  return {gather.median, compute(count).median, count};
}

// Of what was measured before the samples and after them: what else runs makes either longer.
Alone lower_of(const Alone& before, const Alone& after) {
  return {std::min(before.gather_s, after.gather_s), std::min(before.compute_s, after.compute_s),
          before.count};
}

// What a sample of both says, gathered over a session.
class Recorder {
 public:
  double add(double seconds, double gather_s, double compute_s) {
    seconds_.push_back(seconds);
    gather_s_.push_back(gather_s);
    compute_s_.push_back(compute_s);
    return seconds;
  }

  void write(const Alone& alone, const SharePoint& point, const GatherSite& site, Measurement& measurement) {
    const std::string gpu = "gpu:" + std::to_string(site.gpu->ordinal);
    const std::size_t drawn = measurement.samples.seconds.size();
    for (auto* each : {&seconds_, &gather_s_, &compute_s_}) {
      measurement.samples.keep_sampled(*each);
    }
    std::vector<double> overlaps;
    overlaps.reserve(drawn);
    for (std::size_t i = 0; i < drawn; ++i) {
      const double both_s = gather_s_[i] + compute_s_[i] - seconds_[i];
      overlaps.push_back(std::clamp(both_s / seconds_[i], 0.0, 1.0));
    }
    measurement.overlap = summarize(overlaps).median;
    const double gather_s = summarize(gather_s_).median;
    const double compute_s = summarize(compute_s_).median;
    measurement.lanes = {{"gather", "host:" + std::to_string(site.node), gpu, point.gather.asked_bytes(),
                          std::move(gather_s_), false, alone.gather_s},
                         {"compute", gpu, gpu, 0, std::move(compute_s_), false, alone.compute_s}};
    const double sum_s = alone.gather_s + alone.compute_s;
    const double slowest_s = std::max(alone.gather_s, alone.compute_s);
    auto& counters = measurement.counters;
    counters["gather_slowdown"] = gather_s / alone.gather_s;
    counters["compute_slowdown"] = compute_s / alone.compute_s;
    counters[point.consumer == Consumer::products ? "products" : "steps"] = alone.count;
    counters["pipeline_overlap"] =
        std::min(1.0, (sum_s - measurement.samples.summary.median) / (sum_s - slowest_s));
  }

 private:
  std::vector<double> seconds_;
  std::vector<double> gather_s_;
  std::vector<double> compute_s_;
};

// What runs at once: a gather, and `count` products or steps.
struct Both {
  Session& session;
  const SharePoint& point;
  const GatherSite& site;
  const Sides& sides;
  int available;
  int count;
};

// A session of both; what they hold is let go.
Measurement sample_here(const Both& both, Recorder& recorder) {
  const auto& [session, point, site, sides, available, count] = both;
  const int gpu = site.gpu->ordinal;
  const cuda::SmSplit split = cuda::split_multiprocessors(gpu, point.by, point.sms_of(available));
  const auto gather = sides.gather.on(*split.part);
  const auto consumer = make_consumer(point.consumer, gpu, count, sides.batch, *split.rest);
  gnn::SharedRun together({gather.get(), consumer.get()});
  const auto run = [&] {
    const double seconds = together.run();
    return recorder.add(seconds, together.seconds()[0], together.seconds()[1]);
  };
  LocalOperation recorded(
      {.prepare = [&] { together.prepare(); },
       .run = run,
       .verify = [&] { return together.verify(); },
       .timing = {Clock::event, true,
                  std::string("a gather and ") + spoken(point.consumer) + " at once, until both have ended"},
       .around_s = [&](double run_s) { return together.around_s(run_s); }});
  Measurement measurement = harness::measure(session, recorded, {.gpu = gpu});
  add_share(session, point, site, sides.gather.unique(), split.part->given_sms(), measurement);
  measurement.counters["rest_sms"] = split.rest->given_sms();
  return measurement;
}

// The same by two processes, which end.
Measurement sample_clients(const Both& both, const MpsDaemon& daemon, Recorder& recorder) {
  const auto& [session, point, site, sides, available, count] = both;
  ShareWorker gather(gather_job(point, site, available), daemon.client_variables());
  require_client(point.sms_of(available), gather.given_sms(), gather.seen_sms(), available);
  ShareWorker consumer(consumer_job(point, site, available, count), daemon.client_variables());

  const auto run = [&] {
    const SidesTimes times = run_together(gather, consumer);
    return recorder.add(times.seconds, times.first.seconds, times.second.seconds);
  };
  LocalOperation recorded({.run = run,
                           .verify = [&] { return gather.verify() + "; " + consumer.verify(); },
                           .timing = {Clock::steady, true,
                                      std::string("a gather and ") + spoken(point.consumer) +
                                          " by two processes at once, until both have ended"}});
  Measurement measurement = harness::measure(session, recorded, {.gpu = site.gpu->ordinal});
  add_share(session, point, site, sides.gather.unique(), gather.given_sms(), measurement);
  measurement.counters["rest_sms"] = consumer.given_sms();
  return measurement;
}

// `sample(both, recorder)`, and each side alone before it and after it.
template <class Sample>
Measurement measure_both(Session& session, const SharePoint& point, const GatherSite& site,
                         const Sides& sides, const Sample& sample) {
  const int available = available_sms(session, site);
  const Alone before = measure_alone(point, site.gpu->ordinal, sides, available);
  Recorder recorder;
  Measurement measurement = sample({session, point, site, sides, available, before.count}, recorder);
  const Alone after = measure_alone(point, site.gpu->ordinal, sides, available);
  recorder.write(lower_of(before, after), point, site, measurement);
  return measurement;
}

Measurement measure_share_split(Session& session, const SharePoint& point, const GatherSite& site,
                                const ShareCaches& caches, const ShareClaims& claims) {
  const NodeBinding binding(session.machine().topology, site.node);
  std::optional<FixedBatchCache::Lease> batch;
  if (claims.batch) {
    batch.emplace(*caches.batches, *claims.batch, [](int) { return make_share_batch(); });
  }
  const gnn::FixedBatch* const fixed = batch ? &**batch : nullptr;
  if (!cuda::needs_mps(point.by)) {
    const GatherSide side(session, point, site, *caches.spans, *claims.span);
    return measure_both(session, point, site, {side, fixed, *caches.counts}, sample_here);
  }
  // The daemon first: where it does not start, nothing large need be made.
  const MpsCache::Lease daemon(*caches.daemons, *claims.daemon,
                               [&](int gpu) { return start_mps(session.machine(), gpu); });
  const GatherSide side(session, point, site, *caches.spans, *claims.span);
  return measure_both(
      session, point, site, {side, fixed, *caches.counts},
      [&](const Both& both, Recorder& recorder) { return sample_clients(both, *daemon, recorder); });
}

Explanation explain_split(const SharePoint& point) {
  return {
      .measures =
          std::string(
              "a mini-batch's time, and each side's slowdown, when a gather and a computation share a "
              "GPU by ") +
          name(point.by),
      .timed =
          std::string("a gather and ") + spoken(point.consumer) +
          " at once, from the opening of the gate to the end of the later; not overwriting outputs and cache "
          "before, nor checking after",
      .formula =
          std::string("bytes = rows * row; as many ") +
          (point.consumer == Consumer::products ? "products" : "steps, up to 16,") +
          " as take the time of the gather, each alone on the whole GPU; slowdown = time / time alone on the "
          "whole GPU",
      .limits = point.consumer == Consumer::products
                    ? "products stand for a training step: arithmetic, hardly any memory"
                    : "steps train on one mini-batch again and again; a grid cap binds the gather alone"};
}

}  // namespace

Family sm_share_split(const Spans& spans) {
  std::vector<DeclaredAxis> axes = share_axes("16", "131072");
  axes.push_back(word_axis("consumer", "what is computed beside the gather",
                           names_of(kConsumers, [](Consumer each) { return name(each); }),
                           name(Consumer::products)));
  return {kSplitFamily, kAboutSmShareSplit, std::move(axes),
          [spans](const Machine& machine, const Scope& scope, const Grids& grids) {
            return list_shares(kSplitFamily, machine, scope, grids, explain_split, measure_share_split, true,
                               spans);
          }};
}

}  // namespace grainscope::harness
