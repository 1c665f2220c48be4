// A box copied from place to place, by the runtime's calls or by one kernel.

#include "box_mover.hpp"
#include "grainscope/cuda/gate.hpp"
#include "stopwatches.hpp"

namespace grainscope::transfer {
namespace {

class DirectBoxMover final : public BoxMover {
 public:
  DirectBoxMover(const BoxCopy& copy, const Topology& topology)
      : BoxMover(copy, topology),
        from_(is_kernel() ? ends().mapped_source() : ends().source()),
        to_(is_kernel() ? ends().mapped_destination() : ends().destination()) {}

  void issue(const cuda::Stream& stream) override { enqueue_box_copy(copy_.method, to_, from_, stream); }

  double run() override {
    const auto work = [this] { issue(stream_); };
    return is_gated() ? stopwatch_.time_s(stream_, work) : idle_stopwatch_.time_s(stream_, work);
  }

  [[nodiscard]] Timing timing() const override {
    const std::string what = is_kernel()                             ? "one kernel"
                             : copy_.method == BoxMethod::row_copies ? "one cudaMemcpyAsync a row"
                             : copy_.method == BoxMethod::copy_2d    ? "one cudaMemcpy2DAsync a plane"
                             : copy_.between_gpus()                  ? "one cudaMemcpy3DPeerAsync"
                                                                     : "one cudaMemcpy3DAsync";
    return {
        Clock::event, is_gated(),
        what + (is_gated() ? " between two events" : " between two events, submitted from an idle stream")};
  }

  void annotate(Measurement& measurement) const override {
    if (is_kernel()) {
      const BoxLaunch launch = box_launch(to_.box, from_.box, copy_.method == BoxMethod::kernel_chunked);
      measurement.counters["blocks"] = launch.blocks;
      measurement.counters["element_bytes"] = launch.element_bytes;
    } else {
      measurement.counters["calls"] = static_cast<double>(calls());
    }
  }

 private:
  [[nodiscard]] bool is_kernel() const {
    return copy_.method == BoxMethod::kernel_strided || copy_.method == BoxMethod::kernel_chunked;
  }
  [[nodiscard]] std::uint64_t calls() const {
    switch (copy_.method) {
      case BoxMethod::row_copies:
        return copy_.box.all_rows();
      case BoxMethod::copy_2d:
        return copy_.box.planes;
      default:
        return 1;
    }
  }
  // A copy of a box in one call may still be a command for each plane. A row's copy is so short that the
  // price of its submission is the answer.
  [[nodiscard]] bool is_gated() const {
    return is_kernel() || (copy_.method != BoxMethod::row_copies && copy_.box.planes <= kMostBehindGate);
  }

  PlacedBox from_;
  PlacedBox to_;
  cuda::GatedStopwatch stopwatch_;
  IdleStopwatch idle_stopwatch_;
};

}  // namespace

std::unique_ptr<BoxMover> make_direct_box_mover(const BoxCopy& copy, const Topology& topology) {
  return std::make_unique<DirectBoxMover>(copy, topology);
}

}  // namespace grainscope::transfer
