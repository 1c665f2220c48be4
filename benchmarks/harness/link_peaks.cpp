#include "link_peaks.hpp"

#include <algorithm>
#include <atomic>
#include <thread>

#include "grainscope/core/error.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/transfer/transfer.hpp"

namespace grainscope::harness {
namespace {

constexpr std::uint64_t kPeakBytes = 256 * kMiB;
constexpr int kCopiesUnderWatch = 12;  // some 60 ms on PCIe 5: time for a link to train up and be read

transfer::Transfer pinned_copy(int gpu, int numa, bool to_gpu) {
  using transfer::Endpoint;
  using transfer::Placement;
  transfer::Transfer copy;
  copy.source = Endpoint::host(Placement::pinned, numa);
  copy.destination = Endpoint::gpu(Placement::device, gpu);
  if (!to_gpu) {
    std::swap(copy.source, copy.destination);
  }
  copy.bytes = kPeakBytes;
  return copy;
}

// The fastest state of the link that is seen while copies run over it.
std::optional<NvmlLinkState> watch_link(const Nvml* nvml, const std::string& uuid, transfer::Mover& mover) {
  if (nvml == nullptr || uuid.empty()) {
    return std::nullopt;
  }
  std::atomic<bool> copying{true};
  std::optional<NvmlLinkState> best;
  std::thread watcher([&] {
    do {
      const auto state = nvml->link_now(uuid);
      if (state && (!best || state->generation * state->width > best->generation * best->width)) {
        best = state;
      }
    } while (copying);
  });
  try {
    for (int i = 0; i < kCopiesUnderWatch; ++i) {
      static_cast<void>(mover.run());
    }
  } catch (...) {
    copying = false;
    watcher.join();
    throw;
  }
  copying = false;
  watcher.join();
  return best;
}

}  // namespace

LinkPeaks::LinkPeaks(const Machine& machine,
                     std::function<void(const LinkPeak&, const std::vector<Warning>&)> found)
    : machine_(machine), found_(std::move(found)) {}

const LinkPeak& LinkPeaks::get(int gpu, int numa, bool to_gpu) {
  const auto known = std::find_if(peaks_.begin(), peaks_.end(), [&](const LinkPeak& peak) {
    return peak.gpu == gpu && peak.numa == numa && peak.to_gpu == to_gpu;
  });
  if (known != peaks_.end()) {
    return *known;
  }
  peaks_.push_back(measure(gpu, numa, to_gpu));
  const LinkPeak& peak = peaks_.back();
  std::vector<Warning> warnings;
  const GpuReport* report = machine_.find_gpu(gpu);
  if (report != nullptr && peak.under_load) {
    warnings = judge_link_under_load(*report, *peak.under_load);
  }
  found_(peak, warnings);
  return peak;
}

LinkPeak LinkPeaks::measure(int gpu, int numa, bool to_gpu) const {
  const auto mover = transfer::make_mover(pinned_copy(gpu, numa, to_gpu), {&machine_.topology, nullptr});
  Measurement measurement;
  measurement.samples = draw_samples(
      {.ci_target = 0.002, .budget_s = 0.4, .max_samples = 64, .warmups = 2}, [&] { return mover->run(); },
      steady_now_s, [] { return false; });
  measurement.verification = mover->verify();
  measurement.bytes = kPeakBytes;
  measurement.limit = host_link_limit(machine_, gpu);
  if (const std::string why = why_impossible(measurement); !why.empty()) {
    throw FailedError("the copy peak of GPU " + std::to_string(gpu) + ": " + why);
  }
  const Summary& summary = measurement.samples.summary;
  LinkPeak peak{gpu, numa, to_gpu, gb_per_s(kPeakBytes, summary.median), {}, kPeakBytes, {}, {}};
  peak.ci95_gb_s = {gb_per_s(kPeakBytes, summary.ci95->high), gb_per_s(kPeakBytes, summary.ci95->low)};
  if (measurement.limit) {
    peak.theoretical_gb_s = measurement.limit->gb_s;
  }
  const GpuReport* report = machine_.find_gpu(gpu);
  peak.under_load = watch_link(machine_.nvml.get(), report != nullptr ? report->uuid : "", *mover);
  return peak;
}

}  // namespace grainscope::harness
