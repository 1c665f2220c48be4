#ifndef GRAINSCOPE_TESTS_FAKES_HPP
#define GRAINSCOPE_TESTS_FAKES_HPP

// Families that measure nothing, so that a test decides how their cases end; the program run into a folder of
// a test; and machines of stored topologies.

#include <gtest/gtest.h>

#include <sys/resource.h>

#include <filesystem>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "../../testing/says.hpp"
#include "../system/machine_tree.hpp"
#include "child.hpp"
#include "harness/benchmark.hpp"
#include "harness/machine.hpp"
#include "harness/result_store.hpp"

namespace grainscope::test {

using Body = std::function<Measurement(harness::Session&)>;

// A megabyte in a millisecond, checked, below its limit.
[[nodiscard]] Measurement honest(harness::Session& session);

// "fake/NAME/bytes:1000000".
[[nodiscard]] harness::Benchmark fake_case(const std::string& name, Body body = honest);
[[nodiscard]] std::string fake_name(const std::string& name);

// One family `fake` of these cases.
[[nodiscard]] std::vector<harness::Family> fake_family(std::vector<harness::Benchmark> cases);

// This machine, as if it had no GPU.
[[nodiscard]] harness::Machine machine_without_gpu();

// This machine, as if it had so many GPUs, which can reach each other, CUDA 13, and 500 GiB of memory to
// take.
[[nodiscard]] harness::Machine machine_with_gpus(int count);

// What families list for a preset on a machine's first node and all its GPUs, which the user named or did
// not; `graph`: in place of its own.
[[nodiscard]] std::vector<harness::Benchmark> listed(const std::vector<harness::Family>& families,
                                                     const harness::Machine& machine, harness::Preset preset,
                                                     bool gpus_asked_for, const std::string& graph = {});
// An axis as the case's name has it.
[[nodiscard]] std::string text_of(const harness::Benchmark& benchmark, const std::string& key);
// The same of an axis that not every case of a family has: empty where this one has none.
[[nodiscard]] std::string text_if_any(const harness::Benchmark& benchmark, const std::string& key);

// What the program does with these arguments, on fakes and without a GPU: its exit status.
int run_fakes(const std::vector<harness::Family>& families, const std::vector<std::string>& arguments);

// The rows of a result file, and their names.
[[nodiscard]] nlohmann::json read_result(const std::filesystem::path& directory);
[[nodiscard]] std::vector<std::string> names_of(const nlohmann::json& result);
[[nodiscard]] const nlohmann::json& row_named(const nlohmann::json& result, const std::string& name);

// Runs of fakes in a folder of the test's own. Each runs in a process of its own: Google Benchmark is a
// process-wide thing.
class FakeRun : public testing::Test {
 protected:
  [[nodiscard]] std::filesystem::path folder() const { return directory_.path() / "run"; }

  // Begins a run of these cases in the folder.
  Ended begin(const std::vector<harness::Benchmark>& cases, std::vector<std::string> more = {});
  // Goes on with it; the cases are those that a new process lists.
  Ended resume(const std::vector<harness::Benchmark>& cases);

  // The result file, held against its schema.
  [[nodiscard]] nlohmann::json result() const;

  TemporaryDirectory directory_;
};

// The names of a result's rows, however they are ordered.
[[nodiscard]] std::multiset<std::string> sorted_names(const nlohmann::json& result);

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

// Machines that are not at hand, as families see them.

// A machine of `sockets` nodes of four CPUs with `gpus` GPUs, divided among the nodes.
struct Described {
  int sockets = 1;
  int gpus = 0;
  bool peers = true;
  bool maps = true;
  bool mps = true;
};

[[nodiscard]] const std::map<std::string, Described>& stored_machines();

// Writes its files into `tree`, and reads them. All that families look at is set, so that it does not matter
// where this runs.
[[nodiscard]] harness::Machine write_machine(const Described& described, MachineTree& tree);

}  // namespace grainscope::test

#endif
