#ifndef GRAINSCOPE_SRC_MODEL_LEAN_LISTS_HPP
#define GRAINSCOPE_SRC_MODEL_LEAN_LISTS_HPP

#include <cstdint>
#include <span>

#include "grainscope/model/lean_bfs.hpp"

namespace grainscope::model {

// A list as the two parts that it is read in.
struct List {
  std::uint64_t hot = 0;    // elements of it in GPU memory, from its beginning
  std::uint64_t begin = 0;  // of the part over the link
  std::uint64_t end = 0;
};

[[nodiscard]] List list_of(const TieredLists& lists, graph::Vertex v);

// Requests of one load by the lanes of a warp that read these steps, which rise.
void add_load(std::span<const lean::Step> steps, Requests& to);
// Of a warp that reads a list's elements [begin, end) in pieces.
void add_pieces(std::uint64_t begin, std::uint64_t end, Requests& to);

}  // namespace grainscope::model

#endif
