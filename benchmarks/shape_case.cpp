#include "shape_case.hpp"

#include <utility>

#include "peer_case.hpp"

namespace grainscope::harness {
namespace {

using transfer::Endpoint;
using transfer::Placement;

// The first CUDA version, of toolkit and driver, that has cudaMemcpyBatchAsync.
constexpr int kBatchCopyVersion = 12080;

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

// Which node matters most is another family's question: here the nearest stands for all unless all are asked.
std::vector<int> nodes_of(const Scope& scope, const GpuTarget& gpu) {
  return scope.dense() || scope.nodes.empty() ? scope.nodes : std::vector{scope.nearest_node(gpu)};
}

// The same wire answers both orders: a short run asks for one.
bool is_wanted(const GpuPair& pair, Preset preset) {
  return (preset != Preset::smoke && preset != Preset::quick) || pair.gpu.ordinal < pair.peer;
}

}  // namespace

std::string why_no_batch_copy(const Machine& machine) {
  const int toolkit = machine.runtime.toolkit_version.value_or(0);
  const int driver = machine.runtime.driver_version.value_or(0);
  if (toolkit < kBatchCopyVersion) {
    return "needs CUDA 12.8; this program was built with " + version_text(toolkit);
  }
  if (driver < kBatchCopyVersion) {
    return "needs CUDA 12.8; the driver is for " + version_text(driver);
  }
  return {};
}

transfer::Transfer ShapePath::as_transfer(std::uint64_t bytes) const {
  transfer::Transfer moved;
  moved.source = route.source;
  moved.destination = route.destination;
  moved.bytes = bytes;
  moved.by_source = !route.by_destination;
  moved.staging_node = route.node();
  return moved;
}

std::vector<ShapePath> shape_paths(const Machine& machine, const Scope& scope) {
  std::vector<ShapePath> paths;
  for (const GpuTarget& gpu : scope.program_gpus()) {
    const Endpoint card = Endpoint::gpu(Placement::device, gpu.ordinal);
    for (const int node : nodes_of(scope, gpu)) {
      const Endpoint host = Endpoint::host(Placement::pinned, node);
      paths.push_back({"host_to_gpu", {host, card}, gpu, "", gpu.unavailable});
      paths.push_back({"gpu_to_host", {card, host}, gpu, "", gpu.unavailable});
    }
    paths.push_back({"local", {card, card, scope.nearest_node(gpu)}, gpu, "", gpu.unavailable});
  }
  for (const GpuPair& pair : gpu_pairs(machine, scope)) {
    if (is_wanted(pair, scope.preset)) {
      const Endpoint card = Endpoint::gpu(Placement::device, pair.gpu.ordinal);
      const Endpoint peer = Endpoint::gpu(Placement::device, pair.peer);
      paths.push_back({"gpu_to_peer",
                       {card, peer, scope.nearest_node(pair.gpu)},
                       pair.gpu,
                       pair.link,
                       pair.why_no_access()});
    }
  }
  return paths;
}

ShapePath fetched(ShapePath path) {
  path.name = "peer_to_gpu";
  std::swap(path.route.source, path.route.destination);
  path.route.by_destination = true;
  return path;
}

Case shape_case(const std::string& family, const ShapePath& path, const char* method,
                const std::vector<Axis>& axes) {
  Case id{family, {{"path", path.name, AxisStyle::bare}, {"method", method, AxisStyle::bare}}, {}};
  if (path.route.has_host()) {
    id.axes.push_back({"locality", path.gpu.locality(path.route.node()), AxisStyle::hidden});
    id.site.push_back({"numa", path.route.node()});
  }
  id.site.push_back({"gpu", path.gpu.ordinal});
  if (path.has_peer()) {
    id.axes.push_back({"link", path.link, AxisStyle::hidden});
    id.site.push_back({"peer", path.route.peer()});
  }
  id.axes.insert(id.axes.end(), axes.begin(), axes.end());
  return id;
}

Needs shape_needs(const ShapePath& path, std::uint64_t end_bytes) {
  if (path.route.has_host()) {
    return {end_bytes, end_bytes, 0};
  }
  // Between GPUs each card holds one end.
  return {0, path.has_peer() ? end_bytes : 2 * end_bytes, 0};
}

}  // namespace grainscope::harness
