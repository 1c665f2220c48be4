#ifndef GRAINSCOPE_CORE_PATTERN_HPP
#define GRAINSCOPE_CORE_PATTERN_HPP

// What buffers are filled with: words by which a copy can be checked on either side, each from its index and
// a seed; a shuffle without a table; and a chain of loads, by which latency is measured.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace grainscope {

// The word at `index`, the same on the host and on a GPU (constexpr functions run there too). A mixing
// function: neighbouring words and neighbouring seeds have nothing in common.
constexpr std::uint32_t pattern_word(std::uint64_t index, std::uint32_t seed) {
  auto x = static_cast<std::uint32_t>(index) ^ (static_cast<std::uint32_t>(index >> 32) * 0x9e3779b9U) ^
           (seed * 0x85ebca6bU);
  x ^= x >> 16;
  x *= 0x7feb352dU;
  x ^= x >> 15;
  x *= 0x846ca68bU;
  x ^= x >> 16;
  return x;
}

// Fills `words` 32-bit words at `data` (host memory), with as many threads as pay.
void fill_pattern(std::uint32_t* data, std::size_t words, std::uint32_t seed);

// The first word of `data` (host memory) that does not hold the pattern, if any.
[[nodiscard]] std::optional<std::size_t> find_mismatch(const std::uint32_t* data, std::size_t words,
                                                       std::uint32_t seed);

// Sum, mod 2⁶⁴, of the pattern's words [first, first + words): what a kernel that reads them all returns.
[[nodiscard]] std::uint64_t pattern_sum(std::uint64_t first, std::uint64_t words, std::uint32_t seed);

// Where the number `i` goes in a fixed shuffle of [0, 2^bits): each goes to a place of its own, neighbours
// far apart. The same on host and GPU, and needs no table. Multiplying by an odd number and folding the upper
// half into the lower are both one to one on `bits` bits.
constexpr std::uint64_t scattered(std::uint64_t i, int bits) {
  const std::uint64_t mask = bits >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
  const int fold = bits > 2 ? bits / 2 : 1;
  i = (i * 0x9e3779b97f4a7c15U + 0x632be59bd9b4e019U) & mask;
  i ^= i >> fold;
  i = (i * 0xd6e8feb86659fd93U) & mask;
  i ^= i >> fold;
  return (i * 0xa0761d6478bd642fU) & mask;
}

// Latency by a chain of loads, each of whose address is the result of the one before: one load a line,
// in an order that no prefetcher guesses.
class PointerChase {
 public:
  // Lays one cycle through all lines of `data` (host memory, `bytes` long, owned by the caller), in an
  // order drawn from `seed`. Throws UsageError for fewer than two lines.
  PointerChase(void* data, std::size_t bytes, std::size_t line_bytes, std::uint64_t seed = 1);

  // Follows `steps` links from where the last walk ended; seconds on the steady clock.
  double walk(std::size_t steps);

  // Whether the links still form one cycle through every line. Follows each once, from several places of the
  // cycle at a time, so that loads overlap: afterwards caches hold what they can of the lines.
  [[nodiscard]] bool is_one_cycle() const;

  [[nodiscard]] std::size_t lines() const noexcept { return lines_; }

 private:
  struct Line {
    Line* next;
  };
  // A line of the cycle, and how many links lead from it to the next such place.
  struct Place {
    const Line* line;
    std::size_t links;
  };
  Line* start_;
  Line* here_;
  std::size_t lines_;
  std::vector<Place> places_;
};

}  // namespace grainscope

#endif
