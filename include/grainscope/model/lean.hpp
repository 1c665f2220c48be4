#ifndef GRAINSCOPE_MODEL_LEAN_HPP
#define GRAINSCOPE_MODEL_LEAN_HPP

// What lean traversals (lean/run.hpp) ask of the link: their very steps, taken on the CPU. Unlike a walk
// over whole lists, what is read depends on the answer so far, so the algorithm is run; its answer comes
// with it.

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "grainscope/graph/answers.hpp"
#include "grainscope/graph/csr.hpp"
#include "grainscope/lean/lists.hpp"
#include "grainscope/lean/run.hpp"
#include "grainscope/model/link.hpp"
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
  bool apart = false;  // weights have an array of their own, also where they fit beside their neighbours
};

struct LevelPrediction {
  bool pull = false;
  std::uint64_t active = 0;     // vertices in the frontier
  std::uint64_t edges = 0;      // in their lists
  std::uint64_t hot_reads = 0;  // elements read from GPU memory
  Requests link;                // `elements`: read over the link
};

struct BfsPrediction {
  std::vector<std::uint32_t> depths;  // [V]
  std::vector<LevelPrediction> levels;
  [[nodiscard]] Requests total() const;
};

// What the levels of a search over such lists go by: each way's words by how the lists lie. A look at what is
// hot costs next to nothing.
[[nodiscard]] lean::Turning turning_for(const TieredLists& out, const TieredLists& in);

// `out`: lists that are pushed, `in`: that are pulled from; of an undirected graph the same. `reads`: of
// `in`'s lists, counted on; null: not wanted. All threads.
[[nodiscard]] BfsPrediction replay_bfs(const TieredLists& out, const TieredLists& in, graph::Vertex source,
                                       const lean::Turning& turning, lean::ReadCounts* reads = nullptr);

// What connected components by sampling ask of the link: the steps of the kernels, taken
// on the CPU.

struct CcPrediction {
  struct Stage {
    Requests link;
    std::uint64_t hot = 0;       // elements read from GPU memory
    std::uint64_t vertices = 0;  // whose lists were read, or sampled
  };
  std::vector<graph::Vertex> labels;  // [V]: of each component its lowest vertex
  std::array<Stage, lean::kCcStages> stages;
  [[nodiscard]] Requests total() const;
};

// Of an undirected graph. All threads.
[[nodiscard]] CcPrediction replay_cc(const TieredLists& lists);

// What shortest paths by near and far ask of the link, step by step. Here what a step changes is seen by the
// next; on a GPU some of it is seen at once, so that it may read a little less.

struct SsspStepPrediction {
  std::uint64_t active = 0;     // vertices whose lists are read
  std::uint64_t edges = 0;      // in these
  std::uint64_t hot_reads = 0;  // neighbours read from GPU memory
  Requests link;                // and of weights that are not packed; `elements`: neighbours
};

struct SsspPrediction {
  std::vector<std::uint32_t> distances;  // [V]
  std::vector<SsspStepPrediction> steps;
  [[nodiscard]] Requests total() const;
};

// Of lists with weights, packed where they can be. `visit`, where there is one, is told each step's vertices,
// ascending. Throws UsageError for a source that is no vertex, lists without weights or a delta of 0.
[[nodiscard]] SsspPrediction replay_sssp(const TieredLists& lists, graph::Vertex source, std::uint32_t delta,
                                         const graph::LevelVisitor& visit = {});

// What PageRank by pulling asks of the link: every sweep the same, all lists once; and how many sweeps it
// takes, by taking them. On a GPU warps come in no fixed order, so that it may take one more or less.

struct PrPrediction {
  std::vector<float> ranks;  // [V]
  std::uint32_t sweeps = 0;
  Requests sweep;               // over the link, of each
  std::uint64_t hot_reads = 0;  // elements from GPU memory, of each
};

// `in`: lists that are pulled from, `out`: degrees of what they name; of an undirected graph the same. All
// threads. Throws FailedError where it does not come to an end.
[[nodiscard]] PrPrediction replay_pr(const TieredLists& in, const graph::Csr& out);

// What hybrid traversals choose, segment by segment, and how long that takes over a link.

// Of a link over which this machine was seen to copy and read so fast; what requests cost is the link's.
[[nodiscard]] lean::LinkCosts costs_of(const Link& link, const lean::SegmentRates& seen);

// One step of a hybrid traversal.
struct HybridStep {
  lean::StepPlan plan;
  Requests read;  // of lists that begin in segments which are not copied
};
// That reads the lists of these vertices, ascending; what is hot of them is not asked for.
[[nodiscard]] HybridStep hybrid_step(const TieredLists& lists, std::span<const graph::Vertex> vertices,
                                     const lean::LinkCosts& costs);
// That reads all lists.
[[nodiscard]] HybridStep hybrid_step(const TieredLists& lists, const lean::LinkCosts& costs);

}  // namespace grainscope::model

#endif
