#include "share_worker.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <sstream>
#include <utility>

#include "grainscope/core/error.hpp"
#include "grainscope/core/sampler.hpp"

namespace grainscope::harness {
namespace {

using cuda::ShareBy;

constexpr double kNotice_s = 5e-4;  // between asking and the moment to run at
// A side that begins later than this has run beside the other for less than it says: once more.
constexpr double kLate_s = 5e-5;
constexpr int kMostTries = 16;
constexpr std::size_t kWords = 10;

template <class Number>
Number number(const std::string& word) {
  return number_in<Number>(word, kShareWorkerCommand);
}

}  // namespace

std::vector<std::string> to_words(const ShareJob& job) {
  return {name(job.by),
          std::to_string(job.sms),
          exact_text(job.percent),
          std::to_string(job.node),
          std::to_string(job.width),
          std::to_string(job.row_bytes),
          std::to_string(job.rows),
          std::to_string(job.span_bytes),
          std::to_string(job.products),
          std::to_string(job.steps)};
}

ShareJob parse_share_job(const std::vector<std::string>& words) {
  if (words.size() != kWords) {
    throw UsageError(std::string(kShareWorkerCommand) + " is started by the program itself");
  }
  ShareJob job;
  const std::array ways{ShareBy::mps_percentage, ShareBy::exec_affinity};
  const auto* const way =
      std::find_if(ways.begin(), ways.end(), [&](ShareBy by) { return name(by) == words[0]; });
  if (way == ways.end()) {
    throw UsageError("`" + words[0] + "` needs no process of its own");
  }
  job.by = *way;
  job.sms = number<int>(words[1]);
  job.percent = number<double>(words[2]);
  job.node = number<int>(words[3]);
  job.width = number<std::uint32_t>(words[4]);
  job.row_bytes = number<std::uint32_t>(words[5]);
  job.rows = number<std::uint64_t>(words[6]);
  job.span_bytes = number<std::uint64_t>(words[7]);
  job.products = number<int>(words[8]);
  job.steps = number<int>(words[9]);
  return job;
}

Variables share_variables(const ShareJob& job) {
  return job.by == ShareBy::exec_affinity
             ? Variables{{"CUDA_MPS_ENABLE_PER_CTX_DEVICE_MULTIPROCESSOR_PARTITIONING", "1"}}
             : Variables{{"CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", exact_text(job.percent)}};
}

namespace {

std::vector<std::string> command_of(const ShareJob& job) {
  std::vector<std::string> words = to_words(job);
  words.insert(words.begin(), kShareWorkerCommand);
  return words;
}

}  // namespace

ShareWorker::ShareWorker(const ShareJob& job, const Variables& client, const std::string& program)
    : process_(job.width > 0 ? "the process that gathers" : "the process that computes", program,
               command_of(job), {client, share_variables(job)}) {
  std::istringstream shares(process_.answer("started", kWorkerReady_s));
  shares >> given_sms_ >> seen_sms_;
}

double ShareWorker::alone() {
  process_.ask("alone");
  return times().seconds;
}

void ShareWorker::ask_to_run_at(double start_s) {
  process_.ask("run " + exact_text(start_s));
}

gnn::ShareTimes ShareWorker::times() {
  std::istringstream text(process_.answer("times"));
  gnn::ShareTimes times;
  if (!(text >> times.seconds >> times.begun_s >> times.opened_s >> times.ended_s)) {
    throw FailedError(process_.what() + " gave no times");
  }
  return times;
}

std::string ShareWorker::verify() {
  process_.ask("verify");
  return process_.answer("verified");
}

namespace {

// How late the later side began is told beside the times.
std::pair<SidesTimes, double> try_together(ShareWorker& first, ShareWorker& second) {
  first.ask_to_get_ready();
  second.ask_to_get_ready();
  first.wait_until_ready();
  second.wait_until_ready();
  const double start_s = steady_now_s() + kNotice_s;
  first.ask_to_run_at(start_s);
  second.ask_to_run_at(start_s);
  SidesTimes times;
  times.first = first.times();
  times.second = second.times();
  times.seconds = std::max(times.first.ended_s, times.second.ended_s) -
                  std::min(times.first.begun_s, times.second.begun_s);
  return {times, std::max(times.first.opened_s, times.second.opened_s) - start_s};
}

}  // namespace

SidesTimes run_together(ShareWorker& first, ShareWorker& second) {
  double least_late_s = std::numeric_limits<double>::infinity();
  for (int tries = 0; tries < kMostTries; ++tries) {
    const auto [times, late_s] = try_together(first, second);
    if (late_s <= kLate_s) {
      return times;
    }
    least_late_s = std::min(least_late_s, late_s);
  }
  throw FailedError("the two sides did not begin at one moment: in " + std::to_string(kMostTries) +
                    " tries one of them was " + std::to_string(std::lround(least_late_s * 1e6)) +
                    " us late or more; are there idle CPUs?");
}

}  // namespace grainscope::harness
