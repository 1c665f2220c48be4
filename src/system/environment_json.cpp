// The report as `context.environment` of the result file.

#include "grainscope/system/warnings.hpp"

#include <nlohmann/json.hpp>

#include "nvml_fields.hpp"

namespace grainscope {

using nlohmann::json;

namespace {

json text_or_null(const std::optional<std::string>& text) {
  return text ? json(*text) : json(nullptr);
}
json text_or_null(const std::string& text) {
  return text.empty() ? json(nullptr) : json(text);
}

json policies_json(const std::vector<FrequencyPolicy>& policies) {
  json rows = json::array();
  for (const FrequencyPolicy& policy : policies) {
    rows.push_back({{"cpus", policy.cpus},
                    {"driver", text_or_null(policy.driver)},
                    {"governor", text_or_null(policy.governor)},
                    {"energy_preference", text_or_null(policy.energy_preference)},
                    {"hardware_min_khz", to_json_value(policy.hardware_min_khz)},
                    {"hardware_max_khz", to_json_value(policy.hardware_max_khz)},
                    {"scaling_min_khz", to_json_value(policy.scaling_min_khz)},
                    {"scaling_max_khz", to_json_value(policy.scaling_max_khz)},
                    {"slowest_now_khz", to_json_value(policy.slowest_now_khz)},
                    {"fastest_now_khz", to_json_value(policy.fastest_now_khz)}});
  }
  return rows;
}

json cpu_json(const CpuReport& cpu) {
  json caches = json::array();
  for (const Cache& cache : cpu.caches) {
    caches.push_back({{"level", cache.level},
                      {"type", cache.type},
                      {"bytes", cache.bytes},
                      {"count", cache.count},
                      {"shared_by", cache.shared_by}});
  }
  return {{"model", text_or_null(cpu.model)},
          {"vendor", text_or_null(cpu.vendor)},
          {"architecture", cpu.architecture},
          {"microcode", text_or_null(cpu.microcode)},
          {"sockets", to_json_value(cpu.sockets)},
          {"cores", to_json_value(cpu.cores)},
          {"threads_per_core", to_json_value(cpu.threads_per_core)},
          {"smt_active", to_json_value(cpu.smt_active)},
          {"online", cpu.online},
          {"allowed", cpu.allowed},
          {"caches", caches},
          {"frequency_policies", cpu.policies.empty() ? json(nullptr) : policies_json(cpu.policies)},
          {"boost", to_json_value(cpu.boost)},
          {"boost_source", text_or_null(cpu.boost_source)},
          {"pstate_status", text_or_null(cpu.pstate_status)},
          {"isolated", to_json_value(cpu.isolated)},
          {"tickless", to_json_value(cpu.tickless)}};
}

json memory_json(const MemoryReport& memory) {
  json nodes = json::array();
  for (const Node& node : memory.nodes) {
    nodes.push_back({{"id", node.id},
                     {"cpus", node.cpus},
                     {"allowed_cpus", node.allowed_cpus},
                     {"memory_bytes", to_json_value(node.memory_bytes)},
                     {"memory_allowed", node.memory_allowed}});
  }
  json pools = json::array();
  for (const HugePagePool& pool : memory.huge_pages) {
    pools.push_back({{"page_bytes", pool.page_bytes},
                     {"total", pool.total},
                     {"free", pool.free},
                     {"reserved", pool.reserved}});
  }
  json lockable = to_json_value(memory.memlock_bytes);
  if (memory.memlock_bytes == kUnlimited) {
    lockable = "unlimited";
  }
  return {{"total_bytes", to_json_value(memory.total_bytes)},
          {"available",
           {{"meminfo_bytes", to_json_value(memory.available.meminfo_bytes)},
            {"cgroup_bytes", to_json_value(memory.available.cgroup_bytes)}}},
          {"numa_known", memory.numa_known},
          {"why_numa_unknown", text_or_null(memory.why_numa_unknown)},
          {"nodes", nodes},
          {"numa_balancing", to_json_value(memory.numa_balancing)},
          {"policy_available", to_json_value(memory.policy_available)},
          {"base_page_bytes", memory.base_page_bytes},
          {"transparent_huge", text_or_null(memory.transparent_huge)},
          {"transparent_huge_defrag", text_or_null(memory.transparent_huge_defrag)},
          {"huge_pages", pools},
          {"memlock_bytes", lockable}};
}

json kernel_json(const KernelReport& kernel) {
  return {{"release", text_or_null(kernel.release)},
          {"distribution", text_or_null(kernel.distribution)},
          {"address_randomisation", to_json_value(kernel.address_randomisation)},
          {"clock_source", text_or_null(kernel.clock_source)},
          {"clock_sources_available", kernel.clock_sources_available},
          {"iommu_options", kernel.iommu_options},
          {"iommu_units", to_json_value(kernel.iommu_units)},
          {"virtual_machine", to_json_value(kernel.virtual_machine)},
          {"hypervisor", text_or_null(kernel.hypervisor)},
          {"product", text_or_null(kernel.product)},
          {"container", text_or_null(kernel.container)}};
}

json load_json(const LoadReport& load) {
  const PressureReport& pressure = load.pressure;
  return {{"average_1", to_json_value(load.average_1)},
          {"average_5", to_json_value(load.average_5)},
          {"average_15", to_json_value(load.average_15)},
          {"pressure_percent",
           {{"cpu_some", to_json_value(pressure.cpu_some)},
            {"memory_some", to_json_value(pressure.memory_some)},
            {"memory_full", to_json_value(pressure.memory_full)},
            {"io_some", to_json_value(pressure.io_some)},
            {"io_full", to_json_value(pressure.io_full)}}}};
}

json cgroup_json(const CgroupLimits& limits) {
  return {{"version", to_json_value(limits.version)},
          {"cpu_quota", to_json_value(limits.cpu_quota)},
          {"memory_limit_bytes", to_json_value(limits.memory_limit_bytes)},
          {"memory_usage_bytes", to_json_value(limits.memory_usage_bytes)}};
}

json driver_json(const DriverReport& driver) {
  return {{"version", text_or_null(driver.version)},
          {"open_kernel_module", to_json_value(driver.open_kernel_module)},
          {"cuda_driver_version", to_json_value(driver.cuda_driver_version)},
          {"cuda_toolkit_version", to_json_value(driver.cuda_toolkit_version)},
          {"why_no_cuda", text_or_null(driver.why_no_cuda)},
          {"why_no_nvml", text_or_null(driver.why_no_nvml)},
          {"confidential_computing", to_json_value(driver.confidential_computing)},
          {"uvm_parameters", driver.uvm_parameters}};
}

json cuda_json(const cuda::DeviceProperties& device) {
  const auto told = [](auto value) { return value == 0 ? json(nullptr) : json(value); };
  return {
      {"ordinal", device.ordinal},
      {"compute_capability",
       std::to_string(device.compute_major) + "." + std::to_string(device.compute_minor)},
      {"sm_count", told(device.sm_count)},
      {"total_memory_bytes", told(device.total_memory_bytes)},
      {"held_memory_bytes", device.held_memory_bytes},
      {"l2_bytes", told(device.l2_bytes)},
      {"memory_clock_hz", told(device.memory_clock_hz)},
      {"memory_bus_width_bits", told(device.memory_bus_width_bits)},
      {"can_map_host_memory", device.can_map_host_memory},
      {"concurrent_managed_access", device.concurrent_managed_access},
      {"pageable_memory_access", device.pageable_memory_access},
      {"pageable_memory_access_uses_host_page_tables", device.pageable_memory_access_uses_host_page_tables},
      {"host_native_atomics", device.host_native_atomics},
      {"integrated", device.integrated},
      {"ecc_enabled", device.ecc_enabled},
      {"copy_engines", device.copy_engines},
      {"host_numa_node", device.host_numa_node < 0 ? json(nullptr) : json(device.host_numa_node)}};
}

json gpu_json(const GpuReport& gpu) {
  return {{"name", gpu.name},
          {"uuid", text_or_null(gpu.uuid)},
          {"pci_bus_id", text_or_null(gpu.pci_bus_id)},
          {"numa_node", to_json_value(gpu.near.node)},
          {"near_cpus", gpu.near.cpus.empty() ? json(nullptr) : json(gpu.near.cpus)},
          {"locality_source", text_or_null(gpu.near.source)},
          {"iommu", text_or_null(gpu.iommu)},
          {"link_generation_built", to_json_value(gpu.link_generation_built())},
          {"link_width_built", to_json_value(gpu.link_width_built())},
          {"cuda", gpu.cuda ? cuda_json(*gpu.cuda) : json(nullptr)},
          {"nvml", gpu.nvml ? nvml_device_json(*gpu.nvml) : json(nullptr)}};
}

}  // namespace

json warnings_json(const std::vector<Warning>& warnings) {
  json rows = json::array();
  for (const Warning& warning : warnings) {
    rows.push_back({{"id", warning.id},
                    {"severity", severity_name(warning.severity)},
                    {"finding", warning.finding},
                    {"effect", warning.effect},
                    {"remedy", warning.remedy}});
  }
  return rows;
}

std::vector<Warning> warnings_from_json(const json& rows) {
  std::vector<Warning> warnings;
  for (const json& row : rows) {
    Warning warning{row.at("id"), Severity::info, row.at("finding"), row.at("effect"), row.at("remedy")};
    for (const Severity severity : {Severity::warning, Severity::severe}) {
      if (row.at("severity") == severity_name(severity)) {
        warning.severity = severity;
      }
    }
    warnings.push_back(std::move(warning));
  }
  return warnings;
}

json nvml_device_json(const NvmlDevice& device) {
  json object = json::object();
  visit_device(device, [&](const char* key, const auto& value) { object[key] = to_json_value(value); });
  object["processes"] = nullptr;
  object["nvlinks"] = nullptr;
  if (device.processes) {
    object["processes"] = json::array();
    for (const NvmlProcess& process : *device.processes) {
      json row;
      visit_process(process, [&](const char* key, const auto& value) { row[key] = to_json_value(value); });
      object["processes"].push_back(row);
    }
  }
  if (device.nvlinks) {
    object["nvlinks"] = json::array();
    for (const NvmlNvlink& link : *device.nvlinks) {
      json row;
      visit_nvlink(link, [&](const char* key, const auto& value) { row[key] = to_json_value(value); });
      object["nvlinks"].push_back(row);
    }
  }
  return object;
}

json environment_json(const Environment& environment, const std::vector<Warning>& warnings) {
  json gpus = json::array();
  for (const GpuReport& gpu : environment.gpus) {
    gpus.push_back(gpu_json(gpu));
  }
  json peers = json::array();
  for (const cuda::PeerLink& peer : environment.peers) {
    peers.push_back({{"from", peer.from},
                     {"to", peer.to},
                     {"access", peer.access},
                     {"native_atomics", peer.native_atomics}});
  }
  const json whole = {{"cpu", cpu_json(environment.cpu)},
                      {"memory", memory_json(environment.memory)},
                      {"kernel", kernel_json(environment.kernel)},
                      {"load", load_json(environment.load)},
                      {"cgroup", cgroup_json(environment.cgroup)},
                      {"driver", driver_json(environment.driver)},
                      {"gpus", gpus},
                      {"peers", peers},
                      {"warnings", warnings_json(warnings)}};
  // Text from firmware, drivers and other processes need not be UTF-8, which JSON must be.
  return json::parse(whole.dump(-1, ' ', false, json::error_handler_t::replace));
}

}  // namespace grainscope
