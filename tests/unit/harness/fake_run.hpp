#ifndef GRAINSCOPE_TESTS_FAKE_RUN_HPP
#define GRAINSCOPE_TESTS_FAKE_RUN_HPP

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "child.hpp"
#include "fakes.hpp"
#include "says.hpp"

namespace grainscope::test {

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
