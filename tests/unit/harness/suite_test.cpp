// Whole runs of families that measure nothing.

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <functional>
#include <new>
#include <set>
#include <stdexcept>
#include <string>

#include "fakes.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/system/sysfs.hpp"
#include "grainscope/system/warnings.hpp"
#include "harness/result_store.hpp"
#include "harness/run.hpp"
#include "harness/suite.hpp"

namespace grainscope::harness {
namespace {

using nlohmann::json;
using test::Ended;
using test::fake_case;
using test::fake_name;

class SuiteRun : public test::FakeRun {
 protected:
  // Runs and gives the result file.
  json result_of(const std::vector<Benchmark>& cases, int status, std::vector<std::string> more = {}) {
    const Ended ended = begin(cases, std::move(more));
    EXPECT_EQ(ended.status, status) << ended.err;
    return result();
  }
};

TEST_F(SuiteRun, of_good_cases_ends_with_0_and_a_row_each) {
  const json result = result_of({fake_case("a"), fake_case("b")}, 0);
  EXPECT_EQ(test::names_of(result), (std::vector{fake_name("a"), fake_name("b")}));
  EXPECT_EQ(result["context"]["run"]["complete"], true);
  EXPECT_EQ(result["context"]["run"]["why_incomplete"], nullptr);
  EXPECT_EQ(result["context"]["run"]["counts"], (json{{"ok", 2}, {"skipped", 0}, {"failed", 0}}));
  const json& row = test::row_named(result, fake_name("a"));
  EXPECT_EQ(row["run_name"], fake_name("a"));
  EXPECT_EQ(row["iterations"], 1);
  EXPECT_DOUBLE_EQ(row["real_time"], 1000);
  EXPECT_EQ(row["time_unit"], "us");
  EXPECT_DOUBLE_EQ(row["bandwidth_gb_s"], 1);
}

TEST_F(SuiteRun, with_an_impossible_result_fails_that_row_and_ends_with_1) {
  const auto impossible = [](Session& session) {
    Measurement measurement = test::honest(session);
    measurement.bytes = 37'197'000'000;
    return measurement;
  };
  const json result = result_of({fake_case("good"), fake_case("planted", impossible)}, 1);
  const json& row = test::row_named(result, fake_name("planted"));
  EXPECT_EQ(row["status"], "failed");
  EXPECT_EQ(row["reason"].get<std::string>().find("impossible: "), 0U) << row["reason"];
  EXPECT_NE(row["reason"].get<std::string>().find("a link of glass"), std::string::npos) << row["reason"];
  EXPECT_GE(row["visits"][0]["samples_s"].size(), 8U);
  EXPECT_EQ(test::row_named(result, fake_name("good"))["status"], "ok");
  EXPECT_EQ(result["context"]["run"]["complete"], true);
}

TEST_F(SuiteRun, with_a_result_that_nobody_checked_fails_that_row) {
  const auto unchecked = [](Session& session) {
    Measurement measurement = test::honest(session);
    measurement.verification.clear();
    return measurement;
  };
  const json result = result_of({fake_case("unchecked", unchecked)}, 1);
  EXPECT_NE(result["benchmarks"][0]["reason"].get<std::string>().find("not verified"), std::string::npos);
}

TEST_F(SuiteRun, goes_on_after_a_case_that_throws) {
  const auto throws = [](auto error) { return [error](Session&) -> Measurement { throw error; }; };
  const json result = result_of(
      {fake_case("wrong", throws(FailedError("word 7 is wrong"))),
       fake_case("logic", throws(std::logic_error("a bug"))), fake_case("memory", throws(std::bad_alloc())),
       fake_case("usage", throws(UsageError("no such size"))), fake_case("last")},
      1);
  EXPECT_EQ(test::row_named(result, fake_name("wrong"))["reason"], "word 7 is wrong");
  EXPECT_EQ(test::row_named(result, fake_name("logic"))["reason"], "a bug");
  EXPECT_NE(test::row_named(result, fake_name("memory"))["reason"].get<std::string>().find("--max-bytes"),
            std::string::npos);
  EXPECT_EQ(test::row_named(result, fake_name("usage"))["status"], "failed");
  EXPECT_EQ(test::row_named(result, fake_name("last"))["status"], "ok");
  EXPECT_EQ(result["context"]["run"]["counts"], (json{{"ok", 1}, {"skipped", 0}, {"failed", 4}}));
}

TEST_F(SuiteRun, what_the_machine_forbids_is_skipped_and_no_failure) {
  const json result = result_of(
      {fake_case("skip", [](Session&) -> Measurement { throw SkipError("no room"); }),
       fake_case("missing", [](Session&) -> Measurement { throw EnvironmentError("no huge pages"); })},
      0);
  EXPECT_EQ(test::row_named(result, fake_name("skip"))["status"], "skipped");
  EXPECT_EQ(test::row_named(result, fake_name("skip"))["reason"], "no room");
  EXPECT_EQ(test::row_named(result, fake_name("missing"))["reason"], "no huge pages");
  EXPECT_FALSE(result["benchmarks"][0].contains("median_s"));
}

TEST_F(SuiteRun, of_nothing_but_skipped_cases_is_a_whole_result) {
  Benchmark absent = fake_case("absent");
  absent.skip = "it is not here";
  const json result = result_of({absent}, 0);
  ASSERT_EQ(result["benchmarks"].size(), 1U);
  EXPECT_EQ(result["benchmarks"][0]["status"], "skipped");
  EXPECT_EQ(result["benchmarks"][0]["reason"], "it is not here");
  EXPECT_TRUE(result["context"].contains("num_cpus"));
}

TEST_F(SuiteRun, makes_the_visits_to_a_case_one_row) {
  const json result =
      result_of({fake_case("a"), fake_case("b")}, 0, {"--benchmark_repetitions=3", "--one-process"});
  ASSERT_EQ(result["benchmarks"].size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    const json& row = result["benchmarks"][i];
    EXPECT_EQ(row["name"], fake_name(i == 0 ? "a" : "b"));
    EXPECT_FALSE(row.contains("repetitions"));
    ASSERT_EQ(row["visits"].size(), 3U);
    for (std::size_t visit = 0; visit < 3; ++visit) {
      EXPECT_EQ(row["visits"][visit]["round"], visit + 1);
    }
  }
  EXPECT_EQ(result["context"]["run"]["visits"], 3);
  EXPECT_EQ(result["context"]["run"]["counts"]["ok"], 2);
}

TEST_F(SuiteRun, shows_aggregates_alone_when_the_preset_repeats) {
  const Ended ended =
      begin({fake_case("a")}, {"--preset=acceptance", "--one-process", "--benchmark_format=csv",
                               "--benchmark_report_aggregates_only"});
  EXPECT_EQ(ended.status, 0) << ended.err;
  EXPECT_NE(ended.out.find("_median"), std::string::npos) << ended.out;
  EXPECT_EQ(ended.out.find("bytes:1000000\","), std::string::npos) << ended.out;
}

TEST_F(SuiteRun, whose_disk_fills_up_ends_with_3_and_keeps_what_was_written) {
  // From the second case on no file may grow beyond what the journal has by then.
  const auto fill = [this](Session& session) {
    static const test::FullDisk full(std::filesystem::file_size(folder() / "journal.jsonl") + 10);
    return test::honest(session);
  };
  const Ended ended = begin({fake_case("a"), fake_case("b", fill), fake_case("c")});
  EXPECT_EQ(ended.status, 3) << ended.err;
  EXPECT_FALSE(std::filesystem::exists(folder() / "result.json"));
  const Journal journal = read_journal(folder());
  EXPECT_EQ(test::cases_in(journal), std::set<std::string>{fake_name("a")});
}

}  // namespace
namespace {

// Runs that end early and go on later: the result is that of one run.

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

TEST_F(EarlyEnd, leaves_what_would_end_after_the_time_limit_for_the_next_part) {
  std::vector<Benchmark> planned = cases([] { usleep(400'000); });
  for (Benchmark& each : planned) {
    each.about_s = 0.001;
  }
  planned[3].about_s = 1.8;
  const Ended ended = FakeRun::begin(planned, {"--max-time=2"});
  EXPECT_EQ(ended.status, 0) << ended.err;
  const json part = result();
  EXPECT_EQ(part["context"]["run"]["why_incomplete"], "1 visit would end after --max-time by the plan");
  std::multiset<std::string> others = all_;
  others.erase(fake_name("d"));
  EXPECT_EQ(sorted_names(part), others);
  EXPECT_EQ(part["context"]["run"]["counts"]["failed"], 0);
  EXPECT_EQ(sorted_names(finish()), all_);
}

TEST_F(EarlyEnd, at_the_time_limit_keeps_the_visits_that_were_made) {
  std::vector<Benchmark> planned = cases([] { usleep(600'000); });
  for (Benchmark& each : planned) {
    each.about_s = 0.001;
  }
  const Ended ended =
      FakeRun::begin(planned, {"--max-time=0.5", "--benchmark_repetitions=2", "--one-process"});
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
namespace {

// Folders that cannot be written and disks that are full.

using test::FullDisk;
using test::read_text;

const json kResult{{"context", json::object()}, {"benchmarks", json::array()}};

class Unwritable : public test::RunFolder {
 protected:
  static void expect_refusal_with_remedy(const std::function<void()>& act, const std::string& path) {
    const std::string message = test::refusal<EnvironmentError>(act);
    for (const std::string& words : {path, std::string("--out"), std::string("--resume")}) {
      EXPECT_TRUE(test::says(message, words));
    }
  }
};

TEST_F(Unwritable, a_folder_below_a_file_is_refused_with_the_remedy) {
  test::write_text(folder() / "file", "");
  const auto directory = folder() / "file" / "run";
  expect_refusal_with_remedy([&] { static_cast<void>(ResultStore::begin(directory, kResult)); },
                             directory.string());
}

TEST_F(Unwritable, a_full_disk_at_the_header_is_refused_and_can_be_begun_again) {
  for (const rlim_t room : {0, 1, 10}) {
    std::filesystem::remove(journal_path());
    {
      const FullDisk full(room);
      expect_refusal_with_remedy([&] { static_cast<void>(begin()); }, "journal.jsonl");
    }
    EXPECT_EQ(std::filesystem::file_size(journal_path()), room);
    EXPECT_NO_THROW(static_cast<void>(begin()));
  }
}

TEST_F(Unwritable, a_disk_that_fills_up_loses_the_case_in_hand_alone) {
  json row = test::whole_row("a");
  row["text"] = std::string(500, 'x');
  json next = row;
  next["round"] = 2U;
  {
    ResultStore store = begin();
    store.append_rows(json::array({row}));
    const FullDisk full(std::filesystem::file_size(journal_path()) + 100);
    expect_refusal_with_remedy([&] { store.append_rows(json::array({next})); }, "journal.jsonl");
  }
  const Journal left = journal();
  EXPECT_EQ(left.rows, std::vector<json>{row});
  ResultStore resumed = ResultStore::resume(folder(), left);
  resumed.append_rows(json::array({next}));
  EXPECT_EQ(journal().rows.size(), 2U);
}

TEST_F(Unwritable, a_result_is_never_half_written) {
  const ResultStore store = begin();
  const json large{{"context", {{"text", std::string(5000, 'x')}}}, {"benchmarks", json::array()}};
  {
    const FullDisk full(1000);
    expect_refusal_with_remedy([&] { store.finish(large); }, "result.json");
  }
  EXPECT_FALSE(std::filesystem::exists(result_path()));
  EXPECT_FALSE(std::filesystem::exists(temporary_path()));
  store.finish(large);
  EXPECT_EQ(result(), large);
}

TEST_F(Unwritable, a_result_of_an_earlier_part_outlives_a_full_disk) {
  const ResultStore store = begin();
  store.finish(kResult);
  const std::string before = read_text(result_path());
  {
    const FullDisk full(10);
    EXPECT_THROW(store.finish(kResult), EnvironmentError);
  }
  EXPECT_EQ(read_text(result_path()), before);
}

TEST_F(Unwritable, a_device_that_is_full_says_so) {
  if (!std::filesystem::exists("/dev/full")) {
    GTEST_SKIP() << "there is no /dev/full here";
  }
  const ResultStore store = begin();
  std::filesystem::create_symlink("/dev/full", temporary_path());
  expect_refusal_with_remedy([&] { store.finish(kResult); }, "No space left on device");
  EXPECT_FALSE(std::filesystem::exists(result_path()));
  EXPECT_TRUE(std::filesystem::exists("/dev/full"));
}

TEST_F(Unwritable, a_result_that_cannot_be_renamed_leaves_nothing_behind) {
  const ResultStore store = begin();
  std::filesystem::create_directories(result_path() / "occupied");
  expect_refusal_with_remedy([&] { store.finish(kResult); }, "result.json");
  EXPECT_FALSE(std::filesystem::exists(temporary_path()));
}

}  // namespace
namespace {

// Runs whose GPU is lost on the way, by families that say so.

using test::says;

const char* const kMessage = "could not finish the work of a stream: cudaErrorIllegalAddress";
const std::string kLostInB = "the GPU was lost while " + fake_name("b") + " ran";

class LostGpu : public test::FakeRun {
 protected:
  // Cases a to d; b loses the GPU. What runs leaves a file of its name behind.
  [[nodiscard]] std::vector<Benchmark> cases() const {
    std::vector<Benchmark> list;
    for (const std::string name : {"a", "b", "c", "d"}) {
      list.push_back(fake_case(name, [this, name](Session& session) {
        test::write_text(directory_ / name, "");
        if (name == "b") {
          throw GpuLostError(kMessage);
        }
        return test::honest(session);
      }));
    }
    return list;
  }

  [[nodiscard]] bool ran(const std::string& name) const { return std::filesystem::exists(directory_ / name); }
};

TEST_F(LostGpu, ends_the_run_with_1_and_starts_nothing_more) {
  const Ended ended = begin(cases());
  EXPECT_EQ(ended.status, 1) << ended.err;
  EXPECT_EQ(ended.signal, 0);
  EXPECT_TRUE(says(ended.err, kLostInB + "; go on with --resume " + folder().string()));
  EXPECT_TRUE(ran("a") && ran("b"));
  EXPECT_FALSE(ran("c") || ran("d"));
}

TEST_F(LostGpu, leaves_a_whole_result_that_says_so) {
  static_cast<void>(begin(cases()));
  const json part = result();
  EXPECT_EQ(test::names_of(part), (std::vector{fake_name("a"), fake_name("b")}));
  EXPECT_EQ(test::row_named(part, fake_name("a"))["status"], "ok");
  EXPECT_EQ(test::row_named(part, fake_name("b"))["status"], "failed");
  EXPECT_EQ(test::row_named(part, fake_name("b"))["reason"], kMessage);
  const json& run = part["context"]["run"];
  EXPECT_EQ(run["complete"], false);
  EXPECT_EQ(run["why_incomplete"], kLostInB);
  EXPECT_EQ(run["counts"], (json{{"ok", 1}, {"skipped", 0}, {"failed", 1}}));
  EXPECT_EQ(test::cases_in(read_journal(folder())), (std::set<std::string>{fake_name("a"), fake_name("b")}));
}

TEST_F(LostGpu, goes_on_with_what_is_missing_in_a_new_process) {
  static_cast<void>(begin(cases()));
  std::filesystem::remove(directory_ / "a");
  std::filesystem::remove(directory_ / "b");
  const Ended ended = resume(cases());
  EXPECT_EQ(ended.status, 1) << ended.err;
  EXPECT_FALSE(ran("a") || ran("b"));
  EXPECT_TRUE(ran("c") && ran("d"));
  const json whole = result();
  EXPECT_EQ(test::names_of(whole),
            (std::vector{fake_name("a"), fake_name("b"), fake_name("c"), fake_name("d")}));
  EXPECT_EQ(whole["context"]["run"]["complete"], true);
  EXPECT_EQ(whole["context"]["run"]["counts"], (json{{"ok", 3}, {"skipped", 0}, {"failed", 1}}));
}

// What is cured when it goes on was there when the first part ran.
TEST_F(LostGpu, leaves_what_was_found_of_the_machine_to_the_whole_run) {
  static_cast<void>(begin(cases()));
  const std::size_t found = result()["context"]["environment"]["warnings"].size();
  Journal left = read_journal(folder());
  EXPECT_EQ(left.warnings.size(), 1U);
  const auto cured = [](const char* finding) {
    return Warning{"test.cured", Severity::warning, finding, "the clocks fell", "replace it"};
  };
  ResultStore::resume(folder(), left)
      .append_part(warnings_json({cured("GPU 0: a fan stood still for 2 s"), cured("GPU 1: no fan"),
                                  cured("GPU 0: a fan stood still for 3 s")}),
                   sysfs::boot_id());
  static_cast<void>(resume(cases()));
  const json whole = result()["context"]["environment"]["warnings"];
  ASSERT_EQ(whole.size(), found + 2) << "of each subject once, and what is still so: " << whole;
  EXPECT_EQ(whole[found]["id"], "test.cured");
  EXPECT_EQ(whole[found]["finding"], "in an earlier part of the run: GPU 0: a fan stood still for 2 s");
  EXPECT_EQ(whole[found + 1]["finding"], "in an earlier part of the run: GPU 1: no fan");
}

TEST_F(LostGpu, in_the_last_case_leaves_nothing_to_go_on_with) {
  auto two = cases();
  two.resize(2);
  EXPECT_EQ(begin(two).status, 1);
  EXPECT_EQ(result()["context"]["run"]["complete"], true);
}

TEST_F(LostGpu, between_two_visits_fails_the_row_and_says_in_which) {
  auto list = cases();
  list[1].run = [this](Session& session) {
    if (ran("b")) {
      throw GpuLostError(kMessage);
    }
    test::write_text(directory_ / "b", "");
    return test::honest(session);
  };
  const Ended ended = begin(list, {"--benchmark_repetitions=3", "--one-process"});
  EXPECT_EQ(ended.status, 1) << ended.err;
  const json whole = result();
  EXPECT_EQ(test::row_named(whole, fake_name("b"))["reason"], std::string("in visit 2 of 3: ") + kMessage);
  EXPECT_EQ(whole["context"]["run"]["why_incomplete"], kLostInB);
}

TEST_F(LostGpu, is_said_where_nothing_is_kept) {
  test::Child child = test::Child::of([&] { return test::run_fakes(test::fake_family(cases()), {}); });
  const Ended ended = child.wait();
  EXPECT_EQ(ended.status, 1);
  EXPECT_TRUE(says(ended.err, "grainscope: " + kLostInB + "\n"));
  EXPECT_TRUE(says(ended.out, kMessage));
}

}  // namespace
}  // namespace grainscope::harness
