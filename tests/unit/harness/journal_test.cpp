// A journal as a kill, a full disk or an editor may leave it.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "child.hpp"
#include "grainscope/core/error.hpp"
#include "harness/result_store.hpp"

namespace grainscope::harness {
namespace {

using nlohmann::json;
using test::read_text;
using test::TemporaryDirectory;
using test::write_text;

const json kHeader{{"id", "x"}, {"journal", 1}};

// Lines 2, 3 and 4 of a journal: two cases, one of them with two sessions, and a link.
std::vector<json> lines() {
  return {{{"rows", {{{"name", "a"}, {"status", "ok"}, {"t", 0.1}}}}},
          {{"link", {{"gpu", 0}}}},
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
    store.append_link(line["link"]);
  }
}

TEST(Journal, of_a_whole_run_reads_back) {
  const TemporaryDirectory directory;
  write_text(directory / "journal.jsonl", whole_text());
  const Journal journal = read_journal(directory.path());
  EXPECT_EQ(journal.header, kHeader);
  EXPECT_EQ(journal.rows.size(), 3U);
  ASSERT_EQ(journal.links.size(), 1U);
  EXPECT_EQ(journal.links[0]["gpu"], 0);
  EXPECT_EQ(journal.valid_bytes, whole_text().size());
  EXPECT_EQ(journal.finished(), (std::set<std::string>{"a", "b\n\"}"}));
}

TEST(Journal, cut_at_any_byte_holds_its_whole_lines_and_goes_on_to_the_same_end) {
  const std::string whole = whole_text();
  const std::size_t header_bytes = whole.find('\n') + 1;
  for (std::size_t cut = 0; cut < whole.size(); ++cut) {
    const TemporaryDirectory directory;
    const std::string left = whole.substr(0, cut);
    write_text(directory / "journal.jsonl", left);
    if (cut < header_bytes) {
      continue;
    }
    const Journal journal = read_journal(directory.path());
    const auto whole_lines = static_cast<std::size_t>(std::count(left.begin(), left.end(), '\n'));
    ASSERT_EQ(journal.valid_bytes, left.rfind('\n') + 1) << cut;
    ResultStore store = ResultStore::resume(directory.path(), journal);
    for (std::size_t line = whole_lines; line <= lines().size(); ++line) {
      append(store, lines()[line - 1]);
    }
    ASSERT_EQ(read_text(directory / "journal.jsonl"), whole) << cut;
  }
}

TEST(Journal, cut_at_any_byte_of_its_header_says_to_start_again_and_can_be_begun_over) {
  const std::string header = kHeader.dump() + "\n";
  for (std::size_t cut = 0; cut < header.size(); ++cut) {
    const TemporaryDirectory directory;
    write_text(directory / "journal.jsonl", header.substr(0, cut));
    try {
      static_cast<void>(read_journal(directory.path()));
      FAIL() << cut;
    } catch (const UsageError& error) {
      const std::string message = error.what();
      EXPECT_NE(message.find("before it had finished anything"), std::string::npos) << cut << message;
      EXPECT_NE(message.find("--out " + directory.path().string()), std::string::npos) << cut << message;
    }
    ASSERT_NO_THROW(static_cast<void>(ResultStore::begin(directory.path(), kHeader))) << cut;
    EXPECT_EQ(read_text(directory / "journal.jsonl"), header) << cut;
  }
}

TEST(Journal, with_its_header_whole_is_not_begun_over) {
  const TemporaryDirectory directory;
  write_text(directory / "journal.jsonl", kHeader.dump() + "\n");
  EXPECT_THROW(static_cast<void>(ResultStore::begin(directory.path(), kHeader)), UsageError);
  EXPECT_EQ(read_text(directory / "journal.jsonl"), kHeader.dump() + "\n");
}

TEST(Journal, ends_before_a_line_of_garbage) {
  for (const char* garbage :
       {"%$&", "", "[1, 2]", "{}", "7", "\"text\"", "{\"rows\": [", "null", "\x01\x02"}) {
    const TemporaryDirectory directory;
    const std::string head = kHeader.dump() + "\n" + lines()[0].dump() + "\n";
    write_text(directory / "journal.jsonl", head + garbage + "\n" + lines()[2].dump() + "\n");
    const Journal journal = read_journal(directory.path());
    EXPECT_EQ(journal.rows.size(), 1U) << garbage;
    EXPECT_EQ(journal.valid_bytes, head.size()) << garbage;
    ResultStore store = ResultStore::resume(directory.path(), journal);
    append(store, lines()[2]);
    EXPECT_EQ(read_text(directory / "journal.jsonl"), head + lines()[2].dump() + "\n") << garbage;
  }
}

TEST(Journal, ends_before_a_line_whose_rows_are_none) {
  for (const char* damaged :
       {R"({"rows": 5})", R"({"rows": [5]})", R"({"rows": [{"nom": "a", "status": "ok"}]})",
        R"({"rows": [{"name": 5, "status": "ok"}]})", R"({"rows": [{"name": "a", "status": "ok"}, null]})",
        R"({"rows": [{"name": "a"}]})", R"({"link": 5})"}) {
    const TemporaryDirectory directory;
    const std::string head = kHeader.dump() + "\n";
    write_text(directory / "journal.jsonl", head + damaged + "\n");
    const Journal journal = read_journal(directory.path());
    EXPECT_TRUE(journal.rows.empty()) << damaged;
    EXPECT_TRUE(journal.links.empty()) << damaged;
    EXPECT_EQ(journal.valid_bytes, head.size()) << damaged;
    EXPECT_TRUE(journal.finished().empty()) << damaged;
  }
}

TEST(Journal, without_a_header_of_this_version_is_refused) {
  for (const char* header : {"{\"journal\":2}\n", "{\"journal\":\"1\"}\n", "{\"id\":\"x\"}\n", "hello\n",
                             "{}\n", "[]\n", "\n", "{\"journal\":null}\n"}) {
    const TemporaryDirectory directory;
    write_text(directory / "journal.jsonl", std::string(header) + lines()[0].dump() + "\n");
    try {
      static_cast<void>(read_journal(directory.path()));
      FAIL() << header;
    } catch (const UsageError& error) {
      EXPECT_NE(std::string(error.what()).find("--out"), std::string::npos) << error.what();
    }
  }
}

TEST(Journal, that_is_not_there_is_refused) {
  const TemporaryDirectory directory;
  EXPECT_THROW(static_cast<void>(read_journal(directory.path())), UsageError);
  EXPECT_THROW(static_cast<void>(read_journal(directory.path() / "absent")), UsageError);
}

}  // namespace
}  // namespace grainscope::harness
