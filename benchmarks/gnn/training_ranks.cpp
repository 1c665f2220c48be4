#include "gnn/training_ranks.hpp"

#include <omp.h>

#include <algorithm>
#include <istream>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "gnn/pipeline_case.hpp"
#include "gnn/pipeline_worker.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/system/numa.hpp"
#include "grainscope/system/topology.hpp"

namespace grainscope::harness {
namespace {

constexpr double kRun_s = 300;  // of a whole run; processes that wait in vain for each other give up earlier
constexpr std::size_t kWords = 12;
constexpr std::size_t kStages = 3;
constexpr const char* const kStageNames[kStages] = {"sampling", "gathering", "training"};

std::string joined(const std::vector<int>& numbers) {
  std::string text;
  for (const int number : numbers) {
    text += (text.empty() ? "" : ",") + std::to_string(number);
  }
  return text;
}

std::vector<int> numbers_of(std::string text, const JobWords& words) {
  std::replace(text.begin(), text.end(), ',', ' ');
  std::istringstream numbers(text);
  std::vector<int> all{std::istream_iterator<int>(numbers), {}};
  if (all.empty() || !numbers.eof()) {
    words.refuse(text);
  }
  return all;
}

// Takes the next `count` of an answer's numbers.
std::vector<double> take(std::vector<double>::const_iterator& from, std::size_t count) {
  const auto begin = from;
  from += static_cast<std::ptrdiff_t>(count);
  return {begin, from};
}

}  // namespace

std::vector<std::string> to_words(const RankJob& job) {
  const gnn::PipelineRequest& request = job.request;
  return {std::to_string(job.rank),           gnn::name(request.mode),
          gnn::name(request.store),           exact_text(request.hot_percent),
          std::to_string(request.window),     joined(request.gpus),
          std::to_string(request.gather_sms), request.unbounded ? "unbounded" : "bounded",
          placement_name(request.lists),      std::to_string(request.node),
          std::to_string(job.descriptor),     std::to_string(job.bytes)};
}

RankJob parse_rank_job(const std::vector<std::string>& words) {
  JobWords all(kRankKind, words, kWords);
  RankJob job;
  gnn::PipelineRequest& request = job.request;
  job.rank = all.number<std::size_t>();
  request.mode = all.named(gnn::kAllModes);
  request.store = all.named(gnn::kAllStores);
  request.hot_percent = all.number<double>();
  request.window = all.number<int>();
  request.gpus = numbers_of(all.next(), all);
  request.gather_sms = all.number<int>();
  const std::string& bounded = all.next();
  request.unbounded = bounded == "unbounded";
  const std::string& lists = all.next();
  try {
    request.lists = placement_named(lists);
  } catch (const std::logic_error&) {
    all.refuse(lists);
  }
  request.node = all.number<int>();
  job.descriptor = all.number<int>();
  job.bytes = all.number<std::uint64_t>();
  if (job.rank >= request.gpus.size() || (!request.unbounded && bounded != "bounded")) {
    all.refuse(words.front());
  }
  return job;
}

TrainingRanks::TrainingRanks(const gnn::TrainingPlan& plan, const gnn::PipelineRequest& request,
                             const std::string& program)
    : window_(static_cast<std::uint64_t>(request.window)),
      gpus_(request.gpus),
      memory_(kPlanAt + gnn::shared_plan_bytes(plan)) {
  gnn::require_ranks(request);
  windows_ = plan.seeds.size() / (window_ * gpus_.size());
  gnn::write_plan(plan, memory_.data() + kPlanAt);
  ranks_.reserve(gpus_.size());
  for (std::size_t rank = 0; rank < gpus_.size(); ++rank) {
    const RankJob job{rank, request, memory_.descriptor(), memory_.bytes()};
    ranks_.push_back(std::make_unique<WorkerProcess>("the process of rank " + std::to_string(rank), program,
                                                     kRankKind, to_words(job), std::vector<Variables>{},
                                                     std::vector<int>{memory_.descriptor()}));
  }
  static_cast<void>(answers_of_all("shared", 0, kWorkerReady_s));
  ask_all("open");
  for (const std::vector<double>& opened : answers_of_all("opened", 3, kWorkerReady_s)) {
    gpu_bytes_ = std::max(gpu_bytes_, static_cast<std::uint64_t>(opened[0]));
    gather_sms_ = static_cast<int>(opened[1]);
    fill_s_ += opened[2];
  }
}

TrainingRanks::~TrainingRanks() {
  reinterpret_cast<gnn::RankExchange*>(memory_.data())->given_up.store(1, std::memory_order_release);
}

void TrainingRanks::ask_all(const std::string& word) {
  for (const auto& each : ranks_) {
    each->ask(word);
  }
}

std::vector<std::vector<double>> TrainingRanks::answers_of_all(const std::string& word, std::size_t count,
                                                               double patience_s) {
  std::vector<std::vector<double>> all;
  all.reserve(ranks_.size());
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
    all.push_back(ranks_[rank]->numbers_in(answer_of(rank, word, patience_s), count));
  }
  return all;
}

