// Processors: what they are, and who decides how fast they run.

#include <sys/utsname.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "grainscope/system/environment.hpp"
#include "grainscope/system/sysfs.hpp"

namespace grainscope {

namespace {

namespace fs = std::filesystem;

// The first of the keys that cpuinfo has: architectures name things differently.
std::optional<std::string> first_value(const std::string& cpuinfo, std::initializer_list<const char*> keys) {
  for (const char* key : keys) {
    auto value = sysfs::value_of(cpuinfo, key);
    if (value && !value->empty()) {
      return value;
    }
  }
  return std::nullopt;
}

// AArch64 kernels print numbers for names; the implementers are those of Arm's MIDR_EL1 register.
std::optional<std::string> arm_vendor(const std::string& cpuinfo) {
  static const std::map<std::string, std::string> kImplementers = {
      {"0x41", "Arm"},       {"0x42", "Broadcom"},  {"0x43", "Cavium"}, {"0x46", "Fujitsu"},
      {"0x48", "HiSilicon"}, {"0x4e", "NVIDIA"},    {"0x50", "APM"},    {"0x51", "Qualcomm"},
      {"0x61", "Apple"},     {"0x6d", "Microsoft"}, {"0xc0", "Ampere"}};
  const auto code = sysfs::value_of(cpuinfo, "CPU implementer");
  const auto found = code ? kImplementers.find(*code) : kImplementers.end();
  return found == kImplementers.end() ? code : std::optional<std::string>(found->second);
}

std::optional<std::string> arm_model(const std::string& cpuinfo) {
  static const std::map<std::string, std::string> kParts = {
      {"0x41 0xd0c", "Neoverse N1"}, {"0x41 0xd40", "Neoverse V1"}, {"0x41 0xd49", "Neoverse N2"},
      {"0x41 0xd4f", "Neoverse V2"}, {"0x4e 0x004", "Carmel"},      {"0xc0 0xac3", "Ampere-1"}};
  const auto code = sysfs::value_of(cpuinfo, "CPU implementer");
  const auto part = sysfs::value_of(cpuinfo, "CPU part");
  if (!code || !part) {
    return std::nullopt;
  }
  const auto found = kParts.find(*code + " " + *part);
  return found == kParts.end() ? arm_vendor(cpuinfo).value_or(*code) + " part " + *part : found->second;
}

std::optional<std::string> nonempty(std::optional<std::string> text) {
  return text && !text->empty() ? text : std::nullopt;
}

FrequencyPolicy read_policy(const fs::path& directory, bool with_current) {
  FrequencyPolicy policy;
  // Unlike other lists of CPUs, this one separates with blanks.
  for (const std::string& word :
       sysfs::split_words(sysfs::read_text(directory / "affected_cpus").value_or(""))) {
    if (const auto cpu = sysfs::parse_list(word); cpu && cpu->size() == 1) {
      policy.cpus.push_back(cpu->front());
    }
  }
  policy.driver = nonempty(sysfs::read_text(directory / "scaling_driver"));
  policy.governor = nonempty(sysfs::read_text(directory / "scaling_governor"));
  policy.energy_preference = nonempty(sysfs::read_text(directory / "energy_performance_preference"));
  policy.hardware_min_khz = sysfs::read_unsigned(directory / "cpuinfo_min_freq");
  policy.hardware_max_khz = sysfs::read_unsigned(directory / "cpuinfo_max_freq");
  policy.scaling_min_khz = sysfs::read_unsigned(directory / "scaling_min_freq");
  policy.scaling_max_khz = sysfs::read_unsigned(directory / "scaling_max_freq");
  if (with_current) {
    policy.slowest_now_khz = policy.fastest_now_khz = sysfs::read_unsigned(directory / "scaling_cur_freq");
  }
  return policy;
}

bool steered_alike(const FrequencyPolicy& left, const FrequencyPolicy& right) {
  const auto key = [](const FrequencyPolicy& policy) {
    return std::tie(policy.driver, policy.governor, policy.energy_preference, policy.hardware_min_khz,
                    policy.hardware_max_khz, policy.scaling_min_khz, policy.scaling_max_khz);
  };
  return key(left) == key(right);
}

void join(FrequencyPolicy& group, const FrequencyPolicy& policy) {
  group.cpus.insert(group.cpus.end(), policy.cpus.begin(), policy.cpus.end());
  std::sort(group.cpus.begin(), group.cpus.end());
  if (policy.slowest_now_khz) {
    group.slowest_now_khz = std::min(group.slowest_now_khz.value_or(UINT64_MAX), *policy.slowest_now_khz);
    group.fastest_now_khz = std::max(group.fastest_now_khz.value_or(0), *policy.fastest_now_khz);
  }
}

std::vector<FrequencyPolicy> read_policies(const fs::path& cpu_directory) {
  // Kernels before 5.18 sleep 10 ms or more for the current frequency of an idle CPU, so it is read of a
  // few policies, evenly spread.
  constexpr std::size_t kMostCurrentReads = 8;
  std::vector<std::string> names = sysfs::list_directory(cpu_directory / "cpufreq");
  std::erase_if(names, [](const std::string& name) { return !sysfs::number_after(name, "policy"); });
  const std::size_t step = names.size() / kMostCurrentReads + 1;
  std::vector<FrequencyPolicy> groups;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const FrequencyPolicy policy = read_policy(cpu_directory / "cpufreq" / names[i], i % step == 0);
    if (!policy.driver && !policy.governor) {
      continue;  // an empty or unreadable policy tells nothing
    }
    const auto same = std::find_if(groups.begin(), groups.end(), [&](const FrequencyPolicy& group) {
      return steered_alike(group, policy);
    });
    if (same == groups.end()) {
      groups.push_back(policy);
    } else {
      join(*same, policy);
    }
  }
  return groups;
}

void read_boost(const fs::path& cpu_directory, CpuReport& cpu) {
  if (const auto no_turbo = sysfs::read_switch(cpu_directory / "intel_pstate/no_turbo")) {
    cpu.boost = !*no_turbo;
    cpu.boost_source = "intel_pstate/no_turbo";
  } else if (const auto boost = sysfs::read_switch(cpu_directory / "cpufreq/boost")) {
    cpu.boost = boost;
    cpu.boost_source = "cpufreq/boost";
  }
  for (const char* driver : {"intel_pstate", "amd_pstate"}) {
    if (const auto status = nonempty(sysfs::read_text(cpu_directory / driver / "status"))) {
      cpu.pstate_status = std::string(driver) + " " + *status;
    }
  }
}

std::string architecture_name() {
  utsname system{};
  return uname(&system) == 0 ? system.machine : "unknown";
}

}  // namespace

