#include "share_worker.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <sstream>

#include "grainscope/core/error.hpp"
#include "grainscope/core/sampler.hpp"

namespace grainscope::harness {
namespace {

using cuda::ShareBy;

constexpr double kReady_s = 120;    // to make a context under MPS and to lock a table
constexpr double kAnswer_s = 30;    // of a sample; a gate opens by itself long before
constexpr double kEnding_s = 5;     // to give a table and a context back
constexpr double kNotice_s = 5e-4;  // between asking and the moment to run at
constexpr std::size_t kWords = 9;

std::string exact(double number) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.17g", number);
  return text.data();
}

template <class Number>
Number number_in(const std::string& word) {
  Number number{};
  const char* const end = word.data() + word.size();
  const auto [stop, error] = std::from_chars(word.data(), end, number);
  if (error != std::errc{} || stop != end) {
    throw UsageError(std::string(kShareWorkerCommand) + " is started by the program itself, not with `" +
                     word + "`");
  }
  return number;
}

}  // namespace

std::vector<std::string> to_words(const ShareJob& job) {
  return {name(job.by),
          std::to_string(job.sms),
          exact(job.percent),
          std::to_string(job.node),
          std::to_string(job.width),
          std::to_string(job.row_bytes),
          std::to_string(job.rows),
          std::to_string(job.span_bytes),
          std::to_string(job.products)};
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
  job.sms = number_in<int>(words[1]);
  job.percent = number_in<double>(words[2]);
  job.node = number_in<int>(words[3]);
  job.width = number_in<std::uint32_t>(words[4]);
  job.row_bytes = number_in<std::uint32_t>(words[5]);
  job.rows = number_in<std::uint64_t>(words[6]);
  job.span_bytes = number_in<std::uint64_t>(words[7]);
  job.products = number_in<int>(words[8]);
  return job;
}

Variables share_variables(const ShareJob& job) {
  return job.by == ShareBy::exec_affinity
             ? Variables{{"CUDA_MPS_ENABLE_PER_CTX_DEVICE_MULTIPROCESSOR_PARTITIONING", "1"}}
             : Variables{{"CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", exact(job.percent)}};
}

namespace {

ChildRequest request_of(const ShareJob& job, const Variables& client, const std::string& program) {
  ChildRequest request{
      .words = {program, kShareWorkerCommand}, .set = client, .unset = MpsDaemon::variables_to_unset()};
  const std::vector<std::string> words = to_words(job);
  request.words.insert(request.words.end(), words.begin(), words.end());
  const Variables share = share_variables(job);
  request.set.insert(request.set.end(), share.begin(), share.end());
  return request;
}

}  // namespace

ShareWorker::ShareWorker(const ShareJob& job, const Variables& client, const std::string& program)
    : what_(job.width > 0 ? "the process that gathers" : "the process that multiplies"),
      process_(request_of(job, client, program)) {
  std::istringstream shares(answer("started"));
  shares >> given_sms_ >> seen_sms_;
}

ShareWorker::~ShareWorker() {
  process_.close_input();
  static_cast<void>(process_.wait(kEnding_s));
}

double ShareWorker::alone() {
  ask("alone");
  return times().seconds;
}

void ShareWorker::ask_to_run_at(double start_s) {
  ask("run " + exact(start_s));
}

gnn::ShareTimes ShareWorker::times() {
  std::istringstream text(answer("times"));
  gnn::ShareTimes times;
  if (!(text >> times.seconds >> times.begun_s >> times.ended_s)) {
    throw FailedError(what_ + " gave no times");
  }
  return times;
}

std::string ShareWorker::verify() {
  ask("verify");
  return answer("verified");
}

void ShareWorker::ask(const std::string& line) {
  // One that has ended may have said why: reading the answer tells.
  process_.write_line(line);
}

std::string ShareWorker::answer(const std::string& word) {
  const auto line = process_.read_line(word == "started" ? kReady_s : kAnswer_s);
  if (!line) {
    const auto end = process_.wait(kAnswer_s);
    throw FailedError(what_ + (end ? " " + to_string(*end) : " has closed its output"));
  }
  if (!line->starts_with(word)) {
    fail(*line);
  }
  return line->substr(std::min(line->size(), word.size() + 1));
}

void ShareWorker::fail(const std::string& line) {
  const std::string skip = "skip ";
  const std::string failed = "failed ";
  if (line.starts_with(skip)) {
    throw SkipError(what_ + ": " + line.substr(skip.size()));
  }
  throw FailedError(what_ +
                    (line.starts_with(failed) ? ": " + line.substr(failed.size()) : " said `" + line + "`"));
}

SidesTimes run_together(ShareWorker& first, ShareWorker& second) {
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
  return times;
}

}  // namespace grainscope::harness
