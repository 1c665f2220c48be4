#include "result_store.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <iostream>
#include <random>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "build_info.hpp"
#include "digest.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/system/sysfs.hpp"
#include "grainscope/system/warnings.hpp"

namespace grainscope::harness {
namespace {

constexpr const char* kDigest = "fleet.jsonl.gz";

using nlohmann::json;

constexpr int kSchemaVersion = 2;

template <class T>
json or_null(const std::optional<T>& value) {
  return value ? json(*value) : json(nullptr);
}

std::string host_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "unknown";
}

json suite_json() {
  return {{"version", build::kVersion},
          {"commit", build::kCommit},
          {"compiler", build::kCompiler},
          {"cuda", build::kCuda.empty() ? json(nullptr) : json(build::kCuda)},
          {"benchmark_library", build::kBenchmarkLibrary}};
}

// Tells a file from what it was: null where it is not there.
json stamp(const std::string& path) {
  std::error_code no_size;
  std::error_code no_time;
  const std::uintmax_t bytes = std::filesystem::file_size(path, no_size);
  const auto written = std::filesystem::last_write_time(path, no_time).time_since_epoch().count();
  return no_size || no_time ? json(nullptr) : json{{"bytes", bytes}, {"written", written}};
}

// Of the graphs, features and labels that the run reads, by their whole paths.
json file_stamps(const Options& options) {
  json stamps = json::object();
  const auto add = [&](const std::string& path) {
    const std::string whole = std::filesystem::absolute(path).string();
    stamps[whole] = stamp(whole);
  };
  for (const graph::GraphSpec& spec : options.graphs) {
    if (spec.kind == graph::GraphSpec::Kind::file) {
      add(spec.path);
    }
  }
  for (const std::string& path : {options.features, options.labels, options.train_ids}) {
    if (!path.empty()) {
      add(path);
    }
  }
  return stamps;
}

}  // namespace

std::string utc_now() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm parts{};
  gmtime_r(&now, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text.data();
}

RunIdentity new_identity() {
  std::random_device random;
  std::array<char, 40> text{};
  std::snprintf(text.data(), text.size(), "%08x-%08x", random(), random());
  return {text.data(), utc_now(), random()};
}

json fingerprint(const Machine& machine) {
  json gpus = json::array();
  for (const cuda::DeviceProperties& device : machine.runtime.devices) {
    gpus.push_back(device.uuid);
  }
  return {{"host", host_name()},
          {"cpu", machine.environment.cpu.model.value_or("unknown")},
          {"gpus", gpus},
          {"version", build::kVersion},
          {"commit", build::kCommit},
          {"cpus", machine.topology.allowed_cpus()},
          {"driver", machine.environment.driver.version.value_or("none")},
          {"kernel", machine.environment.kernel.release.value_or("unknown")}};
}

json journal_header(const RunIdentity& identity, const Options& options, const Machine& machine) {
  return {{"id", identity.id},
          {"started", identity.started},
          {"seed", identity.seed},
          {"flags", options.selection_flags},
          {"library_flags", options.library_flags},
          {"fingerprint", fingerprint(machine)},
          {"files", file_stamps(options)}};
}

void require_same_machine(const json& header, const Machine& machine) {
  const json now = fingerprint(machine);
  for (const auto& [key, value] : header.at("fingerprint").items()) {
    if (now.value(key, json()) != value) {
      throw EnvironmentError("this run was begun with " + key + " " + value.dump() + ", which is now " +
                             now.value(key, json()).dump() +
                             ": results of two would be mixed. Start a new run with --out");
    }
  }
  for (const char* const key : {"host", "cpu", "gpus", "version", "commit"}) {  // that journals always had
    static_cast<void>(header.at("fingerprint").at(key));
  }
}

void require_same_files(const json& header) {
  for (const auto& [path, then] : header.at("files").items()) {
    if (stamp(path) != then) {
      throw EnvironmentError(path +
                             " is not the file that this run was begun with: results of two would be "
                             "mixed. Bring it back, or start a new run with --out");
    }
  }
}

