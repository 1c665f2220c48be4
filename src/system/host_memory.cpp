// Mapping host memory, binding it to a node, touching it and giving it back.

#include "grainscope/system/host_memory.hpp"

#include <numaif.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <thread>
#include <utility>
#include <vector>

#include "grainscope/core/error.hpp"
#include "grainscope/system/numa.hpp"
#include "grainscope/system/placement.hpp"
#include "grainscope/system/sysfs.hpp"
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
      check_node(request);
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

void HostMemory::check_node(const HostMemoryRequest& request) const {
  if (!node_) {
    return;
  }
  try {
    (void)verify_placement(data_, bytes_, *node_, 1024);
  } catch (const FailedError& error) {
    throw EnvironmentError(describe(request) + ": " + error.what());
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

}  // namespace grainscope
