#ifndef GRAINSCOPE_BENCHMARKS_HARNESS_LINK_PEAKS_HPP
#define GRAINSCOPE_BENCHMARKS_HARNESS_LINK_PEAKS_HPP

// The yardstick of a run: what a large pinned copy reaches on each path, measured once in the same run.

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "grainscope/core/statistics.hpp"
#include "machine.hpp"

namespace grainscope::cuda {
class ManagedBudget;
}

namespace grainscope::harness {

struct LinkPeak {
  int gpu = 0;
  int numa = 0;
  bool to_gpu = true;
  double peak_gb_s = 0;
  Interval ci95_gb_s;
  std::uint64_t bytes = 0;
  std::optional<double> theoretical_gb_s;
  std::optional<NvmlLinkState> under_load;  // the link, read while a copy ran over it
};

class LinkPeaks {
 public:
  // `found` is told of each new peak, and of what it says about the link.
  LinkPeaks(const Machine& machine, std::function<void(const LinkPeak&, const std::vector<Warning>&)> found);

  // Throws FailedError where a peak beats the physical limit of its path.
  [[nodiscard]] LinkPeak get(int gpu, int numa, bool to_gpu);
  // One that an earlier part of this run measured.
  void add(const LinkPeak& peak) { peaks_.push_back(peak); }
  [[nodiscard]] const std::vector<LinkPeak>& all() const { return peaks_; }

 private:
  [[nodiscard]] LinkPeak measure(int gpu, int numa, bool to_gpu) const;

  const Machine& machine_;
  std::function<void(const LinkPeak&, const std::vector<Warning>&)> found_;
  std::vector<LinkPeak> peaks_;
};

}  // namespace grainscope::harness

#endif
