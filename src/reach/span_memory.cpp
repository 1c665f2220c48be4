// Memory that a GPU reads over a link, chunk by chunk: the kinds of it, one class each.

#include "grainscope/reach/span_memory.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <bit>
#include <memory>
#include <optional>
#include <string>
#include <typeinfo>
#include <utility>

#include "grainscope/core/error.hpp"
#include "grainscope/cuda/check.hpp"
#include "grainscope/cuda/device.hpp"
#include "grainscope/cuda/memory.hpp"
#include "grainscope/cuda/verification.hpp"
#include "grainscope/system/host_memory.hpp"
#include "grainscope/system/numa.hpp"
#include "grainscope/system/placement.hpp"

namespace grainscope::reach {
namespace {

constexpr std::uint64_t kSmallestChunk = 4 * kKiB;
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

// One chunk of the kind that `request` asks for, on its node, touched and mapped for the current GPU, which
// is the one that reads. The calling thread is bound to the node. Throws as SpanMemory::grow.
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

}  // namespace

SpanMemory::SpanMemory(const Topology& topology, SpanRequest request)
    : topology_(topology), request_(std::move(request)), at_start_(request_.available()) {
  if (!std::has_single_bit(request_.chunk_bytes) || request_.chunk_bytes < kSmallestChunk) {
    throw UsageError("memory is taken in chunks of a power of two from 4 KiB, not of " +
                     std::to_string(request_.chunk_bytes) + " bytes");
  }
}

SpanMemory::~SpanMemory() = default;

void SpanMemory::grow(std::uint64_t wanted) {
  if (wanted > kMostChunks * request_.chunk_bytes) {
    throw SkipError("needs " + format_bytes(wanted) + "; a span is " +
                    format_bytes(kMostChunks * request_.chunk_bytes) + " at most");
  }
  const bool on_host = request_.kind != SpanKind::peer;
  const cuda::DeviceGuard guard(request_.gpu);
  std::optional<NodeBinding> binding;
  if (on_host) {
    binding.emplace(topology_, request_.home);
  }
  while (bytes() < wanted) {
    // Reserved huge pages are set aside already, and a GPU's memory is asked for by its own allocator.
    if (on_host && request_.kind != SpanKind::hugetlb) {
      require_room(wanted);
    }
    add_chunk(wanted);
  }
}

void SpanMemory::require_room(std::uint64_t wanted) const {
  const std::uint64_t room = room_for_more(at_start_, request_.available(), bytes());
  if (room < request_.chunk_bytes) {
    throw SkipError("needs " + format_bytes(wanted) + " of host memory; " + format_bytes(bytes() + room) +
                    " can be taken");
  }
}

void SpanMemory::add_chunk(std::uint64_t wanted) {
  std::unique_ptr<SpanChunk> chunk;
  try {
    chunk = make_span_chunk(topology_, request_);
  } catch (const FailedError& error) {
    // The driver may lock no more although there is more. A derived error says something else: a lost GPU.
    if (chunks_.empty() || typeid(error) != typeid(FailedError)) {
      throw;
    }
    throw SkipError("needs " + format_bytes(wanted) + "; beyond " + format_bytes(bytes()) + ": " +
                    error.what());
  }
  // By a GPU, which writes host memory faster than CPUs do; a peer's memory by the peer.
  const cuda::DeviceGuard guard(request_.kind == SpanKind::peer ? request_.home : request_.gpu);
  const cuda::Stream stream;
  const std::uint64_t words = request_.chunk_bytes / sizeof(std::uint32_t);
  cuda::fill_pattern(static_cast<std::uint32_t*>(chunk->device_data()), words, kSpanSeed, stream,
                     chunks_.size() * words);
  chunks_.push_back(std::move(chunk));
}

std::vector<void*> SpanMemory::device_chunks() const {
  std::vector<void*> addresses(chunks_.size());
  std::transform(chunks_.begin(), chunks_.end(), addresses.begin(),
                 [](const auto& chunk) { return chunk->device_data(); });
  return addresses;
}

std::vector<void*> SpanMemory::host_chunks() const {
  std::vector<void*> addresses(chunks_.size());
  std::transform(chunks_.begin(), chunks_.end(), addresses.begin(),
                 [](const auto& chunk) { return chunk->host_data(); });
  return addresses;
}

}  // namespace grainscope::reach
