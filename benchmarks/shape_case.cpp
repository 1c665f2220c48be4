#include "shape_case.hpp"

#include <algorithm>

#include "peer_case.hpp"

namespace grainscope::harness {
namespace {

using transfer::Endpoint;
using transfer::Placement;

// Which node matters most is another family's question: here the nearest stands for all unless all are asked.
std::vector<int> nodes_of(const Scope& scope, const GpuTarget& gpu) {
  if (scope.dense() || scope.nodes.empty()) {
    return scope.nodes;
  }
  const auto near = std::find_if(scope.nodes.begin(), scope.nodes.end(),
                                 [&](int node) { return gpu.locality(node) == "local"; });
  return {near != scope.nodes.end() ? *near : scope.nodes.front()};
}

// Where the CPU should be that submits what touches no memory of the host.
int near_node(const Scope& scope, const GpuTarget& gpu) {
  const auto nodes = nodes_of(scope, gpu);
  return gpu.local_node.value_or(nodes.empty() ? 0 : nodes.front());
}

// The same wire answers both orders: a short run asks for one.
bool is_wanted(const GpuPair& pair, Preset preset) {
  return (preset != Preset::smoke && preset != Preset::quick) || pair.gpu.ordinal < pair.peer;
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
      paths.push_back({"host_to_gpu", host, card, gpu, node, "", gpu.unavailable});
      paths.push_back({"gpu_to_host", card, host, gpu, node, "", gpu.unavailable});
    }
    paths.push_back({"local", card, card, gpu, near_node(scope, gpu), "", gpu.unavailable});
  }
  for (const GpuPair& pair : gpu_pairs(machine, scope)) {
    if (is_wanted(pair, scope.preset)) {
      paths.push_back({"gpu_to_peer", Endpoint::gpu(Placement::device, pair.gpu.ordinal),
                       Endpoint::gpu(Placement::device, pair.peer), pair.gpu, near_node(scope, pair.gpu),
                       pair.link, pair.why_no_access()});
    }
  }
  return paths;
}

Case shape_case(const std::string& family, const ShapePath& path, const char* method,
                const std::vector<Axis>& axes) {
  Case id{family, {{"path", path.name, AxisStyle::bare}, {"method", method, AxisStyle::bare}}, {}};
  if (path.has_host()) {
    id.axes.push_back({"locality", path.gpu.locality(path.node), AxisStyle::hidden});
    id.site.push_back({"numa", path.node});
  }
  id.site.push_back({"gpu", path.gpu.ordinal});
  if (path.has_peer()) {
    id.axes.push_back({"link", path.link, AxisStyle::hidden});
    id.site.push_back({"peer", path.peer()});
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
    measurement.limit = host_link_limit(session.machine(), gpu);
    measurement.link_peak_gb_s = session.link_peak_gb_s(
        path.to_gpu() ? LinkPath::host_to_gpu(path.node, gpu) : LinkPath::gpu_to_host(gpu, path.node));
  } else if (path.has_peer()) {
    measurement.limit = peer_link_limit(session.machine(), path.source.id, path.destination.id);
    measurement.link_peak_gb_s =
        session.link_peak_gb_s(LinkPath::between(path.source.id, path.destination.id));
  } else {
    measurement.limit = card_limit(session.machine(), gpu, bytes);
  }
  return measurement;
}

}  // namespace grainscope::harness
