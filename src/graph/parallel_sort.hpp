#ifndef GRAINSCOPE_SRC_GRAPH_PARALLEL_SORT_HPP
#define GRAINSCOPE_SRC_GRAPH_PARALLEL_SORT_HPP

#include <algorithm>
#include <span>

#include "edge_chunks.hpp"

namespace grainscope::graph {

// Sorts by all threads: parts by themselves, then merged two by two. Needs as much memory again. The result
// is the same for any number of threads where no two values are equivalent.
template <class T, class Less>
void parallel_sort(std::span<T> values, const Less& less) {
  constexpr std::size_t kParts = 64;
  const auto begin_of = [&](std::size_t part) {
    const std::size_t whole = values.size() / kParts;
    return whole * std::min(part, kParts) + values.size() % kParts * std::min(part, kParts) / kParts;
  };
#pragma omp parallel for schedule(dynamic) if (values.size() > kFewVertices)
  for (std::size_t part = 0; part < kParts; ++part) {
    std::sort(values.begin() + begin_of(part), values.begin() + begin_of(part + 1), less);
  }
  for (std::size_t width = 1; width < kParts; width *= 2) {
#pragma omp parallel for schedule(dynamic) if (values.size() > kFewVertices)
    for (std::size_t part = 0; part < kParts; part += 2 * width) {
      std::inplace_merge(values.begin() + begin_of(part), values.begin() + begin_of(part + width),
                         values.begin() + begin_of(part + 2 * width), less);
    }
  }
}

}  // namespace grainscope::graph

#endif
