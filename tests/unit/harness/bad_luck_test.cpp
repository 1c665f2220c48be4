// What may befall a run of the program from outside, and what it then says.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "../../testing/says.hpp"
#include "fakes.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/cuda/runtime.hpp"
#include "grainscope/system/sysfs.hpp"
#include "harness/result_store.hpp"

namespace grainscope::harness {
namespace {

using nlohmann::json;
using test::Child;
using test::Ended;
using test::kFewCases;
using test::run_program;
using test::says;
using test::TemporaryDirectory;

const char* const kAModel = "--benchmark_filter=^model/bfs/naive/graph:[a-z0-9]*/edge:8/link:pcie3x16";

class BadLuck : public testing::Test {
 protected:
  [[nodiscard]] std::string path(const std::string& name) const { return (directory_ / name).string(); }

  static void expect(const Ended& ended, int status, const std::string& words) {
    EXPECT_EQ(ended.status, status) << ended.err;
    EXPECT_NE(ended.err.find(words), std::string::npos) << "'" << words << "' is not in: " << ended.err;
  }

  TemporaryDirectory directory_;
};

TEST_F(BadLuck, two_runs_in_one_folder_are_refused) {
  std::filesystem::create_directory(path("run"));
  {
    const RunLock other(path("run"));
    expect(run_program({"--preset=smoke", kFewCases, "--out=" + path("run")}), 3, "another run works in");
    EXPECT_TRUE(std::filesystem::is_empty(path("run")));
  }
  EXPECT_EQ(run_program({"--preset=smoke", kFewCases, "--out=" + path("run")}).status, 0);
  {
    const RunLock other(path("run"));
    expect(run_program({"--resume=" + path("run")}), 3, "another run works in");
  }
  EXPECT_EQ(run_program({"--resume=" + path("run")}).status, 0);
}

TEST_F(BadLuck, a_lock_of_a_folder_that_is_not_there_keeps_nothing) {
  EXPECT_NO_THROW(RunLock(path("none")));
}

TEST_F(BadLuck, a_graph_of_a_run_that_goes_on_elsewhere_is_found_and_has_to_be_the_same) {
  test::write_text(path("three.el"), "0 1\n1 2\n");
  const std::string relative = std::filesystem::relative(path("three.el")).string();
  const std::vector<std::string> begin{"--preset=smoke", kAModel, "--graph=file:" + relative,
                                       "--max-time=0.000001s", "--out=" + path("run")};
  EXPECT_EQ(run_program(begin).status, 0);
  // As if from another folder: what the journal names is found from anywhere.
  const std::string header = test::read_text(path("run") + "/journal.jsonl");
  EXPECT_NE(header.find("file:" + std::filesystem::absolute(relative).string()), std::string::npos) << header;
  test::write_text(path("three.el"), "0 1\n1 2\n2 3\n3 4\n");
  expect(run_program({"--resume=" + path("run")}), 3, "is not the file that this run was begun with");
  std::filesystem::remove(path("three.el"));
  expect(run_program({"--resume=" + path("run")}), 3, "is not the file that this run was begun with");
}

// The journal of a run that was begun and stopped at once: its path, its header, and what follows.
std::tuple<std::string, json, std::string> begun_run(const std::string& folder) {
  EXPECT_EQ(run_program({"--preset=smoke", kFewCases, "--max-time=0.000001s", "--out=" + folder}).status, 0);
  const std::string journal = folder + "/journal.jsonl";
  const std::string text = test::read_text(journal);
  json header = json::parse(text.substr(0, text.find('\n')));
  header.erase("crc32");
  return {journal, std::move(header), text.substr(text.find('\n') + 1)};
}

TEST_F(BadLuck, a_run_goes_on_with_the_cpus_driver_and_kernel_that_it_began_with) {
  auto [journal, header, rest] = begun_run(path("run"));
  for (const auto& [key, other] : {std::pair("cpus", json({4711})), std::pair("driver", json("1.2")),
                                   std::pair("kernel", json("2.4"))}) {
    json moved = header;
    moved.at("fingerprint").at(key) = other;
    test::write_text(journal, journal_line(moved) + rest);
    expect(run_program({"--resume=" + path("run")}), 3,
           std::string("this run was begun with ") + key + " " + other.dump());
  }
  for (const char* const key : {"cpus", "driver", "kernel"}) {  // as journals were before
    header.at("fingerprint").erase(key);
  }
  test::write_text(journal, journal_line(header) + rest);
  EXPECT_EQ(run_program({"--resume=" + path("run"), "--max-time=0.000001s"}).status, 0);
}

// Visits to a case are of one start of the machine; a case that has none yet is visited as often as asked.
TEST_F(BadLuck, a_run_that_goes_on_after_a_reboot_mixes_no_row) {
  const std::string out = path("run");
  ASSERT_EQ(run_program({"--preset=smoke", kFewCases, "--benchmark_repetitions=3", "--out=" + out}).status,
            0);
  const json whole = json::parse(test::read_text(out + "/result.json"));
  const std::string all = whole["benchmarks"][0]["name"];
  const std::string two = whole["benchmarks"][1]["name"];
  std::filesystem::remove(out + "/result.json");
  // Of the first case all visits came before the reboot, of the second two, of the others none.
  std::istringstream lines(test::read_text(out + "/journal.jsonl"));
  std::string before;
  for (std::string line; std::getline(lines, line);) {
    json members = json::parse(line);
    members.erase("crc32");
    if (members.contains("boot")) {
      EXPECT_EQ(members["boot"], sysfs::boot_id());
      members["boot"] = "another start";
    }
    const json row = members.contains("rows") ? members["rows"][0] : json::object();
    const std::string name = row.value("name", "");
    if (row.value("status", "") != "ok" || name == all || (name == two && row["round"] < 3)) {
      before += journal_line(members);
    }
  }
  test::write_text(out + "/journal.jsonl", before);
  const test::Ended ended = run_program({"--resume=" + out});
  EXPECT_EQ(ended.status, 0) << ended.err;
  EXPECT_TRUE(says(ended.err, "1 case was begun before this machine was started anew")) << ended.err;
  const json result = json::parse(test::read_text(out + "/result.json"));
  EXPECT_EQ(result["context"]["run"]["complete"], true);
  for (const json& row : result["benchmarks"]) {
    EXPECT_EQ(row["visits"].size(), row["name"] == two ? 2U : 3U) << row["name"];
  }
}

TEST_F(BadLuck, less_gpu_memory_of_no_gpu_is_said_to_change_nothing) {
  if (!cuda::read_runtime().devices.empty()) {
    GTEST_SKIP() << "there is a GPU here";
  }
  const test::Ended ended = run_program({"--preset=smoke", kFewCases, "--gpu-memory=16GiB"});
  EXPECT_EQ(ended.status, 0) << ended.err;
  EXPECT_TRUE(says(ended.err, "--gpu-memory changes nothing here: ")) << ended.err;
}

TEST_F(BadLuck, less_gpu_memory_than_a_context_takes_ends_the_run_with_3) {
  if (cuda::read_runtime().devices.empty()) {
    GTEST_SKIP() << "there is no GPU here";
  }
  for (const std::string visits : {"1", "2"}) {
    std::filesystem::remove_all(path("run"));
    const test::Ended ended =
        run_program({"--preset=smoke", "--benchmark_filter=^transfer/memcpy/pinned_to_gpu/.*bytes:65536$",
                     "--gpu-memory=1MiB", "--benchmark_repetitions=" + visits, "--out=" + path("run")});
    EXPECT_EQ(ended.status, 3) << ended.err;
    EXPECT_TRUE(says(ended.err, "--gpu-memory 1 MiB is less than a context")) << ended.err;
    const json result = json::parse(test::read_text(path("run") + "/result.json"));
    EXPECT_EQ(result["context"]["run"]["complete"], false);
    EXPECT_EQ(result["context"]["run"]["counts"]["failed"], 0);
  }
}

// A run has spaces beside the one in which pages move: their counts stay 0.
TEST_F(BadLuck, managed_pages_that_come_to_a_gpu_are_counted_by_the_driver) {
  if (cuda::read_runtime().devices.empty()) {
    GTEST_SKIP() << "there is no GPU here";
  }
  const test::Ended ended = run_program(
      {"--preset=full", "--benchmark_filter=^transfer/managed/demand/host_to_gpu/numa:0/gpu:0/bytes:1048576$",
       "--benchmark_repetitions=1", "--out=" + path("run")});
  ASSERT_EQ(ended.status, 0) << ended.err;
  const json result = json::parse(test::read_text(path("run") + "/result.json"));
  const json& row = result["benchmarks"][0];
  if (row["status"] != "ok" || access("/dev/nvidia-uvm-tools", R_OK | W_OK) != 0) {
    GTEST_SKIP() << "the driver lets nobody count here: " << row.dump();
  }
  ASSERT_TRUE(row["counters"].contains("driver_to_gpu_bytes")) << row.dump();
  EXPECT_EQ(row["counters"]["driver_to_gpu_bytes"], 1048576);
  EXPECT_EQ(row["counters"]["driver_to_host_bytes"], 0);
  EXPECT_GT(row["counters"]["driver_gpu_faults"], 0);
}

// What only the reader of a file finds ends the run as what is found before it does, with no row failed.
TEST_F(BadLuck, a_file_that_cannot_be_used_ends_the_run_with_2) {
  test::write_text(path("bad.el"), "0 1\n1 2\n2 x\n");
  test::write_text(path("many.txt"), [] {
    std::string labels;
    for (int i = 0; i < 1100; ++i) {
      labels += "1\n";
    }
    return labels;
  }());
  test::write_text(path("far.txt"), "3\n5000\n");
  struct Wrong {
    std::vector<std::string> flags;
    std::string said;
  };
  for (const Wrong& wrong :
       {Wrong{{"--benchmark_filter=^model/bfs/merged/", "--graph=file:" + path("bad.el")}, "bad.el"},
        Wrong{{"--benchmark_filter=^tiering/score/", "--graph=kron:10", "--labels=" + path("many.txt")},
              "1100 labels"},
        Wrong{{"--benchmark_filter=^tiering/score/", "--graph=urand:10", "--train-ids=" + path("far.txt")},
              "the training id 5000 is no vertex"}}) {
    for (const std::string visits : {"1", "2"}) {  // by the program itself, and by a process of its own
      std::filesystem::remove_all(path("run"));
      std::vector<std::string> flags = {"--preset=smoke", "--benchmark_repetitions=" + visits,
                                        "--out=" + path("run")};
      flags.insert(flags.end(), wrong.flags.begin(), wrong.flags.end());
      const test::Ended ended = run_program(flags);
      EXPECT_EQ(ended.status, 2) << ended.err;
      EXPECT_TRUE(says(ended.err, wrong.said)) << ended.err;
      EXPECT_FALSE(says(ended.err, "--resume")) << ended.err;
      const json result = json::parse(test::read_text(path("run") + "/result.json"));
      EXPECT_EQ(result["context"]["run"]["complete"], false);
      EXPECT_EQ(result["context"]["run"]["counts"]["failed"], 0);
    }
  }
}

TEST_F(BadLuck, a_finished_result_stays_as_it_is) {
  EXPECT_EQ(run_program({"--preset=smoke", kFewCases, "--out=" + path("run")}).status, 0);
  const std::string result = test::read_text(path("run") + "/result.json");
  EXPECT_EQ(run_program({"--resume=" + path("run")}).status, 0);
  EXPECT_EQ(test::read_text(path("run") + "/result.json"), result) << "of another time, with other load";
  std::filesystem::remove(path("run") + "/fleet.jsonl.gz");
  EXPECT_EQ(run_program({"--resume=" + path("run")}).status, 0);
  EXPECT_TRUE(std::filesystem::exists(path("run") + "/fleet.jsonl.gz"));
  std::filesystem::remove(path("run") + "/result.json");
  EXPECT_EQ(run_program({"--resume=" + path("run")}).status, 0);
  EXPECT_TRUE(std::filesystem::exists(path("run") + "/result.json"));
}

TEST_F(BadLuck, what_a_library_prints_does_not_stand_among_the_answers) {
  const test::Ended ended =
      run_program({"--preset=smoke", kFewCases, "--out=" + path("run")}, {{"LD_PRELOAD", GRAINSCOPE_CHATTY}});
  EXPECT_EQ(ended.status, 0) << ended.err;
  const json result = json::parse(test::read_text(path("run") + "/result.json"));
  EXPECT_TRUE(result["context"]["run"]["complete"]);
  for (const json& row : result["benchmarks"]) {
    EXPECT_EQ(row["status"], "ok") << row["name"];
  }
}

TEST_F(BadLuck, variables_of_google_benchmark_change_nothing) {
  for (const auto& [name, value] :
       {std::pair("BENCHMARK_LIST_TESTS", "1"), std::pair("BENCHMARK_REPETITIONS", "3"),
        std::pair("BENCHMARK_FORMAT", "bogus"), std::pair("BENCHMARK_OUT", "/nonexistent/x"),
        std::pair("BENCHMARK_MIN_WARMUP_TIME", "1")}) {
    const std::string out = path(name);
    const Ended ended = run_program(
        {"--preset=smoke", kFewCases, "--benchmark_repetitions=2", "--out=" + out}, {{name, value}});
    expect(ended, 0, std::string("variables of Google Benchmark are set and not used: ") + name);
    const json result = json::parse(test::read_text(out + "/result.json"));
    EXPECT_EQ(test::result_errors(result), "") << name;
    ASSERT_EQ(result["benchmarks"].size(), 4U) << name;
    EXPECT_EQ(result["benchmarks"][0]["visits"].size(), 2U) << name;
  }
}

// A journal must not be opened where somebody writes who means a standard stream.
TEST_F(BadLuck, closed_standard_streams_do_not_lead_into_a_journal) {
  for (const std::string closed : {"<&-", ">&-", "2>&-", "<&- >&-", ">&- 2>&-", "<&- >&- 2>&-"}) {
    const std::string out = path("run " + closed);
    const std::string command =
        test::program_path() + " --preset=smoke '" + kFewCases + "' --benchmark_repetitions=2 '--out=" + out +
        "' " + closed + (closed.find("2>") == std::string::npos ? " 2>/dev/null" : "") +
        (closed.find(" >") == std::string::npos && closed[0] != '>' ? " >/dev/null" : "");
    EXPECT_EQ(std::system(command.c_str()), 0) << closed;
    EXPECT_EQ(read_journal(out).lost_lines, 0U) << closed;
    const json result = json::parse(test::read_text(out + "/result.json"));
    EXPECT_EQ(result["context"]["run"]["counts"]["ok"], 4) << closed;
  }
}

TEST_F(BadLuck, what_is_said_of_a_run_to_the_library_is_kept_when_it_goes_on) {
  EXPECT_EQ(run_program({"--preset=smoke", kFewCases, "--max-time=0.000001s", "--benchmark_time_unit=ms",
                         "--benchmark_context=node=17,room=B", "--out=" + path("run")})
                .status,
            0);
  EXPECT_EQ(run_program({"--resume=" + path("run"), "--benchmark_time_unit=ns"}).status, 0);
  const json result = json::parse(test::read_text(path("run") + "/result.json"));
  EXPECT_EQ(result["context"]["node"], "17");
  EXPECT_EQ(result["context"]["room"], "B");
  EXPECT_EQ(result["benchmarks"][0]["time_unit"], "ns");
}

TEST_F(BadLuck, what_the_library_cannot_write_is_refused_before_a_folder_is_made) {
  for (const std::string context : {"site=Z\xfcrich", "site=a\nb", "command=a=b", "=b", "x"}) {
    EXPECT_EQ(
        run_program({"--preset=smoke", kFewCases, "--benchmark_context=" + context, "--out=" + path("run")})
            .status,
        2)
        << context;
    EXPECT_FALSE(std::filesystem::exists(path("run"))) << context;
  }
}

TEST_F(BadLuck, a_finished_run_without_its_journal_says_that_nothing_is_left_to_do) {
  EXPECT_EQ(run_program({"--preset=smoke", kFewCases, "--out=" + path("run")}).status, 0);
  test::write_text(path("run") + "/journal.jsonl", "");
  expect(run_program({"--resume=" + path("run")}), 2, "nothing is left to do");
  std::filesystem::remove(path("run") + "/result.json");
  std::filesystem::create_directory(path("run") + "/result.json");
  expect(run_program({"--preset=smoke", kFewCases, "--out=" + path("run")}), 2, "result.json is not a file");
}

TEST_F(BadLuck, a_damaged_journal_costs_no_result_that_was_whole) {
  EXPECT_EQ(run_program({"--preset=smoke", kFewCases, "--out=" + path("run")}).status, 0);
  const std::string result = test::read_text(path("run") + "/result.json");
  const std::string journal = path("run") + "/journal.jsonl";
  std::string text = test::read_text(journal);
  const std::size_t line = text.find("\"rows\"");
  text.replace(line, 6, "\"r0ws\"");
  test::write_text(journal, text);
  expect(run_program({"--resume=" + path("run"), "--max-time=0.000001s"}), 0, "1 line cannot be trusted");
  EXPECT_EQ(test::read_text(path("run") + "/result.json.damaged"), result);
  EXPECT_EQ(test::read_text(journal + ".damaged"), text);
  EXPECT_EQ(run_program({"--resume=" + path("run")}).status, 0);
  EXPECT_EQ(json::parse(test::read_text(path("run") + "/result.json"))["context"]["run"]["counts"]["ok"], 4);
}

TEST_F(BadLuck, a_header_that_is_damaged_is_told_as_that) {
  auto [journal, header, rest] = begun_run(path("run"));
  for (const char* key : {"id", "started", "flags", "fingerprint", "files"}) {
    for (const bool gone : {true, false}) {
      json damaged = header;
      if (gone) {
        damaged.erase(key);
      } else {
        damaged[key] = std::string(key) == "id" || std::string(key) == "started" ? json(7) : json::object();
      }
      if (damaged != header) {
        test::write_text(journal, journal_line(damaged) + rest);
        expect(run_program({"--resume=" + path("run")}), 2, "start a new run with --out");
      }
    }
  }
}

TEST_F(BadLuck, words_of_variables_that_are_not_set_are_refused_by_graph_too) {
  test::write_text(path("three.el"), "0 1\n1 2\n");
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"graph", "convert", path("three.el"), path("three.wsg"), "--draw-weights", ""},
           {"graph", "cache", "kron:4", "--dir", ""}}) {
    expect(run_program(words), 2, "variable that is not set");
  }
}

