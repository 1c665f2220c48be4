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

std::string why_no_access(const Machine& machine, int gpu, int peer) {
  for (const cuda::PeerLink& link : machine.runtime.peers) {
    if (link.from == gpu && link.to == peer && link.access) {
      return {};
    }
  }
  return "GPU " + std::to_string(gpu) + " cannot reach the memory of GPU " + std::to_string(peer) +
         " (cudaDeviceCanAccessPeer gives 0): see `nvidia-smi topo -p2p r`";
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
    pair.no_access = why_no_access(machine, gpu, peer);
  }
  pair.wire = peer_wire(machine, gpu, peer);
  pair.link = pair.wire.link;
  return pair;
}

// The GPUs that pairs are made of. A scope of one GPU takes the machine's others as peers.
std::vector<int> partners(const Machine& machine, const Scope& scope) {
  std::vector<int> ordinals;
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

using Links = std::vector<NvmlNvlink>;

bool leads_to(const NvmlNvlink& link, const GpuReport& gpu) {
  return link.active && !gpu.pci_bus_id.empty() &&
         normal_pci_bus_id(link.remote_pci_bus_id) == normal_pci_bus_id(gpu.pci_bus_id);
}

template <class Predicate>
Links links_that(const Links& links, Predicate predicate) {
  Links found;
  std::copy_if(links.begin(), links.end(), std::back_inserter(found), predicate);
  return found;
}

bool leads_to_switch(const NvmlNvlink& link) {
  return link.active && link.remote_type == "switch";
}

PeerWire nvlink_wire(const Links& links) {
  PeerWire wire{"nvlink", static_cast<int>(links.size()), 0.0};
  for (const NvmlNvlink& link : links) {
    if (link.speed_mb_s && wire.gb_s) {
      *wire.gb_s += static_cast<double>(*link.speed_mb_s) * 1e-3;
    } else {
      wire.gb_s = std::nullopt;
    }
  }
  return wire;
}

// Whether none of the links can lead to the GPU meant: each is down, or leads to something known that is not
// it. A virtual machine may hide where links lead; then nothing is known.
bool all_lead_elsewhere(const Machine& machine, const Links& links) {
  return std::all_of(links.begin(), links.end(), [&](const NvmlNvlink& link) {
    const auto& gpus = machine.environment.gpus;
    return !link.active || link.remote_type == "cpu" || link.remote_type == "switch" ||
           std::any_of(gpus.begin(), gpus.end(), [&](const GpuReport& gpu) { return leads_to(link, gpu); });
  });
}

}  // namespace

PeerWire peer_wire(const Machine& machine, int from, int to) {
  const GpuReport* source = machine.find_gpu(from);
  const GpuReport* target = machine.find_gpu(to);
  const auto tells = [](const GpuReport* gpu) { return gpu != nullptr && gpu->nvml && gpu->nvml->nvlinks; };
  if (!tells(source) || !tells(target)) {
    return {};
  }
  const Links& out = *source->nvml->nvlinks;
  const Links& in = *target->nvml->nvlinks;
  if (const Links direct = links_that(out, [&](const auto& link) { return leads_to(link, *target); });
      !direct.empty()) {
    return nvlink_wire(direct);
  }
  const Links up = links_that(out, leads_to_switch);
  const Links down = links_that(in, leads_to_switch);
  if (!up.empty() && !down.empty()) {
    return nvlink_wire(up.size() <= down.size() ? up : down);
  }
  if (all_lead_elsewhere(machine, out) || all_lead_elsewhere(machine, in)) {
    return {"pcie", std::nullopt, std::nullopt};
  }
  return {};
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
