#include "grainscope/core/pointer_chase.hpp"

#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "grainscope/core/error.hpp"
#include "grainscope/core/sampler.hpp"

namespace grainscope {

PointerChase::PointerChase(void* data, std::size_t bytes, std::size_t line_bytes, std::uint64_t seed)
    : start_(static_cast<Line*>(data)), here_(start_), lines_(bytes / line_bytes) {
  if (lines_ < 2) {
    throw UsageError("a pointer chase needs two lines of " + std::to_string(line_bytes) + " bytes, not " +
                     std::to_string(bytes) + " bytes");
  }
  std::vector<std::size_t> order(lines_);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::mt19937_64 random(seed);
  for (std::size_t i = lines_ - 1; i > 0; --i) {
    std::swap(order[i], order[random() % (i + 1)]);
  }
  const auto line = [&](std::size_t i) {
    return reinterpret_cast<Line*>(static_cast<std::byte*>(data) + order[i % lines_] * line_bytes);
  };
  for (std::size_t i = 0; i < lines_; ++i) {
    line(i)->next = line(i + 1);
  }
}

double PointerChase::walk(std::size_t steps) {
  Line* here = here_;
  const double start_s = steady_now_s();
  for (std::size_t i = 0; i < steps; ++i) {
    // Volatile: the loads are the purpose.
    here = *const_cast<Line* volatile*>(&here->next);
  }
  const double elapsed_s = steady_now_s() - start_s;
  here_ = here;
  return elapsed_s;
}

bool PointerChase::is_one_cycle() const {
  const Line* here = start_;
  for (std::size_t i = 1; i < lines_; ++i) {
    here = here->next;
    if (here == start_) {
      return false;
    }
  }
  return here->next == start_;
}

}  // namespace grainscope
