#include "stored_machines.hpp"

#include "fakes.hpp"
#include "grainscope/core/units.hpp"

namespace grainscope::test {
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
