#include "scope.hpp"

#include <algorithm>
#include <utility>

namespace grainscope::harness {

std::vector<int> Scope::near_and_far(const GpuTarget& gpu) const {
  if (nodes.size() <= 2 || !gpu.local_node) {
    return nodes;
  }
  std::vector<int> chosen;
  for (const char* wanted : {"local", "remote"}) {
    const auto node = std::find_if(nodes.begin(), nodes.end(),
                                   [&](int candidate) { return gpu.locality(candidate) == wanted; });
    if (node != nodes.end()) {
      chosen.push_back(*node);
    }
  }
  return chosen;
}

int Scope::nearest_node(const GpuTarget& gpu) const {
  if (gpu.local_node && std::find(nodes.begin(), nodes.end(), *gpu.local_node) != nodes.end()) {
    return *gpu.local_node;
  }
  return nodes.empty() ? 0 : nodes.front();
}

Scope make_scope(Preset preset, std::vector<GpuTarget> gpus, bool gpus_asked_for, std::vector<int> nodes) {
  Scope scope;
  scope.preset = preset;
  scope.sampling = sampling_of(preset).plan;
  scope.visits = sampling_of(preset).visits;
  scope.trials = sampling_of(preset).trials;
  scope.gpus_asked_for = gpus_asked_for;
  scope.gpus = std::move(gpus);
  scope.nodes = std::move(nodes);
  return scope;
}

}  // namespace grainscope::harness
