// Explicit copies by the copy engine: between host and GPU, between two GPUs, within one.

#include <cuda_runtime_api.h>

#include <algorithm>

#include "grainscope/core/units.hpp"
#include "grainscope/cuda/check.hpp"
#include "grainscope/cuda/device.hpp"
#include "grainscope/transfer/end_memory.hpp"
#include "lanes.hpp"
#include "peer_reach.hpp"

namespace grainscope::transfer {
namespace {

class CopyLane final : public Lane {
 public:
  CopyLane(const Transfer& transfer, const Topology& topology)
      : Lane(transfer.gpu(), transfer.node(), transfer.bytes),
        transfer_(transfer),
        reach_(transfer),
        source_(transfer.source, transfer.bytes, topology),
        destination_(transfer.destination, transfer.bytes, topology) {
    source_.fill(kPayload);
    destination_.fill(kPoison);
  }

  void prepare() override {
    if (transfer_.flush) {
      source_.flush();
      destination_.flush();
    }
  }

  void issue(const cuda::Stream& stream) override {
    const std::uint64_t piece = transfer_.piece_bytes > 0 ? transfer_.piece_bytes : bytes();
    for (std::uint64_t first = 0; first < bytes(); first += piece) {
      const std::uint64_t size = std::min(piece, bytes() - first);
      // Without peer access a copy by unified addresses is staged through the host like any other.
      cuda::check(cudaMemcpyAsync(destination_.data() + first, source_.data() + first, size,
                                  cudaMemcpyDefault, stream.get()),
                  "copy " + format_bytes(size));
    }
  }

  std::string verify() override {
    destination_.expect_payload();
    return "every word at the destination, which held other data before";
  }

  [[nodiscard]] Conduct conduct() const override {
    if (transfer_.source.placement == Placement::pageable ||
        transfer_.destination.placement == Placement::pageable) {
      return Conduct::hosted;
    }
    // Between GPUs that cannot reach each other the driver stages the copy, and may wait for what is before.
    const bool staged = transfer_.between_gpus() && !transfer_.within_gpu() && !transfer_.peer_access;
    return staged ? Conduct::called : Conduct::enqueued;
  }

  [[nodiscard]] std::string action() const override {
    return transfer_.piece_bytes > 0 ? "one cudaMemcpyAsync a piece" : "one cudaMemcpyAsync";
  }

 private:
  Transfer transfer_;
  PeerReach reach_;
  EndMemory source_;
  EndMemory destination_;
};

}  // namespace

std::unique_ptr<Lane> make_copy_lane(const Transfer& transfer, const Surroundings& surroundings) {
  return std::make_unique<CopyLane>(transfer, *surroundings.topology);
}

}  // namespace grainscope::transfer
