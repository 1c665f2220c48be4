#ifndef GRAINSCOPE_SYSTEM_MPS_HPP
#define GRAINSCOPE_SYSTEM_MPS_HPP

// NVIDIA's Multi-Process Service, started for a few cases and gone after them, however the program ends.
//
// Beside the daemon runs a guard: this program once more, as `grainscope mps-guard`. It makes the daemon's
// directory, starts the daemon, adopts whatever that forks, and waits for the end of its input, which the
// kernel brings about when the process that started it ends, also by a kill. Then it ends the daemon and all
// that it adopted, and removes the directory. Nothing needs root.

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "grainscope/system/child_process.hpp"

namespace grainscope {

inline constexpr const char* kMpsControl = "nvidia-cuda-mps-control";
inline constexpr const char* kMpsGuardCommand = "mps-guard";

struct MpsRequest {
  std::string control = kMpsControl;  // as find_program takes it
  std::string program = kOwnProgram;  // that has the sub-command of the guard
  std::string gpu = {};               // UUID of the one that clients see, as number 0; empty: all
  // Directory in which the daemon's own is made; empty: the system's for temporary files.
  std::filesystem::path beside = {};
  double patience_s = 20;  // for the daemon to start, and to end by itself
};

class MpsDaemon {
 public:
  // Starts the daemon with pipe and log directories of its own. Throws SkipError, with the daemon's words,
  // where it is not there or does not start; then nothing is left of it.
  explicit MpsDaemon(const MpsRequest& request);
  // As stop, but says nothing.
  ~MpsDaemon();
  MpsDaemon(const MpsDaemon&) = delete;
  MpsDaemon& operator=(const MpsDaemon&) = delete;

  // Ends daemon and guard, waits until they are gone, and removes the directory. Throws FailedError where
  // something is left.
  void stop();

  // What a client's environment needs, and what it may not have.
  [[nodiscard]] Variables client_variables() const;
  [[nodiscard]] static std::vector<std::string> variables_to_unset();
  [[nodiscard]] const std::filesystem::path& directory() const noexcept { return directory_; }
  [[nodiscard]] pid_t guard_pid() const noexcept { return guard_->pid(); }

 private:
  MpsRequest request_;
  std::filesystem::path directory_;
  std::unique_ptr<ChildProcess> guard_;
};

// The guard's body: `words` are what follows the sub-command. Returns its exit status.
[[nodiscard]] int guard_mps(const std::vector<std::string>& words);

}  // namespace grainscope

#endif
