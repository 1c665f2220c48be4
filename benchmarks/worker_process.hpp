#ifndef GRAINSCOPE_BENCHMARKS_WORKER_PROCESS_HPP
#define GRAINSCOPE_BENCHMARKS_WORKER_PROCESS_HPP

// This program once more, as `grainscope worker KIND JOB...`, that works for a family in a process of its
// own, mostly as a client of MPS: both ends of the lines in which they speak. The family asks, a word and
// what it needs; the worker answers, a word and numbers or text, or says why it cannot and goes.

#include <algorithm>
#include <array>
#include <charconv>
#include <functional>
#include <istream>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "grainscope/core/error.hpp"
#include "grainscope/cuda/sm_partition.hpp"
#include "grainscope/system/child_process.hpp"

namespace grainscope::harness {

inline constexpr const char* kWorkerCommand = "worker";

// How long the family waits for what a worker says.
inline constexpr double kWorkerReady_s = 120;  // to make a context under MPS and to lock a table
inline constexpr double kWorkerAnswer_s = 30;

// The family's end. Each call throws SkipError or FailedError, with the worker's words, where it could not;
// FailedError that says how it ended where it is no more; gnn::TurnError where it failed only because it
// waited in vain for another worker, which may know why.
class WorkerProcess {
 public:
  // Starts it. `what`: as messages name it. `variables`: by which it becomes a client and gets its share.
  WorkerProcess(std::string what, const std::string& program, const std::string& kind,
                const std::vector<std::string>& job, const std::vector<Variables>& variables,
                std::vector<int> keep = {});
  // Lets it end by itself: a client of MPS that is killed can take the server along.
  ~WorkerProcess();
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  void ask(const std::string& line);
  // What follows the word of an answer.
  std::string answer(const std::string& word, double patience_s = kWorkerAnswer_s);
  // The same where it is so many numbers. Throws FailedError for more or fewer.
  [[nodiscard]] std::vector<double> numbers(const std::string& word, std::size_t count,
                                            double patience_s = kWorkerAnswer_s);
  [[nodiscard]] std::vector<double> numbers_in(const std::string& answer, std::size_t count) const;
  // Whether an answer, or its end, is there within that time.
  [[nodiscard]] bool has_answered(double within_s) { return process_.readable(within_s); }
  // Whether it is no more, or will not be within that time.
  [[nodiscard]] bool is_over(double within_s) { return process_.wait(within_s).has_value(); }
  [[nodiscard]] pid_t pid() const noexcept { return process_.pid(); }
  [[nodiscard]] const std::string& what() const noexcept { return what_; }

 private:
  [[noreturn]] void fail(const std::string& line) const;

  std::string what_;
  ChildProcess process_;
};

// The answer of one of several that wait for each other. Where another is over before it, or has failed while
// this one waited in vain, throws what that one says, which is more.
std::string answer_beside(WorkerProcess& one, const std::vector<WorkerProcess*>& others,
                          const std::string& word, double patience_s);

// So that reading it gives the same number.
[[nodiscard]] std::string exact_text(double number);

// The words of a job, one after another. Throws UsageError for others, or another number of them: a worker is
// started by the program itself only.
class JobWords {
 public:
  JobWords(std::string kind, const std::vector<std::string>& words, std::size_t count);

  [[nodiscard]] const std::string& next() { return words_[next_++]; }
  template <class Number>
  [[nodiscard]] Number number() {
    const std::string& word = next();
    Number value{};
    const char* const end = word.data() + word.size();
    const auto [stop, error] = std::from_chars(word.data(), end, value);
    if (error != std::errc{} || stop != end) {
      refuse(word);
    }
    return value;
  }
  // That of `all` whose name is the word.
  template <class Named, std::size_t kCount>
  [[nodiscard]] Named named(const Named (&all)[kCount]) {
    const std::string& word = next();
    const auto* const match =
        std::find_if(std::begin(all), std::end(all), [&](Named each) { return name(each) == word; });
    if (match == std::end(all)) {
      refuse(word);
    }
    return *match;
  }
  [[noreturn]] void refuse(const std::string& word) const;

 private:
  std::string kind_;
  std::vector<std::string> words_;
  std::size_t next_ = 0;
};

// Runs processes that are to begin at one moment, and again where the last of them began later than
// `most_late_s` behind it: what ran beside the others for less than it says is no sample. `run`, given the
// number of the try from 0 on, says how late that was. Returns how many tries were for nothing. Throws
// FailedError where all were.
int begin_together(const char* who, double most_late_s, int most_tries,
                   const std::function<double(int)>& run);

// The worker's end: one line to the family.
void tell(const std::string& word, const std::string& text = "");
// Numbers, and ranges of them, so that reading them gives the same.
template <class... Numbers>
void tell_numbers(const std::string& word, const Numbers&... numbers) {
  std::string text;
  const auto add = [&](const auto& number) {
    if constexpr (requires { number.begin(); }) {
      for (const auto& each : number) {
        text += exact_text(each) + " ";
      }
    } else {
      text += exact_text(static_cast<double>(number)) + " ";
    }
  };
  (add(numbers), ...);
  tell(word, text);
}
// Answers what is asked by its word, until the end of the input, which comes when the family is gone, however
// it went. A handler reads what follows the word.
using Handlers = std::map<std::string, std::function<void(std::istream& words)>>;
void serve(const Handlers& handlers);

// The worker's program: `words` are what follows the sub-command, a kind and its job. Runs it and tells what
// it throws; returns its exit status. Throws UsageError for a kind or a job that is none.
[[nodiscard]] int run_worker(const std::vector<std::string>& words);
// The part of `gpu` that this process has as a client, or takes. Throws SkipError, with the driver's words,
// where it cannot become a client: then the machine has no MPS that works, and nothing is wrong.
[[nodiscard]] std::unique_ptr<cuda::SmPartition> client_part(int gpu, cuda::ShareBy by, int sms);

}  // namespace grainscope::harness

#endif
