#include "grainscope/system/limits.hpp"

#include <gtest/gtest.h>

#include "machine_tree.hpp"

namespace grainscope {
namespace {

using test::MachineTree;
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
