#include "host_case.hpp"

#include "grainscope/core/error.hpp"

namespace grainscope::harness {

std::vector<int> cpus_of(const Machine& machine, int node) {
  const Node* place = machine.topology.find_node(node);
  if (place == nullptr || place->allowed_cpus.empty()) {
    throw SkipError("this process may use no CPU of NUMA node " + std::to_string(node));
  }
  return place->allowed_cpus;
}

std::string node_locality(const Machine& machine, int from, int to) {
  if (!machine.topology.numa_known()) {
    return "unknown";
  }
  return from == to ? "local" : "remote";
}

std::vector<int> team_sizes(const Machine& machine, const Scope& scope, int node) {
  const int cpus = static_cast<int>(cpus_of(machine, node).size());
  std::vector<int> sizes{1};
  const int step = scope.preset == Preset::paper ? 2 : 4;
  for (int threads = step; threads < cpus && scope.dense(); threads *= step) {
    sizes.push_back(threads);
  }
  if (cpus > 1) {
    sizes.push_back(cpus);
  }
  return sizes;
}

}  // namespace grainscope::harness
