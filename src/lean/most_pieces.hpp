#ifndef GRAINSCOPE_SRC_LEAN_MOST_PIECES_HPP
#define GRAINSCOPE_SRC_LEAN_MOST_PIECES_HPP

// How many pieces of long lists are handed out in a step at most: what there must be room for.

#include <cstdint>

#include "grainscope/graph/csr.hpp"
#include "grainscope/lean/compressed_lists.hpp"
#include "grainscope/lean/hot_tier.hpp"

namespace grainscope::lean {

// Pieces of one list, hot and cold, where lists of more than `longer` words are cut.
[[nodiscard]] std::uint64_t pieces_of_list(const graph::Csr& lists, const HotTier* tier,
                                           const CompressedLists* compressed, graph::Vertex vertex,
                                           std::uint64_t longer);

// Of any set of lists: those of all, or of the few (kFewLists) that are cut into most. `tier`, `compressed`:
// null where there are none. All threads.
[[nodiscard]] std::uint64_t most_pieces(const graph::Csr& lists, const HotTier* tier,
                                        const CompressedLists* compressed);

}  // namespace grainscope::lean

#endif
