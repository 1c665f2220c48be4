// Memory, kernel and load.

#include <algorithm>
#include <cstdlib>

#include "grainscope/system/environment.hpp"
#include "grainscope/system/host_memory.hpp"
#include "grainscope/system/numa.hpp"
#include "grainscope/system/sysfs.hpp"
#include "platform.hpp"

namespace grainscope {

namespace {

namespace fs = std::filesystem;

std::vector<HugePagePool> read_pools(const fs::path& directory) {
  std::vector<HugePagePool> pools;
  for (const std::string& name : sysfs::list_directory(directory)) {
    constexpr std::string_view kPrefix = "hugepages-";
    const auto bytes =
        name.rfind(kPrefix, 0) == 0 ? sysfs::parse_size(name.substr(kPrefix.size())) : std::nullopt;
    const auto total = sysfs::read_unsigned(directory / name / "nr_hugepages");
    if (bytes && total) {
      pools.push_back({*bytes, *total, sysfs::read_unsigned(directory / name / "free_hugepages").value_or(0),
                       sysfs::read_unsigned(directory / name / "resv_hugepages").value_or(0)});
    }
  }
  std::sort(pools.begin(), pools.end(),
            [](const auto& left, const auto& right) { return left.page_bytes < right.page_bytes; });
  return pools;
}

std::optional<double> parse_number(const std::string& text) {
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  const bool whole = !text.empty() && end == text.c_str() + text.size();
  return whole && number >= 0 && number < 1e9 ? std::optional<double>(number) : std::nullopt;
}

// `some avg10=0.10 avg60=0.05 avg300=0.09 total=2314118`: the figure over 10 s of the line of this kind.
std::optional<double> pressure(const fs::path& path, const std::string& kind) {
  constexpr std::string_view kKey = "avg10=";
  for (const std::string& line : sysfs::split_lines(sysfs::read_text(path).value_or(""))) {
    const auto words = sysfs::split_words(line);
    if (words.size() > 1 && words[0] == kind && words[1].rfind(kKey, 0) == 0) {
      return parse_number(words[1].substr(kKey.size()));
    }
  }
  return std::nullopt;
}

// `PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"`
std::optional<std::string> distribution_name(const Roots& roots) {
  constexpr std::string_view kKey = "PRETTY_NAME=";
  for (const char* path : {"etc/os-release", "usr/lib/os-release"}) {
    for (const std::string& line :
         sysfs::split_lines(sysfs::read_text(roots.filesystem / path).value_or(""))) {
      if (line.rfind(kKey, 0) == 0) {
        std::string name(sysfs::trim(std::string_view(line).substr(kKey.size())));
        std::erase(name, '"');
        return name.empty() ? std::nullopt : std::optional<std::string>(name);
      }
    }
  }
  return std::nullopt;
}

// The rest of a kernel command line may tell what is nobody's business; these words tell of the IOMMU.
std::vector<std::string> iommu_options(const Roots& roots) {
  std::vector<std::string> options;
  for (const std::string& word :
       sysfs::split_words(sysfs::read_text(roots.filesystem / "proc/cmdline").value_or(""))) {
    if (word.find("iommu") != std::string::npos) {
      options.push_back(word);
    }
  }
  return options;
}

std::optional<std::string> container_kind(const Roots& roots) {
  std::error_code error;
  if (fs::exists(roots.filesystem / ".dockerenv", error)) {
    return "docker";
  }
  if (fs::exists(roots.filesystem / "run/.containerenv", error)) {
    return "podman";
  }
  if (fs::exists(roots.filesystem / ".singularity.d", error)) {
    return "apptainer";
  }
  const std::string groups = sysfs::read_text(roots.filesystem / "proc/self/cgroup").value_or("");
  for (const char* kind : {"kubepods", "docker", "lxc"}) {
    if (groups.find(kind) != std::string::npos) {
      return kind;
    }
  }
  return std::nullopt;
}

std::optional<std::string> hypervisor_name(const Roots& roots) {
  const auto type = sysfs::read_text(roots.filesystem / "sys/hypervisor/type");
  return type && !type->empty() ? type : std::nullopt;
}

}  // namespace

MemoryReport read_memory(const Roots& roots, const Topology& topology) {
  const fs::path transparent = roots.filesystem / "sys/kernel/mm/transparent_hugepage";
  MemoryReport memory;
  memory.total_bytes = total_memory_bytes(roots);
  memory.available = available_memory(roots);
  memory.nodes = topology.nodes();
  memory.numa_known = topology.numa_known();
  memory.why_numa_unknown = topology.why_numa_unknown();
  const auto balancing = sysfs::read_integer(roots.filesystem / "proc/sys/kernel/numa_balancing");
  if (balancing && *balancing >= 0 && *balancing < 16) {
    memory.numa_balancing = static_cast<int>(*balancing);
  }
  memory.transparent_huge = sysfs::read_choice(transparent / "enabled");
  memory.transparent_huge_defrag = sysfs::read_choice(transparent / "defrag");
  memory.huge_pages = read_pools(roots.filesystem / "sys/kernel/mm/hugepages");
  memory.memlock_bytes = memlock_limit(roots);
  memory.base_page_bytes = base_page_bytes();
  if (roots.is_this_machine()) {
    memory.policy_available = memory_policy_available(&memory.why_no_policy);
  }
  return memory;
}

KernelReport read_kernel(const Roots& roots) {
  const fs::path clock = roots.filesystem / "sys/devices/system/clocksource/clocksource0";
  const fs::path iommu = roots.filesystem / "sys/class/iommu";
  KernelReport kernel;
  kernel.release = sysfs::read_text(roots.filesystem / "proc/sys/kernel/osrelease");
  kernel.distribution = distribution_name(roots);
  const auto randomisation = sysfs::read_integer(roots.filesystem / "proc/sys/kernel/randomize_va_space");
  if (randomisation && *randomisation >= 0 && *randomisation <= 2) {
    kernel.address_randomisation = static_cast<int>(*randomisation);
  }
  const auto source = sysfs::read_text(clock / "current_clocksource");
  kernel.clock_source = source && !source->empty() ? source : std::nullopt;
  kernel.clock_sources_available =
      sysfs::split_words(sysfs::read_text(clock / "available_clocksource").value_or(""));
  kernel.iommu_options = iommu_options(roots);
  std::error_code error;
  if (fs::is_directory(iommu, error)) {
    kernel.iommu_units = sysfs::list_directory(iommu);
  }
  kernel.virtual_machine = is_virtual_machine(roots);
  kernel.hypervisor = hypervisor_name(roots);
  kernel.product = product_name(roots);
  kernel.container = container_kind(roots);
  return kernel;
}

LoadReport read_load(const Roots& roots) {
  const fs::path proc = roots.filesystem / "proc";
  LoadReport load;
  const auto words = sysfs::split_words(sysfs::read_text(proc / "loadavg").value_or(""));
  if (words.size() >= 3) {
    load.average_1 = parse_number(words[0]);
    load.average_5 = parse_number(words[1]);
    load.average_15 = parse_number(words[2]);
  }
  load.pressure.cpu_some = pressure(proc / "pressure/cpu", "some");
  load.pressure.memory_some = pressure(proc / "pressure/memory", "some");
  load.pressure.memory_full = pressure(proc / "pressure/memory", "full");
  load.pressure.io_some = pressure(proc / "pressure/io", "some");
  load.pressure.io_full = pressure(proc / "pressure/io", "full");
  return load;
}

}  // namespace grainscope
