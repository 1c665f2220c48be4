#include "host_buffer.hpp"

#include <algorithm>

#include "grainscope/core/units.hpp"
#include "grainscope/system/cache_flush.hpp"
#include "grainscope/system/placement.hpp"

namespace grainscope::transfer {
namespace {

// A thread flushes a line in 3 to 8 ns: below this size more threads cost more than they bring.
constexpr std::uint64_t kFlushBytesPerThread = 4 * kMiB;
constexpr std::uint64_t kMostFlushThreads = 16;

}  // namespace

HostBuffer::HostBuffer(Placement placement, std::uint64_t bytes, int node, const Topology& topology)
    : bytes_(bytes), cached_(placement != Placement::write_combined) {
  if (placement == Placement::pageable || placement == Placement::registered) {
    pageable_.emplace(topology, HostMemoryRequest{.bytes = bytes, .node = node, .touch_threads = 4});
    data_ = pageable_->data();
  } else {
    pinned_.emplace(bytes,
                    cached_ ? cuda::PinnedBuffer::Kind::cached : cuda::PinnedBuffer::Kind::write_combined);
    data_ = pinned_->data();
  }
  if (placement == Placement::registered) {
    registration_.emplace(data_, bytes);
  }
  // With one node there is nowhere else to be; the driver's own mappings do not always tell.
  if (topology.nodes().size() > 1) {
    verify_placement(data_, bytes, node);
  }
}

void* HostBuffer::device_data() const {
  return registration_ ? registration_->device_data() : pinned_->device_data();
}

void HostBuffer::flush() const {
  if (!cached_) {
    return;
  }
  const auto cpus = static_cast<std::uint64_t>(current_affinity().size());
  const std::uint64_t threads =
      std::clamp<std::uint64_t>(bytes_ / kFlushBytesPerThread, 1, std::min(cpus, kMostFlushThreads));
  flush_cache(data_, bytes_, static_cast<int>(threads));
}

}  // namespace grainscope::transfer
