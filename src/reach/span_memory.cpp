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
// What stays untouched when all free memory is brought into pieces.
constexpr std::uint64_t kUnscattered = 2 * kGiB;

}  // namespace

SpanMemory::SpanMemory(const cuda::Surroundings& surroundings, SpanRequest request)
    : surroundings_(surroundings), request_(std::move(request)), at_start_(request_.available()) {
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
  const bool on_host = request_.memory.kind != cuda::MemoryKind::peer;
  const cuda::DeviceGuard guard(request_.memory.gpu);
  std::optional<NodeBinding> binding;
  if (on_host) {
    binding.emplace(*surroundings_.topology, request_.memory.home);
    if (request_.memory.free_pieces > 0 && !scattered_) {
      scatter();
    }
  }
  while (bytes() < wanted) {
    // Reserved huge pages are set aside already, and a GPU's memory is asked for by its own allocator.
    if (on_host && request_.memory.kind != cuda::MemoryKind::hugetlb) {
      require_room(wanted);
    }
    add_chunk(wanted);
  }
}

// Takes what is free page by page, and gives back all but a page here and there. The node's memory alone.
void SpanMemory::scatter() {
  const AvailableMemory now = request_.available();
  const std::uint64_t free = now.bytes().value_or(0);
  if (free <= 2 * kUnscattered) {
    throw SkipError("bringing free host memory into pieces takes all of it but " +
                    format_bytes(kUnscattered) + ", and " +
                    (free == 0 ? "nothing tells how much there is" : "there are " + format_bytes(free)));
  }
  const auto threads = static_cast<int>(std::min<std::size_t>(current_affinity().size(), 64));
  scattered_.emplace(*surroundings_.topology, HostMemoryRequest{.bytes = free - kUnscattered,
                                                                .node = request_.memory.home,
                                                                .pages = PageKind::base,
                                                                .touch_threads = threads});
  scattered_->thin_out(std::max<std::size_t>(2, request_.memory.free_pieces / base_page_bytes()), threads);
}

void SpanMemory::require_room(std::uint64_t wanted) const {
  const std::uint64_t room = room_for_more(at_start_, request_.available(), bytes());
  if (room < request_.chunk_bytes) {
    throw SkipError("needs " + format_bytes(wanted) + " of host memory; " + format_bytes(bytes() + room) +
                    " can be taken");
  }
}

void SpanMemory::add_chunk(std::uint64_t wanted) {
  std::optional<cuda::MappedMemory> chunk;
  try {
    chunk.emplace(request_.memory, request_.chunk_bytes, surroundings_);
  } catch (const FailedError& error) {
    // The driver may lock no more although there is more. A derived error says something else: a lost GPU.
    if (chunks_.empty() || typeid(error) != typeid(FailedError)) {
      throw;
    }
    throw SkipError("needs " + format_bytes(wanted) + "; beyond " + format_bytes(bytes()) + ": " +
                    error.what());
  }
  // By a GPU, which writes host memory faster than CPUs do; a peer's memory by the peer.
  const cuda::DeviceGuard guard(request_.memory.kind == cuda::MemoryKind::peer ? request_.memory.home
                                                                               : request_.memory.gpu);
  const cuda::Stream stream;
  const std::uint64_t words = request_.chunk_bytes / sizeof(std::uint32_t);
  cuda::fill_pattern(static_cast<std::uint32_t*>(chunk->device_data()), words, kSpanSeed, stream,
                     chunks_.size() * words);
  chunks_.push_back(std::move(*chunk));
}

std::vector<void*> SpanMemory::device_chunks() const {
  std::vector<void*> addresses(chunks_.size());
  std::transform(chunks_.begin(), chunks_.end(), addresses.begin(),
                 [](const auto& chunk) { return chunk.device_data(); });
  return addresses;
}

std::vector<void*> SpanMemory::host_chunks() const {
  std::vector<void*> addresses(chunks_.size());
  std::transform(chunks_.begin(), chunks_.end(), addresses.begin(),
                 [](const auto& chunk) { return chunk.host_data(); });
  return addresses;
}

void SpanMemory::expect_on_host() const {
  for (const cuda::MappedMemory& chunk : chunks_) {
    chunk.expect_on_host();
  }
}

}  // namespace grainscope::reach
