// Folders that cannot be written and disks that are full.

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <string>

#include "grainscope/core/error.hpp"
#include "run_folder.hpp"

namespace grainscope::harness {
namespace {

using nlohmann::json;
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
}  // namespace grainscope::harness
