// Runs that end early and go on later: the result is that of one run.

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <string>

#include "fake_run.hpp"
#include "harness/result_store.hpp"
#include "harness/run.hpp"
#include "run_folder.hpp"

namespace grainscope::harness {
namespace {

using nlohmann::json;
using test::Ended;
using test::fake_case;
using test::fake_name;
using test::sorted_names;

class EarlyEnd : public test::FakeRun {
 protected:
  // Cases a to e; the third does something before it measures.
  [[nodiscard]] static std::vector<Benchmark> cases(std::function<void()> in_the_middle) {
    std::vector<Benchmark> list;
    for (const char* name : {"a", "b", "c", "d", "e"}) {
      list.push_back(fake_case(name));
    }
    list[2].run = [in_the_middle](Session& session) {
      in_the_middle();
      return test::honest(session);
    };
    list.push_back(fake_case("absent"));
    list.back().skip = "it is not here";
    return list;
  }

  Ended begin(std::function<void()> in_the_middle, std::vector<std::string> more = {}) {
    return FakeRun::begin(cases(std::move(in_the_middle)), std::move(more));
  }

  json finish() {
    const Ended ended = resume(cases([] {}));
    EXPECT_EQ(ended.status, 0) << ended.err;
    json whole = result();
    EXPECT_EQ(whole["context"]["run"]["complete"], true);
    return whole;
  }

