#ifndef GRAINSCOPE_CORE_SCATTER_HPP
#define GRAINSCOPE_CORE_SCATTER_HPP

#include <cstdint>

namespace grainscope {

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

}  // namespace grainscope

#endif
