// The ways in which memory comes to be that a GPU reads over a link, one class each.

#include "grainscope/cuda/mapped.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "grainscope/core/error.hpp"
#include "grainscope/core/thread_team.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/cuda/budget.hpp"
#include "grainscope/cuda/check.hpp"
#include "grainscope/cuda/compat.hpp"
#include "grainscope/cuda/device.hpp"
#include "grainscope/cuda/memory.hpp"
#include "grainscope/system/host_memory.hpp"
#include "grainscope/system/numa.hpp"
#include "grainscope/system/placement.hpp"

namespace grainscope::cuda {
namespace {

constexpr std::size_t kPagesLookedAt = 1024;
constexpr std::uint64_t kBlockBytes = 2 * kMiB;  // of unified memory: what the driver maps at once

int touching_threads(int most) {
  return std::clamp(static_cast<int>(current_affinity().size()), 1, std::max(1, most));
}

// Throws FailedError where pages are known to lie on another node. The driver's own mappings do not always
// tell where they are; then, and with one node, nothing is said.
void expect_on_node(const Topology* topology, const void* data, std::uint64_t bytes, int node) {
  if (topology == nullptr || topology->nodes().size() < 2) {
    return;
  }
  const Placement where = placement(data, bytes, kPagesLookedAt);
  for (const auto& [other, pages] : where.pages_on_node) {
    if (other != node && pages > 0) {
      throw FailedError("memory asked for on NUMA node " + std::to_string(node) +
                        " lies elsewhere: " + where.text());
    }
  }
}

}  // namespace

class MappedMemory::Held {
 public:
  virtual ~Held() = default;
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  [[nodiscard]] virtual void* device_data() const = 0;
  [[nodiscard]] virtual void* host_data() const { return device_data(); }
  [[nodiscard]] virtual std::uint64_t bytes() const = 0;
  virtual void expect_on_host() const {}
  virtual void verify() const {}

  [[nodiscard]] static std::unique_ptr<Held> make(const MappedRequest& request, std::uint64_t bytes,
                                                  const Surroundings& surroundings);

 protected:
  Held() = default;
  // Of one kind each, below.
  class Allocated;
  class Registered;
  class ByDriver;
  class Managed;
  class OfPeer;
};

class MappedMemory::Held::Allocated final : public Held {
 public:
  Allocated(const MappedRequest& request, std::uint64_t bytes, const Topology* topology)
      : buffer_(bytes, PinnedBuffer::Kind::cached),
        device_data_(buffer_.device_data()),
        topology_(topology),
        home_(request.home) {}
  void verify() const override { expect_on_node(topology_, buffer_.data(), buffer_.bytes(), home_); }
  [[nodiscard]] void* device_data() const override { return device_data_; }
  [[nodiscard]] void* host_data() const override { return buffer_.data(); }
  [[nodiscard]] std::uint64_t bytes() const override { return buffer_.bytes(); }

 private:
  PinnedBuffer buffer_;
  void* device_data_;
  const Topology* topology_;
  int home_;
};

class MappedMemory::Held::Registered final : public Held {
 public:
  Registered(const MappedRequest& request, std::uint64_t bytes, const Topology& topology)
      : memory_(topology, {.bytes = bytes,
                           .node = request.home,
                           .pages = pages_of(request.kind),
                           .touch_threads = touching_threads(request.touch_threads),
                           .verify = false}),
        registration_(memory_.data(), memory_.bytes()),
        device_data_(registration_.device_data()) {}
  [[nodiscard]] void* device_data() const override { return device_data_; }
  [[nodiscard]] void* host_data() const override { return memory_.data(); }
  [[nodiscard]] std::uint64_t bytes() const override { return memory_.bytes(); }
  void verify() const override {
    memory_.verify();
    if (memory_.pages() == PageKind::transparent_huge &&
        !is_transparent_huge(memory_.data(), memory_.bytes()).value_or(true)) {
      throw SkipError(
          "the kernel did not grant transparent huge pages: see /sys/kernel/mm/transparent_hugepage");
    }
  }

 private:
  static PageKind pages_of(MemoryKind kind) {
    return kind == MemoryKind::transparent_huge ? PageKind::transparent_huge
           : kind == MemoryKind::hugetlb        ? PageKind::hugetlb
                                                : PageKind::base;
  }

  HostMemory memory_;
  Registration registration_;  // goes before the memory
  void* device_data_;
};

class MappedMemory::Held::ByDriver final : public Held {
 public:
  ByDriver(const MappedRequest& request, std::uint64_t bytes, const Topology* topology)
      : buffer_(request.gpu, request.home, bytes), topology_(topology), home_(request.home) {}
  void verify() const override { expect_on_node(topology_, buffer_.data(), buffer_.bytes(), home_); }
  [[nodiscard]] void* device_data() const override { return buffer_.data(); }
  [[nodiscard]] std::uint64_t bytes() const override { return buffer_.bytes(); }

 private:
  HostVmmBuffer buffer_;
  const Topology* topology_;
  int home_;
};

// The unified-memory driver takes host memory by blocks of 2 MiB where it can have them, and maps a block
// that is whole and contiguous by one entry. So a block is touched by one thread.
class MappedMemory::Held::Managed final : public Held {
 public:
  Managed(const MappedRequest& request, std::uint64_t bytes, const Surroundings& surroundings)
      : bytes_(bytes),
        buffer_(budget_of(surroundings), request.gpu, whole_blocks(bytes), ManagedUse::stays_on_host),
        topology_(surroundings.topology),
        home_(request.home) {
    const bool several = surroundings.topology != nullptr && surroundings.topology->nodes().size() > 1;
    advise_all(cudaMemAdviseSetPreferredLocation,
               several ? Location::host_node(request.home) : Location::host(), "prefer the host");
    for (int gpu = 0; gpu < 64; ++gpu) {
      const bool other = gpu != request.gpu && (request.others >> gpu & 1) != 0;
      if (other) {
        shares_.push_back(std::make_unique<Share>(budget_of(surroundings), gpu, buffer_.bytes()));
      }
      if (other || gpu == request.gpu) {
        advise_all(cudaMemAdviseSetAccessedBy, Location::gpu(gpu), "be mapped by the GPU");
      }
    }
    touch(touching_threads(request.touch_threads));
  }
  void verify() const override {
    expect_on_node(topology_, buffer_.data(), bytes_, home_);
    expect_on_host();
  }
  [[nodiscard]] void* device_data() const override { return buffer_.data(); }
  [[nodiscard]] std::uint64_t bytes() const override { return bytes_; }

