#ifndef GRAINSCOPE_TESTS_UNIT_HARNESS_RUN_FOLDER_HPP
#define GRAINSCOPE_TESTS_UNIT_HARNESS_RUN_FOLDER_HPP

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>
#include <vector>

#include "child.hpp"
#include "harness/result_store.hpp"
#include "says.hpp"

namespace grainscope::test {

// The folder of a run, as the suite writes it and as something else may leave it.
class RunFolder : public testing::Test {
 protected:
  [[nodiscard]] std::filesystem::path folder() const { return directory_.path(); }
  [[nodiscard]] std::filesystem::path journal_path() const { return directory_ / "journal.jsonl"; }
  [[nodiscard]] std::filesystem::path result_path() const { return directory_ / "result.json"; }
  [[nodiscard]] std::filesystem::path temporary_path() const { return directory_ / "result.json.tmp"; }

  [[nodiscard]] harness::ResultStore begin(const nlohmann::json& header = nlohmann::json::object()) const {
    return harness::ResultStore::begin(folder(), header);
  }
  [[nodiscard]] harness::Journal journal() const { return harness::read_journal(folder()); }
  [[nodiscard]] std::string journal_text() const { return read_text(journal_path()); }
  void leave_journal(const std::string& text) const { write_text(journal_path(), text); }
  [[nodiscard]] nlohmann::json result() const { return nlohmann::json::parse(read_text(result_path())); }

 private:
  TemporaryDirectory directory_;
};

// The cases that a journal has rows of.
[[nodiscard]] std::set<std::string> cases_in(const harness::Journal& journal);

// A row that has what a row must have, and no more.
[[nodiscard]] nlohmann::json whole_row(const std::string& name, int visit = 1);

// A line of a journal as it is written, whatever it says.
using harness::journal_line;

// No file may grow beyond `bytes` while this lives: what a full disk does, for one process.
class [[nodiscard]] FullDisk {
 public:
  explicit FullDisk(rlim_t bytes);
  ~FullDisk();
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;

 private:
  void (*old_handler_)(int);
  rlimit old_{};
};

// The part of JSON Schema that docs/result.schema.json uses.

[[nodiscard]] nlohmann::json result_schema();

// What is wrong with `value`, a line for each finding, by the schema or the part of it that `part` points to
// ("/$defs/row"). Throws std::logic_error for a keyword that is not known here.
[[nodiscard]] std::vector<std::string> schema_errors(const nlohmann::json& value,
                                                     const nlohmann::json& schema,
                                                     const std::string& part = "");

// The same as one text, empty where all is well.
[[nodiscard]] std::string result_errors(const nlohmann::json& result);
[[nodiscard]] std::string row_errors(const nlohmann::json& row);

}  // namespace grainscope::test

#endif
