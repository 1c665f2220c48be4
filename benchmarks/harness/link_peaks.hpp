#ifndef GRAINSCOPE_BENCHMARKS_HARNESS_LINK_PEAKS_HPP
#define GRAINSCOPE_BENCHMARKS_HARNESS_LINK_PEAKS_HPP

// What joins two GPUs and how fast it can be, and the copy peaks of links that a run has measured.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "grainscope/core/operation.hpp"
#include "grainscope/core/statistics.hpp"
#include "grainscope/transfer/transfer.hpp"
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

// All active links of a GPU together, wherever they lead; without number where there are none.
[[nodiscard]] PeerWire nvlinks_of(const Machine& machine, int gpu);

// The fastest that bytes can go from one GPU to another that reaches its memory, each way; absent where the
// machine tells nothing of what joins them.
[[nodiscard]] std::optional<PhysicalLimit> peer_link_limit(const Machine& machine, int from, int to);

}  // namespace grainscope::harness

namespace grainscope::cuda {

// The yardstick of a run: what a large pinned copy reaches on each path, measured once in the same run.

class ManagedBudget;
}  // namespace grainscope::cuda

namespace grainscope::harness {

// A way that bytes take: between a GPU and a node of the host, or from a GPU to a peer.
struct LinkPath {
  int gpu = 0;
  std::optional<int> numa;  // of the host's end
  std::optional<int> peer;  // where the other end is a GPU: bytes go there
  bool to_gpu = true;       // of a path to the host: which way

  static LinkPath host_to_gpu(int numa, int gpu) { return {gpu, numa, {}, true}; }
  static LinkPath gpu_to_host(int gpu, int numa) { return {gpu, numa, {}, false}; }
  static LinkPath between(int from, int to) { return {from, {}, to, false}; }
  static LinkPath of(const transfer::Transfer& transfer);
  bool operator==(const LinkPath&) const = default;
};

struct LinkPeak {
  LinkPath path;
  double peak_gb_s = 0;
  Interval within_gb_s;
  std::uint64_t bytes = 0;
  std::optional<double> theoretical_gb_s;   // of the link to the host as it was under load
  std::optional<NvmlLinkState> under_load;  // the link to the host, read while a copy ran over it
  std::optional<int> nvlinks;               // between GPUs: how many join them, where the machine tells
};

// What a link to the host can do at the generation and width that it had under load. Where these are not
// known, or the copies were faster than that so that they were read wrong, and of a link that is no PCI
// Express: what it can do at its best.
[[nodiscard]] std::optional<double> negotiated_gb_s(const Machine& machine, const LinkPeak& peak);

// What links can carry at once: at most, and as their copies measured.
struct Carried {
  double limit_gb_s = 0;
  double peak_gb_s = 0;
};

// Of copies between two GPUs, as if there were no others.
struct PairCarries {
  LinkPath path;
  Carried carried;
};
// Of several pairs at once: neither more than their GPUs send nor more than they receive.
[[nodiscard]] Carried carried_between_gpus(const Machine& machine, const std::vector<PairCarries>& pairs);

class LinkPeaks {
 public:
  // `found` is told of each new peak, and of what it says about the link.
  LinkPeaks(const Machine& machine, std::function<void(const LinkPeak&, const std::vector<Warning>&)> found);

  // Throws FailedError where a peak beats the physical limit of its path.
  [[nodiscard]] LinkPeak get(const LinkPath& path);
  // One that an earlier part of this run measured.
  void add(const LinkPeak& peak) { peaks_.push_back(peak); }
  [[nodiscard]] const std::vector<LinkPeak>& all() const { return peaks_; }

 private:
  [[nodiscard]] LinkPeak measure(const LinkPath& path) const;

  const Machine& machine_;
  std::function<void(const LinkPeak&, const std::vector<Warning>&)> found_;
  std::vector<LinkPeak> peaks_;
};

}  // namespace grainscope::harness

#endif