  void expect_on_host() const override {
    const auto pages = pages_present(buffer_.data(), buffer_.bytes(), kPagesLookedAt);
    if (!pages) {
      throw FailedError(
          "/proc/self/pagemap cannot be read: nothing shows that managed memory stays on the host");
    }
    if (pages->absent > 0) {
      throw FailedError(
          "managed memory that is to stay on the host has left it: " + std::to_string(pages->absent) +
          " of " + std::to_string(pages->present + pages->absent) + " pages looked at are elsewhere");
    }
  }

 private:
  // The driver lays small allocations side by side, on pages that they share.
  static std::uint64_t whole_blocks(std::uint64_t bytes) {
    return (bytes + kBlockBytes - 1) / kBlockBytes * kBlockBytes;
  }
  static ManagedBudget& budget_of(const Surroundings& surroundings) {
    if (surroundings.managed == nullptr) {
      throw FailedError("managed memory was asked for without a budget");
    }
    return *surroundings.managed;
  }
  void advise_all(cudaMemoryAdvise advice, Location where, const char* what) const {
    check(advise(buffer_.data(), buffer_.bytes(), advice, where),
          "advise " + format_bytes(buffer_.bytes()) + " of managed memory to " + what);
  }
  void touch(int threads) const {
    const std::uint64_t blocks = buffer_.bytes() / kBlockBytes;
    const std::uint64_t page = base_page_bytes();
    auto* const bytes = static_cast<volatile std::byte*>(buffer_.data());
    ThreadTeam team(threads, current_affinity());
    std::atomic<std::uint64_t> next = 0;
    team.run([&](int /*worker*/) {
      for (std::uint64_t block = next++; block < blocks; block = next++) {
        for (std::uint64_t at = block * kBlockBytes; at < (block + 1) * kBlockBytes; at += page) {
          bytes[at] = std::byte{0};
        }
      }
    });
  }

  // Counted against another reader's memory, too: it maps all of it.
  class Share {
   public:
    Share(const ManagedBudget& budget, int gpu, std::uint64_t bytes)
        : budget_(budget), gpu_(gpu), bytes_(bytes) {
      budget_.reserve(gpu_, bytes_, ManagedUse::stays_on_host);
    }
    ~Share() { budget_.release(gpu_, bytes_, ManagedUse::stays_on_host); }
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;

   private:
    ManagedBudget budget_;
    int gpu_;
    std::uint64_t bytes_;
  };

  std::uint64_t bytes_;
  ManagedBuffer buffer_;
  const Topology* topology_;
  int home_;
  std::vector<std::unique_ptr<Share>> shares_;
};

class MappedMemory::Held::OfPeer final : public Held {
 public:
  OfPeer(const MappedRequest& request, std::uint64_t bytes)
      : access_(request.gpu, request.home), buffer_(request.home, bytes) {}
  [[nodiscard]] void* device_data() const override { return buffer_.data(); }
  [[nodiscard]] void* host_data() const override { return nullptr; }
  [[nodiscard]] std::uint64_t bytes() const override { return buffer_.bytes(); }

 private:
  PeerAccess access_;
  DeviceBuffer buffer_;
};

std::unique_ptr<MappedMemory::Held> MappedMemory::Held::make(const MappedRequest& request,
                                                             std::uint64_t bytes,
                                                             const Surroundings& surroundings) {
  const DeviceGuard guard(request.gpu);
  switch (request.kind) {
    case MemoryKind::host_alloc:
      return std::make_unique<Allocated>(request, bytes, surroundings.topology);
    case MemoryKind::vmm_host:
      return std::make_unique<ByDriver>(request, bytes, surroundings.topology);
    case MemoryKind::managed_host:
      return std::make_unique<Managed>(request, bytes, surroundings);
    case MemoryKind::peer:
      return std::make_unique<OfPeer>(request, bytes);
    default:
      if (surroundings.topology == nullptr) {
        throw FailedError(std::string("memory ") + name(request.kind) + " was asked for without a topology");
      }
      return std::make_unique<Registered>(request, bytes, *surroundings.topology);
  }
}

MappedMemory::MappedMemory(const MappedRequest& request, std::uint64_t bytes,
                           const Surroundings& surroundings)
    : held_(Held::make(request, bytes, surroundings)) {
  if (request.verify) {
    verify();
  }
}
MappedMemory::~MappedMemory() = default;
MappedMemory::MappedMemory(MappedMemory&& other) noexcept = default;
MappedMemory& MappedMemory::operator=(MappedMemory&& other) noexcept = default;

void* MappedMemory::device_data() const {
  return held_->device_data();
}

void* MappedMemory::host_data() const {
  return held_->host_data();
}

std::uint64_t MappedMemory::bytes() const {
  return held_->bytes();
}

void MappedMemory::verify() const {
  held_->verify();
}

void MappedMemory::expect_on_host() const {
  held_->expect_on_host();
}

}  // namespace grainscope::cuda
