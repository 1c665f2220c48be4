#ifndef GRAINSCOPE_BENCHMARKS_SHAPE_SHAPE_HPP
#define GRAINSCOPE_BENCHMARKS_SHAPE_SHAPE_HPP

// What the shape families share: the paths that they copy on, and what follows from a path.

#include <functional>
#include <string>
#include <vector>

#include "grainscope/transfer/shape.hpp"
#include "harness/benchmark.hpp"

namespace grainscope::harness {

// From one place to another, by one GPU; to and from the host also by its neighbours.
struct ShapePath {
  std::string name;  // "host_to_gpu", "gpu_to_host", "local", "gpu_to_peer" or "peer_to_gpu"
  transfer::Route route;
  GpuTarget gpu;        // that carries it out
  std::string link;     // what joins the GPU to `peer()`: "nvlink", "pcie", "unknown"; empty: there is none
  std::string why_not;  // why nothing can be copied on it; empty: it can
  int neighbour = 0;    // to and from the host, where there is a link: the first that passes bytes on

  [[nodiscard]] bool has_peer() const { return !link.empty(); }
  [[nodiscard]] int peer() const { return route.has_host() ? neighbour : route.peer(); }
  // What moves where `bytes` are copied on it: what a measurement is bounded by.
  [[nodiscard]] transfer::Transfer as_transfer(std::uint64_t bytes) const;
};

// Why toolkit or driver have no cudaMemcpyBatchAsync, or no batches of prefetches and discards; empty where
// both do.
[[nodiscard]] std::string why_no_batch_copy(const Machine& machine);
[[nodiscard]] std::string why_no_managed_batch(const Machine& machine);

// Each path that a line takes, with each of its points: to and from the host, within the card, and between
// GPUs: sent, and the other way fetched by the same GPU. With one GPU there is a nominal path to another,
// which says why it cannot be used.
void each_path(const Machine& machine, const Scope& scope, const Grids& grids,
               const std::function<void(const ShapePath&, const Values&)>& visit);

// The case of a family on a path: `path` and `method` bare, locality or link hidden, `axes`, and the site.
[[nodiscard]] Case shape_case(const std::string& family, const ShapePath& path, const char* method,
                              const std::vector<Axis>& axes);

// What a copy that takes `end_bytes` at each end needs of host and GPU.
[[nodiscard]] Needs shape_needs(const ShapePath& path, std::uint64_t end_bytes);

}  // namespace grainscope::harness

#endif
