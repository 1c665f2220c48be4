#include "worker_process.hpp"

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <utility>

#include "grainscope/gnn/exchange.hpp"
#include "grainscope/system/mps.hpp"

namespace grainscope::harness {
namespace {

constexpr double kEnding_s = 5;  // to give a table and a context back
constexpr const char* kSkip = "skip";
constexpr const char* kFailed = "failed";
constexpr const char* kWaited = "waited";

ChildRequest request_of(const std::string& program, const std::vector<std::string>& words,
                        const std::vector<Variables>& variables, std::vector<int> keep) {
  ChildRequest request{.words = {program}, .unset = MpsDaemon::variables_to_unset(), .keep = std::move(keep)};
  request.words.insert(request.words.end(), words.begin(), words.end());
  for (const Variables& each : variables) {
    request.set.insert(request.set.end(), each.begin(), each.end());
  }
  return request;
}

}  // namespace

WorkerProcess::WorkerProcess(std::string what, const std::string& program,
                             const std::vector<std::string>& words, const std::vector<Variables>& variables,
                             std::vector<int> keep)
    : what_(std::move(what)), process_(request_of(program, words, variables, std::move(keep))) {}

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

int worker_status(const std::function<void()>& body) {
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
