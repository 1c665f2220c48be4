// The kinds of memory that a gather can read, one class each.

#include "span_chunk.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <string>

#include "grainscope/core/error.hpp"
#include "grainscope/cuda/check.hpp"
#include "grainscope/cuda/device.hpp"
#include "grainscope/cuda/memory.hpp"
#include "grainscope/system/host_memory.hpp"
#include "grainscope/system/numa.hpp"
#include "grainscope/system/placement.hpp"

namespace grainscope::reach {
namespace {

constexpr std::size_t kMostTouchThreads = 16;
constexpr std::size_t kPagesLookedAt = 1024;

// Throws FailedError where pages are known to lie on another node. The driver's own mappings do not always
// tell where they are; then, and with one node, nothing is said.
void expect_on_node(const Topology& topology, const void* data, std::uint64_t bytes, int node) {
  if (topology.nodes().size() < 2) {
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

class AllocatedChunk final : public SpanChunk {
 public:
  AllocatedChunk(const Topology& topology, const SpanRequest& request)
      : buffer_(request.chunk_bytes, cuda::PinnedBuffer::Kind::cached), device_data_(buffer_.device_data()) {
    expect_on_node(topology, buffer_.data(), request.chunk_bytes, request.home);
  }
  [[nodiscard]] void* device_data() const override { return device_data_; }
  [[nodiscard]] void* host_data() const override { return buffer_.data(); }

 private:
  cuda::PinnedBuffer buffer_;
  void* device_data_;
};

PageKind pages_of(SpanKind kind) {
  switch (kind) {
    case SpanKind::transparent_huge:
      return PageKind::transparent_huge;
    case SpanKind::hugetlb:
      return PageKind::hugetlb;
    default:
      return PageKind::base;
  }
}

class RegisteredChunk final : public SpanChunk {
 public:
  RegisteredChunk(const Topology& topology, const SpanRequest& request)
      : memory_(touched(topology, request)),
        registration_(memory_.data(), memory_.bytes()),
        device_data_(registration_.device_data()) {}
  [[nodiscard]] void* device_data() const override { return device_data_; }
  [[nodiscard]] void* host_data() const override { return memory_.data(); }

 private:
  static HostMemory touched(const Topology& topology, const SpanRequest& request) {
    const std::size_t threads = std::clamp<std::size_t>(current_affinity().size(), 1, kMostTouchThreads);
    HostMemory memory(topology, {.bytes = request.chunk_bytes,
                                 .node = request.home,
                                 .pages = pages_of(request.kind),
                                 .touch_threads = static_cast<int>(threads)});
    if (request.kind == SpanKind::transparent_huge &&
        !is_transparent_huge(memory.data(), memory.bytes()).value_or(true)) {
      throw SkipError(
          "the kernel did not grant transparent huge pages: see /sys/kernel/mm/transparent_hugepage");
    }
    return memory;
  }

  HostMemory memory_;
  cuda::Registration registration_;  // goes before the memory
  void* device_data_;
};

class DriverChunk final : public SpanChunk {
 public:
  DriverChunk(const Topology& topology, const SpanRequest& request)
      : buffer_(request.gpu, request.home, request.chunk_bytes) {
    expect_on_node(topology, buffer_.data(), request.chunk_bytes, request.home);
  }
  [[nodiscard]] void* device_data() const override { return buffer_.data(); }
  [[nodiscard]] void* host_data() const override { return buffer_.data(); }

 private:
  cuda::HostVmmBuffer buffer_;
};

class PeerChunk final : public SpanChunk {
 public:
  explicit PeerChunk(const SpanRequest& request)
      : access_(request.gpu, request.home), buffer_(request.home, request.chunk_bytes) {}
  [[nodiscard]] void* device_data() const override { return buffer_.data(); }

 private:
  cuda::PeerAccess access_;
  cuda::DeviceBuffer buffer_;
};

}  // namespace

std::unique_ptr<SpanChunk> make_span_chunk(const Topology& topology, const SpanRequest& request) {
  switch (request.kind) {
    case SpanKind::host_alloc:
      return std::make_unique<AllocatedChunk>(topology, request);
    case SpanKind::vmm_host:
      return std::make_unique<DriverChunk>(topology, request);
    case SpanKind::peer:
      return std::make_unique<PeerChunk>(request);
    default:
      return std::make_unique<RegisteredChunk>(topology, request);
  }
}

}  // namespace grainscope::reach
