#include "pattern_bytes.hpp"

#include <algorithm>
#include <cstring>

#include "grainscope/core/pattern.hpp"

namespace grainscope::transfer {
namespace {

constexpr std::uint64_t kWord = sizeof(std::uint32_t);

// The pattern's byte at `index`, as it lies in memory.
std::byte pattern_byte(std::uint64_t index, std::uint32_t seed) {
  const std::uint32_t word = pattern_word(index / kWord, seed);
  std::byte bytes[kWord];
  std::memcpy(bytes, &word, kWord);
  return bytes[index % kWord];
}

std::uint64_t first_wrong_single(const std::byte* memory, std::uint64_t begin, std::uint64_t end,
                                 std::uint64_t pattern_begin, std::uint32_t seed) {
  for (std::uint64_t i = begin; i < end; ++i) {
    if (memory[i] != pattern_byte(pattern_begin + (i - begin), seed)) {
      return i;
    }
  }
  return kNoMismatch;
}

}  // namespace

std::uint64_t first_wrong_byte(const std::byte* memory, std::uint64_t begin, std::uint64_t end,
                               std::uint64_t pattern_begin, std::uint32_t seed) {
  // Up to the pattern's next word byte by byte, then whole words, then the bytes that are left.
  const std::uint64_t head = std::min(end, begin + (kWord - pattern_begin % kWord) % kWord);
  if (const auto wrong = first_wrong_single(memory, begin, head, pattern_begin, seed); wrong != kNoMismatch) {
    return wrong;
  }
  const std::uint64_t words = (end - head) / kWord;
  const std::uint64_t first_word = (pattern_begin + (head - begin)) / kWord;
  for (std::uint64_t i = 0; i < words; ++i) {
    std::uint32_t word = 0;
    std::memcpy(&word, memory + head + i * kWord, kWord);
    if (word != pattern_word(first_word + i, seed)) {
      const std::uint64_t at = head + i * kWord;
      return first_wrong_single(memory, at, at + kWord, (first_word + i) * kWord, seed);
    }
  }
  const std::uint64_t tail = head + words * kWord;
  return first_wrong_single(memory, tail, end, pattern_begin + (tail - begin), seed);
}

}  // namespace grainscope::transfer
