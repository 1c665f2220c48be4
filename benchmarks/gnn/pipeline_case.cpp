#include "gnn/pipeline_case.hpp"

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>

#include "gnn/training_ranks.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/core/sampler.hpp"
#include "grainscope/system/numa.hpp"

namespace grainscope::harness {
namespace {

constexpr std::uint32_t kClasses = 8;
constexpr double kRate = 1;
constexpr double kLabelled = 10;  // percent
constexpr int kGatherSms = 8;
constexpr std::size_t kMostThreads = 32;

// Each process of several has its part of this one's.
std::size_t cpus_of_a_process(const PipelinePoint& point) {
  const std::size_t all = current_affinity().size();
  return point.per_gpu ? std::max<std::size_t>(1, all / static_cast<std::size_t>(point.gpus)) : all;
}

gnn::PipelineRequest request_at(const PipelinePoint& point, const PipelineSite& site) {
  gnn::PipelineRequest request = point.request();
  if (site.gpu) {
    request.gpus = site.gpus;
  }
  request.node = site.node;
  request.threads = threads_that_gather(cpus_of_a_process(point));
  return request;
}

std::unique_ptr<gnn::Pipeline> pipeline_of(const gnn::PipelineRequest& request, const PipelinePoint& point,
                                           const TrainingWork& work, const gnn::FeatureTable* table,
                                           Session& session) {
  if (point.per_gpu) {
    return std::make_unique<TrainingRanks>(work.plan, request);
  }
  return gnn::make_pipeline(work.plan, *table, request, session.surroundings());
}

}  // namespace

int threads_that_gather(std::size_t cpus) {
  return static_cast<int>(std::clamp<std::size_t>(cpus - 1, 1, kMostThreads));
}

gnn::PipelineRequest PipelinePoint::request() const {
  gnn::PipelineRequest request;
  request.mode = mode;
  request.store = store;
  request.hot_percent = hot;
  request.window = window;
  request.gpus.resize(static_cast<std::size_t>(gpus));
  request.lists = placement;
  request.unbounded = !bounded;
  request.products = products;
  if (percent > 0) {
    gnn::require_processes(request);
    return request;
  }
  if (bounded && gnn::is_kernel(mode) && gnn::crosses_link(store)) {
    request.gather_sms = kGatherSms;
  }
  per_gpu ? gnn::require_ranks(request) : gnn::require_possible(request);
  return request;
}

gnn::TrainingRequest TrainingPoint::request() const {
  if (row_bytes == 0 || row_bytes % sizeof(float) != 0) {
    throw UsageError("rows of " + std::to_string(row_bytes) +
                     " bytes are no whole number of float32 features, which training takes");
  }
  gnn::TrainingRequest request;
  request.sample = {fanouts, kGnnSeed};
  request.batch = batch;
  request.batches = batches;
  request.labelled_percent = kLabelled;
  request.shape = {static_cast<std::uint32_t>(row_bytes / sizeof(float)), hidden, kClasses,
                   static_cast<std::uint32_t>(fanouts.size())};
  request.rate = kRate;
  return request;
}

Measurement measure_pipeline(Session& session, const PipelinePoint& point, const PipelineSite& site,
                             TrainingWork& work, const gnn::FeatureTable* table) {
  const gnn::PipelineRequest request = request_at(point, site);
  const auto pipeline = pipeline_of(request, point, work, table, session);
  // On a GPU the stages first: they load what the run is not to wait for. On a CPU a run is its stages.
  gnn::StageTimes stages;
  if (site.gpu) {
    stages = pipeline->stages();
  }
  const auto expect_on_host = [&] {
    if (table != nullptr) {
      table->expect_on_host();
    }
  };
  expect_on_host();
  const double begun_s = steady_now_s();
  const gnn::PipelineRun run = pipeline->run();
  const double wall_s = steady_now_s() - begun_s;
  expect_on_host();
  if (!site.gpu) {
    stages = pipeline->stages();
  }

  const Timing timing = site.gpu
                            ? Timing{Clock::event, false,
                                     "from the end of one training step to the end of the next, sampling "
                                     "and gathering of later ones beside it"}
                            : Timing{Clock::steady, false, "sampling, gathering and a training step"};
  Measurement measurement = measure_steps(
      session, run, wall_s, timing, [&] { return verify_losses(run.losses, stages.losses, work, site); });
  measurement.graph = GraphFacts{work.plan.neighbours.vertices(), work.plan.neighbours.edges(), {}};
  if (const gnn::NpyFile* const own = work.plan.features.file()) {
    measurement.features = FeatureFacts{own->rows(), own->columns(), own->element()};
  }
  add_stages(run, stages, measurement);
  if (site.gpu) {
    add_overlap(stages, measurement);
    measurement.counters["gather_sms"] = pipeline->gather_sms();
    measurement.counters["gpu_bytes"] = static_cast<double>(pipeline->gpu_bytes());
  }
  add_bytes(point, work.plan, measurement);
  add_limit(session, point, site, measurement);
  measurement.counters["batches"] = static_cast<double>(pipeline->batches());
  measurement.timeline = run.timeline;
  if (site.gpu) {
    LocalOperation runs(
        {.run = [&] { return pipeline->run().step_s.front(); }, .verify = {}, .timing = timing});
    session.meter(runs, site.gpu->ordinal, measurement);
    if (measurement.energy_j) {  // of all steps, the first ones too
      *measurement.energy_j /= static_cast<double>(pipeline->batches());
    }
  }
  measurement.counters["threads"] = site.gpu ? request.threads : omp_get_max_threads();
  if (site.gpu && !point.placement) {
    measurement.counters["sample_threads"] =
        point.per_gpu ? static_cast<double>(cpus_of_a_process(point)) : omp_get_max_threads();
  }
  measurement.counters["prepare_s"] = work.plan.prepare_s;
  measurement.counters["epoch_batches"] = static_cast<double>(work.plan.epoch_batches);
  if (pipeline->fill_s() > 0 && point.store != gnn::Store::device) {
    measurement.counters["fill_s"] = pipeline->fill_s();
  }
  return measurement;
}

namespace {

constexpr std::uint64_t kReferenceSteps = 3;  // whose losses are computed in double precision as well

// float32 rounds by 6e-8; a loss is a sum over at most some thousand terms, and three steps carry their
// rounding on. Seen: below 1e-7.
constexpr double kOfReference = 2e-5;
// Features that nobody chose for this may cancel more.
constexpr double kOfReferenceOwn = 1e-3;
// On one GPU the same kernels add the same numbers in the same order, whichever way rows came.
constexpr double kOfOtherModes = 1e-5;
// Another device adds them in another order, and so does a share of a GPU's multiprocessors, for which cuBLAS
// chooses other kernels; every step carries that on. Seen: 2e-5 by the 34th mini-batch, 1.4e-4 by the 72nd.
constexpr double kOfOtherDevices = 1e-3;
constexpr double kSmallLoss = 0.1;  // whose tolerance smaller ones have
constexpr int kOnCpu = -1;          // in place of a GPU

// How well an overlap must be known to be told.
constexpr double kKnownOfOverlap = 0.25;

// How far the median may be off: half its interval, or half of what too few samples for one cover.
double uncertainty(const Summary& of) {
  return (of.ci95 ? of.ci95->high - of.ci95->low : of.max - of.min) / 2;
}

[[noreturn]] void refuse(const std::string& what) {
  throw FailedError("wrong result: " + what);
}

// Of losses below `from` the tolerance is that of `from`.
void require_near(const std::vector<double>& losses, const std::vector<double>& expected, double tolerance,
                  const std::string& whose, double from = 0) {
  for (std::size_t b = 0; b < std::min(losses.size(), expected.size()); ++b) {
    if (!std::isfinite(losses[b])) {
      refuse("the loss of mini-batch " + std::to_string(b) + " is " + std::to_string(losses[b]) +
             ": the features hold what is not finite, or training diverges on them");
    }
    if (!(std::abs(losses[b] - expected[b]) <= tolerance * std::max(from, std::abs(expected[b])))) {
      refuse("the loss of mini-batch " + std::to_string(b) + " is " + std::to_string(losses[b]) + ", not " +
             std::to_string(expected[b]) + " as " + whose);
    }
  }
}

double mean_of(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double p99_of(std::vector<double> seconds) {
  std::sort(seconds.begin(), seconds.end());
  return quantile(seconds, 0.99);
}

void require_falling(const std::vector<double>& losses) {
  constexpr double kFall = 0.97;
  const std::size_t quarter = std::max<std::size_t>(1, losses.size() / 4);
  const double first = mean_of(std::span(losses).first(quarter));
  const double last = mean_of(std::span(losses).last(quarter));
  if (!(last < kFall * first)) {
    refuse("the loss does not fall: " + std::to_string(first) + " in the mean over the first quarter, " +
           std::to_string(last) + " over the last");
  }
}

// Holds all mini-batches' losses to those of other runs; says to which.
std::string agree_with_others(const std::vector<double>& losses, std::size_t together,
                              const PipelineSite& site, Multiprocessors sms, TrainingWork& work) {
  const bool own = work.plan.features.file() != nullptr;
  const bool on_a_share = sms == Multiprocessors::some;
  const int device = site.gpu ? site.gpu->ordinal : kOnCpu;
  const bool exactly = site.gpu && !on_a_share;
  bool elsewhere = false;
  for (const auto& [where, others] : work.on) {
    if (where.second != together) {
      continue;
    }
    if (where.first == device && exactly) {
      require_near(losses, others, kOfOtherModes, "in another mode");
    } else {
      require_near(losses, others, kOfOtherDevices, "in another run", own ? 1 : kSmallLoss);
      elsewhere |= where.first != device || on_a_share;
    }
  }
  if (!on_a_share) {
    work.on.try_emplace({device, together}, losses);
  }
  return std::string(exactly ? ", and within 1e-5 of the other modes'" : "") +
         (elsewhere ? on_a_share ? ", and within 1e-3 of those on the whole GPU or elsewhere"
                                 : ", and within 1e-3 of those on other devices"
                    : "");
}

}  // namespace

std::string verify_losses(const std::vector<double>& losses, const std::vector<double>& apart,
                          TrainingWork& work, const PipelineSite& site, Multiprocessors sms) {
  const std::size_t together = std::max<std::size_t>(1, site.gpus.size());
  auto& reference = work.reference[together];
  if (reference.empty()) {
    reference = gnn::reference_losses(work.plan, kReferenceSteps * together, together);
  }
  const bool own = work.plan.features.file() != nullptr;
  require_near(losses, reference, own ? kOfReferenceOwn : kOfReference, "in double precision", own ? 1 : 0);
  if (!own) {
    require_falling(losses);
  }
  std::string how = "every element of every gathered row against " + work.plan.features.spoken() +
                    "; losses of the first steps against double precision within " + (own ? "1e-3" : "2e-5");
  if (site.gpu) {
    if (losses != apart) {
      refuse("a run with overlapping stages has other losses than the same run stage by stage");
    }
    how += ", of all mini-batches equal with and without overlap";
  }
  return how + agree_with_others(losses, together, site, sms, work) + (own ? "" : "; the loss falls");
}

Measurement measure_steps(const Session& session, const gnn::PipelineRun& run, double wall_s,
                          const Timing& timing, const std::function<std::string()>& verify) {
  auto step = run.step_s.begin();
  LocalOperation steps({.run = [&] { return *step++; },
                        .verify = verify,
                        .timing = timing,
                        .trials = static_cast<int>(run.step_s.size())});
  Measurement measurement = measure(session, steps);
  measurement.samples.wall_s = wall_s;
  measurement.in_turn = true;
  return measurement;
}

void add_stages(const gnn::PipelineRun& run, const gnn::StageTimes& stages, Measurement& measurement) {
  auto& counters = measurement.counters;
  const auto add_stage = [&](const std::string& name, const std::vector<double>& seconds) {
    counters[name] = summarize(seconds).median;
    counters["p99_" + name] = p99_of(seconds);
  };
  add_stage("sample_s", stages.sample_s);
  add_stage("gather_s", stages.gather_s);
  add_stage("train_s", stages.train_s);
  counters["p99_batch_s"] = p99_of(run.single_s);
  counters["loss_first"] = run.losses.front();
  counters["loss_last"] = run.losses.back();
  counters["cpu_s"] = run.cpu_s;
}

void add_overlap(const gnn::StageTimes& stages, Measurement& measurement) {
  double sum = 0;
  Summary slowest;
  for (const std::vector<double>* stage : {&stages.sample_s, &stages.gather_s, &stages.train_s}) {
    const Summary one = summarize(*stage);
    sum += one.median;
    slowest = one.median > slowest.median ? one : slowest;
  }
  const Summary& run = measurement.samples.summary;
  const double beside = sum - slowest.median;
  const double unknown = uncertainty(run) + uncertainty(slowest);
  // No pipeline is faster than its slowest stage: where it was, by more than is known, that stage hung on the
  // host when it stood alone.
  if (unknown <= kKnownOfOverlap * beside && run.median >= slowest.median - unknown) {
    measurement.counters["overlap"] = std::min(1.0, (sum - run.median) / beside);
  }
}

void add_bytes(const PipelinePoint& point, const gnn::TrainingPlan& plan, Measurement& measurement) {
  const double a_row = point.training.row_bytes * static_cast<double>(point.gpus);
  const double asked = plan.rows_beyond(0) * a_row;
  measurement.bytes = static_cast<std::uint64_t>(asked);
  measurement.counters["nodes"] = plan.rows_beyond(0);
  // Over all steps: a step that stalls delays the next ones, which then come at once.
  measurement.counters["seeds_per_s"] = static_cast<double>(plan.seeds.front().size()) *
                                        static_cast<double>(point.gpus) /
                                        mean_of(measurement.samples.seconds);
  if (point.mode == gnn::Mode::cpu_gather) {
    return;
  }
  const std::uint32_t hot = gnn::hot_rows(plan.neighbours.vertices(), point.store, point.hot);
  const auto crossing = plan.rows_beyond(hot, static_cast<std::uint64_t>(std::max(1, point.window)),
                                         static_cast<std::uint64_t>(point.gpus));
  measurement.link_bytes_least = static_cast<std::uint64_t>(crossing * a_row);
  measurement.counters["hit_rate"] = 1 - plan.rows_beyond(hot) * a_row / asked;
}

void add_limit(const Session& session, const PipelinePoint& point, const PipelineSite& site,
               Measurement& measurement) {
  if (!site.gpu) {
    measurement.limit = cpu_limit(omp_get_max_threads());
    return;
  }
  const bool crosses = measurement.link_bytes_least.value_or(0) > 0;
  measurement.limit = crosses ? host_link_limit(session.machine(), site.gpu->ordinal)
                              : gpu_memory_limit(session.machine(), site.gpu->ordinal, 0);
  if (!measurement.limit) {
    return;
  }
  measurement.limit->gb_s *= point.gpus;
  measurement.limit->source += point.gpus > 1 ? ", of each GPU" : "";
}

}  // namespace grainscope::harness
