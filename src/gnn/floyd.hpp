#ifndef GRAINSCOPE_SRC_GNN_FLOYD_HPP
#define GRAINSCOPE_SRC_GNN_FLOYD_HPP

#include <algorithm>
#include <cstdint>

#include "grainscope/gnn/random.hpp"

namespace grainscope::gnn {

// `count` different places below `degree`, which is larger, by Floyd's method with the numbers of stream
// `key`, in the order in which they are drawn.
inline void draw_places(std::uint64_t key, std::uint32_t degree, std::uint32_t count, std::uint32_t* places) {
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t last = degree - count + i;
    const std::uint32_t place = random_below(key, i, last + 1);
    // `last` cannot be among them: it was out of reach so far.
    places[i] = std::find(places, places + i, place) == places + i ? place : last;
  }
}

}  // namespace grainscope::gnn

#endif
