// What the processes of a training pipeline do between their first line and the end of their input.

#include <iostream>
#include <memory>
#include <sstream>
#include <string>

#include "grainscope/gnn/pipeline_sides.hpp"
#include "grainscope/gnn/shared_plan.hpp"
#include "grainscope/system/numa.hpp"
#include "grainscope/system/topology.hpp"
#include "pipeline_worker.hpp"

namespace grainscope::harness {
namespace {

constexpr int kGpu = 0;  // the daemon shows one

template <class... Numbers>
std::string text_of(const Numbers&... numbers) {
  std::ostringstream text;
  text.precision(17);
  const auto add = [&](const auto& number) {
    if constexpr (requires { number.begin(); }) {
      for (const auto& each : number) {
        text << each << ' ';
      }
    } else {
      text << number << ' ';
    }
  };
  (add(numbers), ...);
  return text.str();
}

void tell_started(const cuda::SmPartition& part, std::uint64_t gpu_bytes) {
  tell("started", text_of(part.given_sms(), cuda::count_multiprocessors(kGpu, part), gpu_bytes));
}

// Until the end of the input, which comes when the family is gone, however it went.
template <class Answer>
void serve(const Answer& answer) {
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string word;
    std::uint64_t batch = 0;
    words >> word >> batch;
    if (!answer(word, batch)) {
      throw FailedError("nothing is known of `" + line + "`");
    }
  }
}

void gather(const PipelineJob& job, const gnn::TrainingPlan& plan, const cuda::SmPartition& part,
            gnn::Exchange& exchange) {
  gnn::PipelineRequest request;
  request.mode = job.mode;
  request.store = job.store;
  request.hot_percent = job.hot;
  request.gpus = {kGpu};
  gnn::require_processes(request);
  const auto table = gnn::make_pinned_table(plan.neighbours.vertices(), plan.features);
  const auto side = gnn::make_gathering_side(plan, *table, request, exchange);
  tell_started(part, side->gpu_bytes());
  serve([&](const std::string& word, std::uint64_t batch) {
    if (word == "stage") {
      const auto times = side->stage(batch);
      tell("staged", text_of(times.sample_s, times.gather_s));
    } else if (word == "run") {
      const auto run = side->run();
      tell("ran", text_of(run.cpu_s, run.gather_s));
    } else {
      return false;
    }
    return true;
  });
}

void train(const gnn::TrainingPlan& plan, const cuda::SmPartition& part, gnn::Exchange& exchange) {
  const auto side = gnn::make_training_side(plan, kGpu, exchange);
  tell_started(part, side->gpu_bytes());
  serve([&](const std::string& word, std::uint64_t batch) {
    if (word == "open") {
      side->open();
      tell("opened", "");
    } else if (word == "reset") {
      side->reset();
      tell("reset", "");
    } else if (word == "stage") {
      tell("staged", text_of(side->stage(batch)));
    } else if (word == "run") {
      const auto run = side->run();
      tell("ran", text_of(run.cpu_s, run.step_s, run.train_s));
    } else if (word == "losses") {
      tell("losses", text_of(side->losses()));
    } else {
      return false;
    }
    return true;
  });
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

int pipeline_worker(const std::vector<std::string>& words) {
  const PipelineJob job = parse_pipeline_job(words);
  return worker_status([&] { run(job); });
}

}  // namespace grainscope::harness
