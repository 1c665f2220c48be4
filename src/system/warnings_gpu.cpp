// Findings about GPUs, their links and their driver.

#include <algorithm>
#include <array>

#include "format.hpp"
#include "grainscope/system/sysfs.hpp"
#include "grainscope/system/warnings.hpp"

namespace grainscope {

namespace {

std::string label(const GpuReport& gpu) {
  const std::string number = gpu.cuda ? "GPU " + std::to_string(gpu.cuda->ordinal) : std::string("GPU");
  return number + " (" + gpu.name + (gpu.pci_bus_id.empty() ? "" : ", " + gpu.pci_bus_id) + ")";
}

std::string smi(const GpuReport& gpu, const std::string& option) {
  return "sudo nvidia-smi -i " + (gpu.pci_bus_id.empty() ? gpu.uuid : gpu.pci_bus_id) + " " + option;
}

// `x8 of x16 (15.8 instead of 31.5 GB/s)`
std::string narrower(int generation, int width, int full_generation, int full_width) {
  const auto now = pcie_link_gb_s(generation, width);
  const auto full = pcie_link_gb_s(full_generation, full_width);
  return now && full ? " (" + format_number(*now, 1) + " instead of " + format_number(*full, 1) + " GB/s)"
                     : "";
}

Warning narrow_link(const GpuReport& gpu, int width, int built, int generation, bool slot) {
  return {"gpu.link_width", Severity::severe,
          label(gpu) + (slot ? ": GPU and slot together have x" : ": the PCI Express link runs at x") +
              std::to_string(width) + " of x" + std::to_string(built) +
              narrower(generation, width, generation, built),
          "every transfer over the link is slower by that factor",
          slot
              ? "move the card to a slot with all its lanes (`sudo lspci -vv` shows LnkCap of the port above)"
              : "reseat the card and its riser, and check the slot's lanes (`sudo lspci -vv`: LnkSta against "
                "LnkCap)"};
}

void check_link(const GpuReport& gpu, std::vector<Warning>& found) {
  const auto from = [](const std::optional<int>& nvml, const std::optional<int>& sysfs) {
    return nvml ? nvml : sysfs;
  };
  const NvmlDevice device = gpu.nvml.value_or(NvmlDevice{});
  const auto width = from(device.link_width, gpu.sysfs_link_width);
  const auto generation = from(device.link_generation, gpu.sysfs_link_generation);
  const auto full_width = gpu.link_width_built();
  const auto full_generation = gpu.link_generation_built();
  const int reference = device.link_generation_max.value_or(full_generation.value_or(generation.value_or(0)));
  if (width && full_width && *width < *full_width) {
    // A link at the width that GPU and slot can do together is not trained down: the slot is too narrow.
    const bool slot = device.link_width_max == width;
    found.push_back(narrow_link(gpu, *width, *full_width, reference, slot));
  }
  if (device.link_generation_max && full_generation && *device.link_generation_max < *full_generation) {
    found.push_back({"gpu.slot_generation", Severity::warning,
                     label(gpu) + ": GPU and slot together do PCI Express " +
                         std::to_string(*device.link_generation_max) + ", the GPU alone " +
                         std::to_string(*full_generation),
                     "transfers are bounded by the slower side: this is not the GPU's best",
                     "check the slot's generation in the firmware set-up, or use a faster slot"});
  }
  if (generation && *generation < device.link_generation_max.value_or(full_generation.value_or(0))) {
    found.push_back({"gpu.link_idle", Severity::info,
                     label(gpu) + ": the link is at generation " + std::to_string(*generation) + " of " +
                         std::to_string(device.link_generation_max.value_or(*full_generation)) +
                         " while idle",
                     "none if it trains up under load, which the run checks",
                     "nothing to do: links train down to save power"});
  }
  if (device.pcie_replays.value_or(0) > 0) {
    found.push_back(
        {"gpu.pcie_replays", Severity::warning,
         label(gpu) + ": the link has repeated " + count_of(*device.pcie_replays, "packet"),
         "a count that grows during a run means a bad signal, which costs bandwidth",
         "compare `nvidia-smi -q | grep -i replay` before and after; if it grows, reseat card and riser"});
  }
}

void check_modes(const GpuReport& gpu, const NvmlDevice& device, std::vector<Warning>& found) {
  if (device.mig == true) {
    found.push_back({"gpu.mig", Severity::warning, label(gpu) + ": MIG is on",
                     "a program sees one slice: bandwidths and caches are not the GPU's",
                     smi(gpu, "-mig 0")});
  }
  if (device.compute_mode == "prohibited") {
    found.push_back({"gpu.compute_mode", Severity::severe, label(gpu) + ": compute mode is prohibited",
                     "no program can use the GPU", smi(gpu, "-c DEFAULT")});
  } else if (device.compute_mode && *device.compute_mode != "default") {
    found.push_back({"gpu.compute_mode", Severity::info,
                     label(gpu) + ": compute mode is " + *device.compute_mode,
                     "the run fails while another process holds the GPU", smi(gpu, "-c DEFAULT")});
  }
  if (device.persistence == false) {
    found.push_back({"gpu.persistence", Severity::warning, label(gpu) + ": persistence mode is off",
                     "between programs the driver unloads: start-up is slow and set clocks are lost",
                     smi(gpu, "-pm 1")});
  }
  if (device.ecc == false) {
    found.push_back({"gpu.ecc", Severity::info, label(gpu) + ": ECC is off",
                     "device bandwidth and capacity may be higher than with it: compare like with like",
                     smi(gpu, "-e 1") + " and reboot"});
  }
}

void check_clocks(const GpuReport& gpu, const NvmlDevice& device, std::vector<Warning>& found) {
  const auto active = [&](std::initializer_list<const char*> names) {
    std::vector<std::string> both;
    for (const std::string& reason : device.clock_event_reasons.value_or(std::vector<std::string>{})) {
      if (std::find(names.begin(), names.end(), reason) != names.end()) {
        both.push_back(reason);
      }
    }
    return join(both);
  };
  const std::string hard =
      active({"hw_slowdown", "sw_thermal_slowdown", "hw_thermal_slowdown", "hw_power_brake_slowdown"});
  const std::string soft = active({"sw_power_cap", "sync_boost", "board_limit", "reliability"});
  const std::string chosen = active({"applications_clocks_setting", "display_clock_setting"});
  if (!hard.empty()) {
    found.push_back({"gpu.slowdown", Severity::severe, label(gpu) + ": clocks are held down: " + hard,
                     "kernels and memory run slower than they should",
                     "check cooling and power: nvidia-smi -q -d PERFORMANCE,TEMPERATURE,POWER"});
  }
  if (!soft.empty()) {
    found.push_back({"gpu.clocks", Severity::warning, label(gpu) + ": clocks are limited: " + soft,
                     "kernels may run below their best clock",
                     "nvidia-smi -q -d PERFORMANCE,POWER tells more"});
  }
  if (!chosen.empty()) {
    found.push_back({"gpu.clocks_set", Severity::info, label(gpu) + ": clocks were set by someone: " + chosen,
                     "numbers are of those clocks", smi(gpu, "--reset-gpu-clocks")});
  }
}

void check_processes(const GpuReport& gpu, const NvmlDevice& device, std::vector<Warning>& found) {
  if (!device.processes || device.processes->empty()) {
    return;
  }
  constexpr std::size_t kMostNames = 4;
  std::vector<std::string> names;
  for (const NvmlProcess& process : *device.processes) {
    if (names.size() == kMostNames) {
      names.push_back("…");
      break;
    }
    names.push_back((process.name.empty() ? "" : process.name + " ") + std::to_string(process.pid));
  }
  found.push_back(
      {"gpu.processes", Severity::warning,
       label(gpu) + ": " + count_of(device.processes->size(), "other process") + " on it: " + join(names),
       "they share its link, memory and clocks", "wait for them, or end those that are yours"});
}

void check_locality(const Environment& environment, const GpuReport& gpu, std::vector<Warning>& found) {
  if (!gpu.near.node && environment.memory.nodes.size() > 1) {
    found.push_back({"gpu.node_unknown", Severity::warning,
                     label(gpu) + ": the NUMA node near it is unknown (the kernel says -1)",
                     "local and remote cannot be told apart: cases carry the locality `unknown`",
                     "`nvidia-smi topo -m` may tell; firmware settings for NUMA or ACPI SRAT may expose it"});
  }
}

void check_driver(const Environment& environment, std::vector<Warning>& found) {
  const DriverReport& driver = environment.driver;
  if (driver.confidential_computing == true) {
    found.push_back(
        {"driver.confidential_computing", Severity::severe, "confidential computing is on",
         "the GPU cannot reach host memory directly: zero-copy is skipped, copies are encrypted and slow",
         "switch it off on the host (NVIDIA's gpu-admin-tools: --set-cc-mode=off), if that is allowed"});
  }
  if (!driver.why_no_cuda.empty()) {
    found.push_back({"driver.no_cuda", Severity::info, "CUDA has no GPU: " + driver.why_no_cuda,
                     "GPU families are skipped; host and model families run", "see the finding"});
  }
  if (!driver.why_no_nvml.empty()) {
    const bool has_gpu = !environment.gpus.empty();
    found.push_back({"driver.no_nvml", has_gpu ? Severity::warning : Severity::info, driver.why_no_nvml,
                     has_gpu ? "links, clocks, energy and other processes of the GPUs are unknown"
                             : "nothing is known of GPUs",
                     "see the finding"});
  }
}

}  // namespace

std::optional<double> pcie_link_gb_s(int generation, int width) noexcept {
  // 8b/10b, then 128b/130b; generation 6 carries 236 bytes of packets in a flit of 256.
  constexpr std::array<double, 6> kPerLane = {2.5 * 8 / 10,     5.0 * 8 / 10,     8.0 * 128 / 130,
                                              16.0 * 128 / 130, 32.0 * 128 / 130, 64.0 * 236 / 256};
  if (generation < 1 || generation > static_cast<int>(kPerLane.size()) || width < 1) {
    return std::nullopt;
  }
  return kPerLane[static_cast<std::size_t>(generation) - 1] / 8 * width;
}

std::vector<Warning> find_gpu_warnings(const Environment& environment) {
  std::vector<Warning> found;
  check_driver(environment, found);
  for (const GpuReport& gpu : environment.gpus) {
    check_link(gpu, found);
    if (gpu.nvml) {
      check_modes(gpu, *gpu.nvml, found);
      check_clocks(gpu, *gpu.nvml, found);
      check_processes(gpu, *gpu.nvml, found);
    }
    check_locality(environment, gpu, found);
    if (!gpu.cuda && environment.driver.why_no_cuda.empty()) {
      found.push_back({"gpu.hidden", Severity::info, label(gpu) + ": CUDA does not show it to this process",
                       "it is not measured", "unset CUDA_VISIBLE_DEVICES"});
    }
  }
  return found;
}

std::vector<Warning> judge_link_under_load(const GpuReport& gpu, const NvmlLinkState& under_load) {
  std::vector<Warning> found;
  const auto full_width = gpu.link_width_built();
  const auto full_generation =
      gpu.nvml && gpu.nvml->link_generation_max ? gpu.nvml->link_generation_max : gpu.link_generation_built();
  if (full_width && under_load.width < *full_width) {
    const bool slot = gpu.nvml && gpu.nvml->link_width_max == under_load.width;
    found.push_back(narrow_link(gpu, under_load.width, *full_width, under_load.generation, slot));
  }
  if (full_generation && under_load.generation < *full_generation) {
    found.push_back(
        {"gpu.link_generation", Severity::severe,
         label(gpu) + ": under load the link runs at generation " + std::to_string(under_load.generation) +
             " of " + std::to_string(*full_generation) +
             narrower(under_load.generation, under_load.width, *full_generation, under_load.width),
         "every transfer over the link is slower by that factor",
         "check the slot's speed in the firmware set-up, and reseat card and riser"});
  }
  return found;
}

}  // namespace grainscope
