// Where threads and memory are placed: CPUs of nodes, policies, and what a process may use.

#include <gtest/gtest.h>

#include <linux/mempolicy.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <type_traits>
#include <vector>

#include "../../testing/says.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/system/host_memory.hpp"
#include "grainscope/system/managed_counter.hpp"
#include "grainscope/system/numa.hpp"
#include "grainscope/system/placement.hpp"
#include "machine_tree.hpp"
#include "refused_calls.hpp"

namespace grainscope {
namespace {

constexpr std::size_t kPages = 512;

HostMemory make_memory(int touch_threads) {
  HostMemoryRequest wanted;
  wanted.bytes = kPages * base_page_bytes();
  wanted.touch_threads = touch_threads;
  return {Topology::read(), wanted};
}

void touch_pages(const HostMemory& memory, std::size_t count) {
  for (std::size_t page = 0; page < count; ++page) {
    static_cast<volatile char*>(memory.data())[page * base_page_bytes()] = 1;
  }
}

class PlacementTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string why;
    if (!memory_policy_available(&why)) {
      GTEST_SKIP() << why;
    }
  }
};

TEST_F(PlacementTest, untouched_pages_are_absent) {
  const HostMemory memory = make_memory(0);
  const Placement where = placement(memory.data(), memory.bytes());
  EXPECT_EQ(where.absent, kPages);
  EXPECT_TRUE(where.pages_on_node.empty());
}

TEST_F(PlacementTest, every_touched_page_is_on_some_node) {
  const HostMemory memory = make_memory(2);
  const Placement where = placement(memory.data(), memory.bytes());
  std::uint64_t placed = 0;
  for (const auto& [node, count] : where.pages_on_node) {
    placed += count;
  }
  EXPECT_EQ(placed, kPages);
  EXPECT_FALSE(where.sampled);
  EXPECT_EQ(where.looked_at, kPages);
}

TEST_F(PlacementTest, half_touched_is_half_absent) {
  const HostMemory memory = make_memory(0);
  touch_pages(memory, kPages / 2);
  EXPECT_EQ(placement(memory.data(), memory.bytes()).absent, kPages / 2);
}

TEST_F(PlacementTest, a_sample_says_that_it_is_one_and_reaches_both_ends) {
  const HostMemory memory = make_memory(0);
  touch_pages(memory, 1);
  static_cast<volatile char*>(memory.data())[memory.bytes() - 1] = 1;
  const Placement where = placement(memory.data(), memory.bytes(), 16);
  EXPECT_TRUE(where.sampled);
  EXPECT_EQ(where.looked_at, 16U);
  EXPECT_EQ(where.pages, kPages);
  EXPECT_EQ(where.absent, 14U);
  EXPECT_NE(where.text().find("16 of 512 pages"), std::string::npos) << where.text();
}

TEST_F(PlacementTest, a_range_across_a_page_border_has_both_pages) {
  const HostMemory memory = make_memory(1);
  const char* border = memory.as<char>() + base_page_bytes();
  EXPECT_EQ(placement(border - 1, 2).pages, 2U);
  EXPECT_EQ(placement(border, 1).pages, 1U);
  EXPECT_EQ(placement(border, 0).pages, 0U);
}

TEST_F(PlacementTest, verification_passes_on_the_right_node_and_names_the_wrong_one) {
  const HostMemory memory = make_memory(1);
  const int node = placement(memory.data(), 1).pages_on_node.begin()->first;
  const std::size_t one = base_page_bytes();
  EXPECT_EQ(verify_placement(memory.data(), one, node), PlacementCheck::verified);
  try {
    (void)verify_placement(memory.data(), one, node + 1);
    FAIL() << "no error";
  } catch (const FailedError& error) {
    EXPECT_NE(std::string(error.what()).find("1 on node " + std::to_string(node)), std::string::npos)
        << error.what();
  }
}

TEST_F(PlacementTest, verification_fails_for_one_absent_page) {
  const HostMemory memory = make_memory(1);
  const int node = placement(memory.data(), 1).pages_on_node.begin()->first;
  ASSERT_EQ(madvise(memory.as<char>() + 7 * base_page_bytes(), base_page_bytes(), MADV_DONTNEED), 0);
  EXPECT_THROW((void)verify_placement(memory.data(), 8 * base_page_bytes(), node), FailedError);
}

class RefusedPlacement : public testing::TestWithParam<int> {};

TEST_P(RefusedPlacement, is_unknown_and_never_verified) {
  const std::string answer = test::with_memory_policy_refused(GetParam(), [] {
    const HostMemory memory = make_memory(1);
    const Placement where = placement(memory.data(), memory.bytes());
    if (where.known() || where.looked_at != 0 || where.text().rfind("unknown", 0) != 0) {
      return "claims to know: " + where.text();
    }
    const bool unknown = verify_placement(memory.data(), memory.bytes(), 0) == PlacementCheck::unknown;
    return std::string(unknown ? "" : "claims to have verified");
  });
  if (answer == "skipped") {
    GTEST_SKIP() << "no seccomp filter can be set here";
  }
  EXPECT_EQ(answer, "");
}

