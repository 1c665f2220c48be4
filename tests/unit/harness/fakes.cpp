#include <algorithm>
#include <csignal>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>

#include "child.hpp"
#include "fakes.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/graph/generate.hpp"
#include "harness/machine.hpp"
#include "harness/run.hpp"
#include "harness/selection.hpp"

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

std::set<std::string> cases_in(const harness::Journal& journal) {
  std::set<std::string> names;
  for (const nlohmann::json& row : journal.rows) {
    names.insert(row.at("name").get<std::string>());
  }
  return names;
}

nlohmann::json whole_row(const std::string& name, int visit) {
  return {
      {"name", name},
      {"run_type", "iteration"},
      {"case", {{"family", "fake"}, {"axes", nlohmann::json::object()}, {"site", nlohmann::json::object()}}},
      {"status", "ok"},
      {"label", "measured"},
      {"samples_s", {0.1, 0.2}},
      {"median_s", 0.15},
      {"timing", {{"clock", "steady"}, {"gated", false}, {"timed", "nothing"}}},
      {"verified", true},
      {"round", static_cast<unsigned>(visit)}};
}

FullDisk::FullDisk(rlim_t bytes) : old_handler_(std::signal(SIGXFSZ, SIG_IGN)) {
  getrlimit(RLIMIT_FSIZE, &old_);
  const rlimit limit{bytes, old_.rlim_max};
  setrlimit(RLIMIT_FSIZE, &limit);
}

FullDisk::~FullDisk() {
  setrlimit(RLIMIT_FSIZE, &old_);
  std::signal(SIGXFSZ, old_handler_);
}

namespace {

bool is_type(const json& value, const std::string& type) {
  return (type == "object" && value.is_object()) || (type == "array" && value.is_array()) ||
         (type == "string" && value.is_string()) || (type == "boolean" && value.is_boolean()) ||
         (type == "null" && value.is_null()) || (type == "number" && value.is_number()) ||
         (type == "integer" && value.is_number_integer());
}

class Checker {
 public:
  explicit Checker(const json& root) : root_(root) {}

  void check(const json& value, const json& schema, const std::string& where) {
    refuse_unknown_keywords(schema);
    if (schema.contains("$ref")) {
      check(value, part(schema["$ref"].get<std::string>().substr(1)), where);
    }
    check_value(value, schema, where);
    if (value.is_number()) {
      check_number(value, schema, where);
    } else if (value.is_array()) {
      check_array(value, schema, where);
    } else if (value.is_object()) {
      check_object(value, schema, where);
    }
    if (schema.contains("if")) {
      Checker condition(root_);
      condition.check(value, schema["if"], where);
      const char* branch = condition.errors_.empty() ? "then" : "else";
      if (schema.contains(branch)) {
        check(value, schema[branch], where);
      }
    }
  }

  [[nodiscard]] const json& part(const std::string& pointer) const {
    return root_.at(json::json_pointer(pointer));
  }
  [[nodiscard]] const std::vector<std::string>& errors() const { return errors_; }

 private:
  static void refuse_unknown_keywords(const json& schema) {
    static const std::set<std::string> kKnown{"$schema",  "$defs",      "$ref",
                                              "title",    "type",       "const",
                                              "enum",     "minimum",    "exclusiveMinimum",
                                              "items",    "minItems",   "maxItems",
                                              "required", "properties", "additionalProperties",
                                              "if",       "then",       "else"};
    for (const auto& [key, value] : schema.items()) {
      if (!kKnown.contains(key)) {
        throw std::logic_error("this test does not know the schema keyword " + key);
      }
    }
  }

  void expect(bool right, const std::string& where, const std::string& rule) {
    if (!right) {
      errors_.push_back((where.empty() ? "/" : where) + ": " + rule);
    }
  }

  void check_value(const json& value, const json& schema, const std::string& where) {
    if (schema.contains("type")) {
      const json types = schema["type"].is_array() ? schema["type"] : json::array({schema["type"]});
      const bool any =
          std::any_of(types.begin(), types.end(), [&](const json& type) { return is_type(value, type); });
      expect(any, where, "is not " + types.dump());
    }
    if (schema.contains("const")) {
      expect(value == schema["const"], where, "is not " + schema["const"].dump());
    }
    if (schema.contains("enum")) {
      const json& list = schema["enum"];
      expect(std::find(list.begin(), list.end(), value) != list.end(), where,
             value.dump() + " is none of " + list.dump());
    }
  }

  void check_number(const json& value, const json& schema, const std::string& where) {
    const double number = value;
    if (schema.contains("minimum")) {
      expect(number >= schema["minimum"].get<double>(), where, value.dump() + " is below the minimum");
    }
    if (schema.contains("exclusiveMinimum")) {
      expect(number > schema["exclusiveMinimum"].get<double>(), where,
             value.dump() + " is not above the minimum");
    }
  }

