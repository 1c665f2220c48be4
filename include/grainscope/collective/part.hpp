#ifndef GRAINSCOPE_COLLECTIVE_PART_HPP
#define GRAINSCOPE_COLLECTIVE_PART_HPP

// The ranks that one process has of a collective operation: all of them, or one on a GPU of its own.

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "grainscope/collective/collective.hpp"

namespace grainscope::collective {

// How long a process waits for other ranks, and what else ends its waiting: `why_stop` is asked meanwhile and
// says why, or nothing.
struct Patience {
  double limit_s = 60;
  std::function<std::string()> why_stop = {};
};

// What rank 0 draws and gives to all others, by which their communicators find each other.
using Id = std::array<char, 128>;
[[nodiscard]] Id make_id();

// NCCL's communicators of this process, and a stream for each. Each call throws FailedError where NCCL or a
// GPU failed, RankLostError where ranks of other processes did not answer in time or `why_stop` says so; the
// communicators are aborted then, and every later call throws.
class Communicators {
 public:
  // All ranks are in this process: rank i on GPU gpus[i].
  explicit Communicators(const std::vector<int>& gpus, const Patience& patience = {});
  // This process has one of `ranks`; the others make theirs at the same time.
  Communicators(int gpu, int rank, int ranks, const Id& id, const Patience& patience);
  ~Communicators();
  Communicators(const Communicators&) = delete;
  Communicators& operator=(const Communicators&) = delete;

  [[nodiscard]] int ranks() const noexcept;
  [[nodiscard]] const std::vector<int>& gpus() const noexcept;
  // Ends what GPUs do for NCCL: where a rank is gone they would wait for it, and what they hold could not be
  // given back.
  void abort() noexcept;
  // Whether nothing more can be done by them.
  [[nodiscard]] bool aborted() const noexcept;

 private:
  friend class Part;
  struct State;
  std::unique_ptr<State> state_;
};

// One operation on buffers of its own, which hold each rank's own values. Every rank makes one at the same
// time, and makes the same calls. Throws as the communicators do; SkipError where a GPU has too little
// memory or NCCL does not register buffers.
class Part {
 public:
  // `gated`: close and open will be asked for.
  Part(Communicators& communicators, const Work& work, bool gated);
  ~Part();
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;

  // The first operation, for which NCCL makes what later ones find.
  void start();
  // nccl-tests' loop: seconds of one of so many operations, enqueued one behind another and waited for once.
  [[nodiscard]] double loop_s(int launches);
  // Encloses one operation in two events behind a gate on every GPU of this process.
  void close();
  // Opens the gates, at a moment of steady_now_s or at once where it is past: seconds of the slowest GPU, and
  // how long after that moment the gates were open.
  struct Call {
    double seconds = 0;
    double late_s = 0;
  };
  [[nodiscard]] Call open(double at_s = 0);
  // Gives inputs their values and outputs others, carries the operation out once, and says, naming the first,
  // where an element of an output is not right; nothing where all are.
  [[nodiscard]] std::string why_wrong();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace grainscope::collective

#endif
