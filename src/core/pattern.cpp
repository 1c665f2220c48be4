#include "grainscope/core/pattern.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "grainscope/core/error.hpp"
#include "grainscope/core/sampler.hpp"

namespace grainscope {
namespace {

// Below this a team of threads costs more than it brings.
constexpr std::int64_t kParallelWords = 1 << 18;

}  // namespace

void fill_pattern(std::uint32_t* data, std::size_t words, std::uint32_t seed) {
  const auto count = static_cast<std::int64_t>(words);
#pragma omp parallel for simd schedule(static) if (count > kParallelWords)
  for (std::int64_t i = 0; i < count; ++i) {
    data[i] = pattern_word(static_cast<std::uint64_t>(i), seed);
  }
}

std::optional<std::size_t> find_mismatch(const std::uint32_t* data, std::size_t words, std::uint32_t seed) {
  const auto count = static_cast<std::int64_t>(words);
  std::int64_t first = std::numeric_limits<std::int64_t>::max();
#pragma omp parallel for simd schedule(static) reduction(min : first) if (count > kParallelWords)
  for (std::int64_t i = 0; i < count; ++i) {
    const bool wrong = data[i] != pattern_word(static_cast<std::uint64_t>(i), seed);
    first = wrong ? std::min(first, i) : first;
  }
  if (first == std::numeric_limits<std::int64_t>::max()) {
    return std::nullopt;
  }
  return static_cast<std::size_t>(first);
}

std::uint64_t pattern_sum(std::uint64_t first, std::uint64_t words, std::uint32_t seed) {
  const auto count = static_cast<std::int64_t>(words);
  std::uint64_t sum = 0;
#pragma omp parallel for simd schedule(static) reduction(+ : sum) if (count > kParallelWords)
  for (std::int64_t i = 0; i < count; ++i) {
    sum += pattern_word(first + static_cast<std::uint64_t>(i), seed);
  }
  return sum;
}

namespace {

// Loads that a core has under way, and some.
constexpr std::size_t kAtATime = 16;

}  // namespace

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
  // The walk begins at the lowest line, wherever that stands in the order.
  const std::size_t first =
      static_cast<std::size_t>(std::find(order.begin(), order.end(), std::size_t{0}) - order.begin());
  const std::size_t places = std::min(kAtATime, lines_);
  for (std::size_t k = 0; k < places; ++k) {
    const std::size_t at = lines_ * k / places;
    places_.push_back({line(first + at), lines_ * (k + 1) / places - at});
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
  // As many links as there are lines lead from place to place and back to the start, which is met once: so
  // none of them is on a shorter cycle.
  std::vector<const Line*> here(places_.size());
  std::transform(places_.begin(), places_.end(), here.begin(), [](const Place& place) { return place.line; });
  const std::size_t most = lines_ / places_.size() + 1;
  std::size_t met = 0;
  for (std::size_t i = 0; i < most; ++i) {
    for (std::size_t k = 0; k < here.size(); ++k) {
      if (i < places_[k].links) {
        here[k] = here[k]->next;
        met += here[k] == start_ ? 1 : 0;
      }
    }
  }
  std::rotate(here.begin(), here.end() - 1, here.end());
  return met == 1 && std::equal(here.begin(), here.end(), places_.begin(),
                                [](const Line* line, const Place& place) { return line == place.line; });
}

}  // namespace grainscope