RunIdentity identity_of(const json& header) {
  return {header.at("id").get<std::string>(), header.at("started").get<std::string>(),
          header.value("seed", std::uint64_t{0})};
}

json link_json(const LinkPeak& peak) {
  json link{{"gpu", peak.path.gpu},
            {"peak_gb_s", peak.peak_gb_s},
            {"within_gb_s", {peak.within_gb_s.low, peak.within_gb_s.high}},
            {"bytes", peak.bytes},
            {"theoretical_gb_s", or_null(peak.theoretical_gb_s)}};
  if (peak.path.peer) {
    link["peer"] = *peak.path.peer;
    link["direction"] = "to_peer";
    link["nvlinks"] = or_null(peak.nvlinks);
    return link;
  }
  link["numa"] = or_null(peak.path.numa);
  link["direction"] = peak.path.to_gpu ? "host_to_gpu" : "gpu_to_host";
  link["generation"] = peak.under_load ? json(peak.under_load->generation) : json(nullptr);
  link["width"] = peak.under_load ? json(peak.under_load->width) : json(nullptr);
  return link;
}

LinkPeak link_from_json(const json& link) {
  LinkPeak peak;
  const int gpu = link.at("gpu");
  if (link.contains("peer")) {
    peak.path = LinkPath::between(gpu, link.at("peer"));
    if (!link.at("nvlinks").is_null()) {
      peak.nvlinks = link.at("nvlinks").get<int>();
    }
  } else {
    peak.path = link.at("direction") == "host_to_gpu" ? LinkPath::host_to_gpu(link.at("numa"), gpu)
                                                      : LinkPath::gpu_to_host(gpu, link.at("numa"));
  }
  peak.peak_gb_s = link.at("peak_gb_s");
  peak.within_gb_s = {link.at("within_gb_s").at(0), link.at("within_gb_s").at(1)};
  peak.bytes = link.at("bytes");
  if (!link.at("theoretical_gb_s").is_null()) {
    peak.theoretical_gb_s = link.at("theoretical_gb_s").get<double>();
  }
  if (link.contains("generation") && !link.at("generation").is_null()) {
    peak.under_load = NvmlLinkState{link.at("generation"), link.at("width")};
  }
  return peak;
}

json result_context(const json& library_context, const RunIdentity& identity, const Options& options,
                    const Scope& scope, const Machine& machine, const std::vector<LinkPeak>& links,
                    const Outcome& outcome, double wall_s) {
  json context = library_context.is_object() ? library_context : json::object();
  context["host_name"] = host_name();
  context["schema_version"] = kSchemaVersion;
  context["grainscope"] = suite_json();
  context["run"] = {
      {"id", identity.id},
      {"preset", name(options.preset)},
      {"filter", options.filter},
      {"flags", options.selection_flags},
      {"started", identity.started},
      {"ended", utc_now()},
      {"complete", outcome.complete},
      {"why_incomplete", outcome.complete ? json(nullptr) : json(outcome.why_incomplete)},
      {"shard", {{"index", options.shard_index}, {"count", options.shard_count}, {"cases", outcome.cases}}},
      {"ci_target", scope.sampling.ci_target},
      {"visits", scope.visits},
      {"seed", identity.seed},
      {"wall_s", wall_s},
      {"counts", {{"ok", outcome.ok}, {"skipped", outcome.skipped}, {"failed", outcome.failed}}}};
  context["environment"] = environment_json(machine.environment, machine.warnings);
  context["links"] = json::array();
  for (const LinkPeak& peak : links) {
    context["links"].push_back(link_json(peak));
  }
  return context;
}

namespace {

namespace fs = std::filesystem;

constexpr int kJournalVersion = 3;
// Behind the members of every line: ,"crc32":"89abcdef"}
constexpr std::string_view kSeal = R"(,"crc32":")";
constexpr std::size_t kCheckSumLetters = 8;
// A row has some six levels. Readers walk what is nested, and the stack has an end.
constexpr int kDeepest = 32;

