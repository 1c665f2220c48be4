#include "fake_run.hpp"

#include "schema_check.hpp"

namespace grainscope::test {

using nlohmann::json;

namespace {

Ended run(const std::vector<harness::Benchmark>& cases, const std::vector<std::string>& arguments) {
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
