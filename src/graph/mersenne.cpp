#include "mersenne.hpp"

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

}  // namespace grainscope::graph
