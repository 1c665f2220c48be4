#include "grainscope/gnn/exchange.hpp"

#include <sched.h>

#include <algorithm>
#include <exception>
#include <functional>
#include <string>

#include "grainscope/core/sampler.hpp"

namespace grainscope::gnn {
namespace {

// Calls `step`, which says whether it got anything done, until `over`.
void take_turns(Exchange& exchange, double patience_s, const char* other, const std::function<bool()>& over,
                const std::function<bool()>& step) {
  try {
    double deadline_s = steady_now_s() + patience_s;
    while (!over()) {
      if (step()) {
        deadline_s = steady_now_s() + patience_s;
        continue;
      }
      if (exchange.given_up.load(std::memory_order_acquire) != 0) {
        throw TurnError(std::string(other) + " has given up");
      }
      if (steady_now_s() >= deadline_s) {
        throw TurnError("nothing has come of " + std::string(other) + " for " +
                        std::to_string(static_cast<int>(patience_s)) + " s");
      }
      // Few cores may be all there are: the other process needs one.
      sched_yield();
    }
  } catch (...) {
    exchange.given_up.store(1, std::memory_order_release);
    throw;
  }
}

}  // namespace

void Exchange::begin() {
  gathered.store(0, std::memory_order_relaxed);
  trained.store(0, std::memory_order_relaxed);
  given_up.store(0, std::memory_order_release);
}

void gather_in_turn(Exchange& exchange, std::uint64_t batches, GatheringSteps& steps, double patience_s) {
  std::uint64_t sampling = 0;   // mini-batches whose sampling has begun
  std::uint64_t gathering = 0;  // likewise
  std::uint64_t gathered = 0;
  take_turns(
      exchange, patience_s, "the process that trains", [&] { return gathered == batches; },
      [&] {
        bool moved = false;
        const std::uint64_t trained = exchange.trained.load(std::memory_order_acquire);
        if (gathered < gathering && steps.gathered(gathered)) {
          exchange.gathered.store(++gathered, std::memory_order_release);
          moved = true;
        }
        // Before the sampling of a later one: it is what the other process waits for.
        if (gathering < sampling && gathering < trained + kRowBuffers && steps.sampled(gathering)) {
          steps.gather(gathering++);
          moved = true;
        }
        if (sampling < std::min(batches, trained + kListSets)) {
          steps.sample(sampling++);
          moved = true;
        }
        return moved;
      });
}

void train_in_turn(Exchange& exchange, std::uint64_t batches, TrainingSteps& steps, double patience_s) {
  std::uint64_t training = 0;  // mini-batches whose step has begun
  std::uint64_t trained = 0;
  take_turns(
      exchange, patience_s, "the process that gathers", [&] { return trained == batches; },
      [&] {
        bool moved = false;
        if (trained < training && steps.trained(trained)) {
          exchange.trained.store(++trained, std::memory_order_release);
          moved = true;
        }
        const std::uint64_t gathered = exchange.gathered.load(std::memory_order_acquire);
        if (training < std::min(batches, gathered)) {
          steps.train(training++);
          moved = true;
        }
        return moved;
      });
}

}  // namespace grainscope::gnn
