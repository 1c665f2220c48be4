#include "pipeline_worker.hpp"

#include <algorithm>
#include <iterator>
#include <sstream>
#include <utility>

#include "grainscope/gnn/shared_plan.hpp"
#include "grainscope/system/mps.hpp"

namespace grainscope::harness {
namespace {

constexpr double kRun_s = 300;  // of a whole run; processes that wait in vain for each other give up earlier
constexpr double kEnd_s = 2;    // in which a process that failed has said so and gone
constexpr std::size_t kWords = 7;
constexpr const char* kGather = "gather";
constexpr const char* kTrain = "train";

template <class Named, std::size_t kCount>
Named named(const Named (&all)[kCount], const std::string& word) {
  const auto* const found =
      std::find_if(std::begin(all), std::end(all), [&](Named each) { return name(each) == word; });
  if (found == std::end(all)) {
    throw UsageError(std::string(kPipelineWorkerCommand) + " is started by the program itself, not with `" +
                     word + "`");
  }
  return *found;
}

std::vector<std::string> command_of(PipelineJob job, bool gathers, const SharedMemory& memory) {
  job.gathers = gathers;
  job.descriptor = memory.descriptor();
  job.bytes = memory.bytes();
  std::vector<std::string> words = to_words(job);
  words.insert(words.begin(), kPipelineWorkerCommand);
  return words;
}

Variables share_of(double percent) {
  return {{"CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", exact_text(percent)}};
}

std::vector<double> numbers(const std::string& text, std::size_t count, const std::string& whose) {
  std::istringstream words(text);
  std::vector<double> found{std::istream_iterator<double>(words), {}};
  if (found.size() != count) {
    throw FailedError(whose + " gave " + std::to_string(found.size()) + " numbers, not " +
                      std::to_string(count));
  }
  return found;
}

PipelineProcesses::Given given_in(const std::string& text, const std::string& whose) {
  std::istringstream words(text);
  PipelineProcesses::Given given;
  if (!(words >> given.told >> given.seen >> given.gpu_bytes)) {
    throw FailedError(whose + " does not say what it was given");
  }
  return given;
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
  if (words.size() != kWords || (words[0] != kGather && words[0] != kTrain)) {
    throw UsageError(std::string(kPipelineWorkerCommand) + " is started by the program itself");
  }
  PipelineJob job;
  job.gathers = words[0] == kGather;
  job.mode = named(gnn::kAllModes, words[1]);
  job.store = named(gnn::kAllStores, words[2]);
  job.hot = number_in<double>(words[3], kPipelineWorkerCommand);
  job.node = number_in<int>(words[4], kPipelineWorkerCommand);
  job.descriptor = number_in<int>(words[5], kPipelineWorkerCommand);
  job.bytes = number_in<std::uint64_t>(words[6], kPipelineWorkerCommand);
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
      gatherer_("the process that gathers", program, command_of(job, true, shared_.memory),
                {client, share_of(percents.gather)}, {shared_.memory.descriptor()}),
      trainer_("the process that trains", program, command_of(job, false, shared_.memory),
               {client, share_of(percents.train)}, {shared_.memory.descriptor()}) {
  gathering_ = given_in(gatherer_.answer("started", kWorkerReady_s), gatherer_.what());
  training_ = given_in(trainer_.answer("started", kWorkerReady_s), trainer_.what());
  trainer_.ask("open");
  static_cast<void>(trainer_.answer("opened"));
}

PipelineProcesses::~PipelineProcesses() {
  shared_.exchange().given_up.store(1, std::memory_order_release);
}

gnn::StageTimes PipelineProcesses::stages() {
  trainer_.ask("reset");
  static_cast<void>(trainer_.answer("reset"));
  gnn::StageTimes times;
  for (std::uint64_t batch = 0; batch < batches_; ++batch) {
    const std::string stage = "stage " + std::to_string(batch);
    gatherer_.ask(stage);
    const auto first = numbers(gatherer_.answer("staged"), 2, gatherer_.what());
    times.sample_s.push_back(first[0]);
    times.gather_s.push_back(first[1]);
    trainer_.ask(stage);
    times.train_s.push_back(numbers(trainer_.answer("staged"), 1, trainer_.what())[0]);
  }
  times.losses = losses();
  return times;
}

PipelineProcesses::Run PipelineProcesses::run() {
  trainer_.ask("reset");
  static_cast<void>(trainer_.answer("reset"));
  shared_.exchange().begin();
  gatherer_.ask("run");
  trainer_.ask("run");
  // Of the trainer: CPU time, what fills the pipeline left out the ends of steps, then steps themselves.
  const std::size_t after_filling = batches_ - 1;
  const auto trained =
      numbers(answer_of(trainer_, gatherer_, "ran", kRun_s), 1 + after_filling + batches_, trainer_.what());
  const auto gathered =
      numbers(answer_of(gatherer_, trainer_, "ran", kRun_s), 1 + batches_, gatherer_.what());
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
  return numbers(trainer_.answer("losses"), batches_, trainer_.what());
}

std::string PipelineProcesses::answer_of(WorkerProcess& one, WorkerProcess& other, const std::string& word,
                                         double patience_s) {
  try {
    return one.answer(word, patience_s);
  } catch (const gnn::TurnError&) {
    // The other is gone or has failed: its words say more.
    if (other.is_over(kEnd_s)) {
      static_cast<void>(other.answer(word));
    }
    throw;
  }
}

}  // namespace grainscope::harness
