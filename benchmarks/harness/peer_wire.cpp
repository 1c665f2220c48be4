#include "peer_wire.hpp"

#include <algorithm>
#include <iterator>
#include <vector>

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

std::optional<PhysicalLimit> peer_link_limit(const Machine& machine, int from, int to) {
  const PeerWire wire = peer_wire(machine, from, to);
  if (wire.gb_s) {
    return PhysicalLimit{*wire.gb_s, std::to_string(wire.nvlinks.value_or(0)) + " NVLinks"};
  }
  if (wire.link != "pcie") {
    return std::nullopt;
  }
  const auto one = host_link_limit(machine, from);
  const auto other = host_link_limit(machine, to);
  return one && other && other->gb_s < one->gb_s ? other : one;
}

}  // namespace grainscope::harness
