#include "harness/result_store.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "grainscope/core/error.hpp"
#include "run_folder.hpp"

namespace grainscope::harness {
namespace {

using nlohmann::json;
using test::refusal;
using test::says;

const json kRow = test::whole_row("a");

class BegunRun : public test::RunFolder {
 protected:
  [[nodiscard]] std::string refused() const {
    return refusal<UsageError>([this] { static_cast<void>(begin()); });
  }
};

TEST_F(BegunRun, makes_its_directory) {
  const auto directory = folder() / "a" / "b";
  const ResultStore store = ResultStore::begin(directory, {{"id", "x"}});
  EXPECT_EQ(store.directory(), directory);
  EXPECT_EQ(test::read_text(directory / "journal.jsonl"), test::journal_line({{"id", "x"}, {"journal", 3}}));
}

TEST_F(BegunRun, does_not_replace_a_finished_one) {
  test::write_text(result_path(), "{}");
  const std::string said = refused();
  EXPECT_TRUE(says(said, "finished run"));
  EXPECT_TRUE(says(said, "--out"));
  EXPECT_FALSE(std::filesystem::exists(journal_path()));
}

TEST_F(BegunRun, does_not_replace_an_unfinished_one) {
  leave_journal(test::journal_line({{"journal", 3}}));
  EXPECT_TRUE(says(refused(), "--resume " + folder().string()));
  EXPECT_EQ(journal_text(), test::journal_line({{"journal", 3}}));
}

TEST_F(BegunRun, replaces_one_that_wrote_nothing) {
  leave_journal("");
  EXPECT_EQ(refused(), "");
}

TEST_F(BegunRun, has_every_line_on_disk_when_the_call_returns) {
  ResultStore store = begin();
  store.append_rows(json::array({kRow}));
  EXPECT_EQ(journal().rows.size(), 1U);
  store.append_link({{"gpu", 0},
                     {"numa", 0},
                     {"direction", "host_to_gpu"},
                     {"peak_gb_s", 20.5},
                     {"within_gb_s", {20.0, 21.0}},
                     {"bytes", 4096},
                     {"theoretical_gb_s", nullptr}},
                    json::array());
  EXPECT_EQ(journal().links.size(), 1U);
}

class FinishedResult : public test::RunFolder {
 protected:
  void expect_written_as_it_is(const json& handed_over) const {
    const ResultStore store = ResultStore::begin(folder() / "run", json::object());
    store.finish(handed_over);
    EXPECT_EQ(json::parse(test::read_text(folder() / "run" / "result.json")), handed_over);
    EXPECT_FALSE(std::filesystem::exists(folder() / "run" / "result.json.tmp"));
    std::filesystem::remove_all(folder() / "run");
  }
};

TEST_F(FinishedResult, is_what_was_handed_over) {
  expect_written_as_it_is({{"context", {{"a", 1}}}, {"benchmarks", {{{"name", "x"}}, {{"name", "y"}}}}});
  expect_written_as_it_is({{"context", json::object()}, {"benchmarks", json::array()}});
}

TEST_F(FinishedResult, keeps_its_rows_apart_from_empty_lists_in_the_context) {
  expect_written_as_it_is(
      {{"context",
        {{"links", json::array()}, {"aaa", {{"benchmarks", json::array()}}}, {"warnings", json::array()}}},
       {"benchmarks", {{{"name", "x"}, {"flags", json::array()}}}}});
}

TEST_F(FinishedResult, survives_text_that_looks_like_its_own) {
  expect_written_as_it_is(
      {{"context", {{"note", "\"benchmarks\": []"}}}, {"benchmarks", {{{"name", "\"benchmarks\": []"}}}}});
}

TEST_F(FinishedResult, has_a_row_a_line) {
  json rows = json::array();
  for (int i = 0; i < 10; ++i) {
    rows.push_back({{"name", "case" + std::to_string(i)}, {"samples_s", {1, 2, 3}}});
  }
  begin().finish({{"context", json::object()}, {"benchmarks", rows}});
  EXPECT_TRUE(says(test::read_text(result_path()), "\n  {\"name\":\"case9\",\"samples_s\":[1,2,3]}\n"));
}

TEST_F(FinishedResult, takes_bytes_that_are_no_text) {
  ResultStore store = begin();
  store.append_rows(json::array({test::whole_row("a\xff")}));
  store.finish({{"context", {{"host", "\xc3"}}}, {"benchmarks", {{{"name", "a\xff"}}}}});
  EXPECT_EQ(result()["benchmarks"].size(), 1U);
  EXPECT_EQ(journal().rows.size(), 1U);
}

TEST_F(FinishedResult, replaces_the_one_of_an_earlier_part) {
  const ResultStore store = begin();
  store.finish({{"context", {{"part", 1}}}, {"benchmarks", json::array()}});
  store.finish({{"context", {{"part", 2}}}, {"benchmarks", json::array()}});
  EXPECT_EQ(result()["context"]["part"], 2);
}

}  // namespace
}  // namespace grainscope::harness
