#ifndef GRAINSCOPE_BENCHMARKS_HARNESS_RESULT_STORE_HPP
#define GRAINSCOPE_BENCHMARKS_HARNESS_RESULT_STORE_HPP

// The result file and its journal: rows, and what the file says beside them: who measured, what, where, and
// how far the run came.

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "link_peaks.hpp"
#include "machine.hpp"
#include "options.hpp"

namespace grainscope::harness {

// Of one run, kept across --resume.
struct RunIdentity {
  std::string id;
  std::string started;     // UTC, ISO 8601
  std::uint64_t seed = 0;  // of the order in which rounds come to cases
};
[[nodiscard]] RunIdentity new_identity();

[[nodiscard]] std::string utc_now();

// What a resumed run must find again: the machine with the CPUs that may be used, and the versions. Names no
// person.
[[nodiscard]] nlohmann::json fingerprint(const Machine& machine);

// The journal's first line.
[[nodiscard]] nlohmann::json journal_header(const RunIdentity& identity, const Options& options,
                                            const Machine& machine);
// Throws EnvironmentError where a journal was begun on another machine or by another version; this and the
// next two throw json::exception where the header is damaged.
void require_same_machine(const nlohmann::json& header, const Machine& machine);
// Throws EnvironmentError where a file of the run's graphs or features is another, or gone.
void require_same_files(const nlohmann::json& header);
[[nodiscard]] RunIdentity identity_of(const nlohmann::json& header);

[[nodiscard]] nlohmann::json link_json(const LinkPeak& peak);
[[nodiscard]] LinkPeak link_from_json(const nlohmann::json& link);

struct Outcome {
  bool complete = true;
  std::string why_incomplete;
  std::size_t ok = 0;
  std::size_t skipped = 0;
  std::size_t failed = 0;
  std::size_t cases = 0;  // of all parts of the run
};

// `context` of the result file: Google Benchmark's own, with ours. `wall_s` is that of all parts.
[[nodiscard]] nlohmann::json result_context(const nlohmann::json& library_context,
                                            const RunIdentity& identity, const Options& options,
                                            const Scope& scope, const Machine& machine,
                                            const std::vector<LinkPeak>& links, const Outcome& outcome,
                                            double wall_s);

// A run on disk: `journal.jsonl`, a line a finished case, and at the end `result.json`, written whole and
// renamed. A kill at any moment loses at most the case in hand.

// What a journal holds.
struct Journal {
  nlohmann::json header;                     // the first line: what was asked for, where, by which version
  std::vector<nlohmann::json> rows;          // of finished cases, in order
  std::vector<nlohmann::json> links;         // measured copy peaks, each as {"link": …, "warnings": […]}
  std::vector<nlohmann::json> warnings;      // of the machine, as each part of the run found it: […]
  std::map<std::string, std::string> boots;  // of each case with a row, that of its last; empty: not told
  std::string boot;                          // of the last part
  std::string text;                          // the lines that can be read; a last one that was cut is none
  std::uint64_t lost_lines = 0;              // whole ones that cannot be read
  std::uint64_t repeated_rows = 0;           // of visits that an earlier row is of; not among `rows`
};

// A line of a journal: the object with a check sum as its last member, `crc32`, and a newline. The second
// takes the text of the object without its last brace, over which the sum is, and adds no newline.
[[nodiscard]] std::string journal_line(const nlohmann::json& line);
[[nodiscard]] std::string sealed_members(std::string_view members);

// The result file in a folder, where it is of a run that came to its end; else null.
[[nodiscard]] nlohmann::json complete_result(const std::filesystem::path& directory);

// Reads the lines of a journal but those whose check sum is wrong, or that lack what a row or link must have.
// Throws UsageError where there is none or no file, where it was cut within its first
// line, and where that line is not a header that this version knows.
[[nodiscard]] Journal read_journal(const std::filesystem::path& directory);

// Whether a run in a folder has begun: its journal has a whole line. What cannot be read is taken for one.
[[nodiscard]] bool has_begun(const std::filesystem::path& directory);

// Throws UsageError where a file that is to be written is one of the run's own.
void require_no_file_of_the_run(const std::filesystem::path& directory, const std::filesystem::path& file);

// Keeps other processes from running in the same folder, as long as it lives. Where the folder is not there
// or its file system has no locks, nothing is kept.
class RunLock {
 public:
  // Throws EnvironmentError where another run holds it.
  explicit RunLock(const std::filesystem::path& directory);
  ~RunLock();
  RunLock(const RunLock&) = delete;
  RunLock& operator=(const RunLock&) = delete;

 private:
  int folder_ = -1;
};

class ResultStore {
 public:
  // Begins a run in a directory that holds none, or one whose journal was cut within its first line. Throws
  // UsageError where one lies there already, EnvironmentError where it cannot be written.
  [[nodiscard]] static ResultStore begin(const std::filesystem::path& directory,
                                         const nlohmann::json& header);
  // Goes on with a run: cuts off an incomplete last line and appends from there. Where lines cannot be read,
  // the journal as it was, and the result if that is complete, are kept beside it under names with `.damaged`
  // behind, and that is said on standard error.
  [[nodiscard]] static ResultStore resume(const std::filesystem::path& directory, const Journal& journal);

  // Each is on disk when the call returns; throws EnvironmentError otherwise (a full disk).
  void append_rows(const nlohmann::json& rows);
  void append_link(const nlohmann::json& link, const nlohmann::json& warnings);
  // The first line of each part of a run, with the machine's boot: visits of two are not mixed in a row.
  void append_part(const nlohmann::json& warnings, const std::string& boot);

  // Writes `result.json` to a temporary file, syncs and renames it; then its digest, `fleet.jsonl.gz`. Throws
  // EnvironmentError where the folder is no longer the run's, and writes into another beside it.
  void finish(const nlohmann::json& result) const;
  // Whether the result of the whole run is there.
  [[nodiscard]] bool is_finished() const;

  [[nodiscard]] const std::filesystem::path& directory() const { return directory_; }

 private:
  struct Close {
    void operator()(std::FILE* file) const noexcept;
  };
  ResultStore(std::filesystem::path directory, const char* mode);
  void append_line(const nlohmann::json& line);
  [[nodiscard]] bool has_its_folder() const;  // its journal is where it began it

  std::filesystem::path directory_;
  std::unique_ptr<std::FILE, Close> journal_;
};

// Makes a folder and those above it. Throws EnvironmentError.
void make_folder(const std::filesystem::path& directory);
// Throws EnvironmentError where no file can be written at `path` because of its folder: before a run, not
// after.
void require_writable_folder(const std::filesystem::path& path);

// Writes a file whole: to a temporary name beside it, synced, then renamed; into a device or a pipe as it is.
// Throws EnvironmentError.
void write_whole(const std::filesystem::path& path, const std::string& content);

}  // namespace grainscope::harness

#endif
