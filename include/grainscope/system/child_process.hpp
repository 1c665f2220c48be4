#ifndef GRAINSCOPE_SYSTEM_CHILD_PROCESS_HPP
#define GRAINSCOPE_SYSTEM_CHILD_PROCESS_HPP

// A program that runs beside this one: started, spoken to line by line, and ended with its owner.

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace grainscope {

// Names and values of environment variables.
using Variables = std::vector<std::pair<std::string, std::string>>;

// A program of that name in PATH, or the path itself where it has a slash; empty where there is none.
[[nodiscard]] std::string find_program(const std::string& name);

// This program, for starting it once more.
inline constexpr const char* kOwnProgram = "/proc/self/exe";

struct ChildRequest {
  std::vector<std::string> words;  // the program, as find_program takes it, and its arguments
  Variables set = {};              // added to the environment
  std::vector<std::string> unset = {};
  // In a session of its own. Else the kernel kills it when the thread that started it ends, however it ends.
  bool outlives_parent = false;
  std::filesystem::path output = {};  // file for its output and errors; empty: output is read by read_line
  std::vector<int> keep = {};         // descriptors of this process that it has too, under the same numbers
  std::string name = {};              // as messages have it; empty: the program's
};

// How a process ended.
struct ChildEnd {
  int status = -1;  // of exit; -1: a signal ended it
  int signal = 0;
  [[nodiscard]] bool well() const noexcept { return status == 0; }
};
// "ended with status 3", "was ended by signal 9 (Killed)".
[[nodiscard]] std::string to_string(const ChildEnd& end);

class ChildProcess {
 public:
  // Throws EnvironmentError, naming it, for a program that is not there or cannot be started.
  explicit ChildProcess(const ChildRequest& request);
  // Ends its input, and kills it if it does not end by that within a second.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  // Writes a line to its input; false where it no longer reads.
  bool write_line(std::string_view line) noexcept;
  // It reads the end of its input.
  void close_input() noexcept;
  // Whether a line of its output, or the end of it, is there within that time.
  [[nodiscard]] bool readable(double timeout_s);
  // The next line of its output; nothing at the end of it. Throws FailedError, naming it, where none has come
  // in time.
  [[nodiscard]] std::optional<std::string> read_line(double timeout_s);

  // How it ended; nothing while it runs after that time.
  [[nodiscard]] std::optional<ChildEnd> wait(double timeout_s) noexcept;
  void send(int signal) noexcept;
  [[nodiscard]] pid_t pid() const noexcept { return pid_; }

 private:
  void start(const ChildRequest& request, const std::string& program);

  std::string name_;
  pid_t pid_ = -1;
  int socket_ = -1;
  std::string read_;    // of its output, not yet taken as a line
  bool ended_ = false;  // its output
  std::optional<ChildEnd> end_;
};

// Host memory that this program shares with processes which it starts. It has no name: the kernel takes it
// back when the last of them is gone, however they went.

class SharedMemory {
 public:
  // Zeroed on first touch. Throws EnvironmentError, with the size, where it is not to be had.
  explicit SharedMemory(std::uint64_t bytes);
  // What a parent has made and this process has kept open (ChildRequest::keep): the descriptor is taken over.
  // Throws UsageError where it is no memory of at least that size.
  SharedMemory(int descriptor, std::uint64_t bytes);
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  [[nodiscard]] std::byte* data() const noexcept { return data_; }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
  // Where this process can open it as a file.
  [[nodiscard]] std::string path() const;

 private:
  void map();

  int descriptor_ = -1;
  std::uint64_t bytes_;
  std::byte* data_ = nullptr;
};

}  // namespace grainscope

#endif
