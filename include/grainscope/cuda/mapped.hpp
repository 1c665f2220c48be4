#ifndef GRAINSCOPE_CUDA_MAPPED_HPP
#define GRAINSCOPE_CUDA_MAPPED_HPP

// Memory that a GPU reads where it lies, over a link, by how it came to be: that decides by which pages the
// GPU maps it, and so how fast it reads places far apart. Knows nothing of the toolkit.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace grainscope {
class Topology;
}

namespace grainscope::cuda {

class ManagedBudget;  // cuda/budget.hpp
class PinnedReserve;  // cuda/budget.hpp

// What memory is taken from; all outlive what takes it.
struct Surroundings {
  const Topology* topology = nullptr;  // null: nothing tells nodes apart; not for memory that is registered
  ManagedBudget* managed = nullptr;    // null: no managed memory is asked for
  PinnedReserve* pinned = nullptr;     // null: pinned memory is allocated and freed each time
};

enum class MemoryKind {
  host_alloc,        // cudaHostAlloc
  registered,        // base pages, cudaHostRegister
  transparent_huge,  // transparent huge pages, seen to be there, cudaHostRegister
  hugetlb,           // reserved huge pages, cudaHostRegister
  vmm_host,          // cuMemCreate on a NUMA node
  managed_host,      // cudaMallocManaged, which prefers the host and which the GPU has mapped
  peer,              // cudaMalloc on another GPU
};
inline constexpr MemoryKind kMemoryKinds[] = {
    MemoryKind::host_alloc, MemoryKind::registered, MemoryKind::transparent_huge,
    MemoryKind::hugetlb,    MemoryKind::vmm_host,   MemoryKind::managed_host,
    MemoryKind::peer};
// As it stands in case names.
[[nodiscard]] constexpr const char* name(MemoryKind kind) {
  switch (kind) {
    case MemoryKind::host_alloc:
      return "host_alloc";
    case MemoryKind::registered:
      return "registered";
    case MemoryKind::transparent_huge:
      return "transparent_huge";
    case MemoryKind::hugetlb:
      return "hugetlb";
    case MemoryKind::vmm_host:
      return "vmm_host";
    case MemoryKind::managed_host:
      return "managed_host";
    case MemoryKind::peer:
      return "peer";
  }
  return "?";
}

// Whether threads of ours touch its pages first; of other memory the driver does.
[[nodiscard]] constexpr bool is_touched_here(MemoryKind kind) {
  return kind != MemoryKind::host_alloc && kind != MemoryKind::vmm_host && kind != MemoryKind::peer;
}

struct MappedRequest {
  MemoryKind kind = MemoryKind::host_alloc;
  int gpu = 0;   // that reads; current
  int home = 0;  // NUMA node, to which the calling thread is bound; of `peer` the GPU that has the memory
  std::uint64_t others = 0;  // GPUs that read managed memory beside it, a bit each
  // That touch host memory first, where the driver does not: more than there are CPUs are not started.
  int touch_threads = 16;
  // Before it is made, the host's free memory is brought into pieces of less than so many bytes, as it may be
  // after months of work (reach::SpanMemory does that); 0: it is as it was found.
  std::uint64_t free_pieces = 0;
  bool verify = true;  // at once; false: who takes it in a time calls verify() then
  friend bool operator==(const MappedRequest&, const MappedRequest&) = default;
};

// One allocation. The bytes of host memory are zero or undefined.
class MappedMemory {
 public:
  // Throws SkipError where the machine has no such memory or not so much, EnvironmentError where pages or the
  // node are missing, FailedError where the driver refuses or pages came to lie on another node; in a build
  // without CUDA always SkipError.
  MappedMemory(const MappedRequest& request, std::uint64_t bytes, const Surroundings& surroundings);
  ~MappedMemory();
  MappedMemory(MappedMemory&& other) noexcept;
  MappedMemory& operator=(MappedMemory&& other) noexcept;

  // Its address on the GPU that reads.
  [[nodiscard]] void* device_data() const;
  // The same as the host addresses it; null: it cannot.
  [[nodiscard]] void* host_data() const;
  [[nodiscard]] std::uint64_t bytes() const;
  // That it came to be as it was asked for: throws as the constructor does.
  void verify() const;
  // Of managed memory: throws FailedError where a page of those looked at, evenly spaced, is not on the
  // host, or the system does not tell. Other memory cannot leave.
  void expect_on_host() const;

 private:
  class Held;
  std::unique_ptr<Held> held_;
};

}  // namespace grainscope::cuda

#endif
