#ifndef GRAINSCOPE_TESTS_CHILD_HPP
#define GRAINSCOPE_TESTS_CHILD_HPP

// Processes of a test's own: the program itself, or a function that may end its process.

#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace grainscope::test {

// A directory that goes with the test.
class TemporaryDirectory {
 public:
  TemporaryDirectory();
  ~TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] std::filesystem::path operator/(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

[[nodiscard]] std::string read_text(const std::filesystem::path& path);
void write_text(const std::filesystem::path& path, const std::string& text);

// Four cases on one thread, with small buffers in smoke: some tens of milliseconds.
inline constexpr const char* kFewCases = "--benchmark_filter=^host/memcpy/.*threads:1/";

struct Ended {
  int status = -1;  // of exit; -1: a signal ended it
  int signal = 0;
  std::string out;
  std::string err;
};

using Variables = std::vector<std::pair<std::string, std::string>>;

// A process that runs; killed and reaped if nobody waited for it.
class Child {
 public:
  // `grainscope` with these arguments; variables are added to the environment. Its standard output goes to
  // the file `output` where that is not empty.
  static Child program(const std::vector<std::string>& arguments, const Variables& variables = {},
                       const std::string& output = {});
  // A copy of this process that runs `body`, whose result is its exit status. An Error ends it as it would
  // end the program.
  static Child of(const std::function<int()>& body);
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  void send(int signal) const;
  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] Ended wait();

 private:
  explicit Child(const std::function<int()>& body);
  TemporaryDirectory output_;
  pid_t pid_ = -1;
};

[[nodiscard]] std::string program_path();
[[nodiscard]] Ended run_program(const std::vector<std::string>& arguments, const Variables& variables = {},
                                const std::string& output = {});

}  // namespace grainscope::test

#endif
