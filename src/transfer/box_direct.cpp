// A box copied from place to place, by the runtime's calls or by one kernel.

#include "box_lane.hpp"

namespace grainscope::transfer {
namespace {

class DirectBoxLane final : public BoxLane {
 public:
  DirectBoxLane(const BoxCopy& copy, const Surroundings& surroundings)
      : BoxLane(copy, copy.box.bytes(), surroundings),
        from_(is_kernel(copy.method) ? ends().mapped_source() : ends().source()),
        to_(is_kernel(copy.method) ? ends().mapped_destination() : ends().destination()) {}

  void issue(const cuda::Stream& stream) override { enqueue_box_copy(copy().method, to_, from_, stream); }

  [[nodiscard]] Conduct conduct() const override {
    return operations() <= kMostBehindGate ? Conduct::enqueued : Conduct::called;
  }

  [[nodiscard]] bool launches_kernels() const override { return is_kernel(copy().method); }
  [[nodiscard]] std::string action() const override {
    switch (copy().method) {
      case BoxMethod::row_copies:
        return "one cudaMemcpyAsync a row";
      case BoxMethod::copy_2d:
        return "one cudaMemcpy2DAsync a plane";
      case BoxMethod::copy_3d:
        return copy().between_gpus() ? "one cudaMemcpy3DPeerAsync" : "one cudaMemcpy3DAsync";
      default:
        return "one kernel";
    }
  }

  void describe(Measurement& measurement) const override {
    if (is_kernel(copy().method)) {
      const BoxLaunch launch = box_launch(to_.box, from_.box, copy().method == BoxMethod::kernel_chunked);
      measurement.counters["blocks"] = launch.blocks;
      measurement.counters["element_bytes"] = launch.element_bytes;
    } else {
      measurement.counters["calls"] =
          copy().method == BoxMethod::copy_3d ? 1 : static_cast<double>(operations());
    }
  }

 private:
  // What stands on the stream. A copy of a box in one call may still be a command for each plane.
  [[nodiscard]] std::uint64_t operations() const {
    return is_kernel(copy().method)                 ? 1
           : copy().method == BoxMethod::row_copies ? copy().box.all_rows()
                                                    : copy().box.planes;
  }

  PlacedBox from_;
  PlacedBox to_;
};

}  // namespace

std::unique_ptr<BoxLane> make_direct_box_lane(const BoxCopy& copy, const Surroundings& surroundings) {
  return std::make_unique<DirectBoxLane>(copy, surroundings);
}

}  // namespace grainscope::transfer
