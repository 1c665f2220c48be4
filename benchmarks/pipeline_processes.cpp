// A training run by two processes under MPS: its measurement.

#include <algorithm>
#include <utility>

#include "grainscope/core/error.hpp"
#include "grainscope/core/sampler.hpp"
#include "pipeline_rows.hpp"
#include "pipeline_worker.hpp"
#include "sm_share_case.hpp"

namespace grainscope::harness {
namespace {

PipelineJob job_of(const PipelinePoint& point, const PipelineSite& site) {
  PipelineJob job;
  job.mode = point.mode;
  job.store = point.store;
  job.hot = point.hot;
  job.node = site.node;
  return job;
}

// Both processes with all of the GPU, one after the other: once for all shares of a training.
const WholeStages& whole_stages(const PipelinePoint& point, const PipelineSite& site, TrainingWork& work,
                                const MpsDaemon& daemon) {
  const auto known = std::find_if(work.whole.begin(), work.whole.end(), [&](const WholeStages& each) {
    return each.mode == point.mode && each.store == point.store && each.hot == point.hot &&
           each.gpu == site.gpu->ordinal;
  });
  if (known != work.whole.end()) {
    return *known;
  }
  constexpr Percents kAll{100, 100};
  PipelineProcesses processes(work.plan, job_of(point, site), kAll, daemon.client_variables());
  const gnn::StageTimes stages = processes.stages();
  work.whole.push_back({point.mode, point.store, point.hot, site.gpu->ordinal,
                        summarize(stages.gather_s).median, summarize(stages.train_s).median});
  return work.whole.back();
}

// A client that finds no daemon works without MPS, and says nothing.
void require_clients(const PipelineProcesses& processes, int asked, int available) {
  const auto& given = processes.gathering();
  if (2 * asked <= available && std::min(given.told, given.seen) >= available) {
    throw SkipError("the process that gathers has all " + std::to_string(available) +
                    " multiprocessors: it did not become a client of MPS");
  }
}

void add_shares(const PipelineProcesses& processes, int asked, int available, Measurement& measurement) {
  auto& counters = measurement.counters;
  const auto& given = processes.gathering();
  counters["asked_sms"] = asked;
  counters["given_sms"] = given.told;
  counters["seen_sms"] = given.seen;
  counters["rest_sms"] = processes.training().told;
  counters["available_sms"] = available;
  counters["given_share"] = static_cast<double>(given.told) / available;
}

// Each side while the other works, against itself alone on the whole GPU.
void add_slowdowns(const PipelineProcesses::Run& run, const WholeStages& alone, Measurement& measurement) {
  auto& counters = measurement.counters;
  const double gather_s = summarize(run.gather_s).median;
  const double train_s = summarize(run.train_s).median;
  counters["gather_beside_s"] = gather_s;
  counters["train_beside_s"] = train_s;
  counters["gather_alone_s"] = alone.gather_s;
  counters["train_alone_s"] = alone.train_s;
  counters["gather_slowdown"] = gather_s / alone.gather_s;
  counters["train_slowdown"] = train_s / alone.train_s;
  counters["gather_gb_s"] = static_cast<double>(measurement.bytes) / gather_s / 1e9;
}

}  // namespace

Measurement measure_processes(Session& session, const PipelinePoint& point, const PipelineSite& site,
                              TrainingWork& work, const MpsDaemon& daemon) {
  const int available = session.machine().find_gpu(site.gpu->ordinal)->cuda->sm_count;
  SharePoint share;
  share.percent = point.percent;
  const int asked = share.sms_of(available);
  const WholeStages alone = whole_stages(point, site, work, daemon);
  PipelineProcesses processes(work.plan, job_of(point, site), {point.percent, 100 - point.percent},
                              daemon.client_variables());
  require_clients(processes, asked, available);
  // The stages first: they load what the run is not to wait for.
  const gnn::StageTimes stages = processes.stages();
  const double begun_s = steady_now_s();
  const PipelineProcesses::Run run = processes.run();
  const double wall_s = steady_now_s() - begun_s;

  const gnn::PipelineRun& steps = run.steps;
  Measurement measurement = measure_steps(
      session, steps, wall_s,
      {Clock::event, false,
       "from the end of one training step to the end of the next, in the process that trains; another "
       "samples "
       "and gathers later ones beside it"},
      [&] { return verify_losses(steps.losses, stages.losses, work, site, Multiprocessors::some); });
  measurement.graph = GraphFacts{work.plan.neighbours.vertices(), work.plan.neighbours.edges(), {}};
  add_stages(steps, stages, measurement);
  add_overlap(stages, measurement);
  add_bytes(point, work.plan, measurement);
  add_shares(processes, asked, available, measurement);
  add_slowdowns(run, alone, measurement);
  measurement.counters["gpu_bytes"] = static_cast<double>(processes.gpu_bytes());
  measurement.counters["batches"] = static_cast<double>(steps.losses.size());
  measurement.counters["prepare_s"] = work.plan.prepare_s;
  return measurement;
}

}  // namespace grainscope::harness
