#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#include "child.hpp"
#include "fakes.hpp"
#include "grainscope/core/error.hpp"
#include "says.hpp"

namespace grainscope::test {

// A terminal 100 columns wide, whose reader is the test. Made before a child that writes to it.
class Terminal {
 public:
  Terminal();
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  // In the child: makes the terminal one of its streams.
  void become(int stream) const;
  // In the test: everything that is written until the last writer is gone.
  [[nodiscard]] std::string read_to_the_end();

 private:
  int reader_ = -1;
  int writer_ = -1;
};

Terminal::Terminal() : reader_(posix_openpt(O_RDWR | O_NOCTTY)) {
  if (reader_ >= 0 && grantpt(reader_) == 0 && unlockpt(reader_) == 0) {
    writer_ = open(ptsname(reader_), O_RDWR | O_NOCTTY);
  }
  const winsize size{25, 100, 0, 0};
  if (writer_ < 0 || ioctl(writer_, TIOCSWINSZ, &size) != 0) {
    throw std::runtime_error("could not open a terminal");
  }
}

Terminal::~Terminal() {
  close(reader_);
  close(writer_);
}

void Terminal::become(int stream) const {
  if (dup2(writer_, stream) < 0) {
    _exit(126);
  }
}

std::string Terminal::read_to_the_end() {
  // While this process holds the writing end there is no end to read to.
  close(writer_);
  writer_ = -1;
  std::string text;
  std::array<char, 4096> part{};
  ssize_t size = 0;
  // Without a writer a terminal gives an error, not an empty read.
  while ((size = read(reader_, part.data(), part.size())) > 0) {
    text.append(part.data(), static_cast<std::size_t>(size));
  }
  return text;
}

}  // namespace grainscope::test

namespace grainscope::harness {
namespace {

// What a run writes to a terminal, and what it does not write anywhere else: colour, and a line of progress.

using test::Child;
using test::fake_case;
using test::fake_name;
using test::says;

const std::string kRed = "\033[31m";
const std::string kNoLongerRed = "\033[0m";
const std::string kWipe = "\r\033[K";

int run_a_good_case_and_a_bad_one(const std::vector<std::string>& arguments) {
  const auto bad = [](Session&) -> Measurement { throw FailedError("word 7 is wrong"); };
  return test::run_fakes(test::fake_family({fake_case("good"), fake_case("bad", bad)}), arguments);
}

void set_no_color(const char* value) {
  if (value == nullptr) {
    unsetenv("NO_COLOR");
  } else {
    setenv("NO_COLOR", value, 1);
  }
}

// What such a run writes to a terminal in place of `stream`.
std::string written_to_a_terminal(int stream, const char* no_color,
                                  const std::vector<std::string>& arguments = {}) {
  test::Terminal terminal;
  Child child = Child::of([&] {
    terminal.become(stream);
    set_no_color(no_color);
    return run_a_good_case_and_a_bad_one(arguments);
  });
  const std::string text = terminal.read_to_the_end();
  EXPECT_EQ(child.wait().status, 1);
  return text;
}

// The same to a file.
test::Ended written_to_files(const std::vector<std::string>& arguments = {}) {
  Child child = Child::of([&] {
    set_no_color(nullptr);
    return run_a_good_case_and_a_bad_one(arguments);
  });
  return child.wait();
}

bool has_escapes(const std::string& text) {
  return text.find('\033') != std::string::npos;
}

TEST(Terminal, shows_a_failed_case_in_red_and_no_other) {
  const std::string text = written_to_a_terminal(STDOUT_FILENO, nullptr);
  EXPECT_TRUE(says(text, kRed + "  bad  "));
  EXPECT_TRUE(says(text, "word 7 is wrong" + kNoLongerRed));
  EXPECT_TRUE(says(text, "\n  good "));
}

TEST(Terminal, shows_no_colour_with_no_color) {
  const std::string text = written_to_a_terminal(STDOUT_FILENO, "1");
  EXPECT_TRUE(says(text, "word 7 is wrong"));
  EXPECT_FALSE(has_escapes(text)) << text;
}

TEST(Terminal, shows_colour_where_no_color_is_empty) {
  EXPECT_TRUE(says(written_to_a_terminal(STDOUT_FILENO, ""), kRed));
}

TEST(Terminal, shows_colour_as_the_flag_says_whatever_the_environment) {
  EXPECT_TRUE(says(written_to_a_terminal(STDOUT_FILENO, "1", {"--benchmark_color=true"}), kRed));
  EXPECT_FALSE(has_escapes(written_to_a_terminal(STDOUT_FILENO, nullptr, {"--benchmark_color=false"})));
  EXPECT_TRUE(says(written_to_files({"--benchmark_color=true"}).out, kRed));
}

TEST(Terminal, that_is_none_gets_neither_colour_nor_progress) {
  const test::Ended ended = written_to_files();
  EXPECT_EQ(ended.status, 1);
  EXPECT_TRUE(says(ended.out, "word 7 is wrong"));
  EXPECT_FALSE(has_escapes(ended.out)) << ended.out;
  EXPECT_FALSE(has_escapes(ended.err)) << ended.err;
}

TEST(Terminal, gets_no_colour_in_json) {
  EXPECT_FALSE(has_escapes(written_to_a_terminal(STDOUT_FILENO, nullptr, {"--benchmark_format=json"})));
}

TEST(Terminal, shows_how_far_the_run_is_and_wipes_it) {
  const std::string text = written_to_a_terminal(STDERR_FILENO, nullptr);
  EXPECT_TRUE(says(text, kWipe + "0 %, 1 s left, visit 1 of 2: " + fake_name("good")));
  EXPECT_TRUE(says(text, "visit 2 of 2: "));
  // What is said at the end stands on a line of its own.
  EXPECT_TRUE(says(text, kWipe + "grainscope: "));
}

}  // namespace
}  // namespace grainscope::harness