[[noreturn]] void cannot_write(const fs::path& path, int error) {
  const bool full = error == ENOSPC || error == EDQUOT || error == EFBIG;
  throw EnvironmentError("could not write " + path.string() + ": " + std::strerror(error) + "; " +
                         (full ? "free space, or choose" : "choose") +
                         " a folder that can be written. What a run with --out has "
                         "finished is in its journal.jsonl, and --resume goes on from there");
}

fs::path journal_path(const fs::path& directory) {
  return directory / "journal.jsonl";
}
fs::path result_path(const fs::path& directory) {
  return directory / "result.json";
}

void write_and_sync(std::FILE* file, const std::string& text, const fs::path& path) {
  // A pipe or a device cannot be synced, and need not.
  if (std::fwrite(text.data(), 1, text.size(), file) != text.size() || std::fflush(file) != 0 ||
      (fsync(fileno(file)) != 0 && errno != EINVAL && errno != EROFS)) {
    cannot_write(path, errno);
  }
}

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

File open_to_write(const fs::path& path) {
  File file(std::fopen(path.c_str(), "wb"), std::fclose);
  if (!file) {
    cannot_write(path, errno);
  }
  return file;
}

bool is_no_file(const fs::path& path) {
  std::error_code error;
  const fs::file_status found = fs::status(path, error);
  return fs::exists(found) && !fs::is_regular_file(found) && !fs::is_directory(found);
}

// CRC-32 as zlib and Ethernet have it: of a line it tells any change of up to 32 neighbouring bits.
std::string check_sum(std::string_view text) {
  constexpr std::uint32_t kPolynomial = 0xEDB88320;
  std::uint32_t sum = 0xFFFFFFFF;
  for (const char letter : text) {
    sum ^= static_cast<unsigned char>(letter);
    for (int bit = 0; bit < 8; ++bit) {
      sum = (sum >> 1U) ^ ((sum & 1U) != 0 ? kPolynomial : 0U);
    }
  }
  std::array<char, kCheckSumLetters + 1> letters{};
  std::snprintf(letters.data(), letters.size(), "%08x", ~sum);
  return letters.data();
}

bool is_nested_too_deeply(std::string_view text) {
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char letter = text[i];
    if (quoted && letter == '\\') {
      ++i;
    } else if (letter == '"') {
      quoted = !quoted;
    } else if (!quoted) {
      depth += letter == '{' || letter == '[' ? 1 : letter == '}' || letter == ']' ? -1 : 0;
    }
    if (depth > kDeepest) {
      return true;
    }
  }
  return false;
}

// The line as an object, without its check sum; empty where it is none, or not as it was written.
json parse_line(std::string_view line) {
  constexpr std::size_t kEnd = kSeal.size() + kCheckSumLetters + 2;
  if (line.size() < kEnd) {
    return {};
  }
  const std::string_view members = line.substr(0, line.size() - kEnd);
  std::string whole(members);
  whole += '}';
  if (line != sealed_members(members) || is_nested_too_deeply(whole)) {
    return {};
  }
  json parsed = json::parse(whole, nullptr, false);
  return parsed.is_object() ? parsed : json();
}

bool has(const json& object, const char* key, bool (json::*is_kind)() const noexcept) {
  const auto found = object.find(key);
  return found != object.end() && ((*found).*is_kind)();
}

bool are_times(const json& samples) {
  return samples.is_array() && !samples.empty() && std::all_of(samples.begin(), samples.end(), [](auto& one) {
           return one.is_number() && one.template get<double>() >= 0;
         });
}

