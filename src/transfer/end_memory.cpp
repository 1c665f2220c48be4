#include "grainscope/transfer/end_memory.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <utility>

#include "grainscope/core/pattern.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/cuda/budget.hpp"
#include "grainscope/cuda/check.hpp"
#include "grainscope/cuda/device.hpp"
#include "grainscope/cuda/verification.hpp"
#include "grainscope/system/cache_flush.hpp"
#include "grainscope/system/numa.hpp"
#include "grainscope/system/placement.hpp"
#include "grainscope/transfer/transfer.hpp"
#include "lanes.hpp"

namespace grainscope::transfer {
namespace {

// A thread flushes a line in 3 to 8 ns: below this size more threads cost more than they bring.
constexpr std::uint64_t kFlushBytesPerThread = 4 * kMiB;
constexpr std::uint64_t kMostFlushThreads = 16;

}  // namespace

EndMemory::EndMemory(const Endpoint& end, std::uint64_t bytes, const Surroundings& surroundings,
                     int offset_bytes, std::uint64_t others)
    : end_(end), bytes_((bytes + 3) / 4 * 4), offset_bytes_(offset_bytes) {
  data_ = static_cast<std::byte*>(on_host() ? take_on_host(surroundings, others)
                                            : device_.emplace(end.id, whole()).data()) +
          offset_bytes;
}

void* EndMemory::take_on_host(const Surroundings& surroundings, std::uint64_t others) {
  void* begin = nullptr;
  if (end_.placement == Placement::pageable || end_.placement == Placement::registered) {
    const HostMemoryRequest request{.bytes = whole(), .node = end_.id, .touch_threads = 4};
    begin = pageable_.emplace(*surroundings.topology, request).data();
  } else if (end_.placement == Placement::managed_host) {
    const cuda::MappedRequest request{.kind = cuda::MemoryKind::managed_host,
                                      .gpu = cuda::current_gpu(),
                                      .home = end_.id,
                                      .others = others};
    return managed_.emplace(request, whole(), surroundings).host_data();
  } else {
    begin = take_pinned(surroundings).data();
  }
  if (end_.placement == Placement::registered) {
    registration_.emplace(begin, whole());
  }
  // With one node there is nowhere else to be; the driver's own mappings do not always tell.
  if (surroundings.topology->nodes().size() > 1) {
    verify_placement(begin, whole(), end_.id);
  }
  return begin;
}

const cuda::PinnedBuffer& EndMemory::take_pinned(const Surroundings& surroundings) {
  using Kind = cuda::PinnedBuffer::Kind;
  if (!cached() || surroundings.pinned == nullptr) {
    return pinned_.emplace(whole(), cached() ? Kind::cached : Kind::write_combined);
  }
  reserve_ = surroundings.pinned;
  return pinned_.emplace(reserve_->take(whole(), end_.id));
}

EndMemory::~EndMemory() {
  if (reserve_ != nullptr && pinned_) {
    reserve_->give_back(std::move(*pinned_), end_.id);
  }
}

std::byte* EndMemory::device_data() const {
  if (!on_host()) {
    return data_;
  }
  void* begin = managed_        ? managed_->device_data()
                : registration_ ? registration_->device_data()
                                : pinned_->device_data();
  return static_cast<std::byte*>(begin) + offset_bytes_;
}

void EndMemory::flush() const {
  if (!on_host() || !cached()) {
    return;
  }
  const auto cpus = static_cast<std::uint64_t>(current_affinity().size());
  const std::uint64_t threads =
      std::clamp<std::uint64_t>(whole() / kFlushBytesPerThread, 1, std::min(cpus, kMostFlushThreads));
  flush_cache(data_ - offset_bytes_, whole(), static_cast<int>(threads));
}

void EndMemory::expect_on_host() const {
  if (managed_) {
    managed_->expect_on_host();
  }
}

void EndMemory::fill(std::uint32_t seed) const {
  if (on_host()) {
    grainscope::fill_pattern(words(), word_count(), seed);
    return;
  }
  const cuda::DeviceGuard guard(end_.id);
  const cuda::Stream stream;
  cuda::fill_pattern(words(), word_count(), seed, stream);
}

void EndMemory::expect_payload() const {
  if (!on_host()) {
    const cuda::DeviceGuard guard(end_.id);
    const cuda::Stream stream;
    transfer::expect_payload(cuda::find_mismatch(words(), word_count(), kPayload, stream), "on the GPU");
  } else if (!cached()) {
    // The CPU reads write-combined memory a word at a time; the GPU checks it faster over the link.
    const cuda::Stream stream;
    transfer::expect_payload(
        cuda::find_mismatch(reinterpret_cast<std::uint32_t*>(device_data()), word_count(), kPayload, stream),
        "on the host");
  } else {
    transfer::expect_payload(grainscope::find_mismatch(words(), word_count(), kPayload), "on the host");
  }
}

HostView EndMemory::read() const {
  if (on_host()) {
    return {data_, nullptr};
  }
  const cuda::DeviceGuard guard(end_.id);
  auto bytes = std::make_unique_for_overwrite<std::byte[]>(bytes_);
  cuda::check(cudaMemcpy(bytes.get(), data_, bytes_, cudaMemcpyDeviceToHost),
              "read back " + format_bytes(bytes_) + " of GPU " + std::to_string(end_.id));
  const std::byte* first = bytes.get();
  return {first, std::move(bytes)};
}

void BothEnds::fill() const {
  source.fill(kPayload);
  destination.fill(kPoison);
}

}  // namespace grainscope::transfer
