#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <fstream>
#include <string>
#include <utility>

#include "grainscope/core/error.hpp"
#include "grainscope/core/sampler.hpp"
#include "grainscope/system/mps.hpp"
#include "mps_end.hpp"

namespace grainscope {
namespace {

constexpr const char* kPidFile = "nvidia-cuda-mps-control.pid";
constexpr useconds_t kBetweenLooks_us = 10000;
constexpr double kKilling_s = 2;  // that the kernel may take to end what was killed

// The daemon's own word for its process; 0 where there is none.
pid_t daemon_pid(const std::filesystem::path& directory) {
  std::ifstream file(directory / kMpsPipes / kPidFile);
  pid_t pid = 0;
  file >> pid;
  return pid > 1 ? pid : 0;
}

bool ends_within(pid_t pid, double seconds) {
  const double deadline_s = steady_now_s() + seconds;
  // The guard adopts the daemon, so it must reap it; to others it is no child.
  while (waitpid(pid, nullptr, WNOHANG) != pid && (kill(pid, 0) == 0 || errno != ESRCH)) {
    if (steady_now_s() >= deadline_s) {
      return false;
    }
    usleep(kBetweenLooks_us);
  }
  return true;
}

}  // namespace

Variables mps_variables(const std::filesystem::path& directory) {
  return {{"CUDA_MPS_PIPE_DIRECTORY", (directory / kMpsPipes).string()},
          {"CUDA_MPS_LOG_DIRECTORY", (directory / kMpsLogs).string()}};
}

void end_mps_daemon(const std::string& control, const std::filesystem::path& directory,
                    double patience_s) noexcept {
  try {
    const pid_t daemon = daemon_pid(directory);
    if (daemon != 0 && ends_within(daemon, 0)) {
      return;
    }
    {
      ChildProcess asking(
          {.words = {control}, .set = mps_variables(directory), .output = directory / kMpsLogs / "quit.txt"});
      // Clients are gone by now; -t keeps one that hangs from holding the daemon.
      asking.write_line("quit -t 2");
      asking.close_input();
      if (!asking.wait(patience_s / 2)) {
        asking.send(SIGKILL);
      }
    }
    if (daemon != 0 && !ends_within(daemon, patience_s / 2)) {
      kill(daemon, SIGKILL);
    }
  } catch (const std::exception&) {
    // Asking failed: what is left of the daemon is killed.
    if (const pid_t daemon = daemon_pid(directory); daemon != 0) {
      kill(daemon, SIGKILL);
    }
  }
}

MpsDaemon::MpsDaemon(const MpsRequest& request) : request_(request) {
  if (find_program(request_.control).empty()) {
    throw SkipError(request_.control + " is not in PATH: it comes with the driver's utilities");
  }
  const std::filesystem::path beside =
      request_.beside.empty() ? std::filesystem::temp_directory_path() : request_.beside;
  guard_ = std::make_unique<ChildProcess>(
      ChildRequest{.words = {request_.program, kMpsGuardCommand, request_.control, request_.gpu,
                             beside.string(), std::to_string(request_.patience_s)},
                   .outlives_parent = true});
  const std::string ready = "ready ";
  const std::string failed = "failed ";
  const auto answer = guard_->read_line(2 * request_.patience_s);
  if (answer && answer->starts_with(ready)) {
    directory_ = answer->substr(ready.size());
    return;
  }
  if (answer && answer->starts_with(failed)) {
    throw SkipError("MPS does not start: " + answer->substr(failed.size()));
  }
  const auto end = guard_->wait(request_.patience_s);
  throw FailedError("the guard of an MPS daemon " + (end ? to_string(*end) : "ended its output") +
                    " before the daemon had started");
}

MpsDaemon::~MpsDaemon() {
  try {
    stop();
  } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): the guard has what is left
  }
}

void MpsDaemon::stop() {
  if (directory_.empty()) {
    return;
  }
  const std::filesystem::path directory = std::exchange(directory_, {});
  guard_->close_input();
  const auto end = guard_->wait(2 * request_.patience_s + kKilling_s);
  if (end && end->well()) {
    return;
  }
  // Somebody has killed the guard, or it hangs.
  guard_->send(SIGKILL);
  end_mps_daemon(request_.control, directory, request_.patience_s);
  std::error_code ignored;
  std::filesystem::remove_all(directory, ignored);
  if (std::filesystem::exists(directory)) {
    throw FailedError("could not remove the MPS daemon's directory " + directory.string());
  }
}

Variables MpsDaemon::client_variables() const {
  return mps_variables(directory_);
}

std::vector<std::string> MpsDaemon::variables_to_unset() {
  // The daemon shows one GPU, and clients number what it shows.
  return {"CUDA_VISIBLE_DEVICES", "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE",
          "CUDA_MPS_ENABLE_PER_CTX_DEVICE_MULTIPROCESSOR_PARTITIONING"};
}

}  // namespace grainscope
