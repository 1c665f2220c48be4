#ifndef GRAINSCOPE_SRC_LEAN_LINE_BITS_HPP
#define GRAINSCOPE_SRC_LEAN_LINE_BITS_HPP

// Words as a string of bits, the lowest of the first word first.

#include <cstdint>

#include "grainscope/lean/compressed_lists.hpp"

namespace grainscope::lean {

// That so many bits take.
constexpr int words_of_bits(int bits) {
  return (bits + kWordBits - 1) / kWordBits;
}

class BitWriter {
 public:
  explicit BitWriter(std::uint32_t* words) : words_(words) {}  // cleared
  void put(std::uint32_t value, int bits) {
    if (bits == 0) {
      return;
    }
    const int shift = at_ % kWordBits;
    words_[at_ / kWordBits] |= value << shift;
    if (shift + bits > kWordBits) {
      words_[at_ / kWordBits + 1] |= value >> (kWordBits - shift);
    }
    at_ += bits;
  }
  // So many zeros and a one.
  void put_zeros(std::uint32_t zeros) {
    at_ += static_cast<int>(zeros);
    put(1, 1);
  }

 private:
  std::uint32_t* words_;
  int at_ = 0;
};

class BitReader {
 public:
  explicit BitReader(const std::uint32_t* words) : words_(words) {}
  std::uint32_t take(int bits) {
    std::uint64_t value = 0;
    if (bits > 0) {
      const int shift = at_ % kWordBits;
      value = words_[at_ / kWordBits];
      if (shift + bits > kWordBits) {
        value |= std::uint64_t{words_[at_ / kWordBits + 1]} << kWordBits;
      }
      value = value >> shift & ((std::uint64_t{1} << bits) - 1);
      at_ += bits;
    }
    return static_cast<std::uint32_t>(value);
  }
  // How many zeros are before the next one, which is taken too.
  std::uint32_t take_zeros() {
    std::uint32_t zeros = 0;
    while (take(1) == 0) {
      ++zeros;
    }
    return zeros;
  }

 private:
  const std::uint32_t* words_;
  int at_ = 0;
};

}  // namespace grainscope::lean

#endif
