#ifndef GRAINSCOPE_SRC_CUDA_LEVEL_TIMES_HPP
#define GRAINSCOPE_SRC_CUDA_LEVEL_TIMES_HPP

// When the levels of a traversal end that the host submits one by one.

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "grainscope/core/error.hpp"
#include "grainscope/core/operation.hpp"
#include "grainscope/cuda/device.hpp"

namespace grainscope::cuda {

// Of one run: how many vertices and edges each level had, and when it ended on the current GPU.
class LevelTimes {
 public:
  void begin(const Stream& stream) {
    levels_.clear();
    begun_.record(stream);
  }
  [[nodiscard]] const Event& begun() const { return begun_; }
  [[nodiscard]] std::size_t size() const { return levels_.size(); }
  void add(std::uint64_t active, std::uint64_t edges) { levels_.push_back({active, edges, 0, 0, 0}); }
  // The event after a level; those of earlier runs are used again.
  [[nodiscard]] const Event& end(std::uint64_t level) { return at(ends_, level); }
  // The event before its lists are walked, in runs that ask how long it took to find and to cut them.
  [[nodiscard]] const Event& cut(std::uint64_t level) { return at(cuts_, level); }
  // Of all levels of such a run, from the end of the level before on.
  [[nodiscard]] double cut_s() {
    double sum = 0;
    for (std::size_t level = 0; level < levels_.size(); ++level) {
      sum += elapsed_s(level == 0 ? begun_ : ends_[level - 1], cuts_[level]);
    }
    return sum;
  }
  // To the end of the level that was none.
  [[nodiscard]] double all_s() { return elapsed_s(begun_, end(levels_.size())); }
  [[nodiscard]] std::vector<LevelResult> read() const {
    std::vector<LevelResult> levels = levels_;
    for (std::size_t i = 0; i < levels.size(); ++i) {
      levels[i].seconds = elapsed_s(i == 0 ? begun_ : ends_[i - 1], ends_[i]);
    }
    return levels;
  }
  // Throws FailedError where a level is more than there can be.
  static void require(std::uint64_t level, std::uint64_t most) {
    if (level > most) {
      throw FailedError("a traversal did not come to an end within " + std::to_string(most) + " levels");
    }
  }

 private:
  static const Event& at(std::deque<Event>& events, std::uint64_t level) {
    if (events.size() <= level) {
      events.resize(2 * (level + 1));  // a run that is a little longer makes none while it is timed
    }
    return events[level];
  }

  Event begun_;
  std::deque<Event> ends_;
  std::deque<Event> cuts_;
  std::vector<LevelResult> levels_;
};

}  // namespace grainscope::cuda

#endif
