#ifndef GRAINSCOPE_SRC_GRAPH_RANDOM_HPP
#define GRAINSCOPE_SRC_GRAPH_RANDOM_HPP

// Random numbers that are the same on every machine: a hash, and those of GAP's generator.

#include <array>
#include <cstdint>
#include <limits>

#include "grainscope/graph/csr.hpp"

namespace grainscope::graph {

// Spreads every bit of a number over all 64: the finaliser of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014),
// a bijection.
[[nodiscard]] constexpr std::uint64_t mixed(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

// A number below `bound` from 64 random bits (multiply and shift; the bias is below bound / 2³²).
[[nodiscard]] constexpr std::uint32_t below(std::uint64_t random, std::uint32_t bound) {
  return static_cast<std::uint32_t>(((random >> 32) * bound) >> 32);
}

// std::mt19937, 624 draws at a time in loops that a compiler turns into vector code, and GAP's way from a
// draw to a number below a bound.

// Makes the draws of std::mt19937 in the same order (Matsumoto and Nishimura, 1998).
class Mersenne {
 public:
  static constexpr int kBatch = 624;
  using Batch = std::array<std::uint32_t, kBatch>;

  explicit Mersenne(std::uint32_t seed);
  // The next 624 draws. Not to be mixed with single draws.
  const Batch& next_batch();
  // The next draw.
  std::uint32_t operator()() {
    if (used_ == kBatch) {
      next_batch();
      used_ = 0;
    }
    return draws_[used_++];
  }
  static constexpr std::uint32_t max() { return std::numeric_limits<std::uint32_t>::max(); }

 private:
  alignas(64) Batch state_{};
  alignas(64) Batch draws_{};
  int used_ = kBatch;
};

// GAP's uniform numbers 0 … bound − 1 (`UniDist` of its generator.h): the draw modulo the bound, where draws
// of the last, incomplete stretch of the engine's range are drawn again. Everything is narrowed to 32 bits as
// it is there, which matters for 64-bit engines.
class GapUniform {
 public:
  GapUniform(std::uint64_t engine_max, std::uint32_t bound) : bound_(bound) {
    const auto rest = static_cast<std::uint32_t>(engine_max % bound);
    cutoff_ = rest == bound - 1 ? 0 : static_cast<std::uint32_t>(engine_max) - rest;
  }
  template <class Engine>
  [[nodiscard]] std::uint32_t operator()(Engine& engine) const {
    auto draw = static_cast<std::uint32_t>(engine());
    while (cutoff_ != 0 && draw >= cutoff_) {
      draw = static_cast<std::uint32_t>(engine());
    }
    return draw % bound_;
  }

 private:
  std::uint32_t bound_;
  std::uint32_t cutoff_;  // 0: every draw is taken
};

// 0 … size − 1 as `std::shuffle` with `std::mt19937(seed)` leaves them in libstdc++ since GCC 11, with any
// library. `size`: at most 2³¹.
[[nodiscard]] HostArray<Vertex> shuffled_identity(std::uint64_t size, std::uint32_t seed);

}  // namespace grainscope::graph

#endif
