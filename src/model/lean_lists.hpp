#ifndef GRAINSCOPE_SRC_MODEL_LEAN_LISTS_HPP
#define GRAINSCOPE_SRC_MODEL_LEAN_LISTS_HPP

#include <cstdint>
#include <span>

#include "grainscope/model/lean.hpp"

namespace grainscope::model {

// A list as the two parts that it is read in. Elements are numbered in the graph's own edge array.
struct List {
  std::uint64_t hot = 0;  // elements of it in GPU memory, those before `cold`
  lean::Step cold;        // elements over the link
  lean::Step words;       // that these lie in there
};
[[nodiscard]] List list_of(const TieredLists& lists, graph::Vertex v);

// Requests of one load of a word each by the lanes of a warp that read these steps, which rise. Elements are
// not counted.
void add_load(std::span<const lean::Step> words, Requests& to);
// Of a warp that reads the first neighbours of those of a block's 32 vertices that are `asked` for, a bit
// each.
void add_firsts(const lean::FirstsBlock& block, std::uint32_t asked, Requests& to);
// Of a warp that reads all of a list over the link, in pieces: its elements too.
void add_list(const List& list, Requests& to);

// What a reader who stops at the first answer takes of a list at a time: words, and the elements in them.
struct Portion {
  lean::Step words;
  lean::Step elements;
};
// What a team of eight lanes takes first of a list with cold elements.
[[nodiscard]] Portion first_portion(const TieredLists& lists, graph::Vertex v, const List& list);
// The lines that a warp takes after that, one by one: after what the team took (of compressed lists with all
// of the first line once more), or where the beginning is hot, from the first cold element on.
[[nodiscard]] std::vector<Portion> line_portions(const TieredLists& lists, graph::Vertex v, const List& list);

}  // namespace grainscope::model

#endif