CpuReport read_cpu(const Roots& roots, const Topology& topology) {
  const fs::path directory = roots.filesystem / "sys/devices/system/cpu";
  const std::string cpuinfo = sysfs::read_text(roots.filesystem / "proc/cpuinfo").value_or("");
  CpuReport cpu;
  cpu.model = first_value(cpuinfo, {"model name", "cpu", "cpu model", "Model"});
  if (!cpu.model) {
    cpu.model = arm_model(cpuinfo);
  }
  cpu.vendor = first_value(cpuinfo, {"vendor_id", "vendor"});
  if (!cpu.vendor) {
    cpu.vendor = arm_vendor(cpuinfo);
  }
  cpu.microcode = nonempty(sysfs::read_text(directory / "cpu0/microcode/version"));
  if (!cpu.microcode) {
    cpu.microcode = first_value(cpuinfo, {"microcode"});
  }
  cpu.architecture = architecture_name();
  cpu.sockets = topology.packages();
  cpu.cores = topology.cores();
  cpu.threads_per_core = topology.threads_per_core();
  cpu.smt_active = sysfs::read_switch(directory / "smt/active");
  cpu.online = topology.online_cpus();
  cpu.allowed = topology.allowed_cpus();
  cpu.caches = topology.caches();
  cpu.policies = read_policies(directory);
  read_boost(directory, cpu);
  cpu.isolated = sysfs::read_list(directory / "isolated");
  cpu.tickless = sysfs::read_list(directory / "nohz_full");
  return cpu;
}

}  // namespace grainscope
