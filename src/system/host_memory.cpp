// Mapping host memory, binding it to a node, touching it and giving it back.

#include "grainscope/system/host_memory.hpp"

#include <numaif.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <thread>
#include <utility>
#include <vector>

#include "grainscope/core/error.hpp"
#include "grainscope/system/limits.hpp"
#include "grainscope/system/numa.hpp"
#include "grainscope/system/placement.hpp"
#include "grainscope/system/sysfs.hpp"
#include "grainscope/system/topology.hpp"
#include "host_pages.hpp"
#include "memory_policy.hpp"

namespace grainscope {

namespace {

[[noreturn]] void throw_refused(const HostMemoryRequest& request, const std::string& call, int error) {
  const std::string remedy = error != ENOMEM ? ""
                             : request.pages == PageKind::hugetlb
                                 ? "; reserve more: see /sys/kernel/mm/hugepages/*/nr_hugepages"
                                 : "; choose a smaller size, or free memory (`free -h`, cgroup limit)";
  throw EnvironmentError(describe(request) + " (" + call + "): " + errno_text(error) + remedy);
}

}  // namespace

HostMemory::HostMemory(const Topology& topology, const HostMemoryRequest& request)
    : bytes_(request.bytes), node_(request.node), pages_(request.pages) {
  if (request.bytes == 0 || request.touch_threads < 0) {
    throw UsageError(describe(request) + " touched by " + std::to_string(request.touch_threads) +
                     " threads: a size above 0 and no negative number of threads are needed");
  }
  const Node* node = require_node(topology, request);
  page_bytes_ = page_bytes(pages_);
  require_pages(request, page_bytes_);
  if (node != nullptr) {
    touch_cpus_ = node->allowed_cpus;
  }
  try {
    map(request);
    bind(topology, request);
    if (request.touch_threads > 0) {
      touch(request.touch_threads);
      if (request.verify) {
        verify();
      }
    }
  } catch (...) {
    release();
    throw;
  }
}

void HostMemory::map(const HostMemoryRequest& request) {
  const std::size_t inside = round_up(bytes_, page_bytes_);
  if (inside < bytes_ || inside > SIZE_MAX / 2) {
    throw_refused(request, "mmap", ENOMEM);
  }
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS;
  if (pages_ == PageKind::hugetlb) {
    const int log2 = 63 - __builtin_clzl(page_bytes_);
    mapped_bytes_ = inside;
    void* mapping = mmap(nullptr, mapped_bytes_, PROT_READ | PROT_WRITE,
                         kFlags | MAP_HUGETLB | log2 << MAP_HUGE_SHIFT, -1, 0);
    mapping_ = mapping == MAP_FAILED ? nullptr : mapping;
    data_ = mapping_;
    if (data_ == nullptr) {
      throw_refused(request, "mmap with MAP_HUGETLB", errno);
    }
    return;
  }
  // An unreadable page on either side keeps the kernel from joining this mapping with a neighbour, so that
  // what smaps tells of it is of this buffer alone.
  const std::size_t guard = base_page_bytes();
  mapped_bytes_ = inside + page_bytes_ + 2 * guard;
  void* mapping = mmap(nullptr, mapped_bytes_, PROT_NONE, kFlags | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED) {
    throw_refused(request, "mmap", errno);
  }
  mapping_ = mapping;
  const auto begin = reinterpret_cast<std::uintptr_t>(mapping_);
  data_ = static_cast<char*>(mapping_) + (round_up(begin + guard, page_bytes_) - begin);
  if (mprotect(data_, inside, PROT_READ | PROT_WRITE) != 0) {
    throw_refused(request, "mprotect", errno);
  }
  const int advice = pages_ == PageKind::base ? MADV_NOHUGEPAGE : MADV_HUGEPAGE;
  // A kernel without transparent huge pages refuses both; for base pages that is as good.
  if (madvise(data_, inside, advice) != 0 && pages_ == PageKind::transparent_huge) {
    throw_refused(request, "madvise with MADV_HUGEPAGE", errno);
  }
}

void HostMemory::bind(const Topology& topology, const HostMemoryRequest& request) {
  if (!node_ || !topology.numa_known() || !memory_policy_available()) {
    return;
  }
  // Strict where the node surely has the room. Where it may not, pages may fall elsewhere rather than have
  // the kernel kill the process, and the check after the touch says so.
  const auto path =
      std::filesystem::path("/sys/devices/system/node/node" + std::to_string(*node_)) / "meminfo";
  const std::string meminfo = sysfs::read_text(path).value_or("");
  std::uint64_t roomy = 0;
  for (const std::string& line : sysfs::split_lines(meminfo)) {
    for (const char* key : {" MemFree:", " Inactive(file):"}) {
      const std::size_t at = line.find(key);
      roomy += at == std::string::npos ? 0 : sysfs::parse_size(line.substr(line.find(':') + 1)).value_or(0);
    }
  }
  const bool strict = pages_ == PageKind::hugetlb || roomy >= bytes_;
  const BitWords nodes = node_bits(*node_);
  const std::size_t inside = round_up(bytes_, page_bytes_);
  if (mbind(data_, inside, strict ? MPOL_BIND : MPOL_PREFERRED, nodes.data(), kNodeBits, 0) != 0) {
    throw_refused(request, "mbind", errno);
  }
  bound_by_policy_ = true;
}

void HostMemory::verify() const {
  if (!node_) {
    return;
  }
  try {
    (void)verify_placement(data_, bytes_, *node_, 1024);
  } catch (const FailedError& error) {
    throw EnvironmentError(describe({.bytes = bytes_, .node = node_, .pages = pages_}) + ": " + error.what());
  }
}

void HostMemory::touch(int threads) const {
  // Transparent pages may be refused one by one, so each base page is touched; reserved ones never are.
  const std::size_t stride = pages_ == PageKind::hugetlb ? page_bytes_ : base_page_bytes();
  const std::size_t pages = round_up(bytes_, stride) / stride;
  const auto shares = std::min<std::size_t>(static_cast<std::size_t>(std::max(threads, 1)), pages);
  std::vector<std::jthread> workers;
  workers.reserve(shares);
  for (std::size_t share = 0; share < shares; ++share) {
    workers.emplace_back([this, share, shares, pages, stride] {
      if (!touch_cpus_.empty()) {
        // A refusal leaves the thread where it is; the policy, or the check, still decides.
        (void)set_affinity(touch_cpus_);
      }
      for (std::size_t page = pages * share / shares; page < pages * (share + 1) / shares; ++page) {
        static_cast<volatile char*>(data_)[page * stride] = 0;
      }
    });
  }
}

void HostMemory::thin_out(std::size_t pages, int threads) const {
  const std::size_t page = base_page_bytes();
  const std::size_t groups = pages > 1 ? bytes_ / (pages * page) : 0;
  const auto shares = static_cast<std::size_t>(std::max(threads, 1));
  std::vector<std::jthread> workers;
  workers.reserve(shares);
  for (std::size_t share = 0; share < shares; ++share) {
    workers.emplace_back([this, share, shares, groups, pages, page] {
      for (std::size_t group = groups * share / shares; group < groups * (share + 1) / shares; ++group) {
        (void)madvise(static_cast<char*>(data_) + (group * pages + 1) * page, (pages - 1) * page,
                      MADV_DONTNEED);
      }
    });
  }
}

HostMemory::~HostMemory() {
  release();
}

void HostMemory::release() noexcept {
  if (mapping_ != nullptr) {
    munmap(mapping_, mapped_bytes_);
  }
  mapping_ = data_ = nullptr;
  bytes_ = mapped_bytes_ = 0;
}

HostMemory::HostMemory(HostMemory&& other) noexcept {
  *this = std::move(other);
}

HostMemory& HostMemory::operator=(HostMemory&& other) noexcept {
  if (this != &other) {
    release();
    data_ = std::exchange(other.data_, nullptr);
    bytes_ = std::exchange(other.bytes_, 0);
    mapping_ = std::exchange(other.mapping_, nullptr);
    mapped_bytes_ = std::exchange(other.mapped_bytes_, 0);
    page_bytes_ = other.page_bytes_;
    node_ = other.node_;
    touch_cpus_ = std::move(other.touch_cpus_);
    pages_ = other.pages_;
    bound_by_policy_ = other.bound_by_policy_;
  }
  return *this;
}

namespace {

// Which pages there are, and whether a request for them can be met.

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
