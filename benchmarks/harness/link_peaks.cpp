#include "link_peaks.hpp"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <optional>
#include <set>
#include <thread>
#include <vector>

#include "grainscope/core/error.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/transfer/mover.hpp"

namespace grainscope::harness {
namespace {

using Links = std::vector<NvmlNvlink>;

bool leads_to(const NvmlNvlink& link, const GpuReport& gpu) {
  return link.active && !gpu.pci_bus_id.empty() &&
         normal_pci_bus_id(link.remote_pci_bus_id) == normal_pci_bus_id(gpu.pci_bus_id);
}

template <class Predicate>
Links links_that(const Links& links, Predicate predicate) {
  Links found;
  std::copy_if(links.begin(), links.end(), std::back_inserter(found), predicate);
  return found;
}

bool leads_to_switch(const NvmlNvlink& link) {
  return link.active && link.remote_type == "switch";
}

PeerWire nvlink_wire(const Links& links) {
  PeerWire wire{"nvlink", static_cast<int>(links.size()), 0.0};
  for (const NvmlNvlink& link : links) {
    if (link.speed_mb_s && wire.gb_s) {
      *wire.gb_s += static_cast<double>(*link.speed_mb_s) * 1e-3;
    } else {
      wire.gb_s = std::nullopt;
    }
  }
  return wire;
}

// Whether none of the links can lead to the GPU meant: each is down, or leads to something known that is not
// it. A virtual machine may hide where links lead; then nothing is known.
bool all_lead_elsewhere(const Machine& machine, const Links& links) {
  return std::all_of(links.begin(), links.end(), [&](const NvmlNvlink& link) {
    const auto& gpus = machine.environment.gpus;
    return !link.active || link.remote_type == "cpu" || link.remote_type == "switch" ||
           std::any_of(gpus.begin(), gpus.end(), [&](const GpuReport& gpu) { return leads_to(link, gpu); });
  });
}

}  // namespace

PeerWire nvlinks_of(const Machine& machine, int gpu) {
  const GpuReport* const report = machine.find_gpu(gpu);
  if (report == nullptr || !report->nvml || !report->nvml->nvlinks) {
    return {};
  }
  const Links active = links_that(*report->nvml->nvlinks, [](const auto& link) { return link.active; });
  return active.empty() ? PeerWire{} : nvlink_wire(active);
}

PeerWire peer_wire(const Machine& machine, int from, int to) {
  const GpuReport* source = machine.find_gpu(from);
  const GpuReport* target = machine.find_gpu(to);
  const auto tells = [](const GpuReport* gpu) { return gpu != nullptr && gpu->nvml && gpu->nvml->nvlinks; };
  if (!tells(source) || !tells(target)) {
    return {};
  }
  const Links& out = *source->nvml->nvlinks;
  const Links& in = *target->nvml->nvlinks;
  if (const Links direct = links_that(out, [&](const auto& link) { return leads_to(link, *target); });
      !direct.empty()) {
    return nvlink_wire(direct);
  }
  const Links up = links_that(out, leads_to_switch);
  const Links down = links_that(in, leads_to_switch);
  if (!up.empty() && !down.empty()) {
    return nvlink_wire(up.size() <= down.size() ? up : down);
  }
  if (all_lead_elsewhere(machine, out) || all_lead_elsewhere(machine, in)) {
    return {"pcie", std::nullopt, std::nullopt};
  }
  return {};
}

namespace {

// Bytes beside which those of a cache are none.
constexpr std::uint64_t kNoCacheHolds = std::uint64_t{1} << 60;

}  // namespace

std::optional<PhysicalLimit> peer_link_limit(const Machine& machine, int from, int to) {
  const PeerWire wire = peer_wire(machine, from, to);
  if (wire.gb_s) {
    return PhysicalLimit{*wire.gb_s, std::to_string(wire.nvlinks.value_or(0)) + " NVLinks"};
  }
  if (wire.link != "pcie") {
    // Nothing crosses a link faster than one card's memory gives it and the other's takes it.
    const auto one = gpu_memory_limit(machine, from, kNoCacheHolds);
    const auto other = gpu_memory_limit(machine, to, kNoCacheHolds);
    auto limit = one && other && other->gb_s < one->gb_s ? other : one;
    if (limit) {
      limit->source += " (the link is unknown)";
    }
    return limit;
  }
  const auto one = host_link_limit(machine, from);
  const auto other = host_link_limit(machine, to);
  return one && other && other->gb_s < one->gb_s ? other : one;
}

namespace {

// What all links of a GPU carry one way: its NVLinks, or else its link to the host.
std::optional<double> all_links_gb_s(const Machine& machine, int gpu) {
  if (const PeerWire wire = nvlinks_of(machine, gpu); wire.nvlinks) {
    return wire.gb_s;
  }
  const auto limit = host_link_limit(machine, gpu);
  return limit ? std::optional(limit->gb_s) : std::nullopt;
}

// Through a switch a GPU has the same links for all others: they carry once what each pair counted alone.
// `end` says which GPU of a path is looked at.
template <class End>
Carried carried_by_ends(const Machine& machine, const std::vector<PairCarries>& pairs, const End& end) {
  std::set<int> gpus;
  for (const PairCarries& pair : pairs) {
    gpus.insert(end(pair.path));
  }
  Carried all;
  for (const int gpu : gpus) {
    Carried sum;
    Carried most;
    for (const PairCarries& pair : pairs) {
      if (end(pair.path) == gpu) {
        sum.limit_gb_s += pair.carried.limit_gb_s;
        sum.peak_gb_s += pair.carried.peak_gb_s;
        most.peak_gb_s = std::max(most.peak_gb_s, pair.carried.peak_gb_s);
      }
    }
    if (const auto links_gb_s = all_links_gb_s(machine, gpu); links_gb_s && sum.limit_gb_s > *links_gb_s) {
      sum = {*links_gb_s, most.peak_gb_s};
    }
    all.limit_gb_s += sum.limit_gb_s;
    all.peak_gb_s += sum.peak_gb_s;
  }
  return all;
}

}  // namespace

Carried carried_between_gpus(const Machine& machine, const std::vector<PairCarries>& pairs) {
  const Carried out = carried_by_ends(machine, pairs, [](const LinkPath& path) { return path.gpu; });
  const Carried in = carried_by_ends(machine, pairs, [](const LinkPath& path) { return *path.peer; });
  return {std::min(out.limit_gb_s, in.limit_gb_s), std::min(out.peak_gb_s, in.peak_gb_s)};
}

namespace {

// Of one copy, so that its beginning is no part of the peak: links between GPUs are faster.
std::uint64_t peak_bytes(const LinkPath& path) {
  return path.peer ? 2 * kGiB : 256 * kMiB;
}
constexpr int kSessions = 3;           // each with new buffers; the fastest median is the peak
constexpr int kCopiesUnderWatch = 12;  // some 60 ms on PCIe 5: time for a link to train up and be read

transfer::Transfer yardstick_copy(const LinkPath& path) {
  using transfer::Endpoint;
  using transfer::Placement;
  transfer::Transfer copy;
  copy.bytes = peak_bytes(path);
  const Endpoint gpu = Endpoint::gpu(Placement::device, path.gpu);
  if (path.peer) {
    copy.source = gpu;
    copy.destination = Endpoint::gpu(Placement::device, *path.peer);
    copy.by_source = true;  // a copy engine writes to a peer a little faster than it reads from one
    return copy;
  }
  const Endpoint host = Endpoint::host(Placement::pinned, *path.numa);
  copy.source = path.to_gpu ? host : gpu;
  copy.destination = path.to_gpu ? gpu : host;
  return copy;
}

std::string text(const LinkPath& path) {
  if (path.peer) {
    return "the copy peak from GPU " + std::to_string(path.gpu) + " to GPU " + std::to_string(*path.peer);
  }
  return "the copy peak of GPU " + std::to_string(path.gpu);
}

// One session of copies, verified and possible.
Summary time_copies(transfer::Mover& mover, const LinkPath& path, const std::optional<PhysicalLimit>& limit) {
  Measurement measurement;
  measurement.samples = draw_samples(
      {.ci_target = 0.002, .budget_s = 0.2, .max_samples = 64, .warmups = 2}, [&] { return mover.run(); },
      steady_now_s, [] { return false; });
  measurement.verification = mover.verify();
  measurement.bytes = peak_bytes(path);
  measurement.limit = limit;
  if (const std::string why = why_impossible(measurement); !why.empty()) {
    throw FailedError(text(path) + ": " + why);
  }
  return measurement.samples.summary;
}

// By which NVML knows a GPU: of a MIG slice the whole card's. Empty: it does not.
std::string nvml_uuid(const GpuReport* report) {
  if (report == nullptr) {
    return {};
  }
  return report->nvml ? report->nvml->uuid.value_or(report->uuid) : report->uuid;
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

std::optional<double> negotiated_gb_s(const Machine& machine, const LinkPeak& peak) {
  const auto limit = host_link_limit(machine, peak.path.gpu);
  const GpuReport* const report = machine.find_gpu(peak.path.gpu);
  const bool chip_to_chip = report != nullptr && report->nvml && report->nvml->c2c_links.value_or(0) > 0;
  if (peak.under_load && !chip_to_chip) {
    const auto rate = pcie_link_gb_s(peak.under_load->generation, peak.under_load->width);
    if (rate && *rate >= peak.peak_gb_s) {
      return rate;
    }
  }
  return limit ? std::optional(limit->gb_s) : std::nullopt;
}

LinkPeaks::LinkPeaks(const Machine& machine,
                     std::function<void(const LinkPeak&, const std::vector<Warning>&)> found)
    : machine_(machine), found_(std::move(found)) {}

LinkPath LinkPath::of(const transfer::Transfer& transfer) {
  if (transfer.between_gpus()) {
    return between(transfer.source.id, transfer.destination.id);
  }
  return transfer.to_gpu() ? host_to_gpu(transfer.source.id, transfer.destination.id)
                           : gpu_to_host(transfer.source.id, transfer.destination.id);
}

LinkPeak LinkPeaks::get(const LinkPath& path) {
  const auto known =
      std::find_if(peaks_.begin(), peaks_.end(), [&](const LinkPeak& peak) { return peak.path == path; });
  if (known != peaks_.end()) {
    return *known;
  }
  LinkPeak peak = measure(path);
  peaks_.push_back(peak);
  std::vector<Warning> warnings;
  const GpuReport* report = machine_.find_gpu(path.gpu);
  if (report != nullptr && peak.under_load) {
    warnings = judge_link_under_load(*report, *peak.under_load);
  }
  found_(peak, warnings);
  return peak;
}

LinkPeak LinkPeaks::measure(const LinkPath& path) const {
  LinkPeak peak{path, 0, {}, peak_bytes(path), {}, {}, {}};
  const auto limit =
      path.peer ? peer_link_limit(machine_, path.gpu, *path.peer) : host_link_limit(machine_, path.gpu);
  std::unique_ptr<transfer::Mover> mover;
  for (int session = 0; session < kSessions; ++session) {
    mover.reset();  // before the next one's buffers are allocated
    mover = transfer::make_mover(yardstick_copy(path), {&machine_.topology, nullptr});
    const Summary summary = time_copies(*mover, path, limit);
    const double rate = gb_per_s(static_cast<double>(peak.bytes), summary.median);
    if (rate > peak.peak_gb_s) {
      peak.peak_gb_s = rate;
      peak.within_gb_s = {gb_per_s(static_cast<double>(peak.bytes), summary.ci95->high),
                          gb_per_s(static_cast<double>(peak.bytes), summary.ci95->low)};
    }
  }
  if (path.peer) {
    peak.nvlinks = peer_wire(machine_, path.gpu, *path.peer).nvlinks;
    if (limit) {
      peak.theoretical_gb_s = limit->gb_s;
    }
  } else {
    peak.under_load = watch_link(machine_.nvml.get(), nvml_uuid(machine_.find_gpu(path.gpu)), *mover);
    peak.theoretical_gb_s = negotiated_gb_s(machine_, peak);
  }
  return peak;
}

}  // namespace grainscope::harness
