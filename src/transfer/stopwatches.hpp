#ifndef GRAINSCOPE_SRC_TRANSFER_STOPWATCHES_HPP
#define GRAINSCOPE_SRC_TRANSFER_STOPWATCHES_HPP

// Clocks for work that must not wait behind a gate: because its submission is part of what is asked, because
// the CPU does some of it, or because it is more than a stream takes before submitting blocks.

#include <functional>

#include "grainscope/cuda/device.hpp"

namespace grainscope::transfer {

// More operations than this are not enqueued behind a closed gate: near a thousand a stream is full, and the
// next call would wait for the gate.
inline constexpr std::uint64_t kMostBehindGate = 512;

// Between two events on a stream that is idle at the start.
class IdleStopwatch {
 public:
  [[nodiscard]] double time_s(const cuda::Stream& stream, const std::function<void()>& enqueue) const;

 private:
  cuda::Event start_;
  cuda::Event stop_;
};

// By the host's clock, from before the first call until an event behind the last has completed.
class HostStopwatch {
 public:
  [[nodiscard]] double time_s(const cuda::Stream& stream, const std::function<void()>& enqueue) const;

 private:
  cuda::Event done_;
};

}  // namespace grainscope::transfer

#endif
