#include "grainscope/transfer/end_memory.hpp"

#include <cuda_runtime_api.h>

#include "grainscope/core/pattern.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/cuda/check.hpp"
#include "grainscope/cuda/device.hpp"
#include "grainscope/cuda/pattern.hpp"
#include "grainscope/system/placement.hpp"

namespace grainscope::transfer {

EndMemory::EndMemory(const Endpoint& where, std::uint64_t bytes, const Topology& topology)
    : where_(where), bytes_((bytes + 3) / 4 * 4) {
  if (where.side == Endpoint::Side::gpu) {
    device_.emplace(where.id, bytes_);
    return;
  }
  pinned_.emplace(bytes_, cuda::PinnedBuffer::Kind::cached);
  // With one node there is nowhere else to be; the driver's own mappings do not always tell.
  if (topology.nodes().size() > 1) {
    verify_placement(pinned_->data(), bytes_, where.id);
  }
}

std::byte* EndMemory::data() const noexcept {
  return static_cast<std::byte*>(pinned_ ? pinned_->data() : device_->data());
}

std::byte* EndMemory::device_data() const {
  return static_cast<std::byte*>(pinned_ ? pinned_->device_data() : device_->data());
}

void EndMemory::fill(std::uint32_t seed) const {
  auto* words = reinterpret_cast<std::uint32_t*>(data());
  const std::uint64_t count = bytes_ / sizeof(std::uint32_t);
  if (on_host()) {
    grainscope::fill_pattern(words, count, seed);
    return;
  }
  const cuda::DeviceGuard guard(where_.id);
  const cuda::Stream stream;
  cuda::fill_pattern(words, count, seed, stream);
}

HostView EndMemory::read() const {
  if (on_host()) {
    return {data(), nullptr};
  }
  const cuda::DeviceGuard guard(where_.id);
  auto bytes = std::make_unique_for_overwrite<std::byte[]>(bytes_);
  cuda::check(cudaMemcpy(bytes.get(), data(), bytes_, cudaMemcpyDeviceToHost),
              "read back " + format_bytes(bytes_) + " of GPU " + std::to_string(where_.id));
  const std::byte* first = bytes.get();
  return {first, std::move(bytes)};
}

}  // namespace grainscope::transfer