// What this version writes of a case: a row that lacks any of it is nobody's result.
bool is_row(const json& row) {
  constexpr auto kText = &json::is_string;
  constexpr auto kObject = &json::is_object;
  if (!row.is_object() || !has(row, "name", kText) || !has(row, "run_type", kText) ||
      !has(row, "label", kText) || !has(row, "status", kText) || !has(row, "case", kObject) ||
      !has(row["case"], "family", kText) || !has(row["case"], "axes", kObject) ||
      !has(row["case"], "site", kObject)) {
    return false;
  }
  if (row.contains("visit_s") && !row["visit_s"].is_number()) {
    return false;
  }
  const json& status = row["status"];
  const bool numbered = has(row, "round", &json::is_number_unsigned) && row["round"] >= 1;
  if (status == "skipped" || status == "failed") {
    // What is skipped at once is visited by nobody.
    return has(row, "reason", kText) && (numbered || (status == "skipped" && !row.contains("round")));
  }
  return status == "ok" && numbered && has(row, "median_s", &json::is_number) &&
         has(row, "verified", &json::is_boolean) && has(row, "timing", kObject) &&
         row.contains("samples_s") && are_times(row["samples_s"]);
}

// Whether a line has warnings, and beside them nothing or a link.
bool has_warnings(const json& line) {
  try {
    static_cast<void>(warnings_from_json(line.at("warnings")));
    if (line.contains("link")) {
      static_cast<void>(link_from_json(line["link"]));
    }
    static_cast<void>(line.value("boot", std::string()));
    return true;
  } catch (const json::exception&) {
    return false;
  }
}

// Whatever reads a pipe or a device may wait for ever.
void require_file(const fs::path& path) {
  std::error_code error;
  const fs::file_status found = fs::status(path, error);
  if (fs::exists(found) && !fs::is_regular_file(found)) {
    throw UsageError(path.string() + " is not a file that a run has written: choose another folder");
  }
}

bool is_header(const json& line) {
  return line.contains("journal") && line["journal"] == kJournalVersion;
}

// A run that a kill or a full disk ended in its first write has no whole line, and nothing to lose. What
// cannot be read is not taken for one.
bool has_a_line(const fs::path& journal) {
  std::ifstream file(journal, std::ios::binary);
  if (!file) {
    return fs::exists(journal);
  }
  std::string line;
  return std::getline(file, line) && !file.eof();
}

constexpr const char* kUnknownBoot = "unknown";  // and so no machine's: visits of two must not be mixed

// Adds the rows of visits that the journal does not have yet; counts the others.
void add_rows(const json& rows, std::set<std::pair<std::string, int>>& seen, Journal& journal) {
  for (const json& row : rows) {
    if (seen.emplace(row["name"], row.value("round", 0)).second) {
      journal.rows.push_back(row);
      journal.boots[row["name"]] = journal.boot;
    } else {
      ++journal.repeated_rows;
    }
  }
}

// False for a line that this version has not written.
bool take_line(const json& line, std::set<std::pair<std::string, int>>& seen, Journal& journal) {
  if (line.contains("rows")) {
    const json& rows = line["rows"];
    if (!rows.is_array() || !std::all_of(rows.begin(), rows.end(), is_row)) {
      return false;
    }
    add_rows(rows, seen, journal);
    return true;
  }
  if (!has_warnings(line)) {
    return false;
  }
  if (line.contains("link")) {
    journal.links.push_back(line);
  } else {
    journal.warnings.push_back(line["warnings"]);
    journal.boot = line.value("boot", "");
  }
  return true;
}

}  // namespace

std::string sealed_members(std::string_view members) {
  std::string line(members);
  return line.append(kSeal).append(check_sum(members)).append("\"}");
}

std::string journal_line(const json& line) {
  std::string members = line.dump(-1, ' ', false, json::error_handler_t::replace);
  members.pop_back();
  return sealed_members(members) + "\n";
}

json complete_result(const fs::path& directory) {
  std::ifstream stream(result_path(directory));
  json result = json::parse(stream, nullptr, false);
  const json::json_pointer complete("/context/run/complete");
  const bool whole = result.is_object() && result.contains(complete) && result.at(complete) == true;
  return whole ? result : json();
}

