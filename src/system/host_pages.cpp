// Which pages there are, and whether a request for them can be met.

#include "host_pages.hpp"

#include <unistd.h>

#include <cstdint>
#include <vector>

#include "grainscope/core/error.hpp"
#include "grainscope/system/limits.hpp"
#include "grainscope/system/sysfs.hpp"
#include "grainscope/system/topology.hpp"

namespace grainscope {

namespace {

constexpr std::size_t kUsualHugePage = std::size_t{2} << 20;

std::string pool_name(std::size_t page) {
  return "hugepages-" + std::to_string(page >> 10) + "kB";
}

// The switch that governs pages of this size: since Linux 6.8 each size has its own, which may inherit.
std::optional<std::string> transparent_mode(const Roots& roots, std::size_t page) {
  const auto directory = roots.filesystem / "sys/kernel/mm/transparent_hugepage";
  const auto own = sysfs::read_choice(directory / pool_name(page) / "enabled");
  return own && *own != "inherit" ? own : sysfs::read_choice(directory / "enabled");
}

void require_transparent_huge(const HostMemoryRequest& request, std::size_t page, const Roots& roots) {
  if (transparent_mode(roots, page) == "never") {
    throw EnvironmentError(describe(request) +
                           ": the kernel is set to give none; to allow them on request: "
                           "echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled");
  }
}

// Too few reserved pages on the node would end the process with SIGBUS at the first touch.
void require_hugetlb(const HostMemoryRequest& request, std::size_t page, const Roots& roots) {
  const std::uint64_t wanted = round_up(request.bytes, page) / page;
  std::filesystem::path pool = std::filesystem::path("/sys/kernel/mm/hugepages") / pool_name(page);
  const auto below = [&](const std::filesystem::path& path) {
    return roots.filesystem / path.relative_path();
  };
  if (request.node) {
    const auto of_node =
        std::filesystem::path("/sys/devices/system/node/node" + std::to_string(*request.node)) / "hugepages" /
        pool_name(page);
    std::error_code error;
    pool = std::filesystem::exists(below(of_node), error) ? of_node : pool;
  }
  const auto free_pages = sysfs::read_unsigned(below(pool) / "free_hugepages");
  if (free_pages && *free_pages < wanted) {
    const std::uint64_t total = sysfs::read_unsigned(below(pool) / "nr_hugepages").value_or(0);
    throw EnvironmentError(
        describe(request) + ": " + std::to_string(wanted) + " pages of " + std::to_string(page >> 10) +
        " KiB are needed and " + std::to_string(*free_pages) + " are free; to reserve them: echo " +
        std::to_string(total - *free_pages + wanted) + " | sudo tee " + (pool / "nr_hugepages").string());
  }
}

}  // namespace

std::string describe(const HostMemoryRequest& request) {
  return "allocating " + std::to_string(request.bytes) + " bytes of host memory in " +
         page_kind_name(request.pages) + " pages" +
         (request.node ? " on NUMA node " + std::to_string(*request.node) : std::string());
}

const Node* require_node(const Topology& topology, const HostMemoryRequest& request) {
  if (!request.node) {
    return nullptr;
  }
  const Node* node = topology.find_node(*request.node);
  std::vector<int> ids;
  for (const Node& other : topology.nodes()) {
    ids.push_back(other.id);
  }
  const std::string remedy = "; nodes here: " + sysfs::format_list(ids);
  if (node == nullptr) {
    throw EnvironmentError(describe(request) + ": there is no such node" + remedy);
  }
  if (node->memory_bytes == 0U) {
    throw EnvironmentError(describe(request) + ": the node has no memory" + remedy);
  }
  if (!node->memory_allowed) {
    throw EnvironmentError(describe(request) + ": its memory is not allowed to this process (cpuset.mems)" +
                           remedy);
  }
  return node;
}

void require_pages(const HostMemoryRequest& request, std::size_t page, const Roots& roots) {
  // A control group's limit is certain death. MemAvailable is not asked: virtual machines grow theirs.
  const auto group = available_memory().cgroup_bytes;
  if (group && request.pages != PageKind::hugetlb && request.bytes > *group) {
    throw EnvironmentError(describe(request) + ": the control group's memory limit leaves " +
                           std::to_string(*group) +
                           "; choose a smaller size, or raise the container's limit");
  }
  if (request.pages == PageKind::transparent_huge) {
    require_transparent_huge(request, page, roots);
  } else if (request.pages == PageKind::hugetlb) {
    require_hugetlb(request, page, roots);
  }
}

std::size_t base_page_bytes() {
  return static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

std::size_t page_bytes(PageKind kind) {
  return page_bytes(kind, Roots{});
}

std::size_t page_bytes(PageKind kind, const Roots& roots) {
  const auto memory = roots.filesystem / "sys/kernel/mm";
  if (kind == PageKind::transparent_huge) {
    const auto bytes = sysfs::read_unsigned(memory / "transparent_hugepage/hpage_pmd_size");
    if (!bytes || *bytes == 0) {
      throw EnvironmentError("reading the size of transparent huge pages: this kernel has none");
    }
    return static_cast<std::size_t>(*bytes);
  }
  if (kind == PageKind::hugetlb) {
    std::error_code error;
    if (std::filesystem::exists(memory / "hugepages" / pool_name(kUsualHugePage), error)) {
      return kUsualHugePage;
    }
    const auto text = sysfs::read_text(roots.filesystem / "proc/meminfo");
    const auto line = text ? sysfs::value_of(*text, "Hugepagesize") : std::nullopt;
    const auto bytes = line ? sysfs::parse_size(*line) : std::nullopt;
    if (!bytes || *bytes == 0) {
      throw EnvironmentError("reading the size of reserved huge pages: this kernel has none (no hugetlbfs)");
    }
    return static_cast<std::size_t>(*bytes);
  }
  return base_page_bytes();
}

std::string page_kind_name(PageKind kind) {
  switch (kind) {
    case PageKind::transparent_huge:
      return "transparent_huge";
    case PageKind::hugetlb:
      return "hugetlb";
    case PageKind::base:
      break;
  }
  return std::to_string(base_page_bytes() >> 10) + "KiB";
}

}  // namespace grainscope
