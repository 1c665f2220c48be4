#include "grainscope/core/pattern.hpp"

#include <algorithm>
#include <limits>

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

}  // namespace grainscope
