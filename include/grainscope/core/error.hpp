#ifndef GRAINSCOPE_CORE_ERROR_HPP
#define GRAINSCOPE_CORE_ERROR_HPP

// The ways a run can go wrong, told apart by what a user can do about them.

#include <stdexcept>
#include <string>

namespace grainscope {

// The program's exit statuses.
enum class ExitStatus : int {
  ok = 0,           // everything ran or was skipped for a stated reason
  failed = 1,       // some result is missing or wrong
  usage = 2,        // the command line cannot be honoured
  environment = 3,  // this machine forbids what was asked
};

// An error whose message says what was tried, on what, what came back, and what to do.
class Error : public std::runtime_error {
 public:
  Error(ExitStatus status, const std::string& message) : std::runtime_error(message), status_(status) {}
  [[nodiscard]] ExitStatus status() const noexcept { return status_; }

 private:
  ExitStatus status_;
};

// The command line asks for something that does not exist or contradicts itself.
class UsageError : public Error {
 public:
  explicit UsageError(const std::string& message) : Error(ExitStatus::usage, message) {}
};

// A file that was given to be measured on (a graph, labels, features) cannot be used, as is found only where
// it is read: nothing further can be measured until another one is given.
class InputError : public UsageError {
 public:
  using UsageError::UsageError;
};

// The machine lacks, or does not permit, what was asked for.
class EnvironmentError : public Error {
 public:
  explicit EnvironmentError(const std::string& message) : Error(ExitStatus::environment, message) {}
};

// Something that should have worked did not: a wrong result, a failed call.
class FailedError : public Error {
 public:
  explicit FailedError(const std::string& message) : Error(ExitStatus::failed, message) {}
};

// The GPU cannot be used by this process any more, whatever is asked of it: nothing further can be measured
// before a new process.
class GpuLostError : public FailedError {
 public:
  using FailedError::FailedError;
};

// Another process that this one works with is gone or does not answer: nothing further can be measured with
// it.
class RankLostError : public FailedError {
 public:
  using FailedError::FailedError;
};

// A case found only while it ran that this machine cannot do it: its row becomes `skipped`.
class SkipError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace grainscope

#endif
