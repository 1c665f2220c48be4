#include "pipeline_case.hpp"

#include <omp.h>

#include <algorithm>

#include "grainscope/core/error.hpp"
#include "grainscope/core/sampler.hpp"
#include "grainscope/system/numa.hpp"
#include "pipeline_rows.hpp"

namespace grainscope::harness {
namespace {

constexpr std::uint32_t kClasses = 8;
constexpr double kRate = 1;
constexpr double kLabelled = 10;  // percent
constexpr int kGatherSms = 8;
constexpr std::size_t kMostThreads = 32;  // that gather: more do not help one link

gnn::PipelineRequest request_of(const PipelinePoint& point, const PipelineSite& site) {
  gnn::PipelineRequest request;
  request.mode = point.mode;
  request.store = point.store;
  request.hot_percent = point.hot;
  request.window = point.window;
  if (site.gpu) {
    request.gpus = site.gpus;
  }
  if (gnn::is_kernel(point.mode) && gnn::crosses_link(point.store)) {
    request.gather_sms = kGatherSms;
  }
  // But one, on which the thread is that enqueues the training.
  request.threads = static_cast<int>(std::clamp<std::size_t>(current_affinity().size() - 1, 1, kMostThreads));
  return request;
}

}  // namespace

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
                             TrainingWork& work, const gnn::FeatureTable& table) {
  const gnn::PipelineRequest request = request_of(point, site);
  const auto pipeline = gnn::make_pipeline(work.plan, table, request);
  // On a GPU the stages first: they load what the run is not to wait for. On a CPU a run is its stages.
  gnn::StageTimes stages;
  if (site.gpu) {
    stages = pipeline->stages();
  }
  const double begun_s = steady_now_s();
  const gnn::PipelineRun run = pipeline->run();
  const double wall_s = steady_now_s() - begun_s;
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
  measurement.counters["batches"] = static_cast<double>(pipeline->batches());
  measurement.counters["threads"] = site.gpu ? request.threads : omp_get_max_threads();
  measurement.counters["prepare_s"] = work.plan.prepare_s;
  measurement.counters["epoch_batches"] = static_cast<double>(work.plan.epoch_batches);
  if (point.store == gnn::Store::tiered && pipeline->fill_s() > 0) {
    measurement.counters["fill_s"] = pipeline->fill_s();
  }
  return measurement;
}

}  // namespace grainscope::harness
