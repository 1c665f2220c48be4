#ifndef GRAINSCOPE_SRC_GRAPH_LIST_SORT_HPP
#define GRAINSCOPE_SRC_GRAPH_LIST_SORT_HPP

// Sorts one adjacency list, of neighbours alone (u32) or of neighbours with weights (u64, the neighbour
// above).

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "grainscope/graph/csr.hpp"

namespace grainscope::graph {

using Neighbour = Vertex;
using WeightedNeighbour = std::uint64_t;  // neighbour << 32 | weight

[[nodiscard]] constexpr Vertex neighbour_of(Neighbour element) {
  return element;
}
[[nodiscard]] constexpr Vertex neighbour_of(WeightedNeighbour element) {
  return static_cast<Vertex>(element >> 32);
}

template <class Element>
[[nodiscard]] constexpr Element element_of(Vertex neighbour, Weight weight) {
  if constexpr (sizeof(Element) == sizeof(Neighbour)) {
    return neighbour;
  } else {
    return static_cast<Element>(neighbour) << 32 | weight;
  }
}

// Elements as they stand in a graph; `weights` is not touched where there are none.
inline void write_list(const Neighbour* list, std::size_t count, Vertex* targets, Weight* /*weights*/) {
  std::copy_n(list, count, targets);
}
inline void write_list(const WeightedNeighbour* list, std::size_t count, Vertex* targets, Weight* weights) {
  for (std::size_t i = 0; i < count; ++i) {
    targets[i] = neighbour_of(list[i]);
    weights[i] = static_cast<Weight>(list[i]);
  }
}

namespace detail {

inline constexpr int kDigitBits = 8;
inline constexpr std::size_t kDigits = std::size_t{1} << kDigitBits;

// One pass of a radix sort, stable, by the neighbour's digit from bit `shift`. `places`: where each digit
// goes.
template <class Element>
void scatter_by_digit(const Element* from, std::size_t count, int shift,
                      std::array<std::uint64_t, kDigits>& places, Element* to) {
  for (std::size_t i = 0; i < count; ++i) {
    to[places[neighbour_of(from[i]) >> shift & (kDigits - 1)]++] = from[i];
  }
}

}  // namespace detail

// Sorts by neighbour; the order of equal neighbours' weights is not told. `spare`: room for `count` elements.
template <class Element>
void sort_list(Element* list, std::size_t count, Element* spare) {
  constexpr std::size_t kRadixFrom = 96;  // below, comparisons are quicker
  if (count < kRadixFrom) {
    std::sort(list, list + count);
    return;
  }
  constexpr int kPasses = 32 / detail::kDigitBits;
  std::array<std::array<std::uint64_t, detail::kDigits>, kPasses> places{};
  for (std::size_t i = 0; i < count; ++i) {
    for (int pass = 0; pass < kPasses; ++pass) {
      ++places[pass][neighbour_of(list[i]) >> (pass * detail::kDigitBits) & (detail::kDigits - 1)];
    }
  }
  Element* from = list;
  Element* to = spare;
  for (int pass = 0; pass < kPasses; ++pass) {
    const int shift = pass * detail::kDigitBits;
    if (places[pass][neighbour_of(list[0]) >> shift & (detail::kDigits - 1)] == count) {
      continue;  // all have the same digit
    }
    std::uint64_t place = 0;
    for (std::uint64_t& digit : places[pass]) {
      place += std::exchange(digit, place);
    }
    detail::scatter_by_digit(from, count, shift, places[pass], to);
    std::swap(from, to);
  }
  if (from != list) {
    std::copy(from, from + count, list);
  }
}

}  // namespace grainscope::graph

#endif
