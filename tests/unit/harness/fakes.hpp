#ifndef GRAINSCOPE_TESTS_UNIT_HARNESS_FAKES_HPP
#define GRAINSCOPE_TESTS_UNIT_HARNESS_FAKES_HPP

// Families that measure nothing, so that a test decides how their cases end.

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>
#include <vector>

#include "child.hpp"
#include "harness/benchmark.hpp"
#include "says.hpp"

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

}  // namespace grainscope::test

#endif
