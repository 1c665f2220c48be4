// std::mt19937 by whole batches, and std::shuffle with it.

#include "random.hpp"

#include <array>
#include <utility>

namespace grainscope::graph {
namespace {

constexpr int kSize = Mersenne::kBatch;
constexpr int kMiddle = 397;

constexpr std::uint32_t twisted(std::uint32_t upper, std::uint32_t lower, std::uint32_t middle) {
  const std::uint32_t joined = (upper & 0x80000000U) | (lower & 0x7fffffffU);
  return middle ^ (joined >> 1) ^ ((0U - (lower & 1U)) & 0x9908b0dfU);
}

constexpr std::uint32_t tempered(std::uint32_t x) {
  x ^= x >> 11;
  x ^= (x << 7) & 0x9d2c5680U;
  x ^= (x << 15) & 0xefc60000U;
  return x ^ (x >> 18);
}

}  // namespace

Mersenne::Mersenne(std::uint32_t seed) {
  state_[0] = seed;
  for (std::uint32_t i = 1; i < kSize; ++i) {
    state_[i] = 1812433253U * (state_[i - 1] ^ (state_[i - 1] >> 30)) + i;
  }
}

const Mersenne::Batch& Mersenne::next_batch() {
  // Two loops, so that neither reads what it wrote a few steps before.
  std::uint32_t* const s = state_.data();
  for (int i = 0; i < kSize - kMiddle; ++i) {
    s[i] = twisted(s[i], s[i + 1], s[i + kMiddle]);
  }
  for (int i = kSize - kMiddle; i < kSize - 1; ++i) {
    s[i] = twisted(s[i], s[i + 1], s[i - (kSize - kMiddle)]);
  }
  s[kSize - 1] = twisted(s[kSize - 1], s[0], s[kMiddle - 1]);
  for (int i = 0; i < kSize; ++i) {
    draws_[i] = tempered(s[i]);
  }
  return draws_;
}

// The shuffle of GAP's vertex numbers. It is serial by nature, so it is made quick: places to swap with do
// not depend on what is swapped, so they are drawn ahead and fetched into cache.
namespace {

constexpr std::uint64_t kPairsBelow = 65536;  // libstdc++ makes two places of one draw where both fit in it
constexpr int kAhead = 256;

// A number below `bound`, as libstdc++'s uniform_int_distribution makes it of 32-bit draws (Lemire, 2019).
std::uint32_t bounded(Mersenne& random, std::uint32_t bound) {
  std::uint64_t product = std::uint64_t{random()} * bound;
  if (static_cast<std::uint32_t>(product) < bound) {
    const std::uint32_t threshold = (0U - bound) % bound;
    while (static_cast<std::uint32_t>(product) < threshold) {
      product = std::uint64_t{random()} * bound;
    }
  }
  return static_cast<std::uint32_t>(product >> 32);
}

void shuffle_by_pairs(Vertex* values, std::uint32_t size, Mersenne& random) {
  std::uint32_t i = 1;
  if (size % 2 == 0) {
    std::swap(values[i], values[bounded(random, 2)]);
    ++i;
  }
  for (; i < size; i += 2) {
    const std::uint32_t both = bounded(random, (i + 1) * (i + 2));
    std::swap(values[i], values[both / (i + 2)]);
    std::swap(values[i + 1], values[both % (i + 2)]);
  }
}

void shuffle_singly(Vertex* values, std::uint64_t size, Mersenne& random) {
  std::array<std::uint32_t, kAhead> places{};
  for (std::uint64_t first = 1; first < size; first += kAhead) {
    const auto count = static_cast<int>(std::min<std::uint64_t>(kAhead, size - first));
    for (int k = 0; k < count; ++k) {
      places[k] = bounded(random, static_cast<std::uint32_t>(first + k + 1));
      __builtin_prefetch(values + places[k], 1);
    }
    for (int k = 0; k < count; ++k) {
      std::swap(values[first + k], values[places[k]]);
    }
  }
}

}  // namespace

HostArray<Vertex> shuffled_identity(std::uint64_t size, std::uint32_t seed) {
  HostArray<Vertex> values(size);
#pragma omp parallel for
  for (std::uint64_t i = 0; i < size; ++i) {
    values[i] = static_cast<Vertex>(i);
  }
  Mersenne random(seed);
  if (size < kPairsBelow) {
    shuffle_by_pairs(values.data(), static_cast<std::uint32_t>(size), random);
  } else {
    shuffle_singly(values.data(), size, random);
  }
  return values;
}

}  // namespace grainscope::graph
