#ifndef GRAINSCOPE_TRANSFER_LANE_HPP
#define GRAINSCOPE_TRANSFER_LANE_HPP

// A transfer with its buffers, ready to be issued any number of times on a stream of one's choice. Lanes
// know nothing of time: a Mover (mover.hpp) starts one or several at once and holds the watch.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "grainscope/core/operation.hpp"
#include "grainscope/transfer/transfer.hpp"

namespace grainscope {
class Topology;
}

namespace grainscope::cuda {
class ManagedBudget;  // cuda/managed_budget.hpp
class PinnedReserve;  // cuda/pinned_reserve.hpp
class Stream;         // cuda/device.hpp
}  // namespace grainscope::cuda

namespace grainscope::transfer {

// Who does the work of issue(), and so which clock can time it.
enum class Conduct {
  enqueued,  // the GPU, all of it: may stand behind a closed gate
  called,    // the GPU, but the driver works within the call: never behind a gate
  hosted,    // the CPU has a part in it: the host's clock
  on_host,   // the CPU, all of it: done when issue() returns
};

// Calls of a lane that stand behind a closed gate: near a thousand a stream is full, and the next call would
// wait for the gate.
inline constexpr std::uint64_t kMostBehindGate = 512;

// Every call is made with gpu() current, by a thread that is bound to node(). Not thread-safe.
class Lane {
 public:
  virtual ~Lane() = default;
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  [[nodiscard]] int gpu() const { return gpu_; }    // the stream's
  [[nodiscard]] int node() const { return node_; }  // the issuing CPU's
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

  // Brings everything to where a sample starts: pages at their source, caches flushed. Untimed.
  virtual void prepare() {}
  // Moves the bytes once: enqueues what the GPU does, does what the host does.
  virtual void issue(const cuda::Stream& stream) = 0;
  // Throws FailedError unless the sample just taken really moved; called after each, the stream idle.
  virtual void check_sample() {}
  // Throws FailedError unless everything asked for moved; says what was checked. The stream is idle.
  [[nodiscard]] virtual std::string verify() = 0;

  [[nodiscard]] virtual Conduct conduct() const { return Conduct::enqueued; }
  // Whether issue() launches kernels of its own, which a profiler can count.
  [[nodiscard]] virtual bool launches_kernels() const { return true; }
  // Seconds of the last issue() by the lane's own watch, which on_host lanes may hold: their threads take
  // time to wake before they start together.
  [[nodiscard]] virtual std::optional<double> own_time_s() const { return {}; }
  // Whether the thread that issues does all that the host does.
  [[nodiscard]] virtual bool on_callers_thread() const { return true; }
  // What issue() is, after "time of": "one cudaMemcpyAsync".
  [[nodiscard]] virtual std::string action() const = 0;
  // Anything worth a number beside the times.
  virtual void describe(Measurement& measurement) const { static_cast<void>(measurement); }

 protected:
  Lane(int gpu, int node, std::uint64_t bytes) : gpu_(gpu), node_(node), bytes_(bytes) {}

 private:
  int gpu_;
  int node_;
  std::uint64_t bytes_;
};

// What a lane needs of its surroundings; all outlive it.
struct Surroundings {
  const Topology* topology = nullptr;
  cuda::ManagedBudget* managed = nullptr;
  cuda::PinnedReserve* pinned = nullptr;  // null: pinned memory is allocated and freed each time
};

// Allocates and initialises. Throws UsageError for a transfer that cannot be, SkipError where this machine
// cannot hold it, EnvironmentError or FailedError where something that should work does not; in a build
// without CUDA always SkipError.
[[nodiscard]] std::unique_ptr<Lane> make_lane(const Transfer& transfer, const Surroundings& surroundings);

// A kernel that computes, and touches no memory while it does, for about `seconds` on every multiprocessor
// of `gpu`: what a copy may have to share the card with.
[[nodiscard]] std::unique_ptr<Lane> make_computing_lane(int gpu, int node, double seconds,
                                                        const Surroundings& surroundings);

}  // namespace grainscope::transfer

#endif
