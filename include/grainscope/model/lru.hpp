#ifndef GRAINSCOPE_MODEL_LRU_HPP
#define GRAINSCOPE_MODEL_LRU_HPP

// An exact "least recently used" over numbered pages: a list through two arrays, so that a touch costs a few
// loads and nothing is ever searched.

#include <cstdint>
#include <vector>

namespace grainscope::model {

class Lru {
 public:
  // Pages 0 to `pages` − 1 (below 2³² − 1), of which `capacity` (at least 1) are held. Throws FailedError
  // else.
  Lru(std::uint64_t pages, std::uint64_t capacity);

  void touch(std::uint32_t page) {
    if (page != older_[ends_]) {  // else it is the newest already
      touch_other(page);
    }
  }

  [[nodiscard]] std::uint64_t capacity() const { return capacity_; }
  [[nodiscard]] std::uint64_t misses() const { return misses_; }        // touches of pages not held
  [[nodiscard]] std::uint64_t evictions() const { return evictions_; }  // pages that had to go
  [[nodiscard]] std::uint64_t different() const { return different_; }  // pages ever touched

 private:
  enum class State : std::uint8_t { never, gone, held };

  void touch_other(std::uint32_t page);
  void unlink(std::uint32_t page);
  void push_newest(std::uint32_t page);

  std::uint64_t capacity_;
  std::uint32_t ends_;  // a place beyond the pages: its neighbours are the oldest and the newest
  std::vector<std::uint32_t> newer_;  // of each page that is held, and of the ends the oldest
  std::vector<std::uint32_t> older_;  // of each page that is held, and of the ends the newest
  std::vector<State> state_;
  std::uint64_t held_ = 0;
  std::uint64_t misses_ = 0;
  std::uint64_t evictions_ = 0;
  std::uint64_t different_ = 0;
};

}  // namespace grainscope::model

#endif