TEST_F(BadLuck, help_that_cannot_be_written_is_said) {
  expect(run_program({"--help"}, {}, "/dev/full"), 3, "could not write the help");
}

TEST_F(BadLuck, a_file_in_place_of_a_folder_is_not_a_matter_of_space) {
  test::write_text(path("file"), "");
  const Ended ended = run_program({"--preset=smoke", kFewCases, "--out=" + path("file") + "/run"});
  expect(ended, 3, "choose a folder that can be written");
  EXPECT_EQ(ended.err.find("free space"), std::string::npos) << ended.err;
}

TEST_F(BadLuck, words_of_variables_that_are_not_set_are_refused) {
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{{"--out=", "--plan"},
                                                                                     {"--out", "", "--plan"},
                                                                                     {"--max-time="},
                                                                                     {"--shard", ""},
                                                                                     {""},
                                                                                     {"--preset="}}) {
    expect(run_program(words), 2, "variable that is not set");
  }
  EXPECT_EQ(run_program({"--benchmark_filter=", "--preset=smoke", "--plan"}).status, 0);
  EXPECT_EQ(run_program({"--benchmark_filter", "", "--preset=smoke", "--plan"}).status, 0);
}

TEST_F(BadLuck, a_run_that_goes_on_is_not_looked_at_by_flags_of_another) {
  EXPECT_EQ(run_program({"--preset=smoke", kFewCases, "--out=" + path("run")}).status, 0);
  expect(run_program({"--resume=" + path("run"), "--plan"}), 2, "--resume runs what is left");
}