Journal read_journal(const fs::path& directory) {
  require_file(journal_path(directory));
  std::ifstream file(journal_path(directory), std::ios::binary);
  if (!file) {
    throw UsageError("there is no unfinished run in " + directory.string() + ": it has no journal.jsonl" +
                     " that can be read");
  }
  Journal journal;
  std::set<std::pair<std::string, int>> seen;  // names with the numbers of their visits
  std::string text;
  while (std::getline(file, text)) {
    // Without its newline a line may be cut, even where what is there parses.
    if (file.eof()) {
      break;
    }
    const json line = parse_line(text);
    if (journal.header.is_null()) {
      if (!is_header(line)) {
        break;
      }
      journal.header = line;
    } else if (line.empty() || !take_line(line, seen, journal)) {
      ++journal.lost_lines;
      if (!text.starts_with("{\"rows\"") && !text.starts_with("{\"link\"")) {
        journal.boot = kUnknownBoot;  // it may have been where another part began
      }
      continue;
    }
    journal.text.append(text).append("\n");
  }
  if (!has_begun(directory)) {
    const std::string name = directory.string();
    throw UsageError("the run in " + name +
                     (complete_result(directory).is_null()
                          ? " was ended before it had finished anything: start it again with --out " + name
                          : " is finished, and its journal is gone: nothing is left to do; for another run "
                            "choose another folder with --out"));
  }
  if (journal.header.is_null()) {
    throw UsageError(
        journal_path(directory).string() +
        " does not begin with the whole header of a run of this version: start a new run with --out");
  }
  return journal;
}

bool has_begun(const fs::path& directory) {
  return has_a_line(journal_path(directory));
}

void require_no_file_of_the_run(const fs::path& directory, const fs::path& file) {
  if (directory.empty()) {
    return;
  }
  for (const fs::path& own :
       {journal_path(directory), result_path(directory), directory / "fleet.jsonl.gz"}) {
    if (fs::weakly_canonical(own) == fs::weakly_canonical(file)) {
      throw UsageError("--benchmark_out " + file.string() + " is a file of the run itself: choose another");
    }
  }
}

