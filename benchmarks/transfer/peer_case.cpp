#include "transfer/peer_case.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace grainscope::harness {
namespace {

// The nominal pair of a machine that has no two GPUs.
GpuPair nominal_pair(const Machine& machine, const std::vector<GpuTarget>& gpus) {
  GpuPair pair;
  pair.gpu = gpus.empty() ? GpuTarget{} : gpus.front();
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

// The GPUs that pairs are made of. One alone takes the machine's others as peers.
std::vector<int> partners(const Machine& machine, const std::vector<GpuTarget>& gpus) {
  std::vector<int> ordinals;
  ordinals.reserve(gpus.size());
  for (const GpuTarget& gpu : gpus) {
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

bool is_same(const GpuPair& one, const GpuPair& other) {
  return one.gpu.ordinal == other.gpu.ordinal && one.peer == other.peer;
}

// Unordered pairs of positions in a list of `count` GPUs.
std::vector<std::pair<std::size_t, std::size_t>> positions(const std::string& pairs, bool from_first_only,
                                                           std::size_t count) {
  std::vector<std::pair<std::size_t, std::size_t>> chosen;
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t j = i + 1; j < count; ++j) {
      const bool neighbours = j == i + 1 || (i == 0 && j == count - 1);
      const bool wanted = pairs == "all"          ? !from_first_only || i == 0
                          : pairs == "neighbours" ? neighbours && (!from_first_only || i == 0)
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

namespace {

std::vector<GpuPair> pairs_in(const Machine& machine, const Grids& grids, const Grid& grid, bool both) {
  const std::vector<GpuTarget> gpus = grids.gpus(grid);
  const std::vector<int> ordinals = partners(machine, gpus);
  if (ordinals.size() < 2 || machine.runtime.devices.size() < 2) {
    return {nominal_pair(machine, gpus)};
  }
  std::vector<GpuPair> pairs;
  for (const auto& [i, j] : positions(grid.word("pairs"), gpus.size() == 1, ordinals.size())) {
    for (const auto& [gpu, peer] :
         {std::pair(ordinals[i], ordinals[j]), std::pair(ordinals[j], ordinals[i])}) {
      if (both || gpu < peer) {
        pairs.push_back(make_pair_of(machine, gpu, peer));
      }
    }
  }
  return pairs;
}

}  // namespace

std::vector<GpuPair> gpu_pairs(const Machine& machine, const Grids& grids, const Grid& grid) {
  return pairs_in(machine, grids, grid, grid.word("orders") == "both");
}

DeclaredAxis members_axis() {
  return pairs_axis("of which pairs of GPUs the members take part: one, each GPU with the next, or all");
}

GpuGroup gpu_group(const Machine& machine, const Grids& grids, const Grid& grid) {
  GpuGroup group;
  for (const GpuPair& pair : pairs_in(machine, grids, grid, true)) {
    for (const int ordinal : {pair.gpu.ordinal, pair.peer}) {
      if (std::find(group.gpus.begin(), group.gpus.end(), ordinal) == group.gpus.end()) {
        group.gpus.push_back(ordinal);
      }
    }
    if (group.unavailable.empty()) {
      group.unavailable = pair.unavailable;
    }
  }
  std::sort(group.gpus.begin(), group.gpus.end());
  return group;
}

void each_pair(const Machine& machine, const Grids& grids,
               const std::function<void(const GpuPair&, const Grid&)>& visit) {
  std::vector<std::vector<GpuPair>> of_grid;
  std::vector<GpuPair> all;
  for (const Grid& grid : grids) {
    of_grid.push_back(gpu_pairs(machine, grids, grid));
    std::copy_if(of_grid.back().begin(), of_grid.back().end(), std::back_inserter(all),
                 [&](const GpuPair& pair) {
                   return std::none_of(all.begin(), all.end(),
                                       [&](const GpuPair& known) { return is_same(known, pair); });
                 });
  }
  for (const GpuPair& pair : all) {
    for (std::size_t i = 0; i < of_grid.size(); ++i) {
      if (std::any_of(of_grid[i].begin(), of_grid[i].end(),
                      [&](const GpuPair& taken) { return is_same(taken, pair); })) {
        visit(pair, grids.all()[i]);
      }
    }
  }
}

}  // namespace grainscope::harness
