#ifndef GRAINSCOPE_COLLECTIVE_COLLECTIVE_HPP
#define GRAINSCOPE_COLLECTIVE_COLLECTIVE_HPP

// Collective operations as arithmetic: what each gives and takes by rank, which word must come out where, and
// by what its rates count. Sizes and factors are those of nccl-tests (doc/PERFORMANCE.md there), so that
// numbers of both can be laid side by side.

#include <cstdint>
#include <string>

#include "grainscope/core/pattern.hpp"

namespace grainscope::collective {

enum class Kind { all_reduce, all_gather, reduce_scatter, broadcast, all_to_all, send_receive };
inline constexpr Kind kKinds[] = {Kind::all_reduce, Kind::all_gather, Kind::reduce_scatter,
                                  Kind::broadcast,  Kind::all_to_all, Kind::send_receive};
[[nodiscard]] const char* name(Kind kind);

// What is sent, and added up where the operation adds: whole numbers mod 2³², or floats that hold whole
// numbers so small that every sum of them is exact in any order.
enum class Element { uint32, float32 };
inline constexpr Element kElements[] = {Element::uint32, Element::float32};
[[nodiscard]] const char* name(Element element);
inline constexpr std::uint64_t kElementBytes = 4;
// Every sum of so many ranks is exact in float32.
inline constexpr int kMostRanks = 1 << 16;

// One operation, the same on every rank.
struct Work {
  Kind kind = Kind::all_reduce;
  std::uint64_t bytes = 0;  // as nccl-tests counts: of the larger of input and output of a rank
  Element element = Element::uint32;
  bool in_place = false;    // the input lies where the output comes
  bool registered = false;  // NCCL is told of the buffers before (ncclCommRegister)
};

// Why there is no such operation, and what would be right; empty: there is.
[[nodiscard]] std::string why_impossible(const Work& work, int ranks);

// Whether a rank's input or output is `ranks` equal parts.
[[nodiscard]] bool in_parts(Kind kind);
// Bytes of one such part: a multiple of 16 as in nccl-tests; of fewer than 16 whole elements. The whole, of
// operations that have no parts.
[[nodiscard]] std::uint64_t part_bytes(const Work& work, int ranks);
// Bytes that a rank puts in and gets out. The larger of both is what rates are of.
[[nodiscard]] std::uint64_t input_bytes(const Work& work, int ranks);
[[nodiscard]] std::uint64_t output_bytes(const Work& work, int ranks);
[[nodiscard]] std::uint64_t counted_bytes(const Work& work, int ranks);

// Bus bandwidth over counted bytes a second: 2(n-1)/n for all_reduce, (n-1)/n where there are parts, else 1.
[[nodiscard]] double bus_factor(Kind kind, int ranks);

// The least that each rank must take in or give away over its links, whichever is more, also where a switch
// adds up.
[[nodiscard]] std::uint64_t link_bytes_least(const Work& work, int ranks);

// Element `index` of the input of `rank`, as the 32 bits of its value.
constexpr std::uint32_t input_value(std::uint64_t index, int rank) {
  return pattern_word(index, 0x517e0000U + static_cast<std::uint32_t>(rank));
}
inline constexpr std::uint32_t kFloatValues = 0xff;  // a float of an input is one of 0 … 255

// Where the elements of one rank's output come from. Kept apart from how they got there: nothing of NCCL's is
// in it, and a host or a GPU computes it element by element.
struct Expected {
  bool sum = false;  // over all ranks; else from one
  int ranks = 1;
  int source = 0;           // the one, where the output is in no parts
  std::uint64_t part = 0;   // elements; above 0: part q of the output comes from rank q
  std::uint64_t first = 0;  // element of an input that the output, or each part of it, begins with
};
[[nodiscard]] Expected expected_of(const Work& work, int ranks, int rank);
[[nodiscard]] constexpr std::uint32_t expected_sum(const Expected& expected, std::uint64_t index,
                                                   std::uint32_t mask) {
  if (!expected.sum) {
    const std::uint64_t inside = expected.part > 0 ? index % expected.part : index;
    const int source = expected.part > 0 ? static_cast<int>(index / expected.part) : expected.source;
    return input_value(expected.first + inside, source) & mask;
  }
  std::uint32_t sum = 0;
  for (int rank = 0; rank < expected.ranks; ++rank) {
    sum += input_value(expected.first + index, rank) & mask;
  }
  return sum;
}

}  // namespace grainscope::collective

#endif
