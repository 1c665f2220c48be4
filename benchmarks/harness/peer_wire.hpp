#ifndef GRAINSCOPE_BENCHMARKS_HARNESS_PEER_WIRE_HPP
#define GRAINSCOPE_BENCHMARKS_HARNESS_PEER_WIRE_HPP

// What joins two GPUs, and how fast it can be.

#include <optional>
#include <string>

#include "grainscope/core/operation.hpp"
#include "machine.hpp"

namespace grainscope::harness {

// What joins two GPUs, as far as the machine tells.
struct PeerWire {
  std::string link = "unknown";  // "nvlink", "pcie" or "unknown"
  std::optional<int> nvlinks;    // active links that lead there, by way of a switch or directly
  std::optional<double> gb_s;    // what those links carry together, each way; absent: not told
};

// What NVML says of the way from one GPU to another.
[[nodiscard]] PeerWire peer_wire(const Machine& machine, int from, int to);

// The fastest that bytes can go from one GPU to another that reaches its memory, each way; absent where the
// machine tells nothing of what joins them.
[[nodiscard]] std::optional<PhysicalLimit> peer_link_limit(const Machine& machine, int from, int to);

}  // namespace grainscope::harness

#endif
