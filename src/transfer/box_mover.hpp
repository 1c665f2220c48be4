#ifndef GRAINSCOPE_SRC_TRANSFER_BOX_MOVER_HPP
#define GRAINSCOPE_SRC_TRANSFER_BOX_MOVER_HPP

// What the ways to copy a box have in common as movers.

#include <memory>
#include <optional>

#include "grainscope/cuda/device.hpp"
#include "grainscope/system/numa.hpp"
#include "grainscope/transfer/box_copy.hpp"

namespace grainscope::transfer {

// The node that a copy's host end is on, if it has one.
[[nodiscard]] std::optional<int> host_node(const BoxCopy& copy);

// The GPU and its stream, both ends, and the check.
class BoxMover : public Mover {
 public:
  BoxMover(const BoxCopy& copy, const Topology& topology);

  // Once before any gate closes, so that nothing is loaded or set up behind one; then the ends are filled.
  void start();
  void prepare() override {}
  std::string verify() override;

  // All of one sample: enqueued on the stream, or done, when it returns.
  virtual void issue(const cuda::Stream& stream) = 0;

 protected:
  [[nodiscard]] const BoxEnds& ends() const { return *ends_; }

  BoxCopy copy_;
  std::optional<NodeBinding> binding_;
  cuda::DeviceGuard guard_;
  cuda::Stream stream_;

 private:
  std::optional<BoxEnds> ends_;
};

[[nodiscard]] std::unique_ptr<BoxMover> make_direct_box_mover(const BoxCopy& copy, const Topology& topology);
[[nodiscard]] std::unique_ptr<BoxMover> make_packed_box_mover(const BoxCopy& copy, const Topology& topology);

}  // namespace grainscope::transfer

#endif
