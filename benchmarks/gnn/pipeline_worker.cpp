#include "gnn/pipeline_worker.hpp"

#include <algorithm>
#include <istream>
#include <utility>

#include "gnn/pipeline_case.hpp"
#include "gnn/sm_share_case.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/core/sampler.hpp"
#include "grainscope/gnn/pipeline.hpp"
#include "grainscope/gnn/training.hpp"
#include "grainscope/system/mps.hpp"
#include "grainscope/system/numa.hpp"
#include "grainscope/system/topology.hpp"

namespace grainscope::harness {
namespace {

constexpr double kRun_s = 300;  // of a whole run; processes that wait in vain for each other give up earlier
constexpr std::size_t kWords = 7;
constexpr const char* kGather = "gather";
constexpr const char* kTrain = "train";

std::vector<std::string> job_of_worker(PipelineJob job, bool gathers, const SharedMemory& memory) {
  job.gathers = gathers;
  job.descriptor = memory.descriptor();
  job.bytes = memory.bytes();
  return to_words(job);
}

Variables share_of(double percent) {
  return {{"CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", exact_text(percent)}};
}

PipelineProcesses::Given given_to(WorkerProcess& process) {
  const std::vector<double> given = process.numbers("started", 3, kWorkerReady_s);
  return {static_cast<int>(given[0]), static_cast<int>(given[1]), static_cast<std::uint64_t>(given[2])};
}

}  // namespace

std::vector<std::string> to_words(const PipelineJob& job) {
  return {job.gathers ? kGather : kTrain,
          name(job.mode),
          name(job.store),
          exact_text(job.hot),
          std::to_string(job.node),
          std::to_string(job.descriptor),
          std::to_string(job.bytes)};
}

PipelineJob parse_pipeline_job(const std::vector<std::string>& words) {
  JobWords all(kPipelineKind, words, kWords);
  PipelineJob job;
  const std::string& side = all.next();
  if (side != kGather && side != kTrain) {
    all.refuse(side);
  }
  job.gathers = side == kGather;
  job.mode = all.named(gnn::kAllModes);
  job.store = all.named(gnn::kAllStores);
  job.hot = all.number<double>();
  job.node = all.number<int>();
  job.descriptor = all.number<int>();
  job.bytes = all.number<std::uint64_t>();
  return job;
}

PipelineProcesses::Shared::Shared(const gnn::TrainingPlan& plan)
    : memory(kPlanAt + gnn::shared_plan_bytes(plan)) {
  gnn::write_plan(plan, memory.data() + kPlanAt);
}

PipelineProcesses::PipelineProcesses(const gnn::TrainingPlan& plan, const PipelineJob& job,
                                     const Percents& percents, const Variables& client,
                                     const std::string& program)
    : batches_(plan.seeds.size()),
      shared_(plan),
      gatherer_("the process that gathers", program, kPipelineKind, job_of_worker(job, true, shared_.memory),
                {client, share_of(percents.gather)}, {shared_.memory.descriptor()}),
      trainer_("the process that trains", program, kPipelineKind, job_of_worker(job, false, shared_.memory),
               {client, share_of(percents.train)}, {shared_.memory.descriptor()}) {
  gathering_ = given_to(gatherer_);
  training_ = given_to(trainer_);
  trainer_.ask("open");
  trainer_.answer("opened");
}

PipelineProcesses::~PipelineProcesses() {
  shared_.exchange().given_up.store(1, std::memory_order_release);
}

gnn::StageTimes PipelineProcesses::stages() {
  trainer_.ask("reset");
  trainer_.answer("reset");
  gnn::StageTimes times;
  for (std::uint64_t batch = 0; batch < batches_; ++batch) {
    const std::string stage = "stage " + std::to_string(batch);
    gatherer_.ask(stage);
    const auto first = gatherer_.numbers("staged", 2);
    times.sample_s.push_back(first[0]);
    times.gather_s.push_back(first[1]);
    trainer_.ask(stage);
    times.train_s.push_back(trainer_.numbers("staged", 1)[0]);
  }
  times.losses = losses();
  return times;
}

PipelineProcesses::Run PipelineProcesses::run() {
  trainer_.ask("reset");
  trainer_.answer("reset");
  shared_.exchange().begin();
  gatherer_.ask("run");
  trainer_.ask("run");
  // Of the trainer: CPU time, what fills the pipeline left out the ends of steps, then steps themselves.
  const std::size_t after_filling = batches_ - 1;
  const auto trained =
      trainer_.numbers_in(answer_beside(trainer_, {&gatherer_}, "ran", kRun_s), 1 + after_filling + batches_);
  const auto gathered =
      gatherer_.numbers_in(answer_beside(gatherer_, {&trainer_}, "ran", kRun_s), 1 + batches_);
  Run run;
  const auto first_train = trained.begin() + 1 + static_cast<std::ptrdiff_t>(after_filling);
  run.steps.step_s.assign(trained.begin() + 1, first_train);
  run.steps.single_s = run.steps.step_s;
  run.train_s.assign(first_train, trained.end());
  run.gather_s.assign(gathered.begin() + 1, gathered.end());
  run.steps.cpu_s = (trained[0] + gathered[0]) / static_cast<double>(batches_);
  run.steps.losses = losses();
  return run;
}

std::vector<double> PipelineProcesses::losses() {
  trainer_.ask("losses");
  return trainer_.numbers("losses", batches_);
}

namespace {

constexpr int kGpu = 0;  // the daemon shows one

std::uint64_t batch_in(std::istream& words) {
  std::uint64_t batch = 0;
  words >> batch;
  return batch;
}

void gather(const PipelineJob& job, const gnn::TrainingPlan& plan, const cuda::SmPartition& part,
            gnn::Exchange& exchange) {
  gnn::PipelineRequest request;
  request.mode = job.mode;
  request.store = job.store;
  request.hot_percent = job.hot;
  request.gpus = {kGpu};
  gnn::require_processes(request);
  const auto table = gnn::make_mapped_table(plan.neighbours.vertices(), plan.features);
  const auto side = gnn::make_gathering_side(plan, *table, request, exchange);
  tell_numbers("started", part.given_sms(), cuda::count_multiprocessors(kGpu, part), side->gpu_bytes());
  serve({{"stage",
          [&](std::istream& words) {
            const auto times = side->stage(batch_in(words));
            tell_numbers("staged", times.sample_s, times.gather_s);
          }},
         {"run", [&](std::istream& /*words*/) {
            const auto run = side->run();
            tell_numbers("ran", run.cpu_s, run.gather_s);
          }}});
}

void train(const gnn::TrainingPlan& plan, const cuda::SmPartition& part, gnn::Exchange& exchange) {
  const auto side = gnn::make_training_side(plan, kGpu, exchange);
  tell_numbers("started", part.given_sms(), cuda::count_multiprocessors(kGpu, part), side->gpu_bytes());
  serve({{"open",
          [&](std::istream& /*words*/) {
            side->open();
            tell("opened");
          }},
         {"reset",
          [&](std::istream& /*words*/) {
            side->reset();
            tell("reset");
          }},
         {"stage", [&](std::istream& words) { tell_numbers("staged", side->stage(batch_in(words))); }},
         {"run",
          [&](std::istream& /*words*/) {
            const auto run = side->run();
            tell_numbers("ran", run.cpu_s, run.step_s, run.train_s);
          }},
         {"losses", [&](std::istream& /*words*/) { tell_numbers("losses", side->losses()); }}});
}

void run(const PipelineJob& job) {
  const SharedMemory memory(job.descriptor, job.bytes);
  auto& exchange = *reinterpret_cast<gnn::Exchange*>(memory.data());
  const gnn::TrainingPlan plan = gnn::read_plan(memory.path(), kPlanAt);
  const NodeBinding binding(Topology::read(), job.node);
  // The client's context first: where there can be none, nothing else need be made.
  const auto part = client_part(kGpu, cuda::ShareBy::mps_percentage, 0);
  if (job.gathers) {
    gather(job, plan, *part, exchange);
  } else {
    train(plan, *part, exchange);
  }
}

}  // namespace

std::function<void()> pipeline_worker(const std::vector<std::string>& job) {
  return [parsed = parse_pipeline_job(job)] { run(parsed); };
}

namespace {

// A training run by two processes under MPS: its measurement.

PipelineJob job_of_processes(const PipelinePoint& point, const PipelineSite& site) {
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
  PipelineProcesses processes(work.plan, job_of_processes(point, site), kAll, daemon.client_variables());
  const gnn::StageTimes stages = processes.stages();
  work.whole.push_back({point.mode, point.store, point.hot, site.gpu->ordinal,
                        summarize(stages.gather_s).median, summarize(stages.train_s).median});
  return work.whole.back();
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
  PipelineProcesses processes(work.plan, job_of_processes(point, site), {point.percent, 100 - point.percent},
                              daemon.client_variables());
  require_client(asked, processes.gathering().told, processes.gathering().seen, available);
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
  add_limit(session, point, site, measurement);
  add_shares(processes, asked, available, measurement);
  add_slowdowns(run, alone, measurement);
  measurement.counters["gpu_bytes"] = static_cast<double>(processes.gpu_bytes());
  measurement.counters["batches"] = static_cast<double>(steps.losses.size());
  measurement.counters["prepare_s"] = work.plan.prepare_s;
  return measurement;
}

}  // namespace grainscope::harness
