#ifndef GRAINSCOPE_BENCHMARKS_SHAPE_CASE_HPP
#define GRAINSCOPE_BENCHMARKS_SHAPE_CASE_HPP

// What the shape families share: the paths that they copy on, and how one such copy is measured.

#include <memory>
#include <string>
#include <vector>

#include "grainscope/transfer/transfer.hpp"
#include "harness/benchmark.hpp"

namespace grainscope::harness {

// From one place to another, by one GPU.
struct ShapePath {
  std::string name;  // "host_to_gpu", "gpu_to_host", "local", "gpu_to_peer" or "peer_to_gpu"
  transfer::Endpoint source;
  transfer::Endpoint destination;
  GpuTarget gpu;        // that carries it out
  int node = 0;         // whose CPUs submit it: the host end's, else one near the GPU
  std::string link;     // what joins two GPUs: "nvlink", "pcie", "unknown"; empty on other paths
  std::string why_not;  // why nothing can be copied on it; empty: it can

  [[nodiscard]] bool has_host() const;
  [[nodiscard]] bool to_gpu() const;  // of a path with a host: towards the GPU
  [[nodiscard]] bool has_peer() const { return !link.empty(); }
  // Of a path between GPUs: the one that receives carries it out.
  [[nodiscard]] bool by_destination() const { return has_peer() && gpu.ordinal == destination.id; }
  // Of a path between GPUs: the other one.
  [[nodiscard]] int peer() const { return by_destination() ? source.id : destination.id; }
};

// All paths of the scope's GPUs: to and from the host (every node where dense, else the nearest), within the
// card, and between GPUs as gpu_pairs has them, in smoke and quick in one order alone. With one GPU there is
// a nominal path to another, which says why it cannot be used.
[[nodiscard]] std::vector<ShapePath> shape_paths(const Machine& machine, const Scope& scope);

// The case of a family on a path: `path` and `method` bare, locality or link hidden, `axes`, and the site.
[[nodiscard]] Case shape_case(const std::string& family, const ShapePath& path, const char* method,
                              const std::vector<Axis>& axes);

// What a copy that takes `end_bytes` at each end needs of host and GPU.
[[nodiscard]] Needs shape_needs(const ShapePath& path, std::uint64_t end_bytes);

// Samples, verifies and bounds one mover that moves `bytes`.
[[nodiscard]] Measurement measure_shape(Session& session, const ShapePath& path, transfer::Mover& mover,
                                        std::uint64_t bytes);

}  // namespace grainscope::harness

#endif
