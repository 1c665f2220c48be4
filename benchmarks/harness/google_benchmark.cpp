#include "google_benchmark.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "build_info.hpp"
#include "grainscope/core/error.hpp"

namespace grainscope::harness {

void initialise_library(std::vector<std::string> flags) {
  // The library keeps a pointer to the program's name for its context.
  static std::array<char, 11> program{"grainscope"};
  std::vector<char*> pointers{program.data()};
  pointers.reserve(flags.size() + 2);
  for (std::string& flag : flags) {
    pointers.push_back(flag.data());
  }
  pointers.push_back(nullptr);
  int count = static_cast<int>(flags.size() + 1);
  benchmark::Initialize(&count, pointers.data());
  if (count > 1) {
    throw UsageError(std::string(pointers[1]) +
                     " is unknown to the Google Benchmark that this was built with (" +
                     build::kBenchmarkLibrary + ")");
  }
}

void register_case(const std::string& name, int repetitions, const std::vector<std::string>& flags,
                   std::function<void(benchmark::State&)> body) {
  auto* registered = benchmark::RegisterBenchmark(
      name.c_str(), [body = std::move(body)](benchmark::State& state) { body(state); });
  registered->Iterations(1)->UseManualTime();
  const bool has_unit = std::any_of(flags.begin(), flags.end(), [](const std::string& flag) {
    return flag.starts_with("--benchmark_time_unit");
  });
  if (!has_unit) {
    registered->Unit(benchmark::kMicrosecond);
  }
  if (repetitions > 1) {
    registered->Repetitions(repetitions);
  }
}

}  // namespace grainscope::harness
