// Programs beside this one, and memory that they share with it.

#include "grainscope/system/child_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "grainscope/core/error.hpp"
#include "grainscope/core/sampler.hpp"
#include "grainscope/core/units.hpp"

namespace grainscope {

// What exec is given, made before the fork: the child may not take memory.
class ExecArguments {
 public:
  ExecArguments(const ChildRequest& request, const std::string& program) : words_(request.words) {
    words_.front() = program;
    for (char** each = environ; *each != nullptr; ++each) {
      const std::string_view text(*each);
      const std::string_view name = text.substr(0, text.find('='));
      const auto is_name = [&](const std::string& other) { return other == name; };
      const bool replaced = std::any_of(request.set.begin(), request.set.end(),
                                        [&](const auto& variable) { return variable.first == name; });
      if (!replaced && std::none_of(request.unset.begin(), request.unset.end(), is_name)) {
        variables_.emplace_back(text);
      }
    }
    for (const auto& [name, value] : request.set) {
      std::string& variable = variables_.emplace_back(name);
      variable += '=';
      variable += value;
    }
    word_pointers_ = pointers(words_);
    variable_pointers_ = pointers(variables_);
  }
  [[nodiscard]] char* const* words() const { return word_pointers_.data(); }
  [[nodiscard]] char* const* variables() const { return variable_pointers_.data(); }

 private:
  static std::vector<char*> pointers(std::vector<std::string>& texts) {
    std::vector<char*> result;
    result.reserve(texts.size() + 1);
    for (std::string& text : texts) {
      result.push_back(text.data());
    }
    result.push_back(nullptr);
    return result;
  }

  std::vector<std::string> words_;
  std::vector<std::string> variables_;
  std::vector<char*> word_pointers_;
  std::vector<char*> variable_pointers_;
};

namespace {

constexpr double kPatience_s = 1;
constexpr useconds_t kBetweenLooks_us = 2000;

// In the child, between fork and exec: calls that a signal handler could make, and no others.
[[noreturn]] void become(const ExecArguments& arguments, const ChildRequest& request, pid_t parent,
                         int socket, int output, int failure) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE}) {
    static_cast<void>(::signal(signal, SIG_DFL));
  }
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  if (request.outlives_parent) {
    setsid();
  } else {
    // A group of its own: Ctrl-C ends the parent between two samples, and that ends the child.
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) {
      _exit(127);
    }
  }
  const bool placed = dup2(socket, STDIN_FILENO) >= 0 &&
                      dup2(output >= 0 ? output : socket, STDOUT_FILENO) >= 0 &&
                      (output < 0 || dup2(output, STDERR_FILENO) >= 0);
  bool kept = true;
  for (const int descriptor : request.keep) {
    kept = kept && fcntl(descriptor, F_SETFD, 0) == 0;
  }
  if (placed && kept) {
    execve(arguments.words()[0], arguments.words(), arguments.variables());
  }
  const int error = errno;
  static_cast<void>(!write(failure, &error, sizeof(error)));
  _exit(127);
}

ChildEnd end_of(int status) {
  ChildEnd end;
  end.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  end.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  return end;
}

}  // namespace

std::string find_program(const std::string& name) {
  const auto runs = [](const std::string& path) { return access(path.c_str(), X_OK) == 0; };
  if (name.find('/') != std::string::npos) {
    return runs(name) ? name : std::string();
  }
  const char* const path = getenv("PATH");
  std::string_view rest = path != nullptr ? path : "/usr/local/bin:/usr/bin:/bin";
  while (!rest.empty()) {
    const std::string folder(rest.substr(0, rest.find(':')));
    rest.remove_prefix(std::min(rest.size(), folder.size() + 1));
    std::string found = (folder.empty() ? "." : folder) + "/" + name;
    if (runs(found)) {
      return found;
    }
  }
  return {};
}

std::string to_string(const ChildEnd& end) {
  return end.signal != 0
             ? "was ended by signal " + std::to_string(end.signal) + " (" + strsignal(end.signal) + ")"
             : "ended with status " + std::to_string(end.status);
}

ChildProcess::ChildProcess(const ChildRequest& request)
    : name_(request.name.empty() ? request.words.at(0) : request.name) {
  const std::string program = find_program(request.words.at(0));
  if (program.empty()) {
    throw EnvironmentError("could not start " + request.words.at(0) + ": there is no such program");
  }
  start(request, program);
}

