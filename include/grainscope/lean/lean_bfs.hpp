#ifndef GRAINSCOPE_LEAN_LEAN_BFS_HPP
#define GRAINSCOPE_LEAN_LEAN_BFS_HPP

// A direction-optimising bfs over lists that need not fit into GPU memory (Beamer, Asanović and Patterson,
// SC 2012): while few edges lead out of the frontier their lists are pushed; while many do, vertices not yet
// reached look for a neighbour in the frontier, from the beginning of their list, and stop at the first;
// turning.hpp tells when. All
// of it is one kernel whose blocks are on the GPU together: nothing waits for the host between two levels.

#include <cstdint>
#include <memory>
#include <vector>

#include "grainscope/graph/csr.hpp"
#include "grainscope/graph/traversal.hpp"
#include "grainscope/lean/compressed_lists.hpp"
#include "grainscope/lean/firsts.hpp"
#include "grainscope/lean/hot_tier.hpp"
#include "grainscope/lean/steps.hpp"
#include "grainscope/lean/turning.hpp"

namespace grainscope::lean {

// What a search read, counted by the kernel itself.
struct LinkReads {
  std::uint64_t sectors = 0;       // of 32 bytes over the link, no cache
  std::uint64_t elements = 0;      // neighbours that are not hot
  std::uint64_t hot = 0;           // neighbours from GPU memory
  std::uint64_t copied_bytes = 0;  // of segments that were copied whole (hybrid.hpp)
};

// Adjacency lists within a GPU's reach: neighbours in page-locked host memory, of four bytes or compressed,
// what is hot of them in the GPU's own as well, offsets in the GPU's own. It copies what it needs.
class LeanLists {
 public:
  virtual ~LeanLists() = default;
  LeanLists(const LeanLists&) = delete;
  LeanLists& operator=(const LeanLists&) = delete;

  [[nodiscard]] virtual int gpu() const = 0;
  [[nodiscard]] virtual std::uint64_t hot_bytes() const = 0;  // of the GPU's memory, for edges
  [[nodiscard]] virtual std::uint64_t gpu_bytes() const = 0;  // and for offsets

 protected:
  LeanLists() = default;
};

// On the NUMA node that the calling thread is bound to. `in_edges`: of a directed graph its transpose, with a
// tier of its own; else null. Throws SkipError, with the numbers, where the GPU has no room; UsageError for a
// directed graph without its transpose, weights that are not there, or first neighbours beside them;
// FailedError where host memory cannot be locked; in a build without CUDA always SkipError.
struct LeanPlacement {
  const graph::Csr* graph = nullptr;
  const HotTier* tier = nullptr;  // null: nothing is hot
  const graph::Csr* in_edges = nullptr;
  const HotTier* in_tier = nullptr;
  // Of what is not hot, with weights where these are placed; null: four bytes a neighbour.
  const CompressedLists* compressed = nullptr;
  const CompressedLists* in_compressed = nullptr;
  int gpu = 0;
  bool weights = false;  // placed too, for lean_sssp.hpp alone; of `graph`
  // First neighbours of the lists that are pulled from, placed beside these, for searches and components;
  // null: none.
  const Firsts* firsts = nullptr;
};
[[nodiscard]] std::unique_ptr<LeanLists> place_lean(const LeanPlacement& placement);

// One of the four algorithms over such lists; its levels are steps, by the GPU's clock. One more run tells
// what it reads.
class LeanTraversal : public graph::Traversal {
 public:
  // Untimed; of each step.
  virtual std::vector<LinkReads> count(graph::Vertex source) = 0;
};

class LeanBfs : public LeanTraversal {
 public:
  [[nodiscard]] virtual std::vector<bool> pulled() const = 0;  // of each level, whether it was a pull
};

// `lists` outlives it. Throws SkipError where the GPU has no room for the state, with the numbers, or cannot
// launch blocks that wait for each other; in a build without CUDA always SkipError.
[[nodiscard]] std::unique_ptr<LeanBfs> make_lean_bfs(const LeanLists& lists, const Turning& turning);

}  // namespace grainscope::lean

#endif
