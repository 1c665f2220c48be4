#include "grainscope/system/numa.hpp"

#include <gtest/gtest.h>
#include <linux/mempolicy.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <type_traits>

#include "contains.hpp"
#include "grainscope/core/error.hpp"
#include "machine_tree.hpp"
#include "refused_calls.hpp"

namespace grainscope {
namespace {

using test::contains;
using test::MachineTree;

// The calling thread's memory policy, asked of the kernel itself.
int policy_mode() {
  int mode = -1;
  syscall(SYS_get_mempolicy, &mode, nullptr, 0, nullptr, 0);
  return mode;
}

std::string binding_error(const Topology& topology, int node) {
  try {
    const NodeBinding binding(topology, node);
    return "no error";
  } catch (const EnvironmentError& error) {
    return error.what();
  }
}

static_assert(!std::is_copy_constructible_v<NodeBinding> && !std::is_move_constructible_v<NodeBinding>);

TEST(NodeBinding, binds_cpus_and_memory_and_restores_both) {
  const Topology topology = Topology::read();
  const int node = topology.usable_nodes().front();
  if (!topology.numa_known() || !memory_policy_available()) {
    GTEST_SKIP() << "this machine has no memory policies";
  }
  const auto cpus_before = current_affinity();
  ASSERT_EQ(syscall(SYS_set_mempolicy, MPOL_LOCAL, nullptr, 0), 0);
  {
    const NodeBinding binding(topology, node);
    EXPECT_EQ(binding.node(), node);
    EXPECT_TRUE(binding.binds_memory());
    EXPECT_EQ(policy_mode(), MPOL_BIND);
    EXPECT_EQ(current_affinity(), topology.find_node(node)->allowed_cpus);
  }
  EXPECT_EQ(policy_mode(), MPOL_LOCAL);
  EXPECT_EQ(current_affinity(), cpus_before);
  ASSERT_EQ(syscall(SYS_set_mempolicy, MPOL_DEFAULT, nullptr, 0), 0);
}

TEST(NodeBinding, restores_a_narrower_affinity) {
  const Topology topology = Topology::read();
  const auto all = current_affinity();
  if (all.size() < 2) {
    GTEST_SKIP() << "one CPU only";
  }
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(static_cast<std::size_t>(all.back()), &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  { const NodeBinding binding(topology, topology.node_of_cpu(all.front()).value_or(0)); }
  EXPECT_EQ(current_affinity(), std::vector<int>{all.back()});
  cpu_set_t whole;
  CPU_ZERO(&whole);
  for (const int cpu : all) {
    CPU_SET(static_cast<std::size_t>(cpu), &whole);
  }
  ASSERT_EQ(sched_setaffinity(0, sizeof whole, &whole), 0);
}

TEST(NodeBinding, refuses_an_absent_node_and_names_those_there_are) {
  const std::string message = binding_error(Topology::read(), 901);
  EXPECT_TRUE(contains(message, "901")) << message;
  EXPECT_TRUE(contains(message, "no such node")) << message;
  EXPECT_TRUE(contains(message, "can be bound to here: 0")) << message;
}

TEST(NodeBinding, refuses_a_memory_only_node) {
  MachineTree tree;
  write_two_sockets(tree);
  tree.node(2, "", "30 30 10", 16777216).file("sys/devices/system/node/online", "0-2");
  EXPECT_TRUE(contains(binding_error(Topology::read(tree.roots()), 2), "no CPUs"));
}

TEST(NodeBinding, refuses_a_node_of_which_no_cpu_is_allowed) {
  MachineTree tree;
  write_two_sockets(tree);
  tree.file("proc/self/status", "Cpus_allowed_list:\t0-3\nMems_allowed_list:\t0-1");
  const std::string message = binding_error(Topology::read(tree.roots()), 1);
  EXPECT_TRUE(contains(message, "4-7")) << message;
  EXPECT_TRUE(contains(message, "allowed")) << message;
}

TEST(NodeBinding, refuses_a_node_whose_memory_is_forbidden) {
  MachineTree tree;
  write_two_sockets(tree);
  tree.file("proc/self/status", "Cpus_allowed_list:\t0-7\nMems_allowed_list:\t0");
  EXPECT_TRUE(contains(binding_error(Topology::read(tree.roots()), 1), "cpuset.mems"));
}

TEST(NodeBinding, leaves_the_thread_as_it_was_when_the_kernel_refuses) {
  // A topology that lies: a node whose CPU this machine does not have.
  MachineTree tree;
  tree.file("sys/devices/system/cpu/online", "0,9000")
      .node(0, "0", "10 20", 1024)
      .node(1, "9000", "20 10", 1024);
  const auto before = current_affinity();
  EXPECT_TRUE(contains(binding_error(Topology::read(tree.roots()), 1), "sched_setaffinity"));
  EXPECT_EQ(current_affinity(), before);
}

class RefusedPolicy : public testing::TestWithParam<int> {};

TEST_P(RefusedPolicy, leaves_cpus_bound_and_says_why_memory_is_not) {
  const std::string answer = test::with_memory_policy_refused(GetParam(), [] {
    std::string why;
    if (memory_policy_available(&why) || why.find("get_mempolicy") == std::string::npos) {
      return "not noticed: " + why;
    }
    const Topology topology = Topology::read();
    const NodeBinding binding(topology, topology.usable_nodes().front());
    return std::string(binding.binds_memory() ? "claims to bind memory" : "");
  });
  if (answer == "skipped") {
    GTEST_SKIP() << "no seccomp filter can be set here";
  }
  EXPECT_EQ(answer, "");
}

INSTANTIATE_TEST_SUITE_P(Errors, RefusedPolicy, testing::Values(EPERM, ENOSYS));

}  // namespace
}  // namespace grainscope
