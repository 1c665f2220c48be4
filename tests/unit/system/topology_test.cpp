#include "grainscope/system/topology.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include "grainscope/core/error.hpp"
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

}  // namespace
}  // namespace grainscope
