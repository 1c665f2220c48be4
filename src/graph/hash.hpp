#ifndef GRAINSCOPE_SRC_GRAPH_HASH_HPP
#define GRAINSCOPE_SRC_GRAPH_HASH_HPP

#include <cstdint>

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

}  // namespace grainscope::graph

#endif
