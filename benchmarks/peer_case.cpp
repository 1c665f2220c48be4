#include "peer_case.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace grainscope::harness {
namespace {

// The nominal pair of a machine that has no two GPUs.
GpuPair nominal_pair(const Machine& machine, const Scope& scope) {
  GpuPair pair;
  pair.gpu = scope.gpus.empty() ? GpuTarget{} : scope.gpus.front();
  pair.peer = pair.gpu.ordinal + 1;
  pair.unavailable =
      machine.runtime.devices.empty() ? machine.runtime.why_none : "needs two GPUs; this machine has one";
  pair.link = pair.wire.link;
  return pair;
}

GpuPair make_pair_of(const Machine& machine, int gpu, int peer) {
  GpuPair pair;
  pair.gpu = gpu_targets(machine, {gpu}).front();
  pair.peer = peer;
  pair.unavailable = pair.gpu.unavailable;
  if (pair.unavailable.empty()) {
    pair.unavailable = gpu_targets(machine, {peer}).front().unavailable;
  }
  if (pair.unavailable.empty()) {
    pair.no_access = why_no_peer_access(machine, gpu, peer);
  }
  pair.wire = peer_wire(machine, gpu, peer);
  pair.link = pair.wire.link;
  return pair;
}

// The GPUs that pairs are made of. A scope of one GPU takes the machine's others as peers.
std::vector<int> partners(const Machine& machine, const Scope& scope) {
  std::vector<int> ordinals;
  ordinals.reserve(scope.gpus.size());
  for (const GpuTarget& gpu : scope.gpus) {
    ordinals.push_back(gpu.ordinal);
  }
  if (ordinals.size() == 1) {
    for (const cuda::DeviceProperties& device : machine.runtime.devices) {
      if (device.ordinal != ordinals.front()) {
        ordinals.push_back(device.ordinal);
      }
    }
  }
  return ordinals;
}

// Unordered pairs of positions in a list of `count` GPUs.
std::vector<std::pair<std::size_t, std::size_t>> positions(const Scope& scope, std::size_t count) {
  const bool from_first_only = scope.gpus.size() == 1;
  std::vector<std::pair<std::size_t, std::size_t>> chosen;
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t j = i + 1; j < count; ++j) {
      const bool neighbours = j == i + 1 || (i == 0 && j == count - 1);
      const bool wanted = scope.dense()                        ? !from_first_only || i == 0
                          : scope.preset == Preset::acceptance ? neighbours && (!from_first_only || i == 0)
                                                               : i == 0 && j == 1;
      if (wanted) {
        chosen.emplace_back(i, j);
      }
    }
  }
  return chosen;
}

}  // namespace

std::string why_no_peer_access(const Machine& machine, int gpu, int peer) {
  for (const cuda::PeerLink& link : machine.runtime.peers) {
    if (link.from == gpu && link.to == peer && link.access) {
      return {};
    }
  }
  return "GPU " + std::to_string(gpu) + " cannot reach the memory of GPU " + std::to_string(peer) +
         " (cudaDeviceCanAccessPeer gives 0): see `nvidia-smi topo -p2p r`";
}

std::vector<GpuPair> gpu_pairs(const Machine& machine, const Scope& scope) {
  const std::vector<int> ordinals = partners(machine, scope);
  if (ordinals.size() < 2 || machine.runtime.devices.size() < 2) {
    return {nominal_pair(machine, scope)};
  }
  std::vector<GpuPair> pairs;
  for (const auto& [i, j] : positions(scope, ordinals.size())) {
    pairs.push_back(make_pair_of(machine, ordinals[i], ordinals[j]));
    pairs.push_back(make_pair_of(machine, ordinals[j], ordinals[i]));
  }
  return pairs;
}

}  // namespace grainscope::harness