  const std::multiset<std::string> all_{fake_name("a"), fake_name("b"), fake_name("c"),
                                        fake_name("d"), fake_name("e"), fake_name("absent")};
};

TEST_F(EarlyEnd, by_a_signal_leaves_a_whole_result_that_says_so_and_goes_on) {
  for (const int signal : {SIGINT, SIGTERM}) {
    std::filesystem::remove_all(folder());
    const Ended ended = begin([signal] { raise(signal); });
    EXPECT_EQ(ended.status, 128 + signal) << ended.err;
    EXPECT_NE(ended.err.find("--resume " + folder().string()), std::string::npos) << ended.err;
    const json part = result();
    EXPECT_EQ(part["context"]["run"]["complete"], false);
    EXPECT_EQ(part["context"]["run"]["why_incomplete"], "interrupted by signal " + std::to_string(signal));
    EXPECT_EQ(sorted_names(part),
              (std::multiset<std::string>{fake_name("a"), fake_name("b"), fake_name("absent")}));
    const json whole = finish();
    EXPECT_EQ(sorted_names(whole), all_);
    EXPECT_EQ(whole["context"]["run"]["id"], part["context"]["run"]["id"]);
    EXPECT_EQ(whole["context"]["run"]["started"], part["context"]["run"]["started"]);
  }
}

TEST_F(EarlyEnd, by_a_signal_sent_twice_at_once_is_that_of_one) {
  // timeout(1): to the program, and to the group that the program is of.
  for (const int other : {SIGTERM, SIGINT}) {
    std::filesystem::remove_all(folder());
    const Ended ended = begin([other] {
      raise(SIGTERM);
      raise(other);
    });
    EXPECT_EQ(ended.status, 128 + SIGTERM) << ended.err;
    EXPECT_EQ(result()["context"]["run"]["why_incomplete"], "interrupted by signal 15");
  }
}

TEST_F(EarlyEnd, by_a_second_signal_later_is_at_once) {
  const Ended ended = begin([] {
    raise(SIGINT);
    usleep(static_cast<useconds_t>((kOneRequestS + 0.1) * 1e6));
    raise(SIGTERM);
  });
  EXPECT_EQ(ended.signal, SIGTERM);
  EXPECT_FALSE(std::filesystem::exists(folder() / "result.json"));
  EXPECT_EQ(sorted_names(finish()), all_);
}

std::size_t visits_in(const json& result, const std::string& name) {
  return test::row_named(result, fake_name(name))["visits"].size();
}

TEST_F(EarlyEnd, by_a_kill_loses_no_more_than_the_case_in_hand) {
  const Ended ended = begin([] { raise(SIGKILL); });
  EXPECT_EQ(ended.signal, SIGKILL);
  EXPECT_FALSE(std::filesystem::exists(folder() / "result.json"));
  EXPECT_EQ(test::cases_in(read_journal(folder())),
            (std::set<std::string>{fake_name("a"), fake_name("b"), fake_name("absent")}));
  EXPECT_EQ(sorted_names(finish()), all_);
}

TEST_F(EarlyEnd, runs_no_case_twice) {
  static_cast<void>(begin([] { raise(SIGKILL); }));
  const auto rows = read_journal(folder()).rows;
  const json whole = finish();
  ASSERT_EQ(rows.size(), 3U);
  for (const json& row : rows) {
    const json& kept = test::row_named(whole, row["name"]);
    EXPECT_EQ(kept["status"], row["status"]);
    if (row.contains("samples_s")) {
      for (const char* key : {"samples_s", "visit_s"}) {
        EXPECT_EQ(kept["visits"][0][key], row[key]) << key;
      }
    }
  }
}

TEST_F(EarlyEnd, at_the_time_limit_starts_no_further_case_and_goes_on) {
  const Ended ended = begin([] { usleep(300'000); }, {"--max-time=0.25"});
  EXPECT_EQ(ended.status, 0) << ended.err;
  const json part = result();
  EXPECT_EQ(part["context"]["run"]["complete"], false);
  EXPECT_NE(part["context"]["run"]["why_incomplete"].get<std::string>().find("--max-time"),
            std::string::npos);
  EXPECT_EQ(part["context"]["run"]["counts"]["ok"], 3);
  const json whole = finish();
  EXPECT_EQ(sorted_names(whole), all_);
  // What comes after the limit takes next to nothing.
  EXPECT_GE(whole["context"]["run"]["wall_s"], 0.3);
}

TEST_F(EarlyEnd, at_the_time_limit_keeps_the_visits_that_were_made) {
  const Ended ended =
      begin([] { usleep(150'000); }, {"--max-time=0.1", "--benchmark_repetitions=2", "--one-process"});
  EXPECT_EQ(ended.status, 0) << ended.err;
  // The table has what a stopped run has, too.
  EXPECT_NE(ended.out.find("\n  c "), std::string::npos) << ended.out;
  EXPECT_EQ(visits_in(result(), "c"), 1U);
  EXPECT_EQ(result()["context"]["run"]["complete"], false);
  const json whole = finish();
  EXPECT_EQ(visits_in(whole, "c"), 2U);
  EXPECT_EQ(sorted_names(whole), all_);
}

TEST_F(EarlyEnd, between_two_visits_keeps_the_first) {
  const auto second = directory_ / "second";
  const Ended ended = begin(
      [&] {
        if (std::filesystem::exists(second)) {
          raise(SIGINT);
        }
        test::write_text(second, "");
      },
      {"--benchmark_repetitions=2", "--one-process"});
  EXPECT_EQ(ended.status, 130) << ended.err;
  const json part = result();
  EXPECT_GE(visits_in(part, "a"), 1U);
  EXPECT_EQ(visits_in(part, "c"), 1U);
  const json whole = finish();
  EXPECT_EQ(visits_in(whole, "a"), 2U);
  EXPECT_EQ(visits_in(whole, "c"), 2U);
  EXPECT_EQ(sorted_names(whole), all_);
}

TEST_F(EarlyEnd, within_a_cut_line_of_the_journal_goes_on) {
  static_cast<void>(begin([] { raise(SIGKILL); }));
  const auto journal = folder() / "journal.jsonl";
  std::filesystem::resize_file(journal, std::filesystem::file_size(journal) - 5);
  EXPECT_EQ(test::cases_in(read_journal(folder())).count(fake_name("b")), 0U);
  EXPECT_EQ(sorted_names(finish()), all_);
}

TEST_F(EarlyEnd, of_a_run_that_is_whole_changes_no_row) {
  EXPECT_EQ(begin([] {}).status, 0);
  const json before = result();
  const json after = finish();
  EXPECT_EQ(after["benchmarks"], before["benchmarks"]);
  EXPECT_GE(after["context"]["run"]["wall_s"], 0);
}

}  // namespace
}  // namespace grainscope::harness
