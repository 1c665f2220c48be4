#include "end_buffer.hpp"

#include "grainscope/core/pattern.hpp"
#include "grainscope/cuda/pattern.hpp"
#include "lanes.hpp"

namespace grainscope::transfer {
namespace {

Placement host_kind(Placement placement) {
  // Mapped memory is pinned memory that a kernel addresses.
  return placement == Placement::mapped ? Placement::pinned : placement;
}

}  // namespace

EndBuffer::EndBuffer(const Endpoint& end, std::uint64_t bytes, const Topology& topology, int offset_bytes)
    : end_(end), words_(bytes / sizeof(std::uint32_t)), offset_bytes_(offset_bytes) {
  const std::uint64_t whole = bytes + static_cast<std::uint64_t>(offset_bytes);
  if (end.on_host()) {
    host_.emplace(host_kind(end.placement), whole, end.id, topology);
  } else {
    gpu_.emplace(end.id, whole);
  }
  data_ = static_cast<std::byte*>(host_ ? host_->data() : gpu_->data()) + offset_bytes;
}

void* EndBuffer::device_data() const {
  return host_ ? static_cast<std::byte*>(host_->device_data()) + offset_bytes_ : data_;
}

void EndBuffer::flush() const {
  if (host_) {
    host_->flush();
  }
}

void EndBuffer::fill(std::uint32_t seed) const {
  if (host_) {
    grainscope::fill_pattern(words(), words_, seed);
    return;
  }
  const cuda::DeviceGuard guard(end_.id);
  const cuda::Stream stream;
  cuda::fill_pattern(words(), words_, seed, stream);
}

void EndBuffer::expect_payload() const {
  if (!host_) {
    const cuda::DeviceGuard guard(end_.id);
    const cuda::Stream stream;
    transfer::expect_payload(cuda::find_mismatch(words(), words_, kPayload, stream), "on the GPU");
  } else if (!host_->cached()) {
    // The CPU reads write-combined memory a word at a time; the GPU checks it faster over the link.
    const cuda::Stream stream;
    transfer::expect_payload(
        cuda::find_mismatch(static_cast<std::uint32_t*>(device_data()), words_, kPayload, stream),
        "on the host");
  } else {
    transfer::expect_payload(grainscope::find_mismatch(words(), words_, kPayload), "on the host");
  }
}

}  // namespace grainscope::transfer
