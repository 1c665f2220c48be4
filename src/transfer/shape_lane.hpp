#ifndef GRAINSCOPE_SRC_TRANSFER_SHAPE_LANE_HPP
#define GRAINSCOPE_SRC_TRANSFER_SHAPE_LANE_HPP

// What copies of boxes and of pages have in common as lanes.

#include <cuda_runtime_api.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "grainscope/core/error.hpp"
#include "grainscope/cuda/check.hpp"
#include "grainscope/cuda/device.hpp"
#include "grainscope/system/numa.hpp"
#include "grainscope/transfer/mover.hpp"
#include "lanes.hpp"

namespace grainscope::transfer {

// A copy (BoxCopy, PageCopy) with its ends (BoxEnds, PageEnds), and the check.
template <class Copy, class Ends>
class ShapeLane : public Lane {
 public:
  ShapeLane(const Copy& copy, std::uint64_t bytes, const Surroundings& surroundings)
      : Lane(copy.gpu(), copy.node(), bytes),
        copy_(copy),
        reach_(copy.source, copy.destination),
        ends_(copy, surroundings) {}

  // Once before any gate closes and any sample is timed, so that nothing is loaded or set up then; after that
  // the ends are filled.
  void start() {
    const cuda::Stream stream;
    issue(stream);
    stream.synchronize();
    ends_.fill();
  }

  std::string verify() final { return ends_.verify(); }

 protected:
  [[nodiscard]] const Copy& copy() const { return copy_; }
  [[nodiscard]] const Ends& ends() const { return ends_; }

 private:
  Copy copy_;
  PeerReach reach_;
  Ends ends_;
};

// A mover of the lane that `make(copy, surroundings)` makes, where the copy is issued from; `submission_only`
// as Mover has it. Throws UsageError for a copy from host to host, and for one that no GPU can fetch.
template <class Copy, class Make>
[[nodiscard]] std::unique_ptr<Mover> make_shape_mover(const Copy& copy, const Surroundings& surroundings,
                                                      const Make& make, bool submission_only = false) {
  if (copy.source.on_host() && copy.destination.on_host()) {
    throw UsageError("boxes and pages are copied to or from a GPU, not from host to host");
  }
  if (copy.by_destination && !copy.between_gpus()) {
    throw UsageError("boxes and pages are fetched by one GPU from another");
  }
  std::vector<MoverLane> lanes;
  {
    const NodeBinding binding(*surroundings.topology, copy.node());
    const cuda::DeviceGuard guard(copy.gpu());
    auto lane = make(copy, surroundings);
    lane->start();
    lanes.push_back({std::move(lane)});
  }
  return std::make_unique<Mover>(std::move(lanes), surroundings, submission_only);
}

// A stream of another GPU that works between two moments of this one's.
class Detour {
 public:
  explicit Detour(int gpu) : gpu_(gpu) {
    const cuda::DeviceGuard guard(gpu);
    stream_.emplace();
    done_.emplace();
  }

  template <class Work>
  void run(const cuda::Stream& stream, const Work& work) {
    reached_.record(stream);
    const cuda::DeviceGuard guard(gpu_);
    stream_->wait_for(reached_);
    work(*stream_);
    done_->record(*stream_);
    stream.wait_for(*done_);
  }

 private:
  int gpu_;
  cuda::Event reached_;  // on the GPU current at construction
  std::optional<cuda::Stream> stream_;
  std::optional<cuda::Event> done_;
};

}  // namespace grainscope::transfer

#endif