TEST_F(BadLuck, folders_that_cannot_be_written_are_told_before_anything_runs) {
  test::write_text(path("file"), "");
  for (const std::string& flag :
       {"--benchmark_out=" + path("none/out.json"), "--graph-cache=" + path("file/cache")}) {
    const Ended ended = run_program({"--preset=smoke", kFewCases, flag, "--out=" + path("run")});
    expect(ended, 3, "could not write");
    EXPECT_EQ(ended.out, "");
    EXPECT_FALSE(std::filesystem::exists(path("run")));
  }
}

TEST_F(BadLuck, a_result_is_kept_where_the_other_file_cannot_be_written) {
  const Ended ended =
      run_program({"--preset=smoke", kFewCases, "--benchmark_out=/dev/full", "--out=" + path("run")});
  expect(ended, 3, "could not write /dev/full");
  EXPECT_TRUE(std::filesystem::exists(path("run/result.json")));
}

TEST_F(BadLuck, a_file_beside_the_result_is_not_one_of_the_run_s) {
  const auto run = [&](const std::string& file) {
    return run_program(
        {"--preset=smoke", kFewCases, "--benchmark_out=" + path("run/" + file), "--out=" + path("run")});
  };
  expect(run("journal.jsonl"), 2, "is a file of the run itself");
  EXPECT_EQ(run("gb.json").status, 0);  // in a folder that the run makes
  EXPECT_TRUE(std::filesystem::exists(path("run/gb.json")));
}

