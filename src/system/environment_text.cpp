// The report as a person reads it: warnings, then one section a topic.

#include "grainscope/system/environment_text.hpp"

#include <algorithm>

#include "format.hpp"
#include "grainscope/system/sysfs.hpp"
#include "text_table.hpp"

namespace grainscope {

namespace {

void write_warnings(TextTable& table, const std::vector<Warning>& warnings) {
  table.section(warnings.empty() ? "Warnings: none" : "Warnings");
  for (const Warning& warning : warnings) {
    table.row(std::string(severity_name(warning.severity)), warning.finding);
    table.row("", "effect: " + warning.effect);
    table.row("", "remedy: " + warning.remedy);
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

}  // namespace

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
