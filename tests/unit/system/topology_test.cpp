// The topology of stored machines, and the files of sysfs that it is read from.

#include <gtest/gtest.h>

#include <sched.h>

#include "grainscope/core/error.hpp"
#include "grainscope/system/limits.hpp"
#include "grainscope/system/sysfs.hpp"
#include "grainscope/system/topology.hpp"
#include "machine_tree.hpp"

namespace grainscope {
namespace {

using test::MachineTree;
const std::string kGpu = "0000:81:00.0";

Roots xml(const std::string& name) {
  Roots roots;
  roots.hwloc_xml = std::string(GRAINSCOPE_FIXTURES) + "/" + name;
  return roots;
}

TEST(Topology, two_sockets_are_read_from_the_kernel) {
  MachineTree tree;
  write_two_sockets(tree);
  const Topology topology = Topology::read(tree.roots());
  ASSERT_EQ(topology.nodes().size(), 2U);
  EXPECT_TRUE(topology.numa_known());
  EXPECT_EQ(topology.nodes()[1].cpus, (std::vector<int>{4, 5, 6, 7}));
  EXPECT_EQ(topology.nodes()[1].memory_bytes, std::uint64_t{64} << 30);
  EXPECT_EQ(topology.packages(), 2);
  EXPECT_EQ(topology.cores(), 4);
  EXPECT_EQ(topology.threads_per_core(), 2);
  EXPECT_EQ(topology.node_of_cpu(5), 1);
  EXPECT_EQ(topology.node_of_cpu(99), std::nullopt);
  EXPECT_EQ(topology.distance(0, 1), 21);
  EXPECT_EQ(topology.distance(0, 7), std::nullopt);
  EXPECT_EQ(topology.usable_nodes(), (std::vector<int>{0, 1}));
}

TEST(Topology, shared_caches_are_counted_once) {
  MachineTree tree;
  write_two_sockets(tree);
  const Topology topology = Topology::read(tree.roots());
  ASSERT_EQ(topology.caches().size(), 4U);
  const Cache& last = topology.caches().back();
  EXPECT_EQ(last.level, 3);
  EXPECT_EQ(last.type, "unified");
  EXPECT_EQ(last.count, 2);
  EXPECT_EQ(last.shared_by, 4);
  EXPECT_EQ(topology.cache_bytes(2), std::uint64_t{2} << 20);
  EXPECT_EQ(topology.cache_bytes(4), std::nullopt);
  EXPECT_EQ(topology.last_level_cache_bytes(), std::uint64_t{32} << 20);
}

TEST(Topology, a_gpu_is_near_the_node_that_the_kernel_names) {
  MachineTree tree;
  write_two_sockets(tree);
  const Topology topology = Topology::read(tree.roots());
  EXPECT_EQ(topology.node_of_pci("00000000:81:00.0"), 1);
  EXPECT_EQ(topology.cpus_near_pci(kGpu), (std::vector<int>{4, 5, 6, 7}));
  EXPECT_EQ(topology.pci_locality(kGpu).source, "sysfs");
  EXPECT_EQ(topology.node_of_pci("0000:99:00.0"), std::nullopt);
}

TEST(Topology, minus_one_from_the_kernel_is_unknown_not_node_0) {
  MachineTree tree;
  write_two_sockets(tree);
  for (const char* text : {"-1", "", "garbage", "17", "4294967296"}) {
    tree.file("sys/bus/pci/devices/" + kGpu + "/numa_node", text);
    EXPECT_EQ(Topology::read(tree.roots()).node_of_pci(kGpu), std::nullopt) << text;
  }
}

TEST(Topology, hwloc_is_asked_where_the_kernel_says_minus_one) {
  MachineTree tree;
  write_two_sockets(tree);
  tree.file("sys/bus/pci/devices/" + kGpu + "/numa_node", "-1");
  Roots roots = xml("two_sockets.hwloc.xml");
  roots.filesystem = tree.path();
  const PciLocality near = Topology::read(roots).pci_locality(kGpu);
  EXPECT_EQ(near.node, 1);
  EXPECT_EQ(near.source, "hwloc");
}

TEST(Topology, one_node_is_near_on_bare_metal_and_unknown_in_a_virtual_machine) {
  MachineTree tree;
  write_container(tree);
  tree.gpu(kGpu, -1, "0-7");
  EXPECT_EQ(Topology::read(tree.roots()).node_of_pci(kGpu), std::nullopt);
  tree.file("proc/cpuinfo", "flags\t: fpu sse2");
  EXPECT_EQ(Topology::read(tree.roots()).node_of_pci(kGpu), 0);
  tree.remove("proc/cpuinfo");
  EXPECT_EQ(Topology::read(tree.roots()).node_of_pci(kGpu), std::nullopt)
      << "nothing tells whether it is one";
  tree.file("sys/bus/pci/devices/" + kGpu + "/numa_node", "0");
  EXPECT_EQ(Topology::read(tree.roots()).node_of_pci(kGpu), 0);
  tree.file("proc/cpuinfo", "flags\t: fpu hypervisor");
  EXPECT_EQ(Topology::read(tree.roots()).node_of_pci(kGpu), std::nullopt)
      << "a number that the hypervisor gave";
}

TEST(Topology, a_container_has_its_allowed_cpus_only) {
  MachineTree tree;
  write_container(tree);
  const Topology topology = Topology::read(tree.roots());
  EXPECT_EQ(topology.allowed_cpus(), (std::vector<int>{2, 3}));
  EXPECT_EQ(topology.online_cpus().size(), 8U);
  EXPECT_EQ(topology.nodes().at(0).allowed_cpus, (std::vector<int>{2, 3}));
  EXPECT_EQ(topology.usable_nodes(), std::vector<int>{0});
}

TEST(Topology, without_nodes_one_unknown_node_holds_everything) {
  MachineTree tree;
  write_container(tree);
  tree.remove("sys/devices/system/node");
  const Topology topology = Topology::read(tree.roots());
  EXPECT_FALSE(topology.numa_known());
  EXPECT_FALSE(topology.why_numa_unknown().empty());
  ASSERT_EQ(topology.nodes().size(), 1U);
  EXPECT_EQ(topology.nodes()[0].id, 0);
  EXPECT_EQ(topology.nodes()[0].cpus.size(), 8U);
  EXPECT_EQ(topology.nodes()[0].memory_bytes, std::uint64_t{32} << 30);
}

TEST(Topology, a_malformed_node_makes_all_nodes_unknown) {
  MachineTree tree;
  write_two_sockets(tree);
  tree.file("sys/devices/system/node/node1/cpulist", "4-garbage");
  const Topology topology = Topology::read(tree.roots());
  EXPECT_FALSE(topology.numa_known());
  EXPECT_EQ(topology.nodes().size(), 1U);
}

TEST(Topology, an_empty_machine_has_one_cpu_and_no_caches) {
  MachineTree tree;
  const Topology topology = Topology::read(tree.roots());
  EXPECT_EQ(topology.online_cpus(), std::vector<int>{0});
  EXPECT_FALSE(topology.numa_known());
  EXPECT_TRUE(topology.caches().empty());
  EXPECT_EQ(topology.cores(), std::nullopt);
  EXPECT_EQ(topology.last_level_cache_bytes(), std::nullopt);
}

TEST(Topology, malformed_caches_are_left_out) {
  MachineTree tree;
  write_container(tree);
  for (int cpu = 0; cpu < 8; ++cpu) {
    const std::string cache = "sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/cache/";
    tree.file(cache + "index0/size", "")
        .file(cache + "index1/size", "huge")
        .file(cache + "index2/level", "99");
    tree.file(cache + "index3/size", "99999999999999999999K");
  }
  EXPECT_TRUE(Topology::read(tree.roots()).caches().empty());
}

TEST(Topology, an_offline_node_is_left_out) {
  MachineTree tree;
  write_two_sockets(tree);
  tree.file("sys/devices/system/node/online", "0");
  EXPECT_EQ(Topology::read(tree.roots()).nodes().size(), 1U);
}

TEST(Topology, a_memory_only_node_has_no_cpus_and_cannot_be_bound_to) {
  MachineTree tree;
  write_two_sockets(tree);
  tree.node(2, "", "30 30 10", 16777216).file("sys/devices/system/node/online", "0-2");
  const Topology topology = Topology::read(tree.roots());
  ASSERT_NE(topology.find_node(2), nullptr);
  EXPECT_TRUE(topology.find_node(2)->cpus.empty());
  EXPECT_EQ(topology.usable_nodes(), (std::vector<int>{0, 1}));
}

TEST(Topology, hwloc_xml_gives_nodes_caches_cores_and_devices) {
  const Topology topology = Topology::read(xml("two_sockets.hwloc.xml"));
  ASSERT_EQ(topology.nodes().size(), 2U);
  EXPECT_EQ(topology.nodes()[1].cpus.front(), 8);
  EXPECT_EQ(topology.packages(), 2);
  EXPECT_EQ(topology.cores(), 8);
  EXPECT_EQ(topology.threads_per_core(), 2);
  EXPECT_EQ(topology.cache_bytes(3), std::uint64_t{32} << 20);
  EXPECT_EQ(topology.node_of_pci(kGpu), 1);
  EXPECT_EQ(topology.cpus_near_pci(kGpu).size(), 8U);
  EXPECT_EQ(topology.node_of_pci("0000:02:00.0"), std::nullopt) << "hangs at the whole machine";
  EXPECT_TRUE(topology.cpus_near_pci("0000:02:00.0").empty());
}

TEST(Topology, hwloc_xml_of_a_memory_only_node_gives_it_no_cpus) {
  const Topology topology = Topology::read(xml("memory_only_node.hwloc.xml"));
  ASSERT_EQ(topology.nodes().size(), 2U);
  EXPECT_EQ(topology.nodes()[0].cpus.size(), 4U);
  EXPECT_TRUE(topology.nodes()[1].cpus.empty());
  EXPECT_EQ(topology.nodes()[1].memory_bytes, std::uint64_t{16} << 30);
}

TEST(Topology, an_unreadable_xml_is_an_environment_error_that_names_it) {
  Roots roots;
  roots.hwloc_xml = "/nonexistent/machine.xml";
  try {
    (void)Topology::read(roots);
    FAIL() << "no error";
  } catch (const EnvironmentError& error) {
    EXPECT_NE(std::string(error.what()).find(roots.hwloc_xml), std::string::npos);
  }
}

TEST(Topology, this_machine_agrees_with_the_scheduler) {
  cpu_set_t set;
  CPU_ZERO(&set);
  ASSERT_EQ(sched_getaffinity(0, sizeof set, &set), 0);
  const Topology topology = Topology::read();
  EXPECT_EQ(topology.allowed_cpus().size(), static_cast<std::size_t>(CPU_COUNT(&set)));
  EXPECT_FALSE(topology.usable_nodes().empty());
}

TEST(PciBusId, is_written_as_the_kernel_writes_it) {
  EXPECT_EQ(normal_pci_bus_id("00000000:3B:00.0"), "0000:3b:00.0");
  EXPECT_EQ(normal_pci_bus_id("0000:3b:00.0"), "0000:3b:00.0");
  EXPECT_EQ(normal_pci_bus_id("3B:00.0"), "0000:3b:00.0");
  EXPECT_EQ(normal_pci_bus_id("00010000:81:00.0"), "10000:81:00.0");
  EXPECT_EQ(normal_pci_bus_id(""), "");
}

TEST(Sysfs, a_missing_file_is_unknown) {
  EXPECT_EQ(sysfs::read_text("/nonexistent/file"), std::nullopt);
}

TEST(Sysfs, a_directory_is_unknown) {
  EXPECT_EQ(sysfs::read_text("/proc"), std::nullopt);
}

TEST(Sysfs, text_comes_without_white_space_around_it) {
  MachineTree tree;
  tree.file("a", " performance \n");
  EXPECT_EQ(sysfs::read_text(tree.path() / "a"), "performance");
}

TEST(Sysfs, numbers_that_are_not_whole_are_unknown) {
  MachineTree tree;
  for (const char* text : {"", "garbage", "12x", "1.5", "99999999999999999999999", "<unsupported>"}) {
    tree.file("a", text);
    EXPECT_EQ(sysfs::read_integer(tree.path() / "a"), std::nullopt) << text;
    EXPECT_EQ(sysfs::read_unsigned(tree.path() / "a"), std::nullopt) << text;
  }
  tree.file("a", "-1");
  EXPECT_EQ(sysfs::read_integer(tree.path() / "a"), -1);
  EXPECT_EQ(sysfs::read_unsigned(tree.path() / "a"), std::nullopt);
}

TEST(Sysfs, only_words_for_on_and_off_are_switches) {
  MachineTree tree;
  EXPECT_EQ(sysfs::read_switch(tree.file("a", "1").path() / "a"), true);
  EXPECT_EQ(sysfs::read_switch(tree.file("a", "N").path() / "a"), false);
  EXPECT_EQ(sysfs::read_switch(tree.file("a", "on").path() / "a"), true);
  EXPECT_EQ(sysfs::read_switch(tree.file("a", "notimplemented").path() / "a"), std::nullopt);
  EXPECT_EQ(sysfs::read_switch(tree.file("a", "").path() / "a"), std::nullopt);
}

TEST(Sysfs, the_choice_is_the_word_in_brackets) {
  MachineTree tree;
  EXPECT_EQ(sysfs::read_choice(tree.file("a", "always [madvise] never").path() / "a"), "madvise");
  EXPECT_EQ(sysfs::read_choice(tree.file("a", "always madvise never").path() / "a"), std::nullopt);
  EXPECT_EQ(sysfs::read_choice(tree.file("a", "a ] [").path() / "a"), std::nullopt);
  EXPECT_EQ(sysfs::read_choice(tree.file("a", "[]").path() / "a"), std::nullopt);
}

TEST(Sysfs, lists_are_ranges_and_numbers) {
  EXPECT_EQ(sysfs::parse_list("0-3,8,10-11"), (std::vector<int>{0, 1, 2, 3, 8, 10, 11}));
  EXPECT_EQ(sysfs::parse_list("8,0"), (std::vector<int>{0, 8}));
  EXPECT_EQ(sysfs::parse_list(""), std::vector<int>{});
}

TEST(Sysfs, malformed_lists_are_unknown) {
  for (const char* text : {"0-", "-3", "3-1", "a", "1,,2", "0-99999999", "99999999999999999999", "1 2"}) {
    EXPECT_EQ(sysfs::parse_list(text), std::nullopt) << text;
  }
}

TEST(Sysfs, a_formatted_list_reads_back) {
  for (const char* text : {"0-3,8,10-11", "5", "0-1"}) {
    EXPECT_EQ(sysfs::format_list(sysfs::parse_list(text).value()), text);
  }
  EXPECT_EQ(sysfs::format_list({}), "none");
}

TEST(Sysfs, sizes_are_binary) {
  EXPECT_EQ(sysfs::parse_size("48K"), 49152U);
  EXPECT_EQ(sysfs::parse_size("2048 kB"), 2097152U);
  EXPECT_EQ(sysfs::parse_size("1G"), 1073741824U);
  EXPECT_EQ(sysfs::parse_size("7"), 7U);
  EXPECT_EQ(sysfs::parse_size("K"), std::nullopt);
  EXPECT_EQ(sysfs::parse_size("7 furlongs"), std::nullopt);
  EXPECT_EQ(sysfs::parse_size("18446744073709551615K"), std::nullopt);
}

TEST(Sysfs, a_value_is_that_of_the_whole_key) {
  const std::string text = "MemTotalX: 1 kB\nMemTotal:   2 kB\nMemTotal: 3 kB";
  EXPECT_EQ(sysfs::value_of(text, "MemTotal"), "2 kB");
  EXPECT_EQ(sysfs::value_of(text, "Mem"), std::nullopt);
}

TEST(Sysfs, directories_are_listed_by_number) {
  MachineTree tree;
  tree.directory("d/node10").directory("d/node2").directory("d/has_cpu");
  EXPECT_EQ(sysfs::list_directory(tree.path() / "d"),
            (std::vector<std::string>{"has_cpu", "node2", "node10"}));
  EXPECT_TRUE(sysfs::list_directory(tree.path() / "absent").empty());
}

TEST(Sysfs, a_number_follows_exactly_its_prefix) {
  EXPECT_EQ(sysfs::number_after("node12", "node"), 12);
  EXPECT_EQ(sysfs::number_after("node", "node"), std::nullopt);
  EXPECT_EQ(sysfs::number_after("node-1", "node"), std::nullopt);
  EXPECT_EQ(sysfs::number_after("cpufreq", "cpu"), std::nullopt);
}

}  // namespace
namespace {

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;

TEST(CgroupLimits, version_2_of_a_container_is_the_mount_itself) {
  MachineTree tree;
  write_container(tree);
  const CgroupLimits limits = cgroup_limits(tree.roots());
  EXPECT_EQ(limits.version, 2);
  EXPECT_EQ(limits.memory_limit_bytes, 4 * kGiB);
  EXPECT_EQ(limits.memory_usage_bytes, kGiB);
  EXPECT_DOUBLE_EQ(limits.cpu_quota.value(), 1.5);
}

TEST(CgroupLimits, max_is_no_limit) {
  MachineTree tree;
  write_container(tree);
  tree.file("sys/fs/cgroup/memory.max", "max").file("sys/fs/cgroup/cpu.max", "max 100000");
  const CgroupLimits limits = cgroup_limits(tree.roots());
  EXPECT_EQ(limits.memory_limit_bytes, std::nullopt);
  EXPECT_EQ(limits.cpu_quota, std::nullopt);
  EXPECT_EQ(available_memory(tree.roots()).cgroup_bytes, std::nullopt);
}

TEST(CgroupLimits, the_tightest_on_the_way_to_the_root_counts) {
  MachineTree tree;
  write_container(tree);
  const std::string group = "sys/fs/cgroup/kubepods/pod1";
  tree.file(group + "/box/memory.max", "max").file(group + "/memory.max", "2147483648");
  tree.file(group + "/memory.current", "0").file(group + "/cpu.max", "50000 100000");
  const CgroupLimits limits = cgroup_limits(tree.roots());
  EXPECT_EQ(limits.memory_limit_bytes, 2 * kGiB);
  EXPECT_DOUBLE_EQ(limits.cpu_quota.value(), 0.5);
}

TEST(CgroupLimits, a_fuller_group_is_tighter_than_a_smaller_empty_one) {
  MachineTree tree;
  write_container(tree);
  tree.file("sys/fs/cgroup/kubepods/memory.max", "8589934592")
      .file("sys/fs/cgroup/kubepods/memory.current", "8500000000");
  EXPECT_EQ(available_memory(tree.roots()).cgroup_bytes, 8589934592U - 8500000000U);
}

TEST(CgroupLimits, version_1_has_a_tree_for_each_controller) {
  MachineTree tree;
  tree.file("proc/self/cgroup", "4:memory:/a/b\n3:cpu,cpuacct:/c\n0::/");
  tree.file("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712");
  tree.file("sys/fs/cgroup/memory/a/b/memory.limit_in_bytes", "3221225472");
  tree.file("sys/fs/cgroup/memory/a/b/memory.usage_in_bytes", "1073741824");
  tree.file("sys/fs/cgroup/cpu/c/cpu.cfs_quota_us", "200000")
      .file("sys/fs/cgroup/cpu/c/cpu.cfs_period_us", "100000");
  const CgroupLimits limits = cgroup_limits(tree.roots());
  EXPECT_EQ(limits.version, 1);
  EXPECT_EQ(limits.memory_limit_bytes, 3 * kGiB);
  EXPECT_DOUBLE_EQ(limits.cpu_quota.value(), 2.0);
}

TEST(CgroupLimits, version_1_without_limits_has_none) {
  MachineTree tree;
  tree.file("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712");
  tree.file("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1").file("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000");
  const CgroupLimits limits = cgroup_limits(tree.roots());
  EXPECT_EQ(limits.memory_limit_bytes, std::nullopt);
  EXPECT_EQ(limits.cpu_quota, std::nullopt);
}

TEST(CgroupLimits, malformed_files_tell_nothing) {
  MachineTree tree;
  write_container(tree);
  for (const char* text : {"", "garbage", "-5", "99999999999999999999999"}) {
    tree.file("sys/fs/cgroup/memory.max", text).file("sys/fs/cgroup/cpu.max", text);
    EXPECT_EQ(cgroup_limits(tree.roots()).memory_limit_bytes, std::nullopt) << text;
    EXPECT_EQ(cgroup_limits(tree.roots()).cpu_quota, std::nullopt) << text;
  }
  tree.file("sys/fs/cgroup/cpu.max", "100000 0");
  EXPECT_EQ(cgroup_limits(tree.roots()).cpu_quota, std::nullopt);
}

TEST(CgroupLimits, a_machine_without_control_groups_has_no_version) {
  MachineTree tree;
  EXPECT_EQ(cgroup_limits(tree.roots()).version, std::nullopt);
}

TEST(AvailableMemory, is_the_smaller_of_both_and_tells_both) {
  MachineTree tree;
  write_container(tree);
  const AvailableMemory available = available_memory(tree.roots());
  EXPECT_EQ(available.meminfo_bytes, std::uint64_t{30000000} * 1024);
  EXPECT_EQ(available.cgroup_bytes, 3 * kGiB + kGiB / 4) << "page cache in the usage can be reclaimed";
  EXPECT_EQ(available.bytes(), available.cgroup_bytes);
}

TEST(AvailableMemory, a_group_over_its_limit_has_nothing_left) {
  MachineTree tree;
  write_container(tree);
  tree.file("sys/fs/cgroup/memory.current", "5368709120")
      .file("sys/fs/cgroup/memory.stat", "inactive_file 0");
  EXPECT_EQ(available_memory(tree.roots()).cgroup_bytes, 0U);
}

TEST(AvailableMemory, unknown_is_not_zero) {
  MachineTree tree;
  EXPECT_EQ(available_memory(tree.roots()).bytes(), std::nullopt);
}

TEST(MemlockLimit, is_read_in_bytes_or_unlimited_or_unknown) {
  MachineTree tree;
  EXPECT_EQ(memlock_limit(tree.roots()), std::nullopt);
  tree.file("proc/self/limits",
            "Limit  Soft Limit  Hard Limit  Units\nMax locked memory  8388608  9000000  bytes");
  EXPECT_EQ(memlock_limit(tree.roots()), 8388608U);
  tree.file("proc/self/limits", "Max locked memory   unlimited   unlimited   bytes");
  EXPECT_EQ(memlock_limit(tree.roots()), kUnlimited);
  tree.file("proc/self/limits", "Max locked memory");
  EXPECT_EQ(memlock_limit(tree.roots()), std::nullopt);
}

TEST(MemlockLimit, of_this_process_is_known) {
  EXPECT_TRUE(memlock_limit().has_value());
}

}  // namespace
}  // namespace grainscope