TEST_F(BadLuck, a_graph_s_file_is_looked_at_before_anything_runs) {
  test::write_text(path("empty.el"), "");
  for (const auto& [file, why] :
       {std::pair{"none.el", "No such file"}, {"empty.el", "is empty"}, {"", "is no file"}}) {
    expect(run_program(
               {"--preset=smoke", "--benchmark_filter=^model/bfs", "--graph=file:" + path(file), "--plan"}),
           2, why);
  }
}

TEST_F(BadLuck, a_graph_that_no_case_reads_is_refused) {
  expect(run_program({"--preset=smoke", kFewCases, "--graph=kron:4", "--plan"}), 2,
         "--graph changes nothing here");
  EXPECT_EQ(run_program({"--preset=smoke", kFewCases, "--graph=kron:4", "--shard=1/2", "--plan"}).status, 0);
}

TEST_F(BadLuck, a_plan_says_that_it_does_not_know_how_large_a_graph_of_a_file_is) {
  test::write_text(path("g.el"), "0 1\n1 2\n");
  const Ended ended = run_program(
      {"--preset=smoke", "--benchmark_filter=^model/bfs", "--graph=file:" + path("g.el"), "--plan"});
  EXPECT_EQ(ended.status, 0) << ended.err;
  EXPECT_TRUE(says(ended.out, "graphs of files")) << ended.out;
}

