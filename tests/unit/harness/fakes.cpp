#include "fakes.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "child.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/graph/generate.hpp"
#include "harness/machine.hpp"
#include "harness/run.hpp"
#include "harness/selection.hpp"
#include "run_folder.hpp"

namespace grainscope::test {

using namespace harness;
using nlohmann::json;

Measurement honest(Session& session) {
  Measurement measurement;
  measurement.samples = session.sample([] { return 1e-3; });
  measurement.bytes = 1'000'000;
  measurement.limit = PhysicalLimit{20, "a link of glass"};
  measurement.timing = {Clock::steady, false, "nothing"};
  measurement.verification = "nothing was moved and nothing changed";
  return measurement;
}

Benchmark fake_case(const std::string& name, Body body) {
  Benchmark benchmark;
  benchmark.id = {"fake", {{"which", name, AxisStyle::bare}, {"bytes", std::int64_t{1'000'000}}}, {}};
  benchmark.run = std::move(body);
  return benchmark;
}

std::string fake_name(const std::string& name) {
  return "fake/" + name + "/bytes:1000000";
}

std::vector<Family> fake_family(std::vector<Benchmark> cases) {
  return {{"fake",
           {.question = "Does the harness do as it should?"},
           {},
           [cases = std::move(cases)](const Machine&, const Scope&, const Grids&) { return cases; }}};
}

Machine machine_without_gpu() {
  Machine machine = read_machine();
  machine.runtime.devices.clear();
  machine.environment.gpus.clear();
  if (machine.runtime.why_none.empty()) {
    machine.runtime.why_none = "this test looks away from the GPU";
  }
  return machine;
}

Machine machine_with_gpus(int count) {
  Machine machine = machine_without_gpu();
  machine.runtime.why_none.clear();
  machine.runtime.toolkit_version = 13000;
  machine.runtime.driver_version = 13000;
  machine.runtime.peers.clear();
  machine.environment.memory.available.meminfo_bytes = 500 * kGiB;
  machine.environment.memory.available.cgroup_bytes.reset();
  for (int gpu = 0; gpu < count; ++gpu) {
    cuda::DeviceProperties device;
    device.ordinal = gpu;
    device.compute_major = 9;
    device.total_memory_bytes = 80 * kGiB;
    device.can_map_host_memory = true;
    device.concurrent_managed_access = true;
    machine.runtime.devices.push_back(device);
    GpuReport report;
    report.pci_bus_id = "0000:0" + std::to_string(gpu + 1) + ":00.0";
    report.cuda = device;
    report.nvml.emplace();
    report.nvml->nvlinks.emplace();
    machine.environment.gpus.push_back(report);
    for (int peer = 0; peer < count; ++peer) {
      if (peer != gpu) {
        machine.runtime.peers.push_back({gpu, peer, true, true});
      }
    }
  }
  return machine;
}

std::vector<Benchmark> listed(const std::vector<Family>& families, const Machine& machine, Preset preset,
                              bool gpus_asked_for, const std::string& graph) {
  Scope scope =
      make_scope(preset, gpu_targets(machine, {}), gpus_asked_for, {machine.topology.nodes().front().id});
  if (!graph.empty()) {
    scope.graphs = {graph::parse_graph_spec(graph)};
  }
  return list_all(families, machine, scope);
}

std::string text_of(const Benchmark& benchmark, const std::string& key) {
  return to_string(benchmark.id.axis(key));
}

std::string text_if_any(const Benchmark& benchmark, const std::string& key) {
  const auto& axes = benchmark.id.axes;
  const bool there = std::any_of(axes.begin(), axes.end(), [&](const Axis& axis) { return axis.key == key; });
  return there ? text_of(benchmark, key) : std::string();
}

int run_fakes(const std::vector<Family>& families, const std::vector<std::string>& arguments) {
  catch_signals();
  Machine machine = machine_without_gpu();
  Options options = parse_options(arguments);
  // A round of its own would start this program of tests.
  if (options.preset == Preset::quick && !options.visits && !options.resume) {
    options = parse_options([&] {
      std::vector<std::string> words = arguments;
      words.emplace_back("--benchmark_repetitions=1");
      return words;
    }());
  }
  return run_families(families, options, machine);
}

json read_result(const std::filesystem::path& directory) {
  return json::parse(read_text(directory / "result.json"));
}

std::vector<std::string> names_of(const json& result) {
  std::vector<std::string> names;
  for (const json& row : result.at("benchmarks")) {
    names.push_back(row.at("name"));
  }
  return names;
}

const json& row_named(const json& result, const std::string& name) {
  for (const json& row : result.at("benchmarks")) {
    if (row.at("name") == name) {
      return row;
    }
  }
  throw std::runtime_error("no row is named " + name);
}

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
