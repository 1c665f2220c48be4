#include "fake_run.hpp"

#include <algorithm>

#include "schema_check.hpp"

namespace grainscope::test {

using nlohmann::json;

namespace {

// One visit to a case, where the test does not say how many.
Ended run(const std::vector<harness::Benchmark>& cases, std::vector<std::string> arguments) {
  const bool says = std::any_of(arguments.begin(), arguments.end(), [](const std::string& word) {
    return word.starts_with("--benchmark_repetitions") || word.starts_with("--preset") ||
           word.starts_with("--resume");
  });
  if (!says) {
    arguments.emplace_back("--benchmark_repetitions=1");
  }
  Child child = Child::of([&] { return run_fakes(fake_family(cases), arguments); });
  return child.wait();
}

}  // namespace

Ended FakeRun::begin(const std::vector<harness::Benchmark>& cases, std::vector<std::string> more) {
  more.push_back("--out=" + folder().string());
  return run(cases, more);
}

Ended FakeRun::resume(const std::vector<harness::Benchmark>& cases) {
  return run(cases, {"--resume=" + folder().string()});
}

json FakeRun::result() const {
  json result = read_result(folder());
  EXPECT_EQ(result_errors(result), "");
  return result;
}

std::multiset<std::string> sorted_names(const json& result) {
  const auto names = names_of(result);
  return {names.begin(), names.end()};
}

}  // namespace grainscope::test
