#include "grainscope/model/lru.hpp"

#include <string>

#include "grainscope/core/error.hpp"

namespace grainscope::model {

Lru::Lru(std::uint64_t pages, std::uint64_t capacity) : capacity_(capacity) {
  if (pages >= UINT32_MAX || capacity == 0) {
    throw FailedError("cannot model a memory of " + std::to_string(capacity) + " pages over " +
                      std::to_string(pages) +
                      " pages: it needs one at least, and fewer than 2^32 - 1 in all");
  }
  ends_ = static_cast<std::uint32_t>(pages);
  newer_.assign(pages + 1, ends_);
  older_.assign(pages + 1, ends_);
  state_.assign(pages, State::never);
}

void Lru::touch_other(std::uint32_t page) {
  if (state_[page] == State::held) {
    unlink(page);
  } else {
    ++misses_;
    different_ += state_[page] == State::never ? 1 : 0;
    state_[page] = State::held;
    if (held_ < capacity_) {
      ++held_;
    } else {
      const std::uint32_t oldest = newer_[ends_];
      unlink(oldest);
      state_[oldest] = State::gone;
      ++evictions_;
    }
  }
  push_newest(page);
}

void Lru::unlink(std::uint32_t page) {
  older_[newer_[page]] = older_[page];
  newer_[older_[page]] = newer_[page];
}

void Lru::push_newest(std::uint32_t page) {
  const std::uint32_t before = older_[ends_];
  newer_[before] = page;
  older_[page] = before;
  newer_[page] = ends_;
  older_[ends_] = page;
}

}  // namespace grainscope::model
