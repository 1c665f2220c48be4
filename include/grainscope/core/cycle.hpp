#ifndef GRAINSCOPE_CORE_CYCLE_HPP
#define GRAINSCOPE_CORE_CYCLE_HPP

// One cycle through a power of two of places, by a formula: no table to build, the same on the host and on a
// GPU (constexpr functions run there too), and where a walk of any length ends is known beforehand.

#include <cstdint>

namespace grainscope {

class Cycle {
 public:
  enum class Order {
    stride,    // place after place
    shuffled,  // no step tells the next: a linear congruential generator of full period (Hull and Dobell
               // 1962), its numbers scrambled, since its low bits alone would repeat early
  };

  // Through 2^bits places, 1 ≤ bits < 64.
  constexpr Cycle(Order order, int bits)
      : order_(order), bits_(bits), mask_((std::uint64_t{1} << bits) - 1) {}

  [[nodiscard]] constexpr Order order() const { return order_; }
  [[nodiscard]] constexpr std::uint64_t places() const { return mask_ + 1; }

  // The place that follows `place`.
  [[nodiscard]] constexpr std::uint64_t next(std::uint64_t place) const {
    if (order_ == Order::stride) {
      return (place + 1) & mask_;
    }
    return scramble((unscramble(place) * kMultiplier + kIncrement) & mask_);
  }

  // The place where a walk of `steps` from place 0 ends.
  [[nodiscard]] constexpr std::uint64_t after(std::uint64_t steps) const {
    if (order_ == Order::stride) {
      return steps & mask_;
    }
    // A step is x → a x + c. 2^k steps are such a map too: that of 2^(k−1) steps, applied twice.
    std::uint64_t multiplier = kMultiplier;
    std::uint64_t increment = kIncrement;
    std::uint64_t x = 0;
    for (; steps > 0; steps >>= 1) {
      if ((steps & 1) != 0) {
        x = x * multiplier + increment;
      }
      increment += multiplier * increment;
      multiplier *= multiplier;
    }
    return scramble(x & mask_);
  }

 private:
  // Full period modulo every power of two: the multiplier is 1 modulo 4, the increment odd.
  static constexpr std::uint64_t kMultiplier = 6364136223846793005;  // Knuth's MMIX
  static constexpr std::uint64_t kIncrement = 1442695040888963407;
  static constexpr std::uint64_t kFactor = 0x9e3779b97f4a7c15;

  static constexpr std::uint64_t inverse(std::uint64_t odd) {
    std::uint64_t found = odd;
    for (int i = 0; i < 5; ++i) {
      found *= 2 - odd * found;  // Newton: twice the right bits each time, from 3
    }
    return found;
  }

  // Its own inverse, since the shift is at least half of the bits.
  [[nodiscard]] constexpr std::uint64_t fold(std::uint64_t x) const { return x ^ (x >> ((bits_ + 1) / 2)); }
  // Maps the places onto themselves, 0 onto 0.
  [[nodiscard]] constexpr std::uint64_t scramble(std::uint64_t x) const {
    return fold((fold(x) * kFactor) & mask_);
  }
  [[nodiscard]] constexpr std::uint64_t unscramble(std::uint64_t place) const {
    return fold((fold(place) * inverse(kFactor)) & mask_);
  }

  Order order_;
  int bits_;
  std::uint64_t mask_;
};

}  // namespace grainscope

#endif
