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
constexpr int kSessions = 3;           // each with new buffers; the fastest median is the peak
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

// One session of copies, verified and possible.
Summary time_copies(transfer::Mover& mover, int gpu, const std::optional<PhysicalLimit>& limit) {
  Measurement measurement;
  measurement.samples = draw_samples(
      {.ci_target = 0.002, .budget_s = 0.2, .max_samples = 64, .warmups = 2}, [&] { return mover.run(); },
      steady_now_s, [] { return false; });
  measurement.verification = mover.verify();
  measurement.bytes = kPeakBytes;
  measurement.limit = limit;
  if (const std::string why = why_impossible(measurement); !why.empty()) {
    throw FailedError("the copy peak of GPU " + std::to_string(gpu) + ": " + why);
  }
  return measurement.samples.summary;
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

LinkPeak LinkPeaks::get(int gpu, int numa, bool to_gpu) {
  const auto known = std::find_if(peaks_.begin(), peaks_.end(), [&](const LinkPeak& peak) {
    return peak.gpu == gpu && peak.numa == numa && peak.to_gpu == to_gpu;
  });
  if (known != peaks_.end()) {
    return *known;
  }
  LinkPeak peak = measure(gpu, numa, to_gpu);
  peaks_.push_back(peak);
  std::vector<Warning> warnings;
  const GpuReport* report = machine_.find_gpu(gpu);
  if (report != nullptr && peak.under_load) {
    warnings = judge_link_under_load(*report, *peak.under_load);
  }
  found_(peak, warnings);
  return peak;
}

LinkPeak LinkPeaks::measure(int gpu, int numa, bool to_gpu) const {
  LinkPeak peak{gpu, numa, to_gpu, 0, {}, kPeakBytes, {}, {}};
  const auto limit = host_link_limit(machine_, gpu);
  if (limit) {
    peak.theoretical_gb_s = limit->gb_s;
  }
  std::unique_ptr<transfer::Mover> mover;
  for (int session = 0; session < kSessions; ++session) {
    mover.reset();  // before the next one's buffers are allocated
    mover = transfer::make_mover(pinned_copy(gpu, numa, to_gpu), {&machine_.topology, nullptr});
    const Summary summary = time_copies(*mover, gpu, limit);
    const double rate = gb_per_s(kPeakBytes, summary.median);
    if (rate > peak.peak_gb_s) {
      peak.peak_gb_s = rate;
      peak.ci95_gb_s = {gb_per_s(kPeakBytes, summary.ci95->high), gb_per_s(kPeakBytes, summary.ci95->low)};
    }
  }
  const GpuReport* report = machine_.find_gpu(gpu);
  peak.under_load = watch_link(machine_.nvml.get(), report != nullptr ? report->uuid : "", *mover);
  return peak;
}

}  // namespace grainscope::harness
