// The table of a run, at the widths that terminals have.

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "../../testing/says.hpp"
#include "child.hpp"
#include "fakes.hpp"
#include "families.hpp"
#include "grainscope/core/error.hpp"
#include "harness/selection.hpp"
#include "harness/table.hpp"

namespace grainscope::harness {
namespace {

using nlohmann::json;
using test::says;

json row_of(const Benchmark& benchmark) {
  json axes = json::object();
  for (const Axis& axis : benchmark.id.axes) {
    std::visit([&](const auto& value) { axes[axis.key] = value; }, axis.value);
  }
  json site = json::object();
  for (const Site& place : benchmark.id.site) {
    site[place.key] = place.value;
  }
  return {{"name", benchmark.id.name()},
          {"status", "ok"},
          {"label", benchmark.modelled ? "modelled" : "measured"},
          {"case", {{"family", benchmark.id.family}, {"axes", axes}, {"site", site}}},
          {"median_s", 486e-6},
          {"interval_s", {400e-6, 572e-6}},
          {"flags", {"wide_interval", "visits_differ"}}};
}

json with_rate(json row) {
  row["bandwidth_gb_s"] = 1234.0;
  row["link_fraction"] = 0.999;
  return row;
}

json of_operations(json row, int count) {
  row["operations"] = count;
  row["operation_s"] = row["median_s"].get<double>() / count;
  return row;
}

std::string table_of(const std::vector<Benchmark>& cases, const std::vector<json>& rows, const Screen& screen,
                     bool full_names = false) {
  std::ostringstream out;
  Table table(out, screen, cases, full_names);
  for (const json& row : rows) {
    table.add(row);
  }
  table.finish();
  return out.str();
}

Benchmark fake(const std::string& which, std::int64_t bytes) {
  Benchmark benchmark;
  benchmark.id = {"fake/copy",
                  {{"which", which, AxisStyle::bare}, {"bytes", bytes, AxisStyle::keyed, AxisUnit::bytes}},
                  {{"gpu", 0}}};
  return benchmark;
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t times = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++times;
  }
  return times;
}

TEST(Table, has_no_line_wider_than_the_screen_and_a_line_a_case) {
  test::MachineTree tree;
  const Machine machine = test::write_machine({.gpus = 2}, tree);
  const Scope scope = make_scope(Preset::quick, gpu_targets(machine, {}), true, node_targets(machine, {}));
  std::vector<Benchmark> cases = select(all_families(), machine, scope, "", 1, 1).runnable;
  ASSERT_GT(cases.size(), 500U);
  std::vector<json> rows;
  for (const Benchmark& benchmark : cases) {
    rows.push_back(rows.size() % 3 == 0 ? of_operations(row_of(benchmark), 128)
                                        : with_rate(row_of(benchmark)));
  }
  for (const std::size_t width : {40U, 60U, 80U, 100U, 160U, 200U}) {
    for (const bool utf8 : {false, true}) {
      const std::string text = table_of(cases, rows, {.width = width, .utf8 = utf8});
      std::istringstream lines(text);
      for (std::string line; std::getline(lines, line);) {
        EXPECT_LE(letters(line), width) << line;
      }
      EXPECT_EQ(count(text, " each\n") + count(text, " each "),
                count(text, "µs each") + count(text, "us each"));
      EXPECT_EQ(count(text, utf8 ? "µs each" : "us each"), (cases.size() + 2) / 3) << width;
      EXPECT_EQ(count(text, "GB/s"), cases.size() - (cases.size() + 2) / 3) << width;
    }
  }
}

TEST(Table, has_what_cases_share_in_the_heading_and_what_differs_in_the_field_s_form) {
  const std::vector<Benchmark> cases{fake("up", 65536), fake("up", 1 << 20)};
  const std::string text = table_of(cases, {with_rate(row_of(cases[0])), with_rate(row_of(cases[1]))}, {});
  EXPECT_TRUE(says(text, "\nfake/copy  up, gpu 0\n"));
  EXPECT_TRUE(says(text, "\n  64 KiB "));
  EXPECT_TRUE(says(text, "\n   1 MiB "));
  EXPECT_FALSE(says(text, "bytes:"));
}

TEST(Table, says_each_of_the_time_of_one_operation) {
  const std::vector<Benchmark> cases{fake("launch", 1)};
  const std::string text = table_of(cases, {of_operations(row_of(cases[0]), 128)}, {.utf8 = true});
  EXPECT_TRUE(says(text, "3.80 µs each"));
  EXPECT_FALSE(says(text, "486"));
}

TEST(Table, spells_units_as_the_screen_can_show_them) {
  const std::vector<Benchmark> cases{fake("up", 1)};
  const std::string ascii = table_of(cases, {row_of(cases[0])}, {});
  EXPECT_TRUE(says(ascii, "486 us"));
  EXPECT_TRUE(says(ascii, "+-17.7 %"));
  EXPECT_TRUE(std::all_of(ascii.begin(), ascii.end(), [](char letter) { return letter > 0; }));
  const std::string utf8 = table_of(cases, {row_of(cases[0])}, {.utf8 = true});
  EXPECT_TRUE(says(utf8, "486 µs"));
  EXPECT_TRUE(says(utf8, "±17.7 %"));
  EXPECT_FALSE(says(utf8, "+-"));
}

TEST(Table, waits_until_a_group_is_whole_and_prints_the_rest_at_the_end) {
  const std::vector<Benchmark> cases{fake("up", 1), fake("up", 2)};
  std::ostringstream out;
  Table table(out, {}, cases, false);
  table.add(row_of(cases[1]));
  EXPECT_EQ(out.str(), "");
  table.finish();
  EXPECT_TRUE(says(out.str(), "2 B"));
  EXPECT_FALSE(says(out.str(), "\n  1 B"));
}

TEST(Table, has_what_is_modelled_in_a_block_of_its_own) {
  std::vector<Benchmark> cases{fake("modelled", 1), fake("measured", 2)};
  cases[0].modelled = true;
  const std::string text = table_of(cases, {row_of(cases[0]), row_of(cases[1])}, {});
  const auto block = text.find("MODELLED, NOT MEASURED");
  EXPECT_LT(text.find("measured, gpu 0"), block);
  EXPECT_GT(text.find("modelled, gpu 0"), block);
  EXPECT_NE(block, std::string::npos);
}

TEST(Table, shows_failed_lines_in_red_flagged_ones_in_yellow_and_no_skipped_ones) {
  const std::vector<Benchmark> cases{fake("up", 1), fake("up", 2), fake("up", 4)};
  std::vector<json> rows{row_of(cases[0]), row_of(cases[1]), row_of(cases[2])};
  rows[1] = {{"name", rows[1]["name"]}, {"status", "failed"}, {"reason", "word 7 is wrong"}};
  rows[2]["status"] = "skipped";
  const std::string text = table_of(cases, rows, {.color = true});
  EXPECT_TRUE(says(text, "\033[33m    1 B"));
  EXPECT_TRUE(says(text, "\033[31m    2 B"));
  EXPECT_TRUE(says(text, "word 7 is wrong\033[0m\n"));
  EXPECT_FALSE(says(text, "4 B"));
}

TEST(Table, has_whole_names_where_they_are_asked_for) {
  const std::vector<Benchmark> cases{fake("up", 65536)};
  EXPECT_TRUE(says(table_of(cases, {row_of(cases[0])}, {.width = 40}, true), cases[0].id.name() + "  "));
}

TEST(Table, takes_a_row_of_a_case_that_is_no_longer_listed) {
  const std::string text = table_of({}, {row_of(fake("up", 1))}, {});
  EXPECT_TRUE(says(text, fake("up", 1).id.name()));
}

TEST(Headlines, are_the_best_of_what_a_run_has) {
  Benchmark slow = fake("pinned_to_gpu", 1 << 20);
  slow.id.family = "transfer/memcpy";
  slow.id.axes.push_back({"path", "pinned_to_gpu"});
  slow.id.axes.push_back({"timed", "copy"});
  json good = with_rate(row_of(slow));
  json bad = good;
  bad["bandwidth_gb_s"] = 1.0;
  const std::string text = headlines_text({bad, good, bad}, {});
  EXPECT_TRUE(says(text, "pinned copy to the GPU"));
  EXPECT_TRUE(says(text, "1234 GB/s"));
  EXPECT_TRUE(says(text, "1 MiB, gpu 0"));
  EXPECT_EQ(count(text, "\n"), 1U);
  EXPECT_EQ(headlines_text({row_of(fake("up", 1))}, {}), "");
}

TEST(Reasons, that_differ_in_numbers_alone_are_one_line) {
  const std::string text = reasons_text({{"needs 3 GiB", 2}, {"needs 12 GiB", 3}, {"no driver", 1}}, "", 100);
  EXPECT_EQ(text,
            "5 cases skipped: needs 12 GiB (others differ in the numbers)\n"
            "1 case skipped: no driver\n");
}

TEST(Reasons, of_most_cases_are_told_and_the_others_counted) {
  std::map<std::string, int> many;
  for (int i = 0; i < 8; ++i) {
    many[std::string("because ") + static_cast<char>('a' + i)] = 10 - i;
  }
  const std::string text = reasons_text(many, "", 100);
  EXPECT_EQ(count(text, "\n"), 6U);
  EXPECT_TRUE(says(text, "6 cases skipped: because e\n12 cases skipped for 3 other reasons\n")) << text;
}

}  // namespace
}  // namespace grainscope::harness

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
