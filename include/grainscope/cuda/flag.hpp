#ifndef GRAINSCOPE_CUDA_FLAG_HPP
#define GRAINSCOPE_CUDA_FLAG_HPP

// The round trip of a flag: one side writes the number of the round, the other sees it and writes it back.

#include <cstdint>

#include "grainscope/cuda/device.hpp"
#include "grainscope/cuda/gate.hpp"
#include "grainscope/cuda/memory.hpp"

namespace grainscope::cuda {

struct PingPongPlan {
  std::uint32_t rounds = 1024;
  double timeout_s = 0.3;        // how long either side waits for the other in one round
  std::uint32_t lost_round = 0;  // the answering side is silent in this one; 0: in none. For tests
};

// Between the CPU, which leads, and one thread of a GPU, which answers. Both flags lie in pinned host memory
// of the node that the constructing thread is bound to, each in a line of its own.
class HostPingPong {
 public:
  // On `gpu`, which is current.
  HostPingPong(int gpu, const PingPongPlan& plan);
  // Seconds on the steady clock for all rounds; the GPU's thread runs before the first. FailedError, well
  // within a second, where a round is lost or out of turn.
  [[nodiscard]] double run();
  // The flags, for who wants to know where they lie.
  [[nodiscard]] const void* data() const noexcept { return memory_.data(); }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return memory_.bytes(); }

 private:
  struct Lines;
  [[nodiscard]] Lines& lines() const;
  [[nodiscard]] double lead() const;

  PingPongPlan plan_;
  Stream stream_;
  PinnedBuffer memory_;
};

// Between two GPUs, one thread on each; each writes to the other's memory and waits on its own. Needs peer
// access both ways, unless both are the same GPU.
class PeerPingPong {
 public:
  // `gpu`, which is current, leads; `peer` answers.
  PeerPingPong(int gpu, int peer, const PingPongPlan& plan);
  // Seconds between two events around the leading kernel, which starts when the other one runs. FailedError
  // as above.
  [[nodiscard]] double run();

 private:
  struct Reports;
  // What one of the two has of it.
  struct Side {
    int gpu;
    Stream stream;
    DeviceBuffer heard;  // the flag that this side waits on, in its own memory
  };
  static Side make_side(int gpu);
  [[nodiscard]] Reports& reports() const;

  PingPongPlan plan_;
  PinnedBuffer memory_;
  Side leading_;
  Side answering_;
  GatedStopwatch stopwatch_;
};

}  // namespace grainscope::cuda

#endif
