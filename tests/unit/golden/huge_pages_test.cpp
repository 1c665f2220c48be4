// What is said where huge pages cannot be had, on machines that are stored as files:
// tests/golden/huge_pages.txt.

#include "../system/machine_tree.hpp"
#include "golden_text.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/core/units.hpp"
#include "host_pages.hpp"

namespace grainscope {
namespace {

using test::MachineTree;

class HugePages : public testing::Test {
 protected:
  HugePages() {
    test::write_two_sockets(tree_);
    tree_.file("sys/kernel/mm/transparent_hugepage/hpage_pmd_size", "2097152");
    pool("sys/kernel/mm/hugepages/", 0, 0);
  }
  void pool(const std::string& directory, int total, int free) {
    tree_.file(directory + "hugepages-2048kB/nr_hugepages", std::to_string(total));
    tree_.file(directory + "hugepages-2048kB/free_hugepages", std::to_string(free));
  }
  void ask(const std::string& title, PageKind kind, std::optional<int> node = {}) {
    std::string said = "granted";
    try {
      const std::size_t page = page_bytes(kind, tree_.roots());
      require_pages({.bytes = 3 * kMiB, .node = node, .pages = kind}, page, tree_.roots());
    } catch (const EnvironmentError& error) {
      said = error.what();
    }
    lines_.push_back(title + ": " + said);
  }

  MachineTree tree_;
  std::vector<std::string> lines_;
};

TEST_F(HugePages, that_cannot_be_had_are_refused_as_they_were) {
  ask("transparent, on request", PageKind::transparent_huge);
  tree_.file("sys/kernel/mm/transparent_hugepage/enabled", "always madvise [never]");
  ask("transparent, never", PageKind::transparent_huge);
  tree_.file("sys/kernel/mm/transparent_hugepage/hugepages-2048kB/enabled", "always inherit [madvise] never");
  ask("transparent, never but for their size", PageKind::transparent_huge);
  tree_.remove("sys/kernel/mm/transparent_hugepage/hpage_pmd_size");
  ask("transparent, a kernel without", PageKind::transparent_huge);
  ask("reserved, none", PageKind::hugetlb);
  pool("sys/kernel/mm/hugepages/", 16, 1);
  ask("reserved, one free of 16", PageKind::hugetlb);
  pool("sys/kernel/mm/hugepages/", 16, 2);
  ask("reserved, enough", PageKind::hugetlb);
  pool("sys/devices/system/node/node0/hugepages/", 16, 2);
  pool("sys/devices/system/node/node1/hugepages/", 0, 0);
  ask("reserved, enough on the node", PageKind::hugetlb, 0);
  ask("reserved, none on the node", PageKind::hugetlb, 1);
  test::expect_golden("huge_pages.txt", lines_);
}

}  // namespace
}  // namespace grainscope
