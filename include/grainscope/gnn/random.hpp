#ifndef GRAINSCOPE_GNN_RANDOM_HPP
#define GRAINSCOPE_GNN_RANDOM_HPP

// Random numbers that depend on what they are for and on nothing else: the same on a CPU and on a GPU, and
// whatever the number of threads.

#include <cstdint>

namespace grainscope::gnn {

// Number `counter` of the stream `key`: SplitMix64 (Steele, Lea and Flood, OOPSLA 2014), entered anywhere.
// The number of one stream is the key of another.
[[nodiscard]] constexpr std::uint64_t random_number(std::uint64_t key, std::uint64_t counter) {
  std::uint64_t x = key + (counter + 1) * 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

// The same as a number from 0 to `bound` − 1 (multiply and shift: a value's share is off by at most
// bound / 2³²).
[[nodiscard]] constexpr std::uint32_t random_below(std::uint64_t key, std::uint64_t counter,
                                                   std::uint32_t bound) {
  return static_cast<std::uint32_t>(((random_number(key, counter) >> 32) * bound) >> 32);
}

// Where a hop of a mini-batch draws from, and in it a vertex.
[[nodiscard]] constexpr std::uint64_t hop_key(std::uint64_t seed, std::uint64_t batch, std::uint64_t hop) {
  return random_number(random_number(random_number(0, seed), batch), hop);
}
[[nodiscard]] constexpr std::uint64_t vertex_key(std::uint64_t hop_key, std::uint32_t vertex) {
  return random_number(hop_key, vertex);
}

}  // namespace grainscope::gnn

#endif
