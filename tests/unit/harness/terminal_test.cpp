// What a run writes to a terminal, and what it does not write anywhere else: colour, and a line of progress.

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "child.hpp"
#include "fakes.hpp"
#include "grainscope/core/error.hpp"
#include "says.hpp"
#include "terminal.hpp"

namespace grainscope::harness {
namespace {

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
