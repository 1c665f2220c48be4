#ifndef GRAINSCOPE_MODEL_REPLAY_HPP
#define GRAINSCOPE_MODEL_REPLAY_HPP

// Counts, exactly, what a walk over adjacency lists asks of the link: the same walk as the kernels'
// (graph/access.hpp), replayed on the CPU over a sequence of frontiers.
//
// Each warp-wide load is grouped by lines of 128 bytes; a line is one request of 32 bytes times its different
// sectors; a line whose sectors are not adjacent counts once and is reported apart. Source: EMOGI 3.3, and
// the hardware counters lts__t_requests / lts__t_sectors of system-memory reads, which it is held against.
//
// edge_gather (GraphPEG's interface) has two sides. Its gathers are merged_aligned's: the same requests. What
// its lanes work on is handed out by the block, 32 edges at a time whosever list they are from, so `loads`
// are hand-outs and only a block's last one of a level has idle lanes. Edges stay with the block that
// gathered them: that blocks give entries away when they have 512 edges more than others is not modelled.

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "grainscope/graph/access.hpp"
#include "grainscope/graph/answers.hpp"
#include "grainscope/graph/csr.hpp"

namespace grainscope::model {

inline constexpr std::uint64_t kSectorBytes = 32;  // what a request is a multiple of

// Requests over the link, of one level or of a whole traversal.
struct Requests {
  std::array<std::uint64_t, 4> by_sectors{};  // requests of 32, 64, 96, 128 bytes
  std::uint64_t split = 0;                    // of them, those whose sectors are not adjacent
  std::uint64_t loads = 0;     // warp-wide loads, those of weights too; of edge_gather hand-outs
  std::uint64_t lanes = 0;     // lanes of these loads that read an element
  std::uint64_t elements = 0;  // edges read
  [[nodiscard]] std::uint64_t count() const;
  [[nodiscard]] std::uint64_t bytes() const;
  [[nodiscard]] double lane_use() const;  // lanes / (32 loads)
  Requests& operator+=(const Requests& other);
  friend bool operator==(const Requests&, const Requests&) = default;
};

struct Layout {
  int edge_bytes = 8;            // 4 or 8: a neighbour where the GPU reads it
  bool weights = false;          // 4 bytes an edge, in an array of its own, read with the neighbour
  std::uint64_t edges_at = 0;    // byte address of the edge array and of the weights, modulo what matters
  std::uint64_t weights_at = 0;  // (both are page-aligned in the suite); multiples of an element's size

  [[nodiscard]] std::uint64_t element_bytes() const {
    return static_cast<std::uint64_t>(edge_bytes) + (weights ? 4U : 0U);
  }
};

// What a traversal asked for.
struct Replay {
  Requests total;                   // with no cache: every request crosses the link
  std::uint64_t cached_bytes = 0;   // with an infinite cache: every different sector once in the whole run
  std::uint64_t data_bytes = 0;     // the edge list (and weights) as a whole
  std::uint64_t element_bytes = 0;  // of an edge, with its weight where that is read
  std::vector<Requests> levels;
  std::vector<std::uint64_t> active;       // vertices a level
  std::vector<std::uint64_t> level_bytes;  // of each level its different sectors, once, as bytes
  // And the requests for them, if lists and steps that lie side by side ask for a sector once: what a GPU's
  // caches come to. Of naive, whose lanes come back to a line again and again, a request a line: the fewest.
  std::vector<std::uint64_t> level_requests;
  double block_imbalance = 1;  // most loaded block's loads over the mean of all, over the whole run
  // Bytes that must have crossed the link though a cache of `cache_bytes` kept what it could from one level
  // to the next.
  [[nodiscard]] std::uint64_t least_bytes(std::uint64_t cache_bytes) const;
  [[nodiscard]] std::uint64_t cached_requests() const;  // of all levels
  [[nodiscard]] double amplification() const;           // bytes over elements read times their size, no cache
  [[nodiscard]] double cached_amplification() const;    // the same of the bytes with an infinite cache
};

// Turn t is taken by warp t mod (blocks × warps), which is in block ⌊warp / warps_per_block⌋.
struct Grid {
  int blocks = 264;  // two a multiprocessor of an H100
  int warps_per_block = 32;
};

// Replays `access` over levels that are fed one by one. The graph outlives it. All threads; the numbers do
// not depend on how many.
class Replayer {
 public:
  // Throws FailedError for a layout or a grid that cannot be: edges of 3 bytes, no blocks.
  Replayer(const graph::Csr& graph, graph::Access access, const Layout& layout, const Grid& grid = {});
  // One level: `active` ascends strictly, below V. Throws FailedError where it does not.
  void level(std::span<const graph::Vertex> active);
  [[nodiscard]] const Replay& result() const;  // so far

 private:
  const graph::Csr& graph_;
  graph::Access access_;
  Layout layout_;
  Grid grid_;
  std::vector<std::uint64_t> seen_;  // a bit a sector
  std::vector<std::uint64_t> loads_of_block_;
  Replay replay_;
};

// The whole of an algorithm on one graph.
[[nodiscard]] Replay replay(const graph::Csr& graph, graph::Algorithm algorithm, graph::Vertex source,
                            graph::Access access, const Layout& layout, const Grid& grid = {});

}  // namespace grainscope::model

#endif
