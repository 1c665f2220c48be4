// A journal as a kill, a full disk or an editor may leave it.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "grainscope/core/error.hpp"
#include "run_folder.hpp"

namespace grainscope::harness {
namespace {

using nlohmann::json;
using test::refusal;
using test::says;

// As something left it.
using LeftJournal = test::RunFolder;

const json kHeader{{"id", "x"}, {"journal", 1}};

// Lines 2, 3 and 4 of a journal: two cases, one of them with two sessions, and a link.
std::vector<json> lines() {
  return {{{"rows", {{{"name", "a"}, {"status", "ok"}, {"t", 0.1}}}}},
          {{"link", {{"gpu", 0}}}, {"warnings", json::array()}},
          {{"rows", {{{"name", "b\n\"}"}, {"status", "ok"}}, {{"name", "b\n\"}"}, {"status", "ok"}}}}}};
}

std::string whole_text() {
  std::string text = kHeader.dump() + "\n";
  for (const json& line : lines()) {
    text += line.dump() + "\n";
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
  EXPECT_EQ(left.valid_bytes, whole_text().size());
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
    ASSERT_EQ(left.valid_bytes, text.rfind('\n') + 1) << cut;
    ASSERT_EQ(left.lost_lines, 0U) << cut;
    ResultStore store = ResultStore::resume(folder(), left);
    for (std::size_t line = whole_lines; line <= lines().size(); ++line) {
      append(store, lines()[line - 1]);
    }
    ASSERT_EQ(journal_text(), whole) << cut;
  }
}

TEST_F(LeftJournal, cut_at_any_byte_of_its_header_says_to_start_again_and_can_be_begun_over) {
  const std::string header = kHeader.dump() + "\n";
  for (std::size_t cut = 0; cut < header.size(); ++cut) {
    leave_journal(header.substr(0, cut));
    const std::string said = refusal<UsageError>([this] { static_cast<void>(journal()); });
    EXPECT_TRUE(says(said, "before it had finished anything")) << cut;
    EXPECT_TRUE(says(said, "--out " + folder().string())) << cut;
    ASSERT_NO_THROW(static_cast<void>(begin(kHeader))) << cut;
    EXPECT_EQ(journal_text(), header) << cut;
  }
}

TEST_F(LeftJournal, with_its_header_whole_is_not_begun_over) {
  leave_journal(kHeader.dump() + "\n");
  EXPECT_THROW(static_cast<void>(begin(kHeader)), UsageError);
  EXPECT_EQ(journal_text(), kHeader.dump() + "\n");
}

TEST_F(LeftJournal, ends_before_a_line_of_garbage) {
  for (const char* garbage :
       {"%$&", "", "[1, 2]", "{}", "7", "\"text\"", "{\"rows\": [", "null", "\x01\x02"}) {
    const std::string head = kHeader.dump() + "\n" + lines()[0].dump() + "\n";
    leave_journal(head + garbage + "\n" + lines()[2].dump() + "\n");
    const Journal left = journal();
    EXPECT_EQ(left.rows.size(), 1U) << garbage;
    EXPECT_EQ(left.valid_bytes, head.size()) << garbage;
    EXPECT_EQ(left.lost_lines, 2U) << garbage;
    ResultStore store = ResultStore::resume(folder(), left);
    append(store, lines()[2]);
    EXPECT_EQ(journal_text(), head + lines()[2].dump() + "\n") << garbage;
    // Nothing goes without a word.
    EXPECT_EQ(test::read_text(folder() / "journal.jsonl.damaged"),
              garbage + std::string("\n") + lines()[2].dump() + "\n");
  }
}

TEST_F(LeftJournal, ends_before_a_line_whose_rows_are_none) {
  for (const char* damaged :
       {R"({"rows": 5})", R"({"rows": [5]})", R"({"rows": [{"nom": "a", "status": "ok"}]})",
        R"({"rows": [{"name": 5, "status": "ok"}]})", R"({"rows": [{"name": "a", "status": "ok"}, null]})",
        R"({"rows": [{"name": "a"}]})", R"({"link": 5})"}) {
    const std::string head = kHeader.dump() + "\n";
    leave_journal(head + damaged + "\n");
    const Journal left = journal();
    EXPECT_TRUE(left.rows.empty()) << damaged;
    EXPECT_TRUE(left.links.empty()) << damaged;
    EXPECT_EQ(left.valid_bytes, head.size()) << damaged;
    EXPECT_TRUE(test::cases_in(left).empty()) << damaged;
  }
}

TEST_F(LeftJournal, without_a_header_of_this_version_is_refused) {
  for (const char* header : {"{\"journal\":2}\n", "{\"journal\":\"1\"}\n", "{\"id\":\"x\"}\n", "hello\n",
                             "{}\n", "[]\n", "\n", "{\"journal\":null}\n"}) {
    leave_journal(std::string(header) + lines()[0].dump() + "\n");
    EXPECT_TRUE(says(refusal<UsageError>([this] { static_cast<void>(journal()); }), "--out")) << header;
  }
}

TEST_F(LeftJournal, that_is_not_there_is_refused) {
  EXPECT_THROW(static_cast<void>(journal()), UsageError);
  EXPECT_THROW(static_cast<void>(read_journal(folder() / "absent")), UsageError);
}

}  // namespace
}  // namespace grainscope::harness
