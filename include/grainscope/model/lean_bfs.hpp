#ifndef GRAINSCOPE_MODEL_LEAN_BFS_HPP
#define GRAINSCOPE_MODEL_LEAN_BFS_HPP

// What a direction-optimising bfs asks of the link: the very steps of its kernel (lean/steps.hpp), taken on
// the CPU. Unlike a walk over whole lists, how far a list is read depends on the search itself, so the search
// is run; its depths come with it.

#include <cstdint>
#include <vector>

#include "grainscope/graph/csr.hpp"
#include "grainscope/lean/compressed_lists.hpp"
#include "grainscope/lean/firsts.hpp"
#include "grainscope/lean/hot_tier.hpp"
#include "grainscope/lean/steps.hpp"
#include "grainscope/lean/turning.hpp"
#include "grainscope/model/replay.hpp"

namespace grainscope::model {

// One direction's lists, what of them is in GPU memory, and how the rest lies behind the link.
struct TieredLists {
  const graph::Csr* lists = nullptr;
  const lean::HotTier* tier = nullptr;                // null: nothing is hot
  const lean::CompressedLists* compressed = nullptr;  // of what is not hot; null: four bytes a neighbour
  // Of `lists`, side by side: pulls look there before they look at lists, components join them before all
  // else; null: neither does.
  const lean::Firsts* firsts = nullptr;
};

struct LeanLevel {
  bool pull = false;
  std::uint64_t active = 0;     // vertices in the frontier
  std::uint64_t edges = 0;      // in their lists
  std::uint64_t hot_reads = 0;  // elements read from GPU memory
  Requests link;                // `elements`: read over the link
};

struct LeanBfs {
  std::vector<std::uint32_t> depths;  // [V]
  std::vector<LeanLevel> levels;
  [[nodiscard]] Requests total() const;
};

// What the levels of a search over such lists go by: each way's words by how the lists lie. A look at what is
// hot costs next to nothing.
[[nodiscard]] lean::Turning turning_for(const TieredLists& out, const TieredLists& in);

// `out`: lists that are pushed, `in`: that are pulled from; of an undirected graph the same. `reads`: of
// `in`'s lists, counted on; null: not wanted. All threads.
[[nodiscard]] LeanBfs replay_bfs(const TieredLists& out, const TieredLists& in, graph::Vertex source,
                                 const lean::Turning& turning, lean::ReadCounts* reads = nullptr);

}  // namespace grainscope::model

#endif
