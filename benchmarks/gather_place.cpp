// Whether a feature table can be where a case wants it, before anything is tried.

#include <algorithm>
#include <utility>

#include "gather_case.hpp"
#include "grainscope/core/units.hpp"

namespace grainscope::harness {
namespace {

using gnn::Store;

constexpr int kLargestShare = 75;  // percent of what can be taken, unless --max-bytes asks for more

// What cannot fit in any case; whether the rest does is seen chunk by chunk.
std::string why_too_much(const Machine& machine, const Scope& scope, std::uint64_t bytes) {
  if (bytes > reach::kMostChunks * kGiB) {
    return "a span is " + format_bytes(reach::kMostChunks * kGiB) + " at most";
  }
  const AvailableMemory& available = machine.environment.memory.available;
  const std::uint64_t most = scope.max_bytes ? available.cgroup_bytes.value_or(UINT64_MAX)
                                             : reach::can_take(available) / 100 * kLargestShare;
  return bytes <= most ? std::string()
                       : "needs " + format_bytes(bytes) + " of host memory; " + format_bytes(most) +
                             (scope.max_bytes ? " are available"
                                              : " are taken at most unless --max-bytes asks for more");
}

}  // namespace

std::vector<int> sharing_gpus(const Machine& machine, int gpu) {
  std::vector<int> gpus{gpu};
  for (const cuda::PeerLink& link : machine.runtime.peers) {
    const bool known = std::find(gpus.begin(), gpus.end(), link.to) != gpus.end();
    if (link.from == gpu && link.access && !known && gpus.size() < gnn::kMostGpus) {
      gpus.push_back(link.to);
    }
  }
  return gpus;
}

DeclaredAxis sharing_axis() {
  return number_axis("gpus", "GPUs that share the hot rows of a store multi_gpu; all: that can, at least 2",
                     {2, gnn::kMostGpus}, "all", {}, {"all"});
}

NamedNumbers sharing_names(const std::vector<int>& gpus) {
  return {{"all", std::max<std::size_t>(2, gpus.size())}};
}

std::vector<int> gpus_with_rows(const GatherPoint& point, std::vector<int> sharing) {
  const std::size_t asked = point.store == Store::multi_gpu ? static_cast<std::size_t>(point.gpus) : 0;
  sharing.resize(std::min(sharing.size(), asked));
  return sharing;
}

bool shares_memory(const GatherPoint& point) {
  return point.store == Store::mapped || point.store == Store::pinned || has_hot_rows(point.store);
}

std::string why_no_sharing(const Machine& machine, int gpu) {
  return machine.runtime.devices.size() < 2
             ? "needs two GPUs; this machine has one"
             : "GPU " + std::to_string(gpu) + " cannot reach the memory of another";
}

std::string why_no_store(const Machine& machine, const Scope& scope, const GatherPoint& point,
                         const GatherSite& site) {
  if (point.span_bytes / point.row_bytes > UINT32_MAX) {
    return "a table has 2^32 - 1 rows at most";
  }
  if (!site.gpu) {
    return {};
  }
  const GpuTarget& gpu = *site.gpu;
  if (!gpu.unavailable.empty()) {
    return gpu.unavailable;
  }
  if (point.store == Store::multi_gpu && static_cast<int>(site.gpus.size()) < point.gpus) {
    return site.gpus.size() < 2 ? why_no_sharing(machine, gpu.ordinal)
                                : "GPU " + std::to_string(gpu.ordinal) + " shares rows with " +
                                      std::to_string(site.gpus.size() - 1) + " others at most";
  }
  if (point.store == Store::managed) {
    return why_no_migration(machine, gpu.ordinal);
  }
  if (!shares_memory(point)) {
    return {};
  }
  std::string why = why_no_mapping(machine, gpu.ordinal);
  return why.empty() ? why_too_much(machine, scope, gather_needs(point, site).shared_host_bytes) : why;
}

}  // namespace grainscope::harness