RunLock::RunLock(const fs::path& directory)
    : folder_(open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
  if (folder_ >= 0 && flock(folder_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    close(folder_);
    throw EnvironmentError("another run works in " + directory.string() +
                           ": wait for its end, or choose another folder with --out");
  }
}

RunLock::~RunLock() {
  if (folder_ >= 0) {
    close(folder_);
  }
}

void ResultStore::Close::operator()(std::FILE* file) const noexcept {
  std::fclose(file);
}

ResultStore::ResultStore(fs::path directory, const char* mode)
    : directory_(std::move(directory)), journal_(std::fopen(journal_path(directory_).c_str(), mode)) {
  if (!journal_) {
    cannot_write(journal_path(directory_), errno);
  }
}

namespace {

// A copy of a file beside it; its name.
std::string put_aside(const fs::path& file) {
  std::string aside = file.string() + ".damaged";
  for (int at = 2; fs::exists(aside); ++at) {  // what an earlier damage left
    aside = file.string() + ".damaged-" + std::to_string(at);
  }
  std::ifstream stream(file, std::ios::binary);
  write_whole(aside, {std::istreambuf_iterator<char>(stream), {}});
  return aside;
}

}  // namespace

ResultStore ResultStore::begin(const fs::path& directory, const json& header) {
  make_folder(directory);
  const fs::path result = result_path(directory);
  require_file(result);
  if (fs::exists(result) && (!complete_result(directory).is_null() || !has_begun(directory))) {
    throw UsageError(directory.string() + " already holds a finished run: choose another folder with --out");
  }
  require_file(journal_path(directory));
  if (has_begun(directory)) {
    throw UsageError(directory.string() + " holds an unfinished run: go on with --resume " +
                     directory.string() + ", or choose another folder with --out");
  }
  ResultStore store(directory, "wb");
  json line = header;
  line["journal"] = kJournalVersion;
  store.append_line(line);
  return store;
}

ResultStore ResultStore::resume(const fs::path& directory, const Journal& journal) {
  const fs::path path = journal_path(directory);
  require_file(result_path(directory));
  if (journal.lost_lines > 0) {
    std::string kept = put_aside(path);
    if (!complete_result(directory).is_null()) {
      kept += " and " + put_aside(result_path(directory));
    }
    write_whole(path, journal.text);
    std::cerr << "grainscope: " << path.string() << " is damaged: " << journal.lost_lines
              << (journal.lost_lines == 1 ? " line" : " lines")
              << " cannot be trusted, and what is lost is run again; what was there is kept in " << kept
              << std::endl;
  }
  if (journal.repeated_rows > 0) {
    std::cerr << "grainscope: " << path.string() << " has " << journal.repeated_rows
              << " visits twice: the first row of each counts" << std::endl;
  }
  std::error_code error;
  fs::resize_file(path, journal.text.size(), error);
  if (error) {
    cannot_write(path, error.value());
  }
  return {directory, "ab"};
}

void ResultStore::append_line(const json& line) {
  write_and_sync(journal_.get(), journal_line(line), journal_path(directory_));
}

void ResultStore::append_rows(const json& rows) {
  append_line({{"rows", rows}});
}

void ResultStore::append_link(const json& link, const json& warnings) {
  append_line({{"link", link}, {"warnings", warnings}});
}

void ResultStore::append_part(const json& warnings, const std::string& boot) {
  append_line({{"warnings", warnings}, {"boot", boot}});
}

bool ResultStore::is_finished() const {
  return !complete_result(directory_).is_null() && fs::exists(directory_ / kDigest);
}

namespace {

void write_result(const fs::path& directory, const json& result) {
  // One row a line: a file that people can grep and diff, and that stays small.
  json shell = result;
  shell["benchmarks"] = json::array();
  std::string text = shell.dump(1, ' ', false, json::error_handler_t::replace);
  static const std::string kEmpty = "\"benchmarks\": []";
  const auto hole = text.find(kEmpty);
  std::string rows = "[";
  for (std::size_t i = 0; i < result["benchmarks"].size(); ++i) {
    rows += (i == 0 ? "\n  " : ",\n  ") +
            result["benchmarks"][i].dump(-1, ' ', false, json::error_handler_t::replace);
  }
  text.replace(hole, kEmpty.size(), "\"benchmarks\": " + rows + "\n ]");
  write_whole(result_path(directory), text + "\n");
  write_whole(directory / kDigest, gzip(digest_lines(result)));
}

}  // namespace

bool ResultStore::has_its_folder() const {
  struct stat own {};
  struct stat there {};
  return fstat(fileno(journal_.get()), &own) == 0 && stat(journal_path(directory_).c_str(), &there) == 0 &&
         own.st_dev == there.st_dev && own.st_ino == there.st_ino;
}

void ResultStore::finish(const json& result) const {
  if (!has_its_folder()) {
    const fs::path aside = directory_.string() + "-" + result["context"]["run"]["id"].get<std::string>();
    make_folder(aside);
    write_result(aside, result);
    throw EnvironmentError(
        directory_.string() +
        " was removed, moved or begun anew while this run worked in it: its result is in " +
        (aside / "result.json").string());
  }
  write_result(directory_, result);
}

void make_folder(const fs::path& directory) {
  std::error_code error;
  fs::create_directories(directory, error);
  if (error) {
    cannot_write(directory, error.value());
  }
}

void require_writable_folder(const fs::path& path) {
  if (fs::is_directory(path)) {
    cannot_write(path, EISDIR);
  }
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  if (!is_no_file(path) && access(folder.c_str(), W_OK | X_OK) != 0) {
    cannot_write(path, errno);
  }
}

void write_whole(const fs::path& path, const std::string& content) {
  if (is_no_file(path)) {
    write_and_sync(open_to_write(path).get(), content, path);
    return;
  }
  const fs::path temporary = path.string() + ".tmp";
  std::error_code ignored;
  try {
    write_and_sync(open_to_write(temporary).get(), content, temporary);
  } catch (...) {
    fs::remove(temporary, ignored);
    throw;
  }
  std::error_code error;
  fs::rename(temporary, path, error);
  if (error) {
    fs::remove(temporary, ignored);
    cannot_write(path, error.value());
  }
}

}  // namespace grainscope::harness
