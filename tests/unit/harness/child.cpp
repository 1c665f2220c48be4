#include "child.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>
#include <stdexcept>

#include "grainscope/core/error.hpp"

namespace grainscope::test {
namespace {

void send_to_file(int stream, const std::filesystem::path& path) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (file < 0 || dup2(file, stream) < 0) {
    _exit(126);
  }
  close(file);
}

int status_of(const std::function<int()>& body) {
  try {
    return body();
  } catch (const Error& error) {
    std::cerr << error.what() << '\n';
    return static_cast<int>(error.status());
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 125;
  }
}

}  // namespace

TemporaryDirectory::TemporaryDirectory() {
  std::string name = (std::filesystem::temp_directory_path() / "grainscope-test-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) {
    throw std::runtime_error("could not make a directory like " + name);
  }
  path_ = name;
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string read_text(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

void write_text(const std::filesystem::path& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  if (!file.flush()) {
    throw std::runtime_error("could not write " + path.string());
  }
}

Child::Child(const std::function<int()>& body) {
  std::fflush(nullptr);
  std::cout.flush();
  pid_ = fork();
  if (pid_ < 0) {
    throw std::runtime_error("could not fork");
  }
  if (pid_ == 0) {
    send_to_file(STDOUT_FILENO, output_ / "out");
    send_to_file(STDERR_FILENO, output_ / "err");
    const int status = status_of(body);
    std::cout.flush();
    std::fflush(nullptr);
    _exit(status);
  }
}

Child Child::of(const std::function<int()>& body) {
  return Child(body);
}

Child Child::program(const std::vector<std::string>& arguments, const Variables& variables,
                     const std::string& output) {
  return Child([&] {
    if (!output.empty()) {
      send_to_file(STDOUT_FILENO, output);
    }
    for (const auto& [name, value] : variables) {
      setenv(name.c_str(), value.c_str(), 1);
    }
    std::vector<std::string> words{GRAINSCOPE_PROGRAM};
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<char*> pointers;
    for (std::string& word : words) {
      pointers.push_back(word.data());
    }
    pointers.push_back(nullptr);
    execv(pointers[0], pointers.data());
    return 127;
  });
}

Child::~Child() {
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
}

void Child::send(int signal) const {
  kill(pid_, signal);
}

Ended Child::wait() {
  int status = 0;
  waitpid(pid_, &status, 0);
  pid_ = -1;
  Ended ended;
  ended.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  ended.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  ended.out = read_text(output_ / "out");
  ended.err = read_text(output_ / "err");
  return ended;
}

std::string program_path() {
  return GRAINSCOPE_PROGRAM;
}

Ended run_program(const std::vector<std::string>& arguments, const Variables& variables,
                  const std::string& output) {
  Child child = Child::program(arguments, variables, output);
  return child.wait();
}

}  // namespace grainscope::test
