#ifndef GRAINSCOPE_GNN_EXCHANGE_HPP
#define GRAINSCOPE_GNN_EXCHANGE_HPP

// How a process that samples and gathers and a process that trains take turns over three sets of sampled
// lists and two buffers of rows: two counters in host memory that both map. Source: dissertation 3.3.3.
//
// Counters and not interprocess events: such an event stands for its last record only, so a counter would
// have to say when it was recorded all the same; the host must learn the sizes of each mini-batch before it
// can launch the step; and a host that waits can give up when the other process is gone, a GPU cannot.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "grainscope/core/error.hpp"
#include "grainscope/gnn/sampling.hpp"

namespace grainscope::gnn {

inline constexpr std::uint64_t kListSets = 3;
inline constexpr std::uint64_t kRowBuffers = 2;
// After so long without a turn of the other process it is given up.
inline constexpr double kPatience_s = 10;

// Lies in shared memory, zeroed.
struct Exchange {
  // What the training process must know of a mini-batch: nodes_upto [hops + 1], then edges of each hop.
  using Sizes = std::array<std::uint64_t, 2 * kMostHops + 1>;

  alignas(64) std::atomic<std::uint64_t> gathered;  // mini-batches whose lists, sizes and rows are there
  alignas(64) std::atomic<std::uint64_t> trained;   // mini-batches that nobody looks at any more
  alignas(64) std::atomic<std::uint32_t> given_up;  // a process has failed: the other need not wait
  std::array<Sizes, kListSets> sizes;
  std::array<std::byte, 64> memory;  // the name of the GPU memory that they share (cuda::IpcHandle)

  [[nodiscard]] Sizes& sizes_of(std::uint64_t batch) { return sizes[batch % kListSets]; }
  // Before a run, by who has asked both processes for it.
  void begin();
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

// What each process does for a mini-batch. All enqueue and return; questions do not wait.
class GatheringSteps {
 public:
  virtual ~GatheringSteps() = default;
  virtual void sample(std::uint64_t batch) = 0;
  [[nodiscard]] virtual bool sampled(std::uint64_t batch) = 0;
  // Its sizes are in the exchange when this returns.
  virtual void gather(std::uint64_t batch) = 0;
  [[nodiscard]] virtual bool gathered(std::uint64_t batch) = 0;
};
class TrainingSteps {
 public:
  virtual ~TrainingSteps() = default;
  virtual void train(std::uint64_t batch) = 0;
  [[nodiscard]] virtual bool trained(std::uint64_t batch) = 0;
};

// The other process has given up, or takes no turn any more.
class TurnError : public FailedError {
 public:
  using FailedError::FailedError;
};

// The whole run of a process, mini-batches in order; each step begins as soon as what it needs is there and
// what it overwrites is no longer needed. Throws TurnError where the other process has given up, or has
// not taken its turn for `patience_s`; what steps throw is told to the other process and passed on.
void gather_in_turn(Exchange& exchange, std::uint64_t batches, GatheringSteps& steps,
                    double patience_s = kPatience_s);
void train_in_turn(Exchange& exchange, std::uint64_t batches, TrainingSteps& steps,
                   double patience_s = kPatience_s);

}  // namespace grainscope::gnn

#endif
