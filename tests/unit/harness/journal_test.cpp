// A journal as a kill, a full disk or an editor may leave it.

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "fakes.hpp"
#include "grainscope/core/error.hpp"
#include "harness/result_store.hpp"

namespace grainscope::harness {
namespace {

using nlohmann::json;
using test::journal_line;
using test::refusal;
using test::says;
using test::whole_row;

// As something left it.
using LeftJournal = test::RunFolder;

const json kHeader{{"id", "x"}, {"journal", 3}};
const json kLink{{"gpu", 0},
                 {"numa", 0},
                 {"direction", "host_to_gpu"},
                 {"peak_gb_s", 20.5},
                 {"within_gb_s", {20.0, 21.0}},
                 {"bytes", 268435456},
                 {"theoretical_gb_s", nullptr}};

// Lines 2, 3 and 4 of a journal: two cases, one of them with two visits, and a link.
std::vector<json> lines() {
  return {{{"rows", {whole_row("a")}}},
          {{"link", kLink}, {"warnings", json::array()}},
          {{"rows", {whole_row("b\n\"}"), whole_row("b\n\"}", 2)}}}};
}

std::string whole_text() {
  std::string text = journal_line(kHeader);
  for (const json& line : lines()) {
    text += journal_line(line);
  }
  return text;
}

void append(ResultStore& store, const json& line) {
  if (line.contains("rows")) {
    store.append_rows(line["rows"]);
  } else {
    store.append_link(line["link"], line["warnings"]);
  }
}

TEST_F(LeftJournal, of_a_whole_run_reads_back) {
  leave_journal(whole_text());
  const Journal left = journal();
  EXPECT_EQ(left.header, kHeader);
  EXPECT_EQ(left.rows.size(), 3U);
  ASSERT_EQ(left.links.size(), 1U);
  EXPECT_EQ(left.links[0]["link"]["gpu"], 0);
  EXPECT_EQ(left.text, whole_text());
  EXPECT_EQ(left.lost_lines, 0U);
  EXPECT_EQ(test::cases_in(left), (std::set<std::string>{"a", "b\n\"}"}));
}

TEST_F(LeftJournal, cut_behind_its_header_holds_its_whole_lines_and_goes_on_to_the_same_end) {
  const std::string whole = whole_text();
  for (std::size_t cut = whole.find('\n') + 1; cut < whole.size(); ++cut) {
    const std::string text = whole.substr(0, cut);
    leave_journal(text);
    const Journal left = journal();
    const auto whole_lines = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
    ASSERT_EQ(left.text, text.substr(0, text.rfind('\n') + 1)) << cut;
    ASSERT_EQ(left.lost_lines, 0U) << cut;
    ResultStore store = ResultStore::resume(folder(), left);
    for (std::size_t line = whole_lines; line <= lines().size(); ++line) {
      append(store, lines()[line - 1]);
    }
    ASSERT_EQ(journal_text(), whole) << cut;
  }
}

TEST_F(LeftJournal, cut_at_any_byte_of_its_header_says_to_start_again_and_can_be_begun_over) {
  const std::string header = journal_line(kHeader);
  for (std::size_t cut = 0; cut < header.size(); ++cut) {
    leave_journal(header.substr(0, cut));
    const std::string said = refusal<UsageError>([this] { static_cast<void>(journal()); });
    EXPECT_TRUE(says(said, "before it had finished anything")) << cut;
    EXPECT_TRUE(says(said, "--out " + folder().string())) << cut;
    ASSERT_NO_THROW(static_cast<void>(begin(kHeader))) << cut;
    EXPECT_EQ(journal_text(), header) << cut;
  }
}

// Somebody removed it and began another run under its name.
TEST_F(LeftJournal, of_another_run_in_its_place_keeps_its_result) {
  const ResultStore first = begin(kHeader);
  std::filesystem::rename(folder(), folder().string() + "-moved");
  const ResultStore second = begin(kHeader);
  const auto result = [](const char* id) {
    return json{{"context", {{"run", {{"id", id}, {"complete", true}}}}}, {"benchmarks", json::array()}};
  };
  const std::string aside = folder().string() + "-first";
  EXPECT_TRUE(
      says(refusal<EnvironmentError>([&] { first.finish(result("first")); }), "its result is in " + aside));
  EXPECT_FALSE(second.is_finished());
  second.finish(result("second"));
  EXPECT_TRUE(second.is_finished());
  EXPECT_EQ(json::parse(test::read_text(result_path()))["context"]["run"]["id"], "second");
  EXPECT_EQ(json::parse(test::read_text(aside + "/result.json"))["context"]["run"]["id"], "first");
  std::filesystem::remove_all(aside);
  std::filesystem::remove_all(folder().string() + "-moved");
}

TEST_F(LeftJournal, with_its_header_whole_is_not_begun_over) {
  leave_journal(journal_line(kHeader));
  EXPECT_THROW(static_cast<void>(begin(kHeader)), UsageError);
  EXPECT_EQ(journal_text(), journal_line(kHeader));
}

TEST_F(LeftJournal, goes_on_behind_a_line_of_garbage) {
  int at = 1;
  for (const char* garbage :
       {"%$&", "", "[1, 2]", "{}", "7", "\"text\"", "{\"rows\": [", "null", "\x01\x02"}) {
    const std::string head = journal_line(kHeader) + journal_line(lines()[0]);
    const std::string text = head + garbage + "\n" + journal_line(lines()[2]);
    leave_journal(text);
    const Journal left = journal();
    EXPECT_EQ(left.rows.size(), 3U) << garbage;
    EXPECT_EQ(left.text, head + journal_line(lines()[2])) << garbage;
    EXPECT_EQ(left.lost_lines, 1U) << garbage;
    ResultStore store = ResultStore::resume(folder(), left);
    append(store, lines()[1]);
    EXPECT_EQ(journal_text(), head + journal_line(lines()[2]) + journal_line(lines()[1])) << garbage;
    // Nothing goes without a word, nor over what an earlier damage left.
    const std::string name = at == 1 ? "" : "-" + std::to_string(at);
    EXPECT_EQ(test::read_text(folder() / ("journal.jsonl.damaged" + name)), text);
    ++at;
  }
}

// A line that cannot be read may be where a part began, after a reboot; one of rows is not.
TEST_F(LeftJournal, tells_no_boot_behind_a_line_that_may_have_told_another) {
  const std::string head =
      journal_line(kHeader) + journal_line({{"warnings", json::array()}, {"boot", "first"}});
  const std::string part = journal_line({{"warnings", json::array()}, {"boot", "second"}});
  const std::string rows = journal_line(lines()[0]);
  const auto damaged = [](std::string line) {
    line[line.size() - 4] ^= 1;  // in its check sum
    return line;
  };
  leave_journal(head + damaged(journal_line(lines()[2])) + rows);
  EXPECT_EQ(journal().boots.at("a"), "first");
  leave_journal(head + damaged(part) + rows);
  EXPECT_NE(journal().boots.at("a"), "first");
  EXPECT_NE(journal().boots.at("a"), "") << "which is any start of the machine";
}

// Also where its check sum is right: somebody may have made it so.
TEST_F(LeftJournal, leaves_out_a_line_whose_rows_or_link_are_none) {
  std::vector<json> damaged{{{"rows", 5}},
                            {{"rows", {5}}},
                            {{"rows", {whole_row("a"), nullptr}}},
                            {{"link", 5}},
                            {{"link", json::object()}, {"warnings", json::array()}},
                            {{"link", kLink}},
                            {{"link", kLink}, {"warnings", {{{"id", 5}}}}}};
  const json whole = whole_row("a");
  for (const auto& [key, value] : whole.items()) {
    json row = whole;
    row.erase(key);
    damaged.push_back({{"rows", {row}}});
    row[key] = value.is_string() ? json(7) : json("text");
    damaged.push_back({{"rows", {row}}});
  }
  for (const json& samples : {json::array(), json{0.1, nullptr}, json{-0.1}}) {
    json row = whole_row("a");
    row["samples_s"] = samples;
    damaged.push_back({{"rows", {row}}});
  }
  for (const json& line : damaged) {
    const std::string head = journal_line(kHeader);
    leave_journal(head + journal_line(line));
    const Journal left = journal();
    EXPECT_TRUE(left.rows.empty()) << line;
    EXPECT_TRUE(left.links.empty()) << line;
    EXPECT_EQ(left.text, head) << line;
    EXPECT_TRUE(test::cases_in(left).empty()) << line;
  }
}

TEST_F(LeftJournal, keeps_the_rows_of_what_was_skipped_or_failed) {
  json skipped = whole_row("a");
  for (const char* key : {"samples_s", "median_s", "timing", "verified", "round"}) {
    skipped.erase(key);
  }
  skipped["status"] = "skipped";
  skipped["reason"] = "it is not here";
  json failed = skipped;
  failed["status"] = "failed";
  failed["round"] = 2U;
  leave_journal(journal_line(kHeader) + journal_line({{"rows", {skipped, failed}}}));
  EXPECT_EQ(journal().rows, (std::vector<json>{skipped, failed}));
}

TEST_F(LeftJournal, of_which_any_bit_is_flipped_holds_no_line_that_was_not_written) {
  const std::string whole = whole_text();
  const std::vector<json> rows = [&] {
    leave_journal(whole);
    return journal().rows;
  }();
  // Each byte, each of its bits in turn.
  for (std::size_t bit = 8 * (whole.find('\n') + 1); bit < 8 * whole.size(); bit += 9) {
    std::string flipped = whole;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    leave_journal(flipped);
    const Journal left = journal();
    ASSERT_LT(left.text.size(), whole.size()) << bit;
    ASSERT_LT(left.rows.size() + left.links.size(), rows.size() + 1) << bit;
    for (const json& row : left.rows) {
      ASSERT_NE(std::find(rows.begin(), rows.end(), row), rows.end()) << bit;
    }
  }
}

TEST_F(LeftJournal, that_was_edited_by_hand_lacks_that_line) {
  std::string text = journal_line(kHeader) + journal_line(lines()[0]);
  text.replace(text.find("0.15"), 4, "0.05");
  leave_journal(text);
  EXPECT_TRUE(journal().rows.empty());
  EXPECT_EQ(journal().lost_lines, 1U);
}

TEST_F(LeftJournal, with_a_line_twice_counts_each_visit_once) {
  leave_journal(journal_line(kHeader) + journal_line(lines()[2]) + journal_line(lines()[0]) +
                journal_line(lines()[2]));
  const Journal left = journal();
  EXPECT_EQ(left.rows.size(), 3U);
  EXPECT_EQ(left.repeated_rows, 2U);
  EXPECT_EQ(left.lost_lines, 0U);
}

TEST_F(LeftJournal, leaves_out_a_line_that_is_nested_too_deeply) {
  std::string nested = R"({"link":)";
  for (int i = 0; i < 100'000; ++i) {
    nested += R"({"a":)";
  }
  nested += "1" + std::string(100'000, '}');
  nested.pop_back();
  leave_journal(journal_line(kHeader) + sealed_members(nested) + "\n");
  EXPECT_EQ(journal().lost_lines, 1U);
}

TEST_F(LeftJournal, that_is_no_file_is_refused_and_not_waited_for) {
  ASSERT_EQ(mkfifo(journal_path().c_str(), 0600), 0);
  EXPECT_TRUE(says(refusal<UsageError>([this] { static_cast<void>(journal()); }), "is not a file"));
  EXPECT_TRUE(says(refusal<UsageError>([this] { static_cast<void>(begin(kHeader)); }), "is not a file"));
  std::filesystem::remove(journal_path());
  std::filesystem::create_symlink("/dev/zero", journal_path());
  EXPECT_TRUE(says(refusal<UsageError>([this] { static_cast<void>(journal()); }), "is not a file"));
}

TEST_F(LeftJournal, without_a_header_of_this_version_is_refused) {
  for (const json& header : {json{{"journal", 1}}, json{{"journal", 2}}, json{{"journal", "3"}},
                             json{{"id", "x"}}, json{{"journal", nullptr}}}) {
    leave_journal(journal_line(header) + journal_line(lines()[0]));
    EXPECT_TRUE(says(refusal<UsageError>([this] { static_cast<void>(journal()); }), "--out")) << header;
  }
  // As version 1 wrote it, and what nobody wrote.
  for (const char* header :
       {"{\"id\":\"x\",\"journal\":1}\n", "{\"journal\":2}\n", "hello\n", "{}\n", "[]\n", "\n"}) {
    leave_journal(header + journal_line(lines()[0]));
    EXPECT_TRUE(says(refusal<UsageError>([this] { static_cast<void>(journal()); }), "--out")) << header;
  }
}

TEST_F(LeftJournal, that_is_not_there_is_refused) {
  EXPECT_THROW(static_cast<void>(journal()), UsageError);
  EXPECT_THROW(static_cast<void>(read_journal(folder() / "absent")), UsageError);
}

}  // namespace
namespace {

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

// As --max-time and a signal leave it.
TEST_F(BegunRun, goes_on_with_one_whose_result_is_not_complete) {
  leave_journal(test::journal_line({{"journal", 3}}));
  test::write_text(result_path(), R"({"context": {"run": {"complete": false}}})");
  EXPECT_TRUE(says(refused(), "--resume " + folder().string()));
  test::write_text(result_path(), R"({"context": {"run": {"complete": true}}})");
  EXPECT_TRUE(says(refused(), "finished run"));
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

TEST_F(FinishedResult, has_a_digest_beside_it) {
  const json row = {{"case", {{"family", "host/memcpy"}, {"axes", {{"bytes", 64}}}, {"site", {{"numa", 0}}}}},
                    {"status", "ok"},
                    {"label", "measured"},
                    {"median_s", 0.5},
                    {"flags", json::array()},
                    {"name", "host/memcpy/bytes:64"},
                    {"timing", {{"clock", "steady"}, {"gated", false}, {"timed", "copy"}}},
                    {"uncertainty", {{"a", {{"standard", 0.1}}}, {"combined", {{"standard", 0.1}}}}},
                    {"visits", {{{"samples_s", {1, 2}}}, {{"samples_s", {3}}}}}};
  const json context = {{"caches", json::array()}, {"host_name", "node"}, {"run", {{"id", "x"}}}};
  begin().finish({{"context", context}, {"benchmarks", {row, row}}});

  const auto close = [](gzFile file) { gzclose(file); };
  const std::unique_ptr<gzFile_s, decltype(close)> file(gzopen((folder() / "fleet.jsonl.gz").c_str(), "rb"),
                                                        close);
  std::array<char, 4096> text{};
  ASSERT_GT(gzread(file.get(), text.data(), text.size() - 1), 0);
  const std::string line =
      R"({"case":{"axes":{"bytes":64},"family":"host/memcpy","site":{"numa":0}},"label":"measured",)"
      R"("median_s":0.5,"status":"ok","timing":{"clock":"steady","gated":false},)"
      R"("uncertainty":{"a":{"standard":0.1}},"visits":2})"
      "\n";
  EXPECT_EQ(std::string(text.data()),
            R"({"context":{"host_name":"node","run":{"id":"x"}},"digest":1,"rows":2})"
            "\n" +
                line + line);
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

namespace grainscope::test {
namespace {

using nlohmann::json;

TEST(SchemaCheck, finds_each_kind_of_fault) {
  const json schema = json::parse(R"({"type": "object", "required": ["a"], "additionalProperties": false,
    "properties": {"a": {"type": "integer", "minimum": 1}, "b": {"$ref": "#/$defs/pair"}, "c": {"enum": ["x"]},
                   "d": {"exclusiveMinimum": 0}},
    "$defs": {"pair": {"type": "array", "minItems": 2, "maxItems": 2, "items": {"type": "number"}}}})");
  EXPECT_TRUE(schema_errors(json::parse(R"({"a": 1, "b": [1, 2.5], "c": "x", "d": 0.1})"), schema).empty());
  for (const char* wrong : {"3", "{}", R"({"a": 0})", R"({"a": 1.5})", R"({"a": 1, "z": 1})",
                            R"({"a": 1, "b": [1]})", R"({"a": 1, "b": [1, 2, 3]})",
                            R"({"a": 1, "b": [1, "2"]})", R"({"a": 1, "c": "y"})", R"({"a": 1, "d": 0})"}) {
    EXPECT_EQ(schema_errors(json::parse(wrong), schema).size(), 1U) << wrong;
  }
}

TEST(SchemaCheck, follows_the_branch_that_the_condition_picks) {
  const json schema = json::parse(R"({"if": {"properties": {"s": {"const": "ok"}}},
    "then": {"required": ["value"]}, "else": {"required": ["reason"]}})");
  EXPECT_TRUE(schema_errors(json::parse(R"({"s": "ok", "value": 1})"), schema).empty());
  EXPECT_TRUE(schema_errors(json::parse(R"({"s": "failed", "reason": ""})"), schema).empty());
  EXPECT_FALSE(schema_errors(json::parse(R"({"s": "ok", "reason": ""})"), schema).empty());
  EXPECT_FALSE(schema_errors(json::parse(R"({"s": "failed", "value": 1})"), schema).empty());
}

TEST(SchemaCheck, refuses_a_keyword_that_it_would_not_check) {
  EXPECT_THROW(static_cast<void>(schema_errors(1, json{{"maximum", 3}})), std::logic_error);
}

}  // namespace
}  // namespace grainscope::test