TEST_F(BadLuck, what_is_said_to_be_done_next_can_be_pasted) {
  const Ended ended = run_program({"--preset=smoke", kFewCases, "--out=" + path("my run's")});
  EXPECT_TRUE(says(ended.out, "my run'\\''s/result.json'")) << ended.out;
}

TEST_F(BadLuck, a_pipe_is_written_into_and_not_replaced) {
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  const int reader = open(path("pipe").c_str(), O_RDONLY | O_NONBLOCK);
  ASSERT_GE(reader, 0);
  write_whole(path("pipe"), "all of it");
  std::string text(64, '\0');
  const ssize_t size = read(reader, text.data(), text.size());
  close(reader);
  ASSERT_GE(size, 0);
  EXPECT_EQ(text.substr(0, static_cast<std::size_t>(size)), "all of it");
  EXPECT_TRUE(std::filesystem::is_fifo(path("pipe")));
  EXPECT_FALSE(std::filesystem::exists(path("pipe.tmp")));
}

TEST_F(BadLuck, output_that_cannot_be_written_is_no_success) {
  for (const char* flag : {"--plan", "--env", "--help", "--benchmark_list_tests"}) {
    const test::Ended ended = run_program({"--preset=smoke", flag}, {}, "/dev/full");
    EXPECT_EQ(ended.status, 3) << flag << ended.err;
  }
}

}  // namespace
}  // namespace grainscope::harness