  void check_array(const json& value, const json& schema, const std::string& where) {
    expect(value.size() >= schema.value("minItems", std::size_t{0}), where, "has too few items");
    expect(value.size() <= schema.value("maxItems", value.size()), where, "has too many items");
    for (std::size_t i = 0; schema.contains("items") && i < value.size(); ++i) {
      check(value[i], schema["items"], where + "/" + std::to_string(i));
    }
  }

  void check_object(const json& value, const json& schema, const std::string& where) {
    for (const json& key : schema.value("required", json::array())) {
      expect(value.contains(key.get<std::string>()), where, "lacks " + key.dump());
    }
    const json properties = schema.value("properties", json::object());
    for (const auto& [key, member] : value.items()) {
      if (properties.contains(key)) {
        check(member, properties[key], where + "/" + key);
      } else if (const auto others = schema.find("additionalProperties"); others == schema.end()) {
        continue;
      } else if (others->is_boolean()) {
        expect(others->get<bool>(), where, "has " + key + ", which is not described");
      } else {
        check(member, *others, where + "/" + key);
      }
    }
  }

  const json& root_;
  std::vector<std::string> errors_;
};

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) {
    text += line + "\n";
  }
  return text;
}

}  // namespace

json result_schema() {
  return json::parse(read_text(GRAINSCOPE_RESULT_SCHEMA));
}

std::vector<std::string> schema_errors(const json& value, const json& schema, const std::string& part) {
  Checker checker(schema);
  checker.check(value, checker.part(part), "");
  return checker.errors();
}

std::string result_errors(const json& result) {
  return joined(schema_errors(result, result_schema()));
}
std::string row_errors(const json& row) {
  return joined(schema_errors(row, result_schema(), "/$defs/row"));
}

namespace {

void write_sockets(MachineTree& tree, int sockets) {
  const int cpus = 4 * sockets;
  const std::string all = "0-" + std::to_string(cpus - 1);
  for (int cpu = 0; cpu < cpus; ++cpu) {
    const int first = cpu / 4 * 4;
    tree.cpu(cpu, std::to_string(cpu), cpu / 4, std::to_string(first) + "-" + std::to_string(first + 3));
  }
  std::string nodes = "0";
  for (int node = 0; node < sockets; ++node) {
    std::string distances;
    for (int other = 0; other < sockets; ++other) {
      distances += (other == 0 ? "" : " ") + std::string(other == node ? "10" : "21");
    }
    tree.node(node, std::to_string(4 * node) + "-" + std::to_string(4 * node + 3), distances, 67108864);
    nodes += node > 0 ? "," + std::to_string(node) : "";
  }
  tree.file("sys/devices/system/cpu/online", all).file("sys/devices/system/node/online", nodes);
  tree.file("proc/self/status", "Cpus_allowed_list:\t" + all + "\nMems_allowed_list:\t" + nodes);
}

}  // namespace

const std::map<std::string, Described>& stored_machines() {
  static const std::map<std::string, Described> all{
      {"no_gpu", {.sockets = 2}},
      {"one_gpu", {.gpus = 1}},
      {"two_gpus_no_peer_access", {.gpus = 2, .peers = false}},
      {"two_sockets_four_gpus", {.sockets = 2, .gpus = 4}},
      {"four_sockets_eight_gpus", {.sockets = 4, .gpus = 8}},
      {"one_gpu_without_mapping_or_mps", {.gpus = 1, .maps = false, .mps = false}},
  };
  return all;
}

harness::Machine write_machine(const Described& described, MachineTree& tree) {
  write_sockets(tree, described.sockets);
  harness::Machine machine = machine_with_gpus(described.gpus);
  machine.topology = Topology::read(tree.roots());
  machine.nvml.reset();
  machine.warnings.clear();
  machine.environment.memory.available = {};
  machine.environment.memory.available.meminfo_bytes = 120 * kGiB;
  machine.environment.driver = {};
  if (described.gpus == 0) {
    machine.runtime.why_none = "there is no driver";
  }
  for (GpuReport& gpu : machine.environment.gpus) {
    gpu.cuda->sm_count = 132;
    gpu.cuda->can_map_host_memory = described.maps;
    gpu.cuda->concurrent_managed_access = described.maps;
    if (described.sockets > 1) {
      gpu.near.node = gpu.cuda->ordinal * described.sockets / described.gpus;
    }
  }
  for (cuda::PeerLink& link : machine.runtime.peers) {
    link.access = described.peers;
  }
  return machine;
}

}  // namespace grainscope::test
