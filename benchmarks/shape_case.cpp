#include "shape_case.hpp"

#include <algorithm>

namespace grainscope::harness {
namespace {

using transfer::Endpoint;
using transfer::Placement;

// What joins two GPUs, by the management library: a link between them, or from both to a switch.
std::string link_between(const Machine& machine, int gpu, int peer) {
  const GpuReport* from = machine.find_gpu(gpu);
  const GpuReport* to = machine.find_gpu(peer);
  if (from == nullptr || to == nullptr || !from->nvml || !from->nvml->nvlinks) {
    return "unknown";
  }
  for (const NvmlNvlink& link : *from->nvml->nvlinks) {
    if (link.active && (link.remote_type == "switch" || link.remote_pci_bus_id == to->pci_bus_id)) {
      return "nvlink";
    }
  }
  return "pcie";
}

bool can_access(const Machine& machine, int from, int to) {
  const auto& peers = machine.runtime.peers;
  return std::any_of(peers.begin(), peers.end(), [&](const cuda::PeerLink& peer) {
    return peer.from == from && peer.to == to && peer.access;
  });
}

ShapePath to_peer(const Machine& machine, const GpuTarget& gpu, int peer) {
  ShapePath path{
      "gpu_to_peer", Endpoint::gpu(Placement::device, gpu.ordinal), Endpoint::gpu(Placement::device, peer),
      gpu,           link_between(machine, gpu.ordinal, peer),      gpu.unavailable};
  if (path.why_not.empty() && machine.runtime.devices.size() < 2) {
    path.why_not = "needs two GPUs; this machine shows one";
  } else if (path.why_not.empty() && !can_access(machine, gpu.ordinal, peer)) {
    path.why_not =
        "GPU " + std::to_string(gpu.ordinal) + " cannot reach the memory of GPU " + std::to_string(peer);
    path.link = "none";
  }
  return path;
}

// The other GPUs, whether the run was asked for them or not; a nominal one where there is none.
std::vector<int> peers_of(const Machine& machine, const Scope& scope, int gpu) {
  std::vector<int> peers;
  for (const cuda::DeviceProperties& device : machine.runtime.devices) {
    if (device.ordinal != gpu && (scope.dense() || peers.empty())) {
      peers.push_back(device.ordinal);
    }
  }
  return peers.empty() ? std::vector{gpu + 1} : peers;
}

// Which node matters most is another family's question: here the nearest stands for all unless all are asked.
std::vector<int> nodes_of(const Scope& scope, const GpuTarget& gpu) {
  if (scope.dense() || scope.nodes.empty()) {
    return scope.nodes;
  }
  const auto near = std::find_if(scope.nodes.begin(), scope.nodes.end(),
                                 [&](int node) { return gpu.locality(node) == "local"; });
  return {near != scope.nodes.end() ? *near : scope.nodes.front()};
}

// What the card's memory gives or takes. Absent where it is not told, and for copies that the card's cache
// may hold: of larger ones at least half the traffic, which is twice the bytes, goes to memory.
std::optional<PhysicalLimit> card_limit(const Machine& machine, int gpu, std::uint64_t bytes) {
  const GpuReport* report = machine.find_gpu(gpu);
  if (report == nullptr || report->cuda->memory_clock_hz == 0 || report->cuda->memory_bus_width_bits == 0 ||
      report->cuda->l2_bytes == 0 || bytes < report->cuda->l2_bytes) {
    return std::nullopt;
  }
  return PhysicalLimit{
      2.0 * static_cast<double>(report->cuda->memory_clock_hz) * report->cuda->memory_bus_width_bits / 8e9,
      "the GPU's own memory"};
}

}  // namespace

bool ShapePath::has_host() const {
  return source.side == Endpoint::Side::host || destination.side == Endpoint::Side::host;
}

bool ShapePath::to_gpu() const {
  return destination.side == Endpoint::Side::gpu;
}

std::vector<ShapePath> shape_paths(const Machine& machine, const Scope& scope) {
  std::vector<ShapePath> paths;
  for (const GpuTarget& gpu : scope.gpus) {
    const Endpoint card = Endpoint::gpu(Placement::device, gpu.ordinal);
    for (const int node : nodes_of(scope, gpu)) {
      const Endpoint host = Endpoint::host(Placement::pinned, node);
      paths.push_back({"host_to_gpu", host, card, gpu, "", gpu.unavailable});
      paths.push_back({"gpu_to_host", card, host, gpu, "", gpu.unavailable});
    }
    paths.push_back({"local", card, card, gpu, "", gpu.unavailable});
    for (const int peer : peers_of(machine, scope, gpu.ordinal)) {
      paths.push_back(to_peer(machine, gpu, peer));
    }
  }
  return paths;
}

Case shape_case(const std::string& family, const ShapePath& path, const char* method,
                const std::vector<Axis>& axes) {
  Case id{family, {{"path", path.name, AxisStyle::bare}, {"method", method, AxisStyle::bare}}, {}};
  if (path.has_host()) {
    const int node = path.to_gpu() ? path.source.id : path.destination.id;
    id.axes.push_back({"locality", path.gpu.locality(node), AxisStyle::hidden});
    id.site.push_back({"numa", node});
  }
  id.site.push_back({"gpu", path.gpu.ordinal});
  if (path.has_peer()) {
    id.axes.push_back({"link", path.link, AxisStyle::hidden});
    id.site.push_back({"peer", path.destination.id});
  }
  id.axes.insert(id.axes.end(), axes.begin(), axes.end());
  return id;
}

Needs shape_needs(const ShapePath& path, std::uint64_t end_bytes) {
  if (path.has_host()) {
    return {end_bytes, end_bytes, 0};
  }
  // Between GPUs each card holds one end.
  return {0, path.has_peer() ? end_bytes : 2 * end_bytes, 0};
}

Measurement measure_shape(Session& session, const ShapePath& path, transfer::Mover& mover,
                          std::uint64_t bytes) {
  const int gpu = path.gpu.ordinal;
  Measurement measurement;
  const auto one_sample = [&] {
    mover.prepare();
    return mover.run();
  };
  measurement.samples = session.sample(one_sample, gpu, measurement);
  measurement.verification = mover.verify();
  measurement.timing = mover.timing();
  mover.annotate(measurement);
  measurement.bytes = bytes;
  if (path.has_host()) {
    const int node = path.to_gpu() ? path.source.id : path.destination.id;
    measurement.limit = host_link_limit(session.machine(), gpu);
    measurement.link_peak_gb_s = session.link_peak_gb_s(gpu, node, path.to_gpu());
  } else if (!path.has_peer()) {
    measurement.limit = card_limit(session.machine(), gpu, bytes);
  }
  return measurement;
}

}  // namespace grainscope::harness
