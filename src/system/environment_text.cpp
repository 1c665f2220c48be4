// The environment report for a reader, as a table of two columns that is wrapped to the width of a terminal.

#include <algorithm>
#include <optional>
#include <string>

#include "format.hpp"
#include "grainscope/system/environment.hpp"
#include "grainscope/system/sysfs.hpp"
#include "grainscope/system/warnings.hpp"

namespace grainscope {

inline constexpr const char* kUnknown = "unknown (not exposed)";

class TextTable {
 public:
  // A heading, after an empty line unless it is the first.
  void section(const std::string& title);
  // A label, and a value that is wrapped between words to 100 columns. An empty label continues the row
  // above.
  void row(const std::string& label, const std::string& value);
  [[nodiscard]] const std::string& text() const noexcept { return text_; }

 private:
  std::string text_;
};

[[nodiscard]] inline std::string or_unknown(const std::optional<std::string>& value) {
  return value.value_or(kUnknown);
}
[[nodiscard]] inline std::string or_unknown(const std::optional<int>& value) {
  return value ? std::to_string(*value) : kUnknown;
}
[[nodiscard]] inline std::string on_off(const std::optional<bool>& value) {
  return value ? (*value ? "on" : "off") : kUnknown;
}

// The sections on the driver and each GPU.
void write_gpus(TextTable& table, const Environment& environment);

namespace {

// Wrapping labelled values to the width of a terminal.

constexpr std::size_t kColumns = 100;
constexpr std::size_t kLabelEnd = 20;

// Columns that a text takes: bytes that continue a character in UTF-8 take none.
std::size_t columns(const std::string& text) {
  std::size_t count = 0;
  for (const char byte : text) {
    count += (static_cast<unsigned char>(byte) & 0xc0) != 0x80 ? 1 : 0;
  }
  return count;
}

}  // namespace

void TextTable::section(const std::string& title) {
  text_ += (text_.empty() ? "" : "\n") + title + "\n";
}

void TextTable::row(const std::string& label, const std::string& value) {
  std::string line = "  " + label;
  line.append(kLabelEnd - std::min(columns(line), kLabelEnd - 1), ' ');
  bool first_word = true;
  for (const std::string& word : sysfs::split_words(value)) {
    if (!first_word && columns(line) + 1 + columns(word) > kColumns) {
      text_ += line + "\n";
      line.assign(kLabelEnd, ' ');
      first_word = true;
    }
    line += (first_word ? "" : " ") + word;
    first_word = false;
  }
  text_ += line + "\n";
}

namespace {

// The report's sections on the driver and the GPUs.

std::string number(const std::optional<int>& value, const std::string& unit = "") {
  return value ? std::to_string(*value) + unit : "unknown";
}

std::string size(const std::optional<std::uint64_t>& bytes) {
  return bytes ? format_bytes(*bytes) : "unknown";
}

// `generation 5 x16`
std::string link_text(const std::optional<int>& generation, const std::optional<int>& width) {
  if (!generation && !width) {
    return "unknown";
  }
  std::string text = "generation ";
  text += number(generation);
  text += width ? " x" : " of unknown width";
  text += width ? std::to_string(*width) : "";
  return text;
}

std::string yes_no(bool value) {
  return value ? "yes" : "no";
}

void write_driver(TextTable& table, const DriverReport& driver) {
  table.section("NVIDIA driver");
  const auto& open = driver.open_kernel_module;
  table.row("version", driver.version.value_or("unknown (no driver, or not exposed)") +
                           (open ? (*open ? ", open kernel module" : ", closed kernel module") : ""));
  const auto version = [](const std::optional<int>& value) {
    return value ? (*value == 0 ? "none" : format_cuda_version(*value)) : "unknown";
  };
  table.row("CUDA", "driver up to " + version(driver.cuda_driver_version) + ", built with toolkit " +
                        (driver.cuda_toolkit_version ? version(driver.cuda_toolkit_version) : "none"));
  if (!driver.why_no_cuda.empty()) {
    table.row("no CUDA because", driver.why_no_cuda);
  }
  if (!driver.why_no_nvml.empty()) {
    table.row("no NVML because", driver.why_no_nvml);
  }
  table.row("confidential", on_off(driver.confidential_computing));
  std::vector<std::string> parameters;
  for (const auto& [name, value] : driver.uvm_parameters) {
    parameters.push_back(name);
    parameters.back().append("=").append(value);
  }
  table.row("UVM parameters", parameters.empty() ? kUnknown : join(parameters, " "));
}

void write_link(TextTable& table, const GpuReport& gpu, const NvmlDevice& nvml) {
  const auto generation = nvml.link_generation ? nvml.link_generation : gpu.sysfs_link_generation;
  const auto width = nvml.link_width ? nvml.link_width : gpu.sysfs_link_width;
  table.row("PCI Express", "now " + link_text(generation, width) + ", with this slot at most " +
                               link_text(nvml.link_generation_max, nvml.link_width_max) + ", built for " +
                               link_text(gpu.link_generation_built(), gpu.link_width_built()));
  table.row("replays", nvml.pcie_replays ? std::to_string(*nvml.pcie_replays) : kUnknown);
  table.row("near", "node " + (gpu.near.node ? std::to_string(*gpu.near.node) : kUnknown) + ", CPUs " +
                        (gpu.near.cpus.empty() ? "unknown" : sysfs::format_list(gpu.near.cpus)) +
                        (gpu.near.source.empty() ? "" : " (by " + gpu.near.source + ")"));
  table.row("IOMMU group", gpu.iommu.value_or(kUnknown));
}

std::string nvlink_text(const std::vector<NvmlNvlink>& links) {
  if (links.empty()) {
    return "none";
  }
  const auto active =
      std::count_if(links.begin(), links.end(), [](const NvmlNvlink& link) { return link.active; });
  std::string text = std::to_string(active) + " of " + std::to_string(links.size()) + " links active";
  for (const NvmlNvlink& link : links) {
    if (link.active) {
      text += ", version " + (link.version.empty() ? "unknown" : link.version);
      text += link.speed_mb_s ? ", " + format_number(static_cast<double>(*link.speed_mb_s) / 1000, 1) +
                                    " GB/s each a direction"
                              : ", of unknown speed";
      return text.append(", to ").append(link.remote_type.empty() ? "unknown" : link.remote_type);
    }
  }
  return text;
}

void write_state(TextTable& table, const NvmlDevice& nvml) {
  table.row("clocks", "SM " + number(nvml.sm_clock_mhz) + " of " + number(nvml.sm_clock_max_mhz, " MHz") +
                          ", memory " + number(nvml.memory_clock_mhz) + " of " +
                          number(nvml.memory_clock_max_mhz, " MHz"));
  const auto& reasons = nvml.clock_event_reasons;
  table.row("clock events", reasons ? (reasons->empty() ? "none" : join(*reasons)) : kUnknown);
  table.row("modes", "ECC " + on_off(nvml.ecc) + ", persistence " + on_off(nvml.persistence) + ", MIG " +
                         on_off(nvml.mig) + ", compute mode " + or_unknown(nvml.compute_mode));
  table.row("addressing", or_unknown(nvml.addressing_mode));
  table.row("memory", size(nvml.memory_used_bytes) + " used of " + size(nvml.memory_bytes) + ", BAR1 " +
                          size(nvml.bar1_bytes));
  const auto watts = nvml.power_limit_mw
                         ? format_number(static_cast<double>(*nvml.power_limit_mw) / 1000, 0) + " W"
                         : std::string("unknown");
  table.row("power", "limit " + watts + ", " + number(nvml.temperature_c, " °C") + ", energy counter " +
                         (nvml.energy_counter ? yes_no(*nvml.energy_counter) : "unknown"));
  table.row("NVLink", nvml.nvlinks ? nvlink_text(*nvml.nvlinks) : kUnknown);
  if (nvml.c2c_links.value_or(0) > 0) {
    table.row("chip to chip", count_of(static_cast<std::uint64_t>(*nvml.c2c_links), "link"));
  }
  if (!nvml.processes) {
    table.row("other processes", kUnknown);
    return;
  }
  std::vector<std::string> names;
  for (const NvmlProcess& process : *nvml.processes) {
    names.push_back((process.name.empty() ? "unknown" : process.name) + " " + std::to_string(process.pid) +
                    " (" + process.kind + ", " + size(process.used_bytes) + ")");
  }
  table.row("other processes", names.empty() ? "none" : join(names));
}

void write_cuda(TextTable& table, const cuda::DeviceProperties& device) {
  // The runtime's zero stands for what it does not tell.
  const auto told = [](std::uint64_t bytes) { return bytes == 0 ? "unknown" : format_bytes(bytes); };
  table.row("compute",
            std::to_string(device.compute_major) + "." + std::to_string(device.compute_minor) + ", " +
                (device.sm_count > 0 ? std::to_string(device.sm_count) : "unknown") + " SMs, L2 " +
                told(device.l2_bytes) + ", memory " + told(device.total_memory_bytes) + ", " +
                count_of(static_cast<std::uint64_t>(std::max(device.copy_engines, 0)), "copy engine"));
  table.row("reaches the host", "mapped memory " + yes_no(device.can_map_host_memory) + ", managed at once " +
                                    yes_no(device.concurrent_managed_access) + ", pageable " +
                                    yes_no(device.pageable_memory_access) + ", by host page tables " +
                                    yes_no(device.pageable_memory_access_uses_host_page_tables) +
                                    ", native atomics " + yes_no(device.host_native_atomics));
}

}  // namespace

void write_gpus(TextTable& table, const Environment& environment) {
  write_driver(table, environment.driver);
  for (const GpuReport& gpu : environment.gpus) {
    table.section((gpu.cuda ? "GPU " + std::to_string(gpu.cuda->ordinal) : "GPU not shown by CUDA") + ": " +
                  gpu.name);
    table.row("UUID", gpu.uuid.empty() ? kUnknown : gpu.uuid);
    table.row("PCI address", gpu.pci_bus_id.empty() ? kUnknown : gpu.pci_bus_id);
    if (gpu.cuda) {
      write_cuda(table, *gpu.cuda);
    }
    write_link(table, gpu, gpu.nvml.value_or(NvmlDevice{}));
    if (gpu.nvml) {
      write_state(table, *gpu.nvml);
    } else {
      table.row("NVML", "unknown (" +
                            (environment.driver.why_no_nvml.empty() ? "it does not list this GPU"
                                                                    : environment.driver.why_no_nvml) +
                            ")");
    }
  }
  if (!environment.peers.empty()) {
    table.section("Peers");
  }
  for (const cuda::PeerLink& peer : environment.peers) {
    table.row(std::to_string(peer.from) + " to " + std::to_string(peer.to),
              std::string(peer.access ? "direct access" : "no direct access") +
                  (peer.native_atomics ? ", native atomics" : ", no native atomics"));
  }
}

namespace {

// The report as a person reads it: warnings, then one section a topic.

void write_warning(TextTable& table, const Warning& warning) {
  table.row(std::string(severity_name(warning.severity)), warning.finding);
  table.row("", "effect: " + warning.effect);
  table.row("", "remedy: " + warning.remedy);
}

void write_warnings(TextTable& table, const std::vector<Warning>& warnings) {
  table.section(warnings.empty() ? "Warnings: none" : "Warnings");
  for (const Warning& warning : warnings) {
    write_warning(table, warning);
  }
}

std::string cache_text(const Cache& cache) {
  std::string text = "L";
  text += std::to_string(cache.level) + (cache.type == "unified" ? "" : cache.type == "data" ? "d" : "i");
  text += ' ' + format_bytes(cache.bytes) + " × " + std::to_string(cache.count);
  return cache.shared_by > 1 ? text + ", shared by " + count_of(cache.shared_by, "CPU") : text;
}

std::string policy_text(const FrequencyPolicy& policy) {
  std::string text = "CPUs " + sysfs::format_list(policy.cpus) + ": governor " + or_unknown(policy.governor) +
                     ", driver " + or_unknown(policy.driver);
  if (policy.scaling_min_khz && policy.scaling_max_khz) {
    text += ", " + format_khz(*policy.scaling_min_khz) + " to " + format_khz(*policy.scaling_max_khz);
  }
  if (policy.slowest_now_khz) {
    text += ", now " + format_khz(*policy.slowest_now_khz);
    if (policy.fastest_now_khz != policy.slowest_now_khz) {
      text += " to " + format_khz(*policy.fastest_now_khz);
    }
  }
  return policy.energy_preference ? text + ", preference " + *policy.energy_preference : text;
}

void write_cpu(TextTable& table, const CpuReport& cpu) {
  table.section("CPU");
  table.row("model", or_unknown(cpu.model) + " (" + or_unknown(cpu.vendor) + ", " + cpu.architecture + ")");
  table.row("sockets", or_unknown(cpu.sockets));
  table.row("cores", or_unknown(cpu.cores) + ", at most " + or_unknown(cpu.threads_per_core) + " CPUs each");
  table.row("CPUs",
            std::to_string(cpu.online.size()) + " online, allowed here: " + sysfs::format_list(cpu.allowed));
  table.row("SMT", on_off(cpu.smt_active));
  for (const Cache& cache : cpu.caches) {
    table.row(&cache == cpu.caches.data() ? "caches" : "", cache_text(cache));
  }
  if (cpu.caches.empty()) {
    table.row("caches", kUnknown);
  }
  for (const FrequencyPolicy& policy : cpu.policies) {
    table.row(&policy == cpu.policies.data() ? "frequency" : "", policy_text(policy));
  }
  if (cpu.policies.empty()) {
    table.row("frequency", kUnknown);
  }
  table.row("boost", on_off(cpu.boost) + (cpu.boost ? " (" + cpu.boost_source + ")" : ""));
  if (cpu.pstate_status) {
    table.row("P-state driver", *cpu.pstate_status);
  }
  table.row("isolated CPUs", cpu.isolated ? sysfs::format_list(*cpu.isolated) : kUnknown);
  table.row("microcode", or_unknown(cpu.microcode));
}

std::string node_text(const Node& node) {
  const std::string memory =
      node.memory_bytes ? format_bytes(*node.memory_bytes) : "memory " + std::string(kUnknown);
  return memory + (node.memory_allowed ? "" : " (not allowed here)") + ", CPUs " +
         sysfs::format_list(node.cpus) +
         (node.allowed_cpus == node.cpus ? "" : ", allowed here: " + sysfs::format_list(node.allowed_cpus));
}

std::string bytes_or_unknown(const std::optional<std::uint64_t>& bytes) {
  return bytes ? format_bytes(*bytes) : kUnknown;
}

void write_memory(TextTable& table, const Environment& environment) {
  const MemoryReport& memory = environment.memory;
  table.section("Memory");
  table.row("total", bytes_or_unknown(memory.total_bytes));
  table.row("available", bytes_or_unknown(memory.available.meminfo_bytes) +
                             (memory.available.cgroup_bytes ? ", by the control group's limit " +
                                                                  format_bytes(*memory.available.cgroup_bytes)
                                                            : ""));
  for (const Node& node : memory.nodes) {
    table.row("node " + std::to_string(node.id), node_text(node));
  }
  if (!memory.numa_known) {
    table.row("nodes", "unknown (" + memory.why_numa_unknown + ")");
  }
  const auto& balancing = memory.numa_balancing;
  table.row("NUMA balancing", balancing ? (*balancing == 0 ? "off" : "on") : kUnknown);
  if (memory.policy_available) {
    table.row("memory policy", *memory.policy_available ? "available" : "refused");
  }
  table.row("base page", format_bytes(memory.base_page_bytes));
  table.row("transparent huge",
            or_unknown(memory.transparent_huge) + ", defrag " + or_unknown(memory.transparent_huge_defrag));
  for (const HugePagePool& pool : memory.huge_pages) {
    table.row("huge pages", format_bytes(pool.page_bytes) + ": " + std::to_string(pool.total) +
                                " reserved, " + std::to_string(pool.free) + " free");
  }
  const auto& lock = memory.memlock_bytes;
  table.row("lockable", lock == kUnlimited ? "unlimited" : bytes_or_unknown(lock));
}

std::string percent(const std::optional<double>& value) {
  return value ? format_number(*value, 1) + " %" : "unknown";
}

void write_load(TextTable& table, const Environment& environment) {
  const LoadReport& load = environment.load;
  const CgroupLimits& group = environment.cgroup;
  table.section("Load and limits");
  const auto average = [](const std::optional<double>& value) {
    return value ? format_number(*value, 2) : "unknown";
  };
  table.row("load average",
            average(load.average_1) + ", " + average(load.average_5) + ", " + average(load.average_15));
  const PressureReport& pressure = load.pressure;
  table.row("pressure, 10 s", "CPU " + percent(pressure.cpu_some) + ", memory " +
                                  percent(pressure.memory_some) + ", all waiting for memory " +
                                  percent(pressure.memory_full) + ", input and output " +
                                  percent(pressure.io_some));
  if (!group.version) {
    table.row("control groups", kUnknown);
    return;
  }
  table.row("control groups",
            "version " + std::to_string(*group.version) + ", CPU quota " +
                (group.cpu_quota ? format_number(*group.cpu_quota, 2) + " CPUs" : "none") +
                ", memory limit " +
                (group.memory_limit_bytes ? format_bytes(*group.memory_limit_bytes) : "none"));
}

std::string iommu_text(const KernelReport& kernel) {
  std::string units = kUnknown;
  if (kernel.iommu_units) {
    units = kernel.iommu_units->empty() ? "no unit exposed" : join(*kernel.iommu_units);
  }
  return units + (kernel.iommu_options.empty() ? "" : "; command line: " + join(kernel.iommu_options, " "));
}

std::string randomisation_text(const std::optional<int>& level) {
  if (!level) {
    return kUnknown;
  }
  return *level == 0 ? "off" : (*level == 1 ? "on, without the heap" : "on");
}

void write_kernel(TextTable& table, const KernelReport& kernel) {
  table.section("System");
  table.row("kernel", or_unknown(kernel.release));
  table.row("distribution", or_unknown(kernel.distribution));
  table.row("product", or_unknown(kernel.product));
  table.row("virtual machine", kernel.virtual_machine ? (*kernel.virtual_machine ? "yes" : "no") : kUnknown);
  if (kernel.container) {
    table.row("container", *kernel.container);
  }
  table.row("clock source", or_unknown(kernel.clock_source));
  table.row("ASLR", randomisation_text(kernel.address_randomisation));
  table.row("IOMMU", iommu_text(kernel));
}

// The report within a screen.

constexpr std::size_t kMostLines = 40;

std::string count_or_unknown(const std::optional<int>& count, const std::string& what) {
  return count ? count_of(static_cast<std::uint64_t>(*count), what) : "unknown " + what + "s";
}

std::string cpu_summary(const CpuReport& cpu) {
  std::string text = or_unknown(cpu.model) + ", " + count_or_unknown(cpu.sockets, "socket") + ", " +
                     count_or_unknown(cpu.cores, "core") + ", allowed here: CPUs " +
                     sysfs::format_list(cpu.allowed) + ", SMT " + on_off(cpu.smt_active);
  return cpu.caches.empty() ? text : text + ", " + cache_text(cpu.caches.back());
}

std::string memory_summary(const MemoryReport& memory) {
  std::string text = bytes_or_unknown(memory.total_bytes) + ", available " +
                     bytes_or_unknown(memory.available.meminfo_bytes) + ", " +
                     count_of(memory.nodes.size(), "NUMA node");
  std::uint64_t free = 0;
  for (const HugePagePool& pool : memory.huge_pages) {
    free += pool.free;
  }
  return text + ", transparent huge pages " + or_unknown(memory.transparent_huge) + ", " +
         count_of(free, "free huge page");
}

std::string gpu_summary(const GpuReport& gpu) {
  const NvmlDevice nvml = gpu.nvml.value_or(NvmlDevice{});
  const auto generation = nvml.link_generation ? nvml.link_generation : gpu.sysfs_link_generation;
  const auto width = nvml.link_width ? nvml.link_width : gpu.sysfs_link_width;
  return gpu.name + ", PCI Express now " + link_text(generation, width) + ", at most " +
         link_text(nvml.link_generation_max, nvml.link_width_max) + ", NVLink " +
         (nvml.nvlinks ? nvlink_text(*nvml.nvlinks) : "unknown") + ", near node " +
         (gpu.near.node ? std::to_string(*gpu.near.node) : "unknown") + ", ECC " + on_off(nvml.ecc);
}

// GPUs that are alike share a row: `GPU 0-3`.
void write_gpu_summaries(TextTable& table, const std::vector<GpuReport>& gpus) {
  std::vector<std::pair<std::string, std::vector<int>>> kinds;
  for (const GpuReport& gpu : gpus) {
    const std::string text = gpu_summary(gpu);
    if (kinds.empty() || kinds.back().first != text || !gpu.cuda) {
      kinds.emplace_back(text, std::vector<int>{});
    }
    if (gpu.cuda) {
      kinds.back().second.push_back(gpu.cuda->ordinal);
    }
  }
  for (const auto& [text, numbers] : kinds) {
    table.row(numbers.empty() ? "GPU, not in CUDA" : "GPU " + sysfs::format_list(numbers), text);
  }
}

std::string machine_summary(const Environment& environment) {
  TextTable table;
  table.section("Machine");
  table.row("CPU", cpu_summary(environment.cpu));
  const auto& policies = environment.cpu.policies;
  table.row("frequency", policies.empty() ? kUnknown : policy_text(policies.front()));
  table.row("memory", memory_summary(environment.memory));
  const LoadReport& load = environment.load;
  table.row("load", (load.average_1 ? format_number(*load.average_1, 2) : "unknown") + ", pressure on CPUs " +
                        percent(load.pressure.cpu_some));
  const KernelReport& kernel = environment.kernel;
  const auto& virtual_machine = kernel.virtual_machine;
  table.row("system", or_unknown(kernel.distribution) + ", kernel " + or_unknown(kernel.release) +
                          ", virtual machine " + (virtual_machine ? yes_no(*virtual_machine) : "unknown"));
  table.row("NVIDIA driver", environment.driver.version.value_or("unknown (no driver, or not exposed)"));
  write_gpu_summaries(table, environment.gpus);
  return table.text();
}

std::size_t lines_of(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

}  // namespace

std::string environment_screen(const Environment& environment, const std::vector<Warning>& warnings) {
  constexpr std::size_t kAround = 3;  // an empty line, what is left out, and how to see all
  const std::string machine = machine_summary(environment);
  TextTable shown;
  shown.section(warnings.empty() ? "Warnings: none" : "Warnings");
  std::size_t left = warnings.size();
  for (const Warning& warning : warnings) {
    TextTable longer = shown;
    write_warning(longer, warning);
    if (lines_of(longer.text()) + lines_of(machine) + kAround > kMostLines) {
      break;
    }
    shown = longer;
    --left;
  }
  const std::string more = left > 0 ? "  and " + std::to_string(left) + " more\n" : "";
  return shown.text() + more + "\n" + machine + "--env --full shows all of it\n";
}

std::string environment_text(const Environment& environment, const std::vector<Warning>& warnings) {
  TextTable table;
  write_warnings(table, warnings);
  write_cpu(table, environment.cpu);
  write_memory(table, environment);
  write_load(table, environment);
  write_kernel(table, environment.kernel);
  write_gpus(table, environment);
  return table.text();
}

}  // namespace grainscope
