#ifndef GRAINSCOPE_SRC_GNN_PROGRESS_HPP
#define GRAINSCOPE_SRC_GNN_PROGRESS_HPP

// How far one thread has come, for another that waits for it.

#include <atomic>
#include <cstdint>

namespace grainscope::gnn {

class Progress {
 public:
  // Of the one thread: `steps` are done, no fewer than before.
  void reach(std::uint64_t steps) {
    steps_.store(steps, std::memory_order_release);
    steps_.notify_all();
  }
  // It does no more, for whatever reason.
  void end() { reach(steps_.load(std::memory_order_relaxed) | kEnded); }

  // Of others: sleeps until `steps` are done. False where they never will be.
  [[nodiscard]] bool wait_for(std::uint64_t steps) const {
    std::uint64_t done = steps_.load(std::memory_order_acquire);
    while (done < steps) {
      steps_.wait(done, std::memory_order_acquire);
      done = steps_.load(std::memory_order_acquire);
    }
    return (done & ~kEnded) >= steps;
  }

 private:
  static constexpr std::uint64_t kEnded = std::uint64_t{1} << 63;
  std::atomic<std::uint64_t> steps_{0};  // with kEnded more than any
};

}  // namespace grainscope::gnn

#endif
