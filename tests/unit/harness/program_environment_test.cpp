// What the environment that the program is started in may change: nothing in silence.

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "child.hpp"
#include "fakes.hpp"
#include "grainscope/core/thread_team.hpp"
#include "grainscope/system/numa.hpp"
#include "says.hpp"
#include "schema_check.hpp"

namespace grainscope::harness {
namespace {

using nlohmann::json;
using test::Ended;
using test::run_program;
using test::says;
using test::TemporaryDirectory;

json environment_with(const test::Variables& variables) {
  return json::parse(run_program({"--env=json"}, variables).out);
}

// The warning with that id; null where there is none.
json warning_in(const json& environment, const std::string& id) {
  for (const json& warning : environment["warnings"]) {
    if (warning["id"] == id) {
      return warning;
    }
  }
  return nullptr;
}

// Programs are started without what the tests themselves are started with.
class OpenMpVariables : public testing::Test {
 protected:
  void SetUp() override {
    std::vector<std::string> names;
    for (char** each = environ; *each != nullptr; ++each) {
      const std::string name(*each, std::strcspn(*each, "="));
      if (name.starts_with("OMP_") || name.starts_with("GOMP_") || name.starts_with("KMP_")) {
        names.push_back(name);
      }
    }
    for (const std::string& name : names) {
      unsetenv(name.c_str());
    }
  }
};

const std::vector<test::Variables> kSettings{{{"OMP_PROC_BIND", "true"}},  {{"OMP_PLACES", "{0}"}},
                                             {{"GOMP_CPU_AFFINITY", "0"}}, {{"OMP_NUM_THREADS", "1"}},
                                             {{"OMP_THREAD_LIMIT", "1"}},  {{"OMP_DYNAMIC", "true"}},
                                             {{"KMP_AFFINITY", "compact"}}};

TEST_F(OpenMpVariables, take_no_cpu_away_and_are_said) {
  const std::vector<int> allowed = current_affinity();
  EXPECT_TRUE(warning_in(environment_with({}), "cpu.openmp_variables").is_null());
  for (const test::Variables& variables : kSettings) {
    const auto& [name, value] = variables.front();
    const json environment = environment_with(variables);
    EXPECT_EQ(environment["cpu"]["allowed"], allowed) << name;
    const json warning = warning_in(environment, "cpu.openmp_variables");
    ASSERT_TRUE(warning.is_object()) << name;
    EXPECT_TRUE(says(warning["finding"], name + "=" + value)) << warning["finding"];
    EXPECT_TRUE(says(warning["remedy"], "unset " + name)) << warning["remedy"];
  }
}

TEST_F(OpenMpVariables, leave_the_mask_that_the_program_was_started_with) {
  const std::vector<int> allowed = current_affinity();
  const OnCpu mask(allowed.back());  // which programs started meanwhile inherit
  const json environment =
      environment_with({{"OMP_PROC_BIND", "true"}, {"OMP_PLACES", "{" + std::to_string(allowed[0]) + "}"}});
  EXPECT_EQ(environment["cpu"]["allowed"], json{allowed.back()});
  EXPECT_EQ(warning_in(environment, "cpu.mask").is_null(), environment["cpu"]["online"].size() == 1);
}

TEST_F(OpenMpVariables, do_not_tell_a_path_or_write_to_a_terminal) {
  const json warning = warning_in(
      environment_with({{"OMP_TOOL_LIBRARIES", "/home/somebody/tool.so"}, {"GOMP_DEBUG", "\x1b[2J"}}),
      "cpu.openmp_variables");
  ASSERT_TRUE(warning.is_object());
  for (const auto& [key, text] : warning.items()) {
    EXPECT_FALSE(says(text, "somebody")) << text;
    EXPECT_FALSE(says(text, "\x1b")) << text;
  }
  EXPECT_TRUE(says(warning["finding"], "OMP_TOOL_LIBRARIES"));
}

// Rounds of visits are processes of their own.
TEST_F(OpenMpVariables, list_and_run_the_same_cases_with_the_same_threads) {
  const std::vector<std::string> listing{"--preset=smoke", "--benchmark_list_tests"};
  const std::string listed = run_program(listing).out;
  const auto threads_of_run = [&](const test::Variables& variables) {
    const TemporaryDirectory directory;
    const Ended ended = run_program({"--preset=smoke", "--benchmark_filter=^tiering/reorder",
                                     "--benchmark_repetitions=2", "--out=" + (directory / "run").string()},
                                    variables);
    EXPECT_EQ(ended.status, 0) << ended.err;
    EXPECT_EQ(says(ended.err, "warning: variables of OpenMP"), !variables.empty()) << ended.err;
    const json result = test::read_result(directory / "run");
    EXPECT_EQ(warning_in(result["context"]["environment"], "cpu.openmp_variables").is_null(),
              variables.empty());
    std::vector<double> threads;
    for (const json& row : result["benchmarks"]) {
      threads.push_back(row.at("counters").value("threads", 0.0));
    }
    return threads;
  };
  const std::vector<double> threads = threads_of_run({});
  EXPECT_FALSE(threads.empty());
  for (const test::Variables& variables :
       {test::Variables{{"OMP_NUM_THREADS", "1"}}, test::Variables{{"OMP_PLACES", "{0}"}}}) {
    EXPECT_EQ(run_program(listing, variables).out, listed);
    EXPECT_EQ(threads_of_run(variables), threads);
  }
}

}  // namespace
}  // namespace grainscope::harness