std::string TrainingRanks::answer_of(std::size_t rank, const std::string& word, double patience_s) {
  std::vector<WorkerProcess*> others;
  others.reserve(ranks_.size());
  for (const auto& other : ranks_) {
    if (other != ranks_[rank]) {
      others.push_back(other.get());
    }
  }
  return answer_beside(*ranks_[rank], others, word, patience_s);
}

gnn::StageTimes TrainingRanks::stages() {
  ask_all("stages");
  const auto answers = answers_of_all("staged", 2 * windows_ + 2 * steps(), kRun_s);
  gnn::StageTimes times;
  times.losses.resize(batches());
  for (std::size_t rank = 0; rank < answers.size(); ++rank) {
    auto from = answers[rank].begin();
    const std::vector<double> sample_s = take(from, windows_);
    const std::vector<double> gather_s = take(from, windows_);
    const std::vector<double> train_s = take(from, steps());
    if (rank == 0) {
      times.sample_s = sample_s;
      times.gather_s = gather_s;
      times.train_s = train_s;
    }
    for (std::uint64_t step = 0; step < steps(); ++step) {
      times.losses[step * ranks_.size() + rank] = *from++;
    }
  }
  return times;
}

gnn::PipelineRun TrainingRanks::run() {
  ask_all("run");
  const std::uint64_t first_steps = windows_ - 1;
  const std::uint64_t singles = steps() - window_;
  const std::uint64_t lane_numbers = 2 * (2 * windows_ + steps());
  const auto answers = answers_of_all("ran", 1 + first_steps + singles + steps() + lane_numbers, kRun_s);
  gnn::PipelineRun run;
  run.losses.resize(batches());
  for (std::size_t rank = 0; rank < answers.size(); ++rank) {
    auto from = answers[rank].begin();
    run.cpu_s += *from++;
    const std::vector<double> step_s = take(from, first_steps);
    const std::vector<double> single_s = take(from, singles);
    if (rank == 0) {
      run.step_s = step_s;
      run.single_s = single_s;
    }
    for (std::uint64_t step = 0; step < steps(); ++step) {
      run.losses[step * ranks_.size() + rank] = *from++;
    }
    for (std::size_t stage = 0; stage < kStages; ++stage) {
      const std::uint64_t spans = stage + 1 == kStages ? steps() : windows_;
      TimelineLane lane{kStageNames[stage], gpus_[rank], take(from, spans), {}};
      lane.end_s = take(from, spans);
      run.timeline.push_back(std::move(lane));
    }
  }
  return run;
}

namespace {

void run(RankJob job) {
  const SharedMemory memory(job.descriptor, job.bytes);
  auto& exchange = *reinterpret_cast<gnn::RankExchange*>(memory.data());
  const gnn::TrainingPlan plan = gnn::read_plan(memory.path(), kPlanAt);
  const NodeBinding binding(Topology::read(), job.request.node, static_cast<int>(job.rank),
                            static_cast<int>(job.request.gpus.size()));
  const std::size_t cpus = current_affinity().size();
  omp_set_num_threads(static_cast<int>(cpus));
  job.request.threads = threads_that_gather(cpus);
  const auto pipeline = gnn::make_training_rank(plan, job.request, job.rank, exchange);
  tell("shared");
  serve({{"open",
          [&](std::istream& /*words*/) {
            pipeline->open();
            tell_numbers("opened", pipeline->gpu_bytes(), pipeline->gather_sms(), pipeline->fill_s());
          }},
         {"stages",
          [&](std::istream& /*words*/) {
            const gnn::StageTimes times = pipeline->stages();
            tell_numbers("staged", times.sample_s, times.gather_s, times.train_s, times.losses);
          }},
         {"run", [&](std::istream& /*words*/) {
            const gnn::PipelineRun run = pipeline->run();
            std::vector<double> spans;
            for (const TimelineLane& lane : run.timeline) {
              spans.insert(spans.end(), lane.begin_s.begin(), lane.begin_s.end());
              spans.insert(spans.end(), lane.end_s.begin(), lane.end_s.end());
            }
            tell_numbers("ran", run.cpu_s, run.step_s, run.single_s, run.losses, spans);
          }}});
}

}  // namespace

std::function<void()> training_rank(const std::vector<std::string>& job) {
  return [parsed = parse_rank_job(job)] { run(parsed); };
}

}  // namespace grainscope::harness
