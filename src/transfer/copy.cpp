// Explicit copies by the copy engine: between host and GPU, between two GPUs, within one.

#include <cuda_runtime_api.h>

#include <algorithm>

#include "ends_lane.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/cuda/check.hpp"
#include "grainscope/cuda/device.hpp"
#include "lanes.hpp"

namespace grainscope::transfer {
namespace {

class CopyLane final : public EndsLane {
 public:
  using EndsLane::EndsLane;

  void issue(const cuda::Stream& stream) override {
    const std::uint64_t piece = transfer().piece_bytes > 0 ? transfer().piece_bytes : bytes();
    for (std::uint64_t first = 0; first < bytes(); first += piece) {
      const std::uint64_t size = std::min(piece, bytes() - first);
      // Without peer access a copy by unified addresses is staged through the host like any other.
      cuda::check(cudaMemcpyAsync(destination().data() + first, source().data() + first, size,
                                  cudaMemcpyDefault, stream.get()),
                  "copy " + format_bytes(size));
    }
  }

  [[nodiscard]] Conduct conduct() const override {
    if (transfer().source.placement == Placement::pageable ||
        transfer().destination.placement == Placement::pageable) {
      return Conduct::hosted;
    }
    // Between GPUs that cannot reach each other the driver stages the copy, and may wait for what is before.
    const bool staged = transfer().between_gpus() && !transfer().within_gpu() && !transfer().peer_access;
    return staged ? Conduct::called : Conduct::enqueued;
  }

  [[nodiscard]] bool launches_kernels() const override { return false; }
  [[nodiscard]] std::string action() const override {
    return transfer().piece_bytes > 0 ? "one cudaMemcpyAsync a piece" : "one cudaMemcpyAsync";
  }
};

}  // namespace

std::unique_ptr<Lane> make_copy_lane(const Transfer& transfer, const Surroundings& surroundings) {
  return std::make_unique<CopyLane>(transfer, surroundings);
}

}  // namespace grainscope::transfer
