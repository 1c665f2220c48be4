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

void each_path(const Machine& machine, const Scope& scope, const Grids& grids,
               const std::function<void(const ShapePath&, const Grid&, const Values&)>& visit) {
  const auto visit_points = [&](const Grid& grid, const ShapePath& path) {
    for (const Values& values : grid.points()) {
      if (values.is("path", path.name)) {
        visit(path, grid, values);
      }
    }
  };
  grids.each_gpu_and_node([&](const GpuTarget& gpu, int node, const Grid& grid) {
    const Endpoint card = Endpoint::gpu(Placement::device, gpu.ordinal);
    const Endpoint host = Endpoint::host(Placement::pinned, node);
    visit_points(grid, {"host_to_gpu", {host, card}, gpu, "", gpu.unavailable});
    visit_points(grid, {"gpu_to_host", {card, host}, gpu, "", gpu.unavailable});
  });
  grids.each_gpu([&](const GpuTarget& gpu, const Grid& grid) {
    const Endpoint card = Endpoint::gpu(Placement::device, gpu.ordinal);
    visit_points(grid, {"local", {card, card, scope.nearest_node(gpu)}, gpu, "", gpu.unavailable});
  });
  each_pair(machine, grids, [&](const GpuPair& pair, const Grid& grid) {
    const Endpoint card = Endpoint::gpu(Placement::device, pair.gpu.ordinal);
    const Endpoint peer = Endpoint::gpu(Placement::device, pair.peer);
    ShapePath path{
        "gpu_to_peer", {card, peer, scope.nearest_node(pair.gpu)}, pair.gpu, pair.link, pair.why_no_access()};
    visit_points(grid, path);
    path.name = "peer_to_gpu";
    std::swap(path.route.source, path.route.destination);
    path.route.by_destination = true;
    visit_points(grid, path);
  });
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
