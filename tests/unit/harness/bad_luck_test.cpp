// What may befall a run of the program from outside, and what it then says.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "child.hpp"
#include "fakes.hpp"
#include "grainscope/core/error.hpp"
#include "harness/result_store.hpp"
#include "schema_check.hpp"

namespace grainscope::harness {
namespace {

using nlohmann::json;
using test::Ended;
using test::kFewCases;
using test::run_program;
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

TEST_F(BadLuck, a_header_that_is_damaged_is_told_as_that) {
  EXPECT_EQ(run_program({"--preset=smoke", kFewCases, "--max-time=0.000001s", "--out=" + path("run")}).status,
            0);
  const std::string journal = path("run") + "/journal.jsonl";
  const std::string text = test::read_text(journal);
  const std::string rest = text.substr(text.find('\n') + 1);
  json header = json::parse(text.substr(0, text.find('\n')));
  header.erase("crc32");
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
