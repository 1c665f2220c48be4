// Folders that cannot be written and disks that are full.

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <functional>
#include <string>

#include "child.hpp"
#include "grainscope/core/error.hpp"
#include "harness/result_store.hpp"

namespace grainscope::harness {
namespace {

using nlohmann::json;
using test::read_text;
using test::TemporaryDirectory;
using test::write_text;

const json kResult{{"context", json::object()}, {"benchmarks", json::array()}};

void expect_refusal_with_remedy(const std::function<void()>& act, const std::string& path) {
  try {
    act();
    FAIL() << path << " was written";
  } catch (const EnvironmentError& error) {
    const std::string message = error.what();
    EXPECT_NE(message.find(path), std::string::npos) << message;
    EXPECT_NE(message.find("--out"), std::string::npos) << message;
    EXPECT_NE(message.find("--resume"), std::string::npos) << message;
  }
}

// No file may grow beyond `bytes` while this lives: what a full disk does, for one process.
class [[nodiscard]] FullDisk {
 public:
  explicit FullDisk(rlim_t bytes) : old_handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &old_);
    const rlimit limit{bytes, old_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FullDisk() {
    setrlimit(RLIMIT_FSIZE, &old_);
    std::signal(SIGXFSZ, old_handler_);
  }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;

 private:
  void (*old_handler_)(int);
  rlimit old_{};
};

TEST(Unwritable, a_folder_below_a_file_is_refused_with_the_remedy) {
  const TemporaryDirectory parent;
  write_text(parent / "file", "");
  const auto directory = parent.path() / "file" / "run";
  expect_refusal_with_remedy([&] { static_cast<void>(ResultStore::begin(directory, kResult)); },
                             directory.string());
}

TEST(Unwritable, a_full_disk_at_the_header_is_refused_and_can_be_begun_again) {
  for (const rlim_t room : {0, 1, 10}) {
    const TemporaryDirectory directory;
    {
      const FullDisk full(room);
      expect_refusal_with_remedy([&] { static_cast<void>(ResultStore::begin(directory.path(), kResult)); },
                                 "journal.jsonl");
    }
    EXPECT_EQ(std::filesystem::file_size(directory / "journal.jsonl"), room);
    EXPECT_NO_THROW(static_cast<void>(ResultStore::begin(directory.path(), kResult)));
  }
}

TEST(Unwritable, a_disk_that_fills_up_loses_the_case_in_hand_alone) {
  const TemporaryDirectory directory;
  const json row{{"name", "a"}, {"status", "ok"}, {"text", std::string(500, 'x')}};
  {
    ResultStore store = ResultStore::begin(directory.path(), json::object());
    store.append_rows(json::array({row}));
    const FullDisk full(std::filesystem::file_size(directory / "journal.jsonl") + 100);
    expect_refusal_with_remedy([&] { store.append_rows(json::array({row})); }, "journal.jsonl");
  }
  const Journal journal = read_journal(directory.path());
  EXPECT_EQ(journal.rows, std::vector<json>{row});
  ResultStore resumed = ResultStore::resume(directory.path(), journal);
  resumed.append_rows(json::array({row}));
  EXPECT_EQ(read_journal(directory.path()).rows.size(), 2U);
}

TEST(Unwritable, a_result_is_never_half_written) {
  const TemporaryDirectory directory;
  const ResultStore store = ResultStore::begin(directory.path(), json::object());
  const json large{{"context", {{"text", std::string(5000, 'x')}}}, {"benchmarks", json::array()}};
  {
    const FullDisk full(1000);
    expect_refusal_with_remedy([&] { store.finish(large); }, "result.json");
  }
  EXPECT_FALSE(std::filesystem::exists(directory / "result.json"));
  EXPECT_FALSE(std::filesystem::exists(directory / "result.json.tmp"));
  store.finish(large);
  EXPECT_EQ(json::parse(read_text(directory / "result.json")), large);
}

TEST(Unwritable, a_result_of_an_earlier_part_outlives_a_full_disk) {
  const TemporaryDirectory directory;
  const ResultStore store = ResultStore::begin(directory.path(), json::object());
  store.finish(kResult);
  const std::string before = read_text(directory / "result.json");
  {
    const FullDisk full(10);
    EXPECT_THROW(store.finish(kResult), EnvironmentError);
  }
  EXPECT_EQ(read_text(directory / "result.json"), before);
}

TEST(Unwritable, a_device_that_is_full_says_so) {
  if (!std::filesystem::exists("/dev/full")) {
    GTEST_SKIP() << "there is no /dev/full here";
  }
  const TemporaryDirectory directory;
  const ResultStore store = ResultStore::begin(directory.path(), json::object());
  std::filesystem::create_symlink("/dev/full", directory / "result.json.tmp");
  expect_refusal_with_remedy([&] { store.finish(kResult); }, "No space left on device");
  EXPECT_FALSE(std::filesystem::exists(directory / "result.json"));
  EXPECT_TRUE(std::filesystem::exists("/dev/full"));
}

TEST(Unwritable, a_result_that_cannot_be_renamed_leaves_nothing_behind) {
  const TemporaryDirectory directory;
  const ResultStore store = ResultStore::begin(directory.path(), json::object());
  std::filesystem::create_directories(directory.path() / "result.json" / "occupied");
  expect_refusal_with_remedy([&] { store.finish(kResult); }, "result.json");
  EXPECT_FALSE(std::filesystem::exists(directory / "result.json.tmp"));
}

}  // namespace
}  // namespace grainscope::harness
