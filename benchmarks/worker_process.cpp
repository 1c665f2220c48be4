#include "worker_process.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <limits>
#include <sstream>
#include <utility>

#include "gnn/pipeline_worker.hpp"
#include "gnn/share_worker.hpp"
#include "gnn/training_ranks.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/gnn/pipeline.hpp"
#include "grainscope/system/mps.hpp"
#include "host/malloc.hpp"

namespace grainscope::harness {
namespace {

constexpr double kEnding_s = 5;  // to give a table and a context back
constexpr double kGone_s = 2;    // in which a process that failed has said so and gone
constexpr const char* kSkip = "skip";
constexpr const char* kFailed = "failed";
constexpr const char* kWaited = "waited";

ChildRequest request_of(const std::string& what, const std::string& program, const std::string& kind,
                        const std::vector<std::string>& job, const std::vector<Variables>& variables,
                        std::vector<int> keep) {
  ChildRequest request{.words = {program, kWorkerCommand, kind},
                       .unset = MpsDaemon::variables_to_unset(),
                       .keep = std::move(keep),
                       .name = what};
  request.words.insert(request.words.end(), job.begin(), job.end());
  for (const Variables& each : variables) {
    request.set.insert(request.set.end(), each.begin(), each.end());
  }
  return request;
}

}  // namespace

WorkerProcess::WorkerProcess(std::string what, const std::string& program, const std::string& kind,
                             const std::vector<std::string>& job, const std::vector<Variables>& variables,
                             std::vector<int> keep)
    : what_(std::move(what)), process_(request_of(what_, program, kind, job, variables, std::move(keep))) {}

WorkerProcess::~WorkerProcess() {
  process_.close_input();
  static_cast<void>(process_.wait(kEnding_s));
}

void WorkerProcess::ask(const std::string& line) {
  // One that has ended may have said why: reading the answer tells.
  process_.write_line(line);
}

std::string WorkerProcess::answer(const std::string& word, double patience_s) {
  const auto line = process_.read_line(patience_s);
  if (!line) {
    const auto end = process_.wait(kWorkerAnswer_s);
    throw FailedError(what_ + (end ? " " + to_string(*end) : " has closed its output"));
  }
  if (!line->starts_with(word)) {
    fail(*line);
  }
  return line->substr(std::min(line->size(), word.size() + 1));
}

std::vector<double> WorkerProcess::numbers(const std::string& word, std::size_t count, double patience_s) {
  return numbers_in(answer(word, patience_s), count);
}

std::vector<double> WorkerProcess::numbers_in(const std::string& answer, std::size_t count) const {
  std::istringstream words(answer);
  std::vector<double> all{std::istream_iterator<double>(words), {}};
  if (all.size() != count) {
    throw FailedError(what_ + " gave " + std::to_string(all.size()) + " numbers, not " +
                      std::to_string(count));
  }
  return all;
}

void WorkerProcess::fail(const std::string& line) const {
  const auto said = [&](const std::string& word) { return line.starts_with(word + " "); };
  const auto words = [&] { return what_ + ": " + line.substr(line.find(' ') + 1); };
  if (said(kSkip)) {
    throw SkipError(words());
  }
  if (said(kWaited)) {
    throw gnn::TurnError(words());
  }
  throw FailedError(said(kFailed) ? words() : what_ + " said `" + line + "`");
}

namespace {

// Throws what a process that is over has said; not what it says that only waited.
void tell_unless_it_waited(WorkerProcess& process, const std::string& word) {
  try {
    static_cast<void>(process.answer(word, kGone_s));
  } catch (const gnn::TurnError&) {
    return;
  }
}

}  // namespace

std::string answer_beside(WorkerProcess& one, const std::vector<WorkerProcess*>& others,
                          const std::string& word, double patience_s) {
  constexpr double kLook_s = 0.5;
  const auto ask_who_is_over = [&](double within_s) {
    for (WorkerProcess* const other : others) {
      if (other->is_over(within_s)) {
        tell_unless_it_waited(*other, word);
      }
    }
  };
  const auto looks = static_cast<int>(std::ceil(patience_s / kLook_s));
  for (int look = 0; look < looks && !one.has_answered(kLook_s); ++look) {
    ask_who_is_over(0);  // whom this one may wait for on its GPU, and for ever
  }
  if (!one.has_answered(0)) {
    throw FailedError(one.what() + " has not answered for " + format_seconds(patience_s));
  }
  try {
    return one.answer(word, 0);
  } catch (const gnn::TurnError&) {
    ask_who_is_over(kGone_s);
    throw;
  }
}

std::string exact_text(double number) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.17g", number);
  return text.data();
}

void tell(const std::string& word, const std::string& text) {
  std::string line = word + " " + text;
  std::replace(line.begin(), line.end(), '\n', ' ');
  std::cout << line << std::endl;
}

JobWords::JobWords(std::string kind, const std::vector<std::string>& words, std::size_t count)
    : kind_(std::move(kind)), words_(words) {
  if (words_.size() != count) {
    throw UsageError("worker " + kind_ + " is started by the program itself");
  }
}

void JobWords::refuse(const std::string& word) const {
  throw UsageError("worker " + kind_ + " is started by the program itself, not with `" + word + "`");
}

void serve(const Handlers& handlers) {
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string word;
    words >> word;
    const auto handler = handlers.find(word);
    if (handler == handlers.end()) {
      throw FailedError("unknown request `" + line + "`");
    }
    handler->second(words);
  }
}

int begin_together(const char* who, double most_late_s, int most_tries,
                   const std::function<double(int)>& run) {
  double least_late_s = std::numeric_limits<double>::infinity();
  for (int tries = 0; tries < most_tries; ++tries) {
    const double late_s = run(tries);
    if (late_s <= most_late_s) {
      return tries;
    }
    least_late_s = std::min(least_late_s, late_s);
  }
  throw FailedError(std::string(who) + " did not begin at one moment: in " + std::to_string(most_tries) +
                    " tries one of them was " + std::to_string(std::lround(least_late_s * 1e6)) +
                    " us late or more; are there idle CPUs?");
}

int run_worker(const std::vector<std::string>& words) {
  static const std::map<std::string, std::function<void()> (*)(const std::vector<std::string>& job)> kKinds{
      {kMallocKind, malloc_worker},
      {kShareKind, share_worker},
      {kPipelineKind, pipeline_worker},
      {kRankKind, training_rank}};
  const auto kind = words.empty() ? kKinds.end() : kKinds.find(words.front());
  if (kind == kKinds.end()) {
    throw UsageError(std::string(kWorkerCommand) + " is started by the program itself");
  }
  const std::function<void()> body = kind->second({words.begin() + 1, words.end()});
  try {
    body();
    return 0;
  } catch (const SkipError& error) {
    tell(kSkip, error.what());
  } catch (const EnvironmentError& error) {
    tell(kSkip, error.what());
  } catch (const gnn::TurnError& error) {
    tell(kWaited, error.what());
  } catch (const std::exception& error) {
    tell(kFailed, error.what());
  }
  return 1;
}

std::unique_ptr<cuda::SmPartition> client_part(int gpu, cuda::ShareBy by, int sms) {
  try {
    return cuda::make_partition(gpu, by, sms);
  } catch (const FailedError& error) {
    throw SkipError(std::string("could not become a client of MPS: ") + error.what());
  }
}

}  // namespace grainscope::harness