void ChildProcess::start(const ChildRequest& request, const std::string& program) {
  const ExecArguments arguments(request, program);
  std::array<int, 2> sockets{-1, -1};
  std::array<int, 2> failure{-1, -1};
  int output = -1;
  if (!request.output.empty()) {
    output = open(request.output.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  }
  const bool ready = (request.output.empty() || output >= 0) &&
                     socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets.data()) == 0 &&
                     pipe2(failure.data(), O_CLOEXEC) == 0;
  const pid_t parent = getpid();
  pid_ = ready ? fork() : -1;
  if (pid_ == 0) {
    become(arguments, request, parent, sockets[1], output, failure[1]);
  }
  int error = pid_ < 0 ? errno : 0;
  socket_ = sockets[0];
  for (const int file : {sockets[1], failure[1], output}) {
    if (file >= 0) {
      close(file);
    }
  }
  // The pipe closes by itself where exec succeeds.
  if (int told = 0; pid_ > 0 && read(failure[0], &told, sizeof(told)) == sizeof(told)) {
    error = told;
    waitpid(pid_, nullptr, 0);
  }
  if (failure[0] >= 0) {
    close(failure[0]);
  }
  if (error != 0) {
    if (socket_ >= 0) {
      close(socket_);
    }
    throw EnvironmentError("could not start " + request.words.at(0) + ": " + std::strerror(error));
  }
}

ChildProcess::~ChildProcess() {
  close_input();
  if (!wait(kPatience_s)) {
    send(SIGKILL);
    static_cast<void>(wait(kPatience_s));
  }
  close(socket_);
}

bool ChildProcess::write_line(std::string_view line) noexcept {
  const auto write_all = [&](std::string_view text) {
    while (!text.empty()) {
      const ssize_t written = ::send(socket_, text.data(), text.size(), MSG_NOSIGNAL);
      if (written < 0 && errno != EINTR) {
        return false;
      }
      text.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(0, written)));
    }
    return true;
  };
  return write_all(line) && write_all("\n");
}

void ChildProcess::close_input() noexcept {
  shutdown(socket_, SHUT_WR);
}

bool ChildProcess::readable(double timeout_s) {
  const double deadline_s = steady_now_s() + timeout_s;
  while (!ended_ && read_.find('\n') == std::string::npos) {
    const double left_s = deadline_s - steady_now_s();
    if (left_s <= 0) {
      return false;
    }
    pollfd wanted{socket_, POLLIN, 0};
    if (poll(&wanted, 1, static_cast<int>(std::min(left_s, 60.0) * 1e3) + 1) <= 0) {
      continue;
    }
    std::array<char, 4096> bytes{};
    const ssize_t got = recv(socket_, bytes.data(), bytes.size(), 0);
    if (got > 0) {
      read_.append(bytes.data(), static_cast<std::size_t>(got));
    } else {
      ended_ = got == 0 || errno != EINTR;
    }
  }
  return true;
}

std::optional<std::string> ChildProcess::read_line(double timeout_s) {
  if (!readable(timeout_s)) {
    throw FailedError(name_ + " has not answered for " + format_seconds(timeout_s));
  }
  const auto end = read_.find('\n');
  if (end == std::string::npos) {
    return std::nullopt;
  }
  std::string line = read_.substr(0, end);
  read_.erase(0, end + 1);
  return line;
}

std::optional<ChildEnd> ChildProcess::wait(double timeout_s) noexcept {
  const double deadline_s = steady_now_s() + timeout_s;
  while (!end_) {
    int status = 0;
    const pid_t ended = waitpid(pid_, &status, WNOHANG);
    if (ended == pid_) {
      end_ = end_of(status);
    } else if (ended < 0 && errno != EINTR) {
      end_ = ChildEnd{};  // someone else has reaped it
    } else if (steady_now_s() >= deadline_s) {
      return std::nullopt;
    } else {
      usleep(kBetweenLooks_us);
    }
  }
  return end_;
}

void ChildProcess::send(int signal) noexcept {
  if (!end_) {
    kill(pid_, signal);
  }
}

namespace {

[[noreturn]] void refuse(std::uint64_t bytes, const char* call) {
  throw EnvironmentError("could not share " + format_bytes(bytes) + " of memory between processes: " + call +
                         ": " + std::strerror(errno));
}

}  // namespace

SharedMemory::SharedMemory(std::uint64_t bytes) : bytes_(bytes) {
  descriptor_ = memfd_create("grainscope", MFD_CLOEXEC);
  if (descriptor_ < 0) {
    refuse(bytes, "memfd_create");
  }
  if (ftruncate(descriptor_, static_cast<off_t>(bytes)) != 0) {
    const int error = errno;
    close(descriptor_);
    errno = error;
    refuse(bytes, "ftruncate");
  }
  map();
}

SharedMemory::SharedMemory(int descriptor, std::uint64_t bytes) : bytes_(bytes) {
  struct stat status {};
  if (fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode) ||
      static_cast<std::uint64_t>(status.st_size) < bytes) {
    throw UsageError("descriptor " + std::to_string(descriptor) + " is no shared memory of " +
                     format_bytes(bytes));
  }
  descriptor_ = descriptor;
  map();
}

void SharedMemory::map() {
  void* const mapped = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, 0);
  if (mapped == MAP_FAILED) {
    const int error = errno;
    close(descriptor_);
    errno = error;
    refuse(bytes_, "mmap");
  }
  data_ = static_cast<std::byte*>(mapped);
}

SharedMemory::~SharedMemory() {
  munmap(data_, bytes_);
  close(descriptor_);
}

std::string SharedMemory::path() const {
  return "/proc/self/fd/" + std::to_string(descriptor_);
}

}  // namespace grainscope
