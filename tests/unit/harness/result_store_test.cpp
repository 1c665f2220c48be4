#include "harness/result_store.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <string>

#include "child.hpp"
#include "grainscope/core/error.hpp"

namespace grainscope::harness {
namespace {

using nlohmann::json;
using test::read_text;
using test::TemporaryDirectory;
using test::write_text;

std::string refusal(const std::function<void()>& act) {
  try {
    act();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(ResultStore, begins_in_a_directory_that_is_not_there_yet) {
  const TemporaryDirectory parent;
  const auto directory = parent.path() / "a" / "b";
  const ResultStore store = ResultStore::begin(directory, {{"id", "x"}});
  EXPECT_EQ(store.directory(), directory);
  EXPECT_EQ(read_text(directory / "journal.jsonl"), "{\"id\":\"x\",\"journal\":1}\n");
}

TEST(ResultStore, does_not_begin_on_top_of_a_finished_run) {
  const TemporaryDirectory directory;
  write_text(directory / "result.json", "{}");
  const std::string said =
      refusal([&] { static_cast<void>(ResultStore::begin(directory.path(), json::object())); });
  EXPECT_NE(said.find("finished run"), std::string::npos) << said;
  EXPECT_NE(said.find("--out"), std::string::npos) << said;
  EXPECT_FALSE(std::filesystem::exists(directory / "journal.jsonl"));
}

TEST(ResultStore, does_not_begin_on_top_of_an_unfinished_run) {
  const TemporaryDirectory directory;
  write_text(directory / "journal.jsonl", "{\"journal\":1}\n");
  const std::string said =
      refusal([&] { static_cast<void>(ResultStore::begin(directory.path(), json::object())); });
  EXPECT_NE(said.find("--resume " + directory.path().string()), std::string::npos) << said;
  EXPECT_EQ(read_text(directory / "journal.jsonl"), "{\"journal\":1}\n");
}

TEST(ResultStore, begins_over_an_empty_journal) {
  const TemporaryDirectory directory;
  write_text(directory / "journal.jsonl", "");
  EXPECT_NO_THROW(static_cast<void>(ResultStore::begin(directory.path(), json::object())));
}

TEST(ResultStore, every_line_is_on_disk_when_the_call_returns) {
  const TemporaryDirectory directory;
  ResultStore store = ResultStore::begin(directory.path(), json::object());
  store.append_rows(json::array({{{"name", "a"}, {"status", "ok"}}}));
  EXPECT_EQ(read_journal(directory.path()).rows.size(), 1U);
  store.append_link({{"gpu", 0}});
  EXPECT_EQ(read_journal(directory.path()).links.size(), 1U);
}

void expect_written_as_it_is(const json& result) {
  const TemporaryDirectory directory;
  const ResultStore store = ResultStore::begin(directory.path(), json::object());
  store.finish(result);
  EXPECT_EQ(json::parse(read_text(directory / "result.json")), result);
  EXPECT_FALSE(std::filesystem::exists(directory / "result.json.tmp"));
}

TEST(FinishedResult, is_what_was_handed_over) {
  expect_written_as_it_is({{"context", {{"a", 1}}}, {"benchmarks", {{{"name", "x"}}, {{"name", "y"}}}}});
  expect_written_as_it_is({{"context", json::object()}, {"benchmarks", json::array()}});
}

TEST(FinishedResult, keeps_its_rows_apart_from_empty_lists_in_the_context) {
  expect_written_as_it_is(
      {{"context",
        {{"links", json::array()}, {"aaa", {{"benchmarks", json::array()}}}, {"warnings", json::array()}}},
       {"benchmarks", {{{"name", "x"}, {"flags", json::array()}}}}});
}

TEST(FinishedResult, survives_text_that_looks_like_its_own) {
  expect_written_as_it_is(
      {{"context", {{"note", "\"benchmarks\": []"}}}, {"benchmarks", {{{"name", "\"benchmarks\": []"}}}}});
}

TEST(FinishedResult, has_a_row_a_line) {
  const TemporaryDirectory directory;
  const ResultStore store = ResultStore::begin(directory.path(), json::object());
  json rows = json::array();
  for (int i = 0; i < 10; ++i) {
    rows.push_back({{"name", "case" + std::to_string(i)}, {"samples_s", {1, 2, 3}}});
  }
  store.finish({{"context", json::object()}, {"benchmarks", rows}});
  const std::string text = read_text(directory / "result.json");
  EXPECT_NE(text.find("\n  {\"name\":\"case9\",\"samples_s\":[1,2,3]}\n"), std::string::npos) << text;
}

TEST(FinishedResult, takes_bytes_that_are_no_text) {
  const TemporaryDirectory directory;
  ResultStore store = ResultStore::begin(directory.path(), json::object());
  store.append_rows(json::array({{{"name", "a\xff"}, {"status", "ok"}}}));
  store.finish({{"context", {{"host", "\xc3"}}}, {"benchmarks", {{{"name", "a\xff"}}}}});
  EXPECT_EQ(json::parse(read_text(directory / "result.json"))["benchmarks"].size(), 1U);
  EXPECT_EQ(read_journal(directory.path()).rows.size(), 1U);
}

TEST(FinishedResult, replaces_the_one_of_an_earlier_part) {
  const TemporaryDirectory directory;
  const ResultStore store = ResultStore::begin(directory.path(), json::object());
  store.finish({{"context", {{"part", 1}}}, {"benchmarks", json::array()}});
  store.finish({{"context", {{"part", 2}}}, {"benchmarks", json::array()}});
  EXPECT_EQ(json::parse(read_text(directory / "result.json"))["context"]["part"], 2);
}

}  // namespace
}  // namespace grainscope::harness
