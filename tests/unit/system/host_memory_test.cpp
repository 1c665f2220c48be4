#include "grainscope/system/host_memory.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>

#include "../../testing/says.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/system/numa.hpp"
#include "grainscope/system/placement.hpp"
#include "machine_tree.hpp"
#include "refused_calls.hpp"

namespace grainscope {
namespace {

using test::MachineTree;
using test::says;
constexpr std::size_t kMiB = std::size_t{1} << 20;

HostMemoryRequest request(std::size_t bytes, PageKind pages = PageKind::base, int touch_threads = 1) {
  HostMemoryRequest wanted;
  wanted.bytes = bytes;
  wanted.pages = pages;
  wanted.touch_threads = touch_threads;
  return wanted;
}

std::string allocation_error(const Topology& topology, const HostMemoryRequest& wanted) {
  try {
    const HostMemory memory(topology, wanted);
    return "no error";
  } catch (const EnvironmentError& error) {
    return error.what();
  }
}

static_assert(!std::is_copy_constructible_v<HostMemory>);
static_assert(std::is_nothrow_move_constructible_v<HostMemory>);

TEST(HostMemory, is_zero_and_writable_to_its_last_byte) {
  const HostMemory memory(Topology::read(), request(3 * kMiB + 5));
  auto* bytes = memory.as<unsigned char>();
  EXPECT_EQ(memory.bytes(), 3 * kMiB + 5);
  EXPECT_EQ(bytes[0], 0);
  std::memset(bytes, 7, memory.bytes());
  EXPECT_EQ(bytes[memory.bytes() - 1], 7);
}

TEST(HostMemory, on_a_node_is_on_that_node) {
  const Topology topology = Topology::read();
  HostMemoryRequest wanted = request(8 * kMiB, PageKind::base, 2);
  wanted.node = topology.usable_nodes().back();
  const HostMemory memory(topology, wanted);
  const Placement where = placement(memory.data(), memory.bytes());
  if (!where.known()) {
    GTEST_SKIP() << where.why_unknown;
  }
  EXPECT_EQ(where.pages_on_node.at(*wanted.node), 8 * kMiB / base_page_bytes());
}

TEST(HostMemory, an_absent_node_throws_instead_of_falling_back) {
  HostMemoryRequest wanted = request(kMiB);
  wanted.node = 901;
  const std::string message = allocation_error(Topology::read(), wanted);
  EXPECT_TRUE(says(message, "901")) << message;
  EXPECT_TRUE(says(message, "no such node")) << message;
  EXPECT_TRUE(says(message, std::to_string(kMiB))) << message;
}

TEST(HostMemory, a_node_that_only_the_topology_knows_throws_too) {
  if (!memory_policy_available()) {
    GTEST_SKIP() << "this machine has no memory policies";
  }
  MachineTree tree;
  tree.node(0, "0", "10 20", 1024).node(901, "1", "20 10", 1024);
  HostMemoryRequest wanted = request(kMiB);
  wanted.node = 901;
  const std::string message = allocation_error(Topology::read(tree.roots()), wanted);
  EXPECT_TRUE(says(message, "mbind")) << message;
}

TEST(HostMemory, a_node_without_memory_or_with_forbidden_memory_throws) {
  MachineTree tree;
  write_two_sockets(tree);
  tree.node(1, "4-7", "21 10", 0);
  HostMemoryRequest wanted = request(kMiB);
  wanted.node = 1;
  EXPECT_TRUE(says(allocation_error(Topology::read(tree.roots()), wanted), "has no memory"));
  tree.node(1, "4-7", "21 10", 1024);
  tree.file("proc/self/status", "Cpus_allowed_list:\t0-7\nMems_allowed_list:\t0");
  EXPECT_TRUE(says(allocation_error(Topology::read(tree.roots()), wanted), "cpuset.mems"));
}

TEST(HostMemory, nothing_and_too_much_are_refused) {
  const Topology topology = Topology::read();
  EXPECT_THROW(HostMemory(topology, request(0)), UsageError);
  EXPECT_THROW(HostMemory(topology, request(kMiB, PageKind::base, -1)), UsageError);
  EXPECT_TRUE(says(allocation_error(topology, request(SIZE_MAX / 2, PageKind::base, 0)), "ENOMEM"));
  EXPECT_TRUE(says(allocation_error(topology, request(SIZE_MAX - 1, PageKind::base, 0)), "ENOMEM"));
}

TEST(HostMemory, untouched_memory_has_no_pages_and_touching_brings_them_all) {
  const HostMemory memory(Topology::read(), request(4 * kMiB, PageKind::base, 0));
  const auto before = pages_present(memory.data(), memory.bytes(), 0);
  if (!before) {
    GTEST_SKIP() << "/proc/self/pagemap cannot be read";
  }
  EXPECT_EQ(before->present, 0U);
  memory.touch(3);
  const auto after = pages_present(memory.data(), memory.bytes(), 0);
  EXPECT_EQ(after->present, 4 * kMiB / base_page_bytes());
  EXPECT_EQ(after->absent, 0U);
}

TEST(HostMemory, more_threads_than_pages_touch_each_page) {
  const HostMemory memory(Topology::read(), request(2 * base_page_bytes(), PageKind::base, 64));
  EXPECT_EQ(memory.as<char>()[2 * base_page_bytes() - 1], 0);
}

TEST(HostMemory, base_pages_stay_small) {
  const HostMemory memory(Topology::read(), request(16 * kMiB));
  EXPECT_EQ(memory.page_size(), base_page_bytes());
  EXPECT_EQ(huge_backing(memory.data(), memory.bytes()), 0U);
  EXPECT_EQ(is_transparent_huge(memory.data(), memory.bytes()), false);
}

TEST(HostMemory, transparent_huge_pages_are_huge_or_said_to_be_unavailable) {
  const Topology topology = Topology::read();
  try {
    const HostMemory memory(topology, request(16 * kMiB, PageKind::transparent_huge));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory.data()) % memory.page_size(), 0U);
    if (is_transparent_huge(memory.data(), memory.bytes()) != true) {
      GTEST_SKIP() << "the kernel found no free huge pages";
    }
    EXPECT_EQ(huge_backing(memory.data(), memory.bytes()), 16 * kMiB);
  } catch (const EnvironmentError& error) {
    EXPECT_TRUE(says(error.what(), "transparent")) << error.what();
  }
}

