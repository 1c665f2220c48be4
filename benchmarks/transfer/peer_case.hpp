#ifndef GRAINSCOPE_BENCHMARKS_TRANSFER_PEER_CASE_HPP
#define GRAINSCOPE_BENCHMARKS_TRANSFER_PEER_CASE_HPP

// What families that work between two GPUs share: which pairs there are, what joins them, and why one of
// them cannot be used.

#include <functional>
#include <string>
#include <vector>

#include "harness/benchmark.hpp"
#include "harness/link_peaks.hpp"

namespace grainscope::harness {

// Two GPUs in an order: `gpu` executes, `peer` has the memory.
struct GpuPair {
  GpuTarget gpu;
  int peer = 1;
  std::string unavailable;  // why nothing can run between them; empty: it can
  std::string no_access;    // why `gpu` cannot reach the peer's memory; empty: it can, or `unavailable` tells
  std::string link;         // of `wire`: the axis `link`
  PeerWire wire;

  // Why a kernel on `gpu` cannot reach the peer's memory: either of the two.
  [[nodiscard]] const std::string& why_no_access() const {
    return unavailable.empty() ? no_access : unavailable;
  }
};

// The pairs of a line's GPUs, or of its one GPU with the machine's others: those that it asks for by `pairs`,
// in the orders that it asks for. On a machine with one GPU, or none, one pair with a nominal peer, so that a
// reader sees what is skipped and why.
[[nodiscard]] std::vector<GpuPair> gpu_pairs(const Machine& machine, const Grids& grids, const Grid& grid);

// Pair by pair, each line that takes it.
void each_pair(const Machine& machine, const Grids& grids,
               const std::function<void(const GpuPair&, const Grid&)>& visit);

// All GPUs of a line's pairs, or two nominal ones where the machine has no two.
struct GpuGroup {
  std::vector<int> gpus;    // ascending
  std::string unavailable;  // why nothing can run among them; empty: it can
};
// The axis `pairs` of families that choose a group by it.
[[nodiscard]] DeclaredAxis members_axis();
[[nodiscard]] GpuGroup gpu_group(const Machine& machine, const Grids& grids, const Grid& grid);

// Why `gpu` cannot reach the memory of `peer`; empty where it can.
[[nodiscard]] std::string why_no_peer_access(const Machine& machine, int gpu, int peer);

}  // namespace grainscope::harness

#endif