INSTANTIATE_TEST_SUITE_P(Errors, RefusedPlacement, testing::Values(EPERM, ENOSYS));

TEST(PagesPresent, follow_touching_and_giving_back) {
  const HostMemory memory = make_memory(0);
  touch_pages(memory, kPages / 4);
  const auto some = pages_present(memory.data(), memory.bytes());
  if (!some) {
    GTEST_SKIP() << "/proc/self/pagemap cannot be read";
  }
  EXPECT_EQ(some->present, kPages / 4);
  EXPECT_EQ(some->absent, kPages - kPages / 4);
  ASSERT_EQ(madvise(memory.data(), memory.bytes(), MADV_DONTNEED), 0);
  EXPECT_EQ(pages_present(memory.data(), memory.bytes())->present, 0U);
}

TEST(PagesPresent, a_sample_says_that_it_is_one) {
  const HostMemory memory = make_memory(1);
  const auto some = pages_present(memory.data(), memory.bytes(), 10);
  ASSERT_TRUE(some);
  EXPECT_TRUE(some->sampled);
  EXPECT_EQ(some->present, 10U);
}

TEST(HugeBacking, of_memory_that_is_not_mapped_is_unknown) {
  void* hole = nullptr;
  {
    const HostMemory memory = make_memory(0);
    hole = memory.data();
  }
  EXPECT_EQ(huge_backing(hole, kPages * base_page_bytes()), std::nullopt);
}

// A driver that leaves `left` pages after each of its calls.
std::uint64_t brought(std::vector<std::uint64_t> left, int& calls) {
  return bring_pages([&left, &calls] { return left.at(static_cast<std::size_t>(calls++)); });
}

TEST(BringPages, asks_again_only_while_pages_are_elsewhere) {
  int calls = 0;
  EXPECT_EQ(brought({0, 7, 7}, calls), 0U);
  EXPECT_EQ(calls, 1);
  calls = 0;
  EXPECT_EQ(brought({8, 0, 7}, calls), 0U);
  EXPECT_EQ(calls, 2);
}

TEST(BringPages, says_what_stays_for_good) {
  int calls = 0;
  EXPECT_EQ(brought({9, 8, 7, 0}, calls), 7U);
  EXPECT_EQ(calls, 3);
}

using test::MachineTree;
using test::says;

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
  EXPECT_TRUE(says(message, "901")) << message;
  EXPECT_TRUE(says(message, "no such node")) << message;
  EXPECT_TRUE(says(message, "can be bound to here: 0")) << message;
}

TEST(NodeBinding, refuses_a_memory_only_node) {
  MachineTree tree;
  write_two_sockets(tree);
  tree.node(2, "", "30 30 10", 16777216).file("sys/devices/system/node/online", "0-2");
  EXPECT_TRUE(says(binding_error(Topology::read(tree.roots()), 2), "no CPUs"));
}

TEST(NodeBinding, refuses_a_node_of_which_no_cpu_is_allowed) {
  MachineTree tree;
  write_two_sockets(tree);
  tree.file("proc/self/status", "Cpus_allowed_list:\t0-3\nMems_allowed_list:\t0-1");
  const std::string message = binding_error(Topology::read(tree.roots()), 1);
  EXPECT_TRUE(says(message, "4-7")) << message;
  EXPECT_TRUE(says(message, "allowed")) << message;
}

TEST(NodeBinding, refuses_a_node_whose_memory_is_forbidden) {
  MachineTree tree;
  write_two_sockets(tree);
  tree.file("proc/self/status", "Cpus_allowed_list:\t0-7\nMems_allowed_list:\t0");
  EXPECT_TRUE(says(binding_error(Topology::read(tree.roots()), 1), "cpuset.mems"));
}

TEST(NodeBinding, leaves_the_thread_as_it_was_when_the_kernel_refuses) {
  // A topology that lies: a node whose CPU this machine does not have.
  MachineTree tree;
  tree.file("sys/devices/system/cpu/online", "0,9000")
      .node(0, "0", "10 20", 1024)
      .node(1, "9000", "20 10", 1024);
  const auto before = current_affinity();
  EXPECT_TRUE(says(binding_error(Topology::read(tree.roots()), 1), "sched_setaffinity"));
  EXPECT_EQ(current_affinity(), before);
}

TEST(ManagedPages, are_not_counted_where_no_driver_is_at_work) {
  std::string why_not;
  EXPECT_EQ(ManagedCounter::open(why_not), nullptr);
  EXPECT_EQ(why_not, "no CUDA context is at work in this process");
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
