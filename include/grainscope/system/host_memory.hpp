#ifndef GRAINSCOPE_SYSTEM_HOST_MEMORY_HPP
#define GRAINSCOPE_SYSTEM_HOST_MEMORY_HPP

// Host memory of a stated node and page size, or an error that says why not.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace grainscope {

class Topology;
struct Roots;

enum class PageKind {
  base,              // the kernel's base pages, kept small (MADV_NOHUGEPAGE)
  transparent_huge,  // MADV_HUGEPAGE: a wish, which `huge_backing` in placement.hpp checks
  hugetlb,           // reserved huge pages (MAP_HUGETLB)
};

// The kernel's base page: 4096 on x86-64, often 65536 on AArch64 and POWER.
[[nodiscard]] std::size_t base_page_bytes();
// Bytes of one page of a kind, of this machine or of that at `roots`. EnvironmentError where the kernel has
// none of the kind.
[[nodiscard]] std::size_t page_bytes(PageKind kind);
[[nodiscard]] std::size_t page_bytes(PageKind kind, const Roots& roots);
// The name as it stands in case names: the base page's real size (`4KiB`, `64KiB`), `transparent_huge`,
// `hugetlb`.
[[nodiscard]] std::string page_kind_name(PageKind kind);

struct HostMemoryRequest {
  std::size_t bytes = 0;
  std::optional<int> node;  // absent: wherever the kernel puts it
  PageKind pages = PageKind::base;
  // Threads that touch every page at construction. 0 leaves the memory untouched, for benchmarks that time
  // the first touch.
  int touch_threads = 1;
  // That touched pages are on the node, before it is there. False: who takes it in a time calls verify()
  // then.
  bool verify = true;
};

// Owns one anonymous private mapping, zero-filled. Move-only.
class HostMemory {
 public:
  HostMemory() = default;
  // EnvironmentError: no such node, its memory is forbidden to this process, the pages do not exist, or
  // not enough of them are free, or touched pages came to lie on another node. UsageError: bytes is 0.
  HostMemory(const Topology& topology, const HostMemoryRequest& request);
  ~HostMemory();
  HostMemory(HostMemory&& other) noexcept;
  HostMemory& operator=(HostMemory&& other) noexcept;
  HostMemory(const HostMemory&) = delete;
  HostMemory& operator=(const HostMemory&) = delete;

  [[nodiscard]] void* data() const noexcept { return data_; }
  template <class T>
  [[nodiscard]] T* as() const noexcept {
    return static_cast<T*>(data_);
  }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] std::optional<int> node() const noexcept { return node_; }
  [[nodiscard]] PageKind pages() const noexcept { return pages_; }
  // Bytes of one page: what one first touch brings in, if the kernel grants the kind.
  [[nodiscard]] std::size_t page_size() const noexcept { return page_bytes_; }
  // False where the kernel refuses memory policies: the node then holds only by first touch from its CPUs.
  [[nodiscard]] bool bound_by_policy() const noexcept { return bound_by_policy_; }

  // Writes a zero byte to the start of every page from `threads` threads, on the node's CPUs where it has
  // any.
  void touch(int threads) const;
  // Throws EnvironmentError where touched pages came to lie on another node than was asked for.
  void verify() const;
  // Gives pages back but one in every `pages`, by `threads` threads: what is free then lies in pieces of
  // fewer. Not of reserved huge pages.
  void thin_out(std::size_t pages, int threads) const;

 private:
  void map(const HostMemoryRequest& request);
  void bind(const Topology& topology, const HostMemoryRequest& request);
  void release() noexcept;

  void* data_ = nullptr;
  std::size_t bytes_ = 0;
  void* mapping_ = nullptr;  // what munmap takes: larger than the data where that had to be aligned
  std::size_t mapped_bytes_ = 0;
  std::size_t page_bytes_ = 0;
  std::optional<int> node_;
  std::vector<int> touch_cpus_;
  PageKind pages_ = PageKind::base;
  bool bound_by_policy_ = false;
};

}  // namespace grainscope

#endif
