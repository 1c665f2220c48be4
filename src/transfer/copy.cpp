// Explicit copies between host memory and a GPU's, by the copy engine.

#include <cuda_runtime_api.h>

#include "grainscope/core/pattern.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/cuda/check.hpp"
#include "grainscope/cuda/gate.hpp"
#include "grainscope/cuda/pattern.hpp"
#include "host_buffer.hpp"
#include "movers.hpp"

namespace grainscope::transfer {
namespace {

class CopyMover final : public Mover {
 public:
  CopyMover(const Transfer& transfer, const Topology& topology)
      : transfer_(transfer),
        binding_(topology, transfer.host_end().id),
        guard_(transfer.gpu_end().id),
        host_(transfer.host_end().placement, transfer.bytes, transfer.host_end().id, topology),
        device_(transfer.gpu_end().id, transfer.bytes) {
    grainscope::fill_pattern(host_.words(), words(), transfer.to_gpu() ? kPayload : kPoison);
    cuda::fill_pattern(device_words(), words(), transfer.to_gpu() ? kPoison : kPayload, stream_);
  }

  void prepare() override {
    if (transfer_.flush) {
      host_.flush();
    }
  }

  double run() override {
    if (transfer_.submission_only) {
      return time_submission();
    }
    return is_pageable() ? time_on_host() : stopwatch_.time_s(stream_, [this] { copy(); });
  }

  std::string verify() override {
    stream_.synchronize();
    if (transfer_.to_gpu()) {
      expect_payload(cuda::find_mismatch(device_words(), words(), kPayload, stream_), "on the GPU");
    } else {
      expect_payload(host_mismatch(), "on the host");
    }
    return "every word at the destination, which held other data before";
  }

  [[nodiscard]] Timing timing() const override {
    if (transfer_.submission_only) {
      return {Clock::steady, true, "the call of cudaMemcpyAsync, behind a closed gate"};
    }
    if (is_pageable()) {
      return {Clock::steady, false, "cudaMemcpyAsync, from the call until an event behind it has completed"};
    }
    return {Clock::event, true, "one cudaMemcpyAsync between two events"};
  }

 private:
  [[nodiscard]] bool is_pageable() const { return transfer_.host_end().placement == Placement::pageable; }
  [[nodiscard]] std::uint64_t words() const { return transfer_.bytes / sizeof(std::uint32_t); }
  [[nodiscard]] std::uint32_t* device_words() const { return static_cast<std::uint32_t*>(device_.data()); }

  void copy() const {
    void* to = transfer_.to_gpu() ? device_.data() : host_.data();
    const void* from = transfer_.to_gpu() ? host_.data() : device_.data();
    cuda::check(cudaMemcpyAsync(to, from, transfer_.bytes, cudaMemcpyDefault, stream_.get()),
                "copy " + format_bytes(transfer_.bytes) + " between host and GPU");
  }

  // The CPU reads write-combined memory a word at a time; the GPU checks it faster over the link.
  [[nodiscard]] std::optional<std::uint64_t> host_mismatch() const {
    if (!host_.cached()) {
      return cuda::find_mismatch(static_cast<std::uint32_t*>(host_.device_data()), words(), kPayload,
                                 stream_);
    }
    return grainscope::find_mismatch(host_.words(), words(), kPayload);
  }

  // The host does part of a pageable copy, so its time is the host's; the stream is idle at the start.
  [[nodiscard]] double time_on_host() const {
    const double start_s = steady_now_s();
    copy();
    done_.record(stream_);
    done_.synchronize();
    return steady_now_s() - start_s;
  }

  double time_submission() {
    double seconds = 0;
    static_cast<void>(stopwatch_.time_s(stream_, [&] {
      const double start_s = steady_now_s();
      copy();
      seconds = steady_now_s() - start_s;
    }));
    return seconds;
  }

  Transfer transfer_;
  NodeBinding binding_;
  cuda::DeviceGuard guard_;
  cuda::Stream stream_;
  cuda::Event done_;
  cuda::GatedStopwatch stopwatch_;
  HostBuffer host_;
  cuda::DeviceBuffer device_;
};

}  // namespace

std::unique_ptr<Mover> make_copy(const Transfer& transfer, const Surroundings& surroundings) {
  return std::make_unique<CopyMover>(transfer, *surroundings.topology);
}

}  // namespace grainscope::transfer