TEST(HostMemory, neighbouring_buffers_are_told_apart) {
  const Topology topology = Topology::read();
  const HostMemory small(topology, request(4 * kMiB));
  const HostMemory other(topology, request(4 * kMiB, PageKind::base, 0));
  EXPECT_EQ(huge_backing(small.data(), small.bytes()), 0U);
  EXPECT_EQ(huge_backing(other.data(), other.bytes()), 0U);
}

TEST(HostMemory, missing_reserved_pages_throw_with_the_command_that_reserves_them) {
  // More than any machine has, so that the refusal is certain.
  const std::string message =
      allocation_error(Topology::read(), request(std::size_t{1} << 46, PageKind::hugetlb));
  EXPECT_TRUE(says(message, "hugetlb")) << message;
  EXPECT_TRUE(says(message, "nr_hugepages") || says(message, "kernel has none")) << message;
}

TEST(HostMemory, reserved_pages_are_used_where_there_are_some) {
  const Topology topology = Topology::read();
  try {
    const HostMemory memory(topology, request(kMiB, PageKind::hugetlb));
    EXPECT_GE(memory.page_size(), 2 * kMiB);
    EXPECT_EQ(memory.as<char>()[kMiB - 1], 0);
  } catch (const EnvironmentError& error) {
    EXPECT_TRUE(says(error.what(), "sudo tee") || says(error.what(), "kernel has none")) << error.what();
  }
}

TEST(HostMemory, a_moved_from_owner_owns_nothing) {
  HostMemory first(Topology::read(), request(kMiB));
  void* const data = first.data();
  HostMemory second(std::move(first));
  EXPECT_EQ(second.data(), data);
  EXPECT_EQ(first.data(), nullptr);  // NOLINT(bugprone-use-after-move): that is what is asked
  EXPECT_EQ(first.bytes(), 0U);
  first = std::move(second);
  EXPECT_EQ(first.data(), data);
}

TEST(HostMemory, memory_is_given_back_when_its_owner_ends) {
  const Topology topology = Topology::read();
  void* data = nullptr;
  {
    const HostMemory memory(topology, request(kMiB));
    data = memory.data();
  }
  const auto present = pages_present(data, kMiB, 0);
  EXPECT_TRUE(!present || present->present == 0);
}

TEST(HostMemory, works_where_memory_policies_are_refused_and_says_so) {
  const std::string answer = test::with_memory_policy_refused(EPERM, [] {
    const Topology topology = Topology::read();
    HostMemoryRequest wanted = request(kMiB, PageKind::base, 2);
    wanted.node = topology.usable_nodes().front();
    const HostMemory memory(topology, wanted);
    return std::string(memory.bound_by_policy() ? "claims a policy" : "");
  });
  if (answer == "skipped") {
    GTEST_SKIP() << "no seccomp filter can be set here";
  }
  EXPECT_EQ(answer, "");
}

TEST(HostMemory, that_is_thinned_out_keeps_one_page_of_each_group) {
  const Topology topology = Topology::read();
  const std::size_t page = base_page_bytes();
  const HostMemory memory(topology, request(1000 * page + 5));
  auto* const bytes = memory.as<char>();
  for (std::size_t i = 0; i < 1000; ++i) {
    bytes[i * page] = 7;
  }
  memory.thin_out(8, 3);
  // What was given back comes anew, as zeros.
  for (std::size_t i = 0; i < 1000; ++i) {
    ASSERT_EQ(bytes[i * page], i % 8 == 0 ? 7 : 0) << i;
  }
  memory.thin_out(1, 1);
  EXPECT_EQ(bytes[0], 7);
}

TEST(PageKind, the_base_page_is_named_by_its_real_size) {
  EXPECT_EQ(page_kind_name(PageKind::base), std::to_string(base_page_bytes() / 1024) + "KiB");
  EXPECT_EQ(page_kind_name(PageKind::transparent_huge), "transparent_huge");
  EXPECT_EQ(page_kind_name(PageKind::hugetlb), "hugetlb");
}

TEST(PageKind, sizes_come_from_the_kernel) {
  MachineTree tree;
  tree.file("sys/kernel/mm/transparent_hugepage/hpage_pmd_size", "536870912");
  tree.file("proc/meminfo", "Hugepagesize:       524288 kB");
  EXPECT_EQ(page_bytes(PageKind::transparent_huge, tree.roots()), 512 * kMiB);
  EXPECT_EQ(page_bytes(PageKind::hugetlb, tree.roots()), 512 * kMiB);
  tree.directory("sys/kernel/mm/hugepages/hugepages-2048kB");
  EXPECT_EQ(page_bytes(PageKind::hugetlb, tree.roots()), 2 * kMiB);
  MachineTree none;
  EXPECT_THROW((void)page_bytes(PageKind::transparent_huge, none.roots()), EnvironmentError);
  EXPECT_THROW((void)page_bytes(PageKind::hugetlb, none.roots()), EnvironmentError);
}

}  // namespace
}  // namespace grainscope
