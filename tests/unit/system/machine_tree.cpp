#include "machine_tree.hpp"

#include <cstdlib>
#include <fstream>
#include <stdexcept>

namespace grainscope::test {

namespace fs = std::filesystem;

MachineTree::MachineTree() {
  std::string pattern = (fs::temp_directory_path() / "grainscope_machine_XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) {
    throw std::runtime_error("making a temporary directory " + pattern);
  }
  path_ = pattern;
}

MachineTree::~MachineTree() {
  std::error_code error;
  fs::remove_all(path_, error);
}

MachineTree& MachineTree::file(const std::string& path, const std::string& text) {
  fs::create_directories((path_ / path).parent_path());
  std::ofstream(path_ / path, std::ios::binary) << text << '\n';
  return *this;
}

MachineTree& MachineTree::directory(const std::string& path) {
  fs::create_directories(path_ / path);
  return *this;
}

MachineTree& MachineTree::remove(const std::string& path) {
  fs::remove_all(path_ / path);
  return *this;
}

Roots MachineTree::roots() const {
  Roots roots;
  roots.filesystem = path_;
  return roots;
}

MachineTree& MachineTree::cpu(int number, const std::string& core_cpus, int socket,
                              const std::string& socket_cpus) {
  const std::string directory = "sys/devices/system/cpu/cpu" + std::to_string(number);
  file(directory + "/topology/core_cpus_list", core_cpus);
  file(directory + "/topology/physical_package_id", std::to_string(socket));
  const auto cache = [&](int index, int level, const char* type, const char* size,
                         const std::string& shared) {
    const std::string at = directory + "/cache/index" + std::to_string(index);
    file(at + "/level", std::to_string(level)).file(at + "/type", type);
    file(at + "/size", size).file(at + "/shared_cpu_list", shared);
  };
  cache(0, 1, "Data", "48K", core_cpus);
  cache(1, 1, "Instruction", "32K", core_cpus);
  cache(2, 2, "Unified", "2048K", core_cpus);
  cache(3, 3, "Unified", "32768K", socket_cpus);
  return *this;
}

MachineTree& MachineTree::node(int number, const std::string& cpus, const std::string& distances,
                               unsigned long memory_kb) {
  const std::string name = "node" + std::to_string(number);
  const std::string directory = "sys/devices/system/node/" + name;
  file(directory + "/cpulist", cpus).file(directory + "/distance", distances);
  return file(directory + "/meminfo", "Node " + std::to_string(number) +
                                          " MemTotal:       " + std::to_string(memory_kb) + " kB\nNode " +
                                          std::to_string(number) + " MemFree:        1024 kB");
}

MachineTree& MachineTree::frequency_policy(int cpu, const std::string& driver, const std::string& governor) {
  const std::string directory = "sys/devices/system/cpu/cpufreq/policy" + std::to_string(cpu);
  file(directory + "/affected_cpus", std::to_string(cpu)).file(directory + "/scaling_driver", driver);
  file(directory + "/scaling_governor", governor).file(directory + "/scaling_cur_freq", "2500000");
  file(directory + "/cpuinfo_min_freq", "800000").file(directory + "/cpuinfo_max_freq", "3500000");
  return file(directory + "/scaling_min_freq", "800000").file(directory + "/scaling_max_freq", "3500000");
}

MachineTree& MachineTree::gpu(const std::string& bus_id, int node, const std::string& cpus) {
  const std::string directory = "sys/bus/pci/devices/" + bus_id;
  file(directory + "/numa_node", std::to_string(node)).file(directory + "/local_cpulist", cpus);
  file(directory + "/current_link_width", "16").file(directory + "/max_link_width", "16");
  file(directory + "/current_link_speed", "32.0 GT/s PCIe")
      .file(directory + "/max_link_speed", "32.0 GT/s PCIe");
  return file(directory + "/iommu_group/type", "identity");
}

void write_two_sockets(MachineTree& tree) {
  for (int cpu = 0; cpu < 8; ++cpu) {
    const int socket = cpu / 4;
    const int first = cpu / 2 * 2;
    tree.cpu(cpu, std::to_string(first) + "-" + std::to_string(first + 1), socket,
             socket == 0 ? "0-3" : "4-7");
    tree.frequency_policy(cpu, "acpi-cpufreq", "performance");
  }
  tree.file("sys/devices/system/cpu/online", "0-7").file("sys/devices/system/cpu/smt/active", "1");
  tree.file("sys/devices/system/cpu/isolated", "").file("sys/devices/system/cpu/cpufreq/boost", "0");
  tree.node(0, "0-3", "10 21", 67108864).node(1, "4-7", "21 10", 67108864);
  tree.file("sys/devices/system/node/online", "0-1");
  tree.gpu("0000:81:00.0", 1, "4-7");
  tree.file("proc/self/status", "Name:\tx\nCpus_allowed_list:\t0-7\nMems_allowed_list:\t0-1");
  tree.file("proc/cpuinfo",
            "processor\t: 0\nvendor_id\t: AuthenticAMD\nmodel name\t: AMD EPYC 9554\n"
            "microcode\t: 0xa101144\nflags\t\t: fpu vme sse2 clflushopt");
  tree.file("proc/meminfo",
            "MemTotal:       134217728 kB\nMemAvailable:   130000000 kB\nHugepagesize:       2048 kB");
  tree.file("proc/self/limits",
            "Limit                     Soft Limit           Hard Limit           Units\n"
            "Max locked memory         unlimited            unlimited            bytes");
  tree.file("proc/sys/kernel/numa_balancing", "0").file("proc/sys/kernel/randomize_va_space", "2");
  tree.file("proc/sys/kernel/osrelease", "6.8.0-45-generic")
      .file("proc/loadavg", "0.10 0.20 0.30 1/900 4242");
  tree.file("etc/os-release", "NAME=x\nPRETTY_NAME=\"Ubuntu 24.04.1 LTS\"");
  tree.file("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never");
  tree.file("sys/kernel/mm/transparent_hugepage/defrag", "always defer defer+madvise [madvise] never");
  tree.file("sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc");
  tree.file("sys/devices/system/clocksource/clocksource0/available_clocksource", "tsc hpet acpi_pm");
  tree.directory("sys/class/iommu/ivhd0")
      .file("proc/cmdline", "BOOT_IMAGE=/vmlinuz root=UUID=secret iommu=pt quiet");
  tree.file("sys/fs/cgroup/cgroup.controllers", "cpu memory").file("proc/self/cgroup", "0::/");
  tree.file("sys/class/dmi/id/sys_vendor", "Supermicro").file("sys/class/dmi/id/product_name", "AS-8125GS");
  tree.file("sys/class/dmi/id/product_serial", "S3CR3TSERIAL");
}

void write_container(MachineTree& tree) {
  for (int cpu = 0; cpu < 8; ++cpu) {
    tree.cpu(cpu, std::to_string(cpu), 0, "0-7");
  }
  tree.file("sys/devices/system/cpu/online", "0-7").directory("sys/devices/system/cpu/cpufreq");
  tree.node(0, "0-7", "10", 33554432).file("sys/devices/system/node/online", "0");
  tree.file("proc/self/status", "Cpus_allowed_list:\t2-3\nMems_allowed_list:\t0");
  tree.file("proc/cpuinfo",
            "vendor_id\t: GenuineIntel\nmodel name\t: Intel(R) Xeon(R) Processor\n"
            "flags\t\t: fpu sse2 hypervisor");
  tree.file("proc/meminfo", "MemTotal:       33554432 kB\nMemAvailable:   30000000 kB");
  tree.file("proc/self/cgroup", "0::/kubepods/pod1/box");
  tree.file("sys/fs/cgroup/cgroup.controllers", "cpu memory").file("sys/fs/cgroup/memory.max", "4294967296");
  tree.file("sys/fs/cgroup/memory.current", "1073741824").file("sys/fs/cgroup/cpu.max", "150000 100000");
  tree.file("sys/fs/cgroup/memory.stat", "anon 1\ninactive_file 268435456\nactive_file 5");
}

}  // namespace grainscope::test
