#ifndef GRAINSCOPE_LEAN_LEAN_CC_HPP
#define GRAINSCOPE_LEAN_LEAN_CC_HPP

// Connected components by sampling (after Afforest; Sutton, Ben-Nun and Barak, IPDPS 2018): first neighbours
// that are hot or lie side by side are joined first, then some whole lists, while that is worth their lines
// (list_phases.hpp), then two neighbours of every vertex outside the largest component. That makes one
// component of most of the graph, and only lists of vertices that are still not in it are read.

#include <cstdint>
#include <memory>
#include <vector>

#include "grainscope/lean/lean_bfs.hpp"
#include "grainscope/lean/list_phases.hpp"

namespace grainscope::lean {

inline constexpr std::uint64_t kSampledNeighbours = 2;   // of each list, the first ones
inline constexpr std::uint32_t kSampledVertices = 1024;  // that tell which component is the largest
inline constexpr int kPairLanes = 2;                     // that read a vertex's sample together, a word each

// How many of a list's neighbours are sampled in any case: of compressed ones their first two words may tell
// one alone, where ids are long. `id_bits`: of compressed lists; 0: they are plain.
[[nodiscard]] constexpr std::uint64_t surely_sampled(int id_bits) {
  return 2 * id_bits + kWidthBits <= 64 ? kSampledNeighbours : 1;
}

// Vertex number i of those that are asked for their component: spread evenly.
[[nodiscard]] constexpr graph::Vertex sampled_vertex(std::uint32_t i, graph::Vertex vertices) {
  return static_cast<graph::Vertex>((std::uint64_t{vertices} * i + vertices / 2) / kSampledVertices);
}

// What is read one after the other. What is largest after the samples may be another component than what was
// largest before them; who was not sampled for being in that one is then outside, and its list is read.
enum CcStage : std::uint8_t {
  early,    // first neighbours side by side, and whole lists
  samples,  // and hot neighbours
  rest,
};
inline constexpr int kCcStages = 3;
inline constexpr graph::Vertex kNoComponent = 0xffffffff;  // is the largest: nothing was joined

// Its steps are the stages: times are from each one's begin to the next one's. What comes after the last, the
// settling of all trees, is in none; vertices and edges are not counted where it is timed. The answer is each
// vertex's component by its lowest vertex.
// `lists`, of an undirected graph, outlives it. Throws UsageError for a directed graph; SkipError where the
// GPU has no room for the state, with the numbers; in a build without CUDA always SkipError.
[[nodiscard]] std::unique_ptr<LeanTraversal> make_lean_cc(const LeanLists& lists);

}  // namespace grainscope::lean

#endif
