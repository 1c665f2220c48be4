// The MPS daemon that this program starts, and the guard: a process that outlives a program which started
// MPS, however that ends, and cleans up behind it.

#include "grainscope/system/mps.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "grainscope/core/error.hpp"
#include "grainscope/core/sampler.hpp"
#include "grainscope/system/child_process.hpp"

namespace grainscope {

inline constexpr const char* kMpsPipes = "pipe";
inline constexpr const char* kMpsLogs = "log";

// Where the daemon and its clients find each other.
[[nodiscard]] Variables mps_variables(const std::filesystem::path& directory);

// Asks the daemon of a directory to end and waits for that; kills it when the time is over. Does nothing
// where there is none.
void end_mps_daemon(const std::string& control, const std::filesystem::path& directory,
                    double patience_s) noexcept;

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
                   .outlives_parent = true,
                   .name = "the guard of an MPS daemon"});
  const std::string ready = "ready ";
  const std::string failed = "failed ";
  const auto answer = guard_->read_line(2 * request_.patience_s);
  if (answer && answer->starts_with(ready)) {
    directory_ = answer->substr(ready.size());
    return;
  }
  if (answer && answer->starts_with(failed)) {
    // It says so first, and then ends what has started, which may take as long as a stop.
    static_cast<void>(guard_->wait(2 * request_.patience_s + kKilling_s));
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

namespace {

// The process that outlives a program which started MPS, however that ends, and cleans up behind it.

constexpr std::size_t kWords = 4;             // control, GPU, directory beside, patience
constexpr std::size_t kLongestPipePath = 80;  // a socket's path has 107 bytes, and the daemon adds a name
constexpr double kGuardKilling_s = 5;

void say(const std::string& line) {
  const std::string text = line + "\n";
  static_cast<void>(!write(STDOUT_FILENO, text.data(), text.size()));
}

std::string one_line(std::istream& text) {
  std::string line{std::istreambuf_iterator<char>(text), {}};
  while (!line.empty() && (line.back() == '\n' || line.back() == ' ')) {
    line.pop_back();
  }
  std::replace(line.begin(), line.end(), '\n', ' ');
  return line;
}

// Processes whose parent is this one, those among them that have ended too.
std::vector<pid_t> children() {
  std::vector<pid_t> found;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    const auto pid = static_cast<pid_t>(std::strtol(entry.path().filename().c_str(), nullptr, 10));
    if (pid <= 0) {
      continue;
    }
    // A process may end while its file is read: then nothing is read.
    std::ifstream file(entry.path() / "stat");
    std::string stat;
    std::getline(file, stat, '\0');
    // "PID (NAME) STATE PARENT …": the name may hold anything, the last bracket ends it.
    const auto bracket = stat.rfind(')');
    if (bracket != std::string::npos && stat.size() > bracket + 4 &&
        std::strtol(stat.c_str() + bracket + 4, nullptr, 10) == getpid()) {
      found.push_back(pid);
    }
  }
  return found;
}

// Whether all children, those that were adopted among them, have ended and been reaped within that time.
bool all_end(double seconds, bool by_force) {
  const double deadline_s = steady_now_s() + seconds;
  for (;;) {
    while (waitpid(-1, nullptr, WNOHANG) > 0) {
    }
    if (waitpid(-1, nullptr, WNOHANG) < 0 && errno == ECHILD) {
      return true;
    }
    if (by_force) {
      for (const pid_t pid : children()) {
        kill(pid, SIGKILL);
      }
    }
    if (steady_now_s() >= deadline_s) {
      return false;
    }
    usleep(kBetweenLooks_us);
  }
}

class Guard {
 public:
  Guard(std::string control, std::string gpu, double patience_s)
      : control_(std::move(control)), gpu_(std::move(gpu)), patience_s_(patience_s) {}

  // Empty, or why the daemon does not run.
  [[nodiscard]] std::string start(const std::filesystem::path& beside) {
    std::string name = (beside / "grainscope-mps-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) {
      return "could not make a directory like " + name + ": " + std::strerror(errno);
    }
    directory_ = name;
    if ((directory_ / kMpsPipes).string().size() > kLongestPipePath) {
      return beside.string() + " is too long a path for the daemon's sockets: set TMPDIR to a shorter one";
    }
    std::filesystem::create_directory(directory_ / kMpsPipes);
    std::filesystem::create_directory(directory_ / kMpsLogs);
    const std::filesystem::path output = directory_ / kMpsLogs / "start.txt";
    ChildRequest request{.words = {control_, "-d"},
                         .set = mps_variables(directory_),
                         .outlives_parent = true,
                         .output = output};
    if (!gpu_.empty()) {
      request.set.emplace_back("CUDA_VISIBLE_DEVICES", gpu_);
    }
    ChildProcess starting(request);
    const auto end = starting.wait(patience_s_);
    if (end && end->well()) {
      return {};
    }
    std::ifstream said(output);
    const std::string words = one_line(said);
    return control_ + " -d " + (end ? to_string(*end) : "did not return") +
           (words.empty() ? "" : ": " + words);
  }

  [[nodiscard]] const std::filesystem::path& directory() const { return directory_; }

  // Whether nothing is left.
  [[nodiscard]] bool clean_up() const {
    if (directory_.empty()) {
      return true;
    }
    end_mps_daemon(control_, directory_, patience_s_);
    // A daemon that has ended takes its servers along; what it left behind does not get longer than a second.
    const bool ended = all_end(1, false) || all_end(kGuardKilling_s, true);
    std::error_code error;
    std::filesystem::remove_all(directory_, error);
    return ended && !error;
  }

 private:
  std::string control_;
  std::string gpu_;
  double patience_s_;
  std::filesystem::path directory_;
};

// Until the other end of the input is closed, or SIGTERM comes.
void wait_for_the_end(int signals) {
  std::array<pollfd, 2> wanted{pollfd{STDIN_FILENO, POLLIN, 0}, pollfd{signals, POLLIN, 0}};
  for (;;) {
    if (poll(wanted.data(), wanted.size(), -1) < 0) {
      continue;  // interrupted
    }
    std::array<char, 64> bytes{};
    if (wanted[1].revents != 0 ||
        (wanted[0].revents != 0 && read(STDIN_FILENO, bytes.data(), bytes.size()) <= 0)) {
      return;
    }
  }
}

}  // namespace

int guard_mps(const std::vector<std::string>& words) {
  if (words.size() != kWords) {
    throw UsageError(std::string(kMpsGuardCommand) + " is started by the program itself");
  }
  for (const int ignored : {SIGINT, SIGHUP, SIGPIPE}) {
    static_cast<void>(signal(ignored, SIG_IGN));
  }
  sigset_t terminate;
  sigemptyset(&terminate);
  sigaddset(&terminate, SIGTERM);
  sigprocmask(SIG_BLOCK, &terminate, nullptr);
  const int signals = signalfd(-1, &terminate, SFD_CLOEXEC);
  prctl(PR_SET_CHILD_SUBREAPER, 1);

  Guard guard(words[0], words[1], std::strtod(words[3].c_str(), nullptr));
  std::string why_not;
  try {
    why_not = guard.start(words[2]);
  } catch (const std::exception& error) {
    why_not = error.what();
  }
  if (why_not.empty()) {
    // The directory is told last: who knows it may use it.
    say("ready " + guard.directory().string());
    wait_for_the_end(signals);
  } else {
    say("failed " + why_not);
  }
  const bool clean = guard.clean_up();
  return clean && why_not.empty() ? 0 : 1;
}

}  // namespace grainscope
