#ifndef GRAINSCOPE_BENCHMARKS_WORKER_PROCESS_HPP
#define GRAINSCOPE_BENCHMARKS_WORKER_PROCESS_HPP

// This program once more, as a client of MPS that works for a family: both ends of the lines in which they
// speak.

#include <array>
#include <charconv>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "grainscope/core/error.hpp"
#include "grainscope/cuda/sm_partition.hpp"
#include "grainscope/system/child_process.hpp"

namespace grainscope::harness {

// How long the family waits for what a worker says.
inline constexpr double kWorkerReady_s = 120;  // to make a context under MPS and to lock a table
inline constexpr double kWorkerAnswer_s = 30;

// The family's end. Each call throws SkipError or FailedError, with the worker's words, where it could not;
// FailedError that says how it ended where it is no more; gnn::TurnError where it failed only because it
// waited in vain for another worker, which may know why.
class WorkerProcess {
 public:
  // Starts it. `what`: as messages name it. `words`: the sub-command and its words. `variables`: by which it
  // becomes a client and gets its share.
  WorkerProcess(std::string what, const std::string& program, const std::vector<std::string>& words,
                const std::vector<Variables>& variables, std::vector<int> keep = {});
  // Lets it end by itself: a client of MPS that is killed can take the server along.
  ~WorkerProcess();
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  void ask(const std::string& line);
  // What follows the word of an answer.
  [[nodiscard]] std::string answer(const std::string& word, double patience_s = kWorkerAnswer_s);
  // Whether it is no more, or will not be within that time.
  [[nodiscard]] bool is_over(double within_s) { return process_.wait(within_s).has_value(); }
  [[nodiscard]] pid_t pid() const noexcept { return process_.pid(); }
  [[nodiscard]] const std::string& what() const noexcept { return what_; }

 private:
  [[noreturn]] void fail(const std::string& line) const;

  std::string what_;
  ChildProcess process_;
};

// So that reading it gives the same number.
[[nodiscard]] std::string exact_text(double number);

// Throws UsageError for a word that is no number: `command` is for the program itself only.
template <class Number>
[[nodiscard]] Number number_in(const std::string& word, const char* command) {
  Number number{};
  const char* const end = word.data() + word.size();
  const auto [stop, error] = std::from_chars(word.data(), end, number);
  if (error != std::errc{} || stop != end) {
    throw UsageError(std::string(command) + " is started by the program itself, not with `" + word + "`");
  }
  return number;
}

// The worker's end: one line to the family.
void tell(const std::string& word, const std::string& text);
// Runs its body and tells what that throws; its exit status.
[[nodiscard]] int worker_status(const std::function<void()>& body);
// The part of `gpu` that this process has as a client, or takes. Throws SkipError, with the driver's words,
// where it cannot become a client: then the machine has no MPS that works, and nothing is wrong.
[[nodiscard]] std::unique_ptr<cuda::SmPartition> client_part(int gpu, cuda::ShareBy by, int sms);

}  // namespace grainscope::harness

#endif
