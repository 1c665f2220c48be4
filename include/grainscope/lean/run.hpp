#ifndef GRAINSCOPE_LEAN_RUN_HPP
#define GRAINSCOPE_LEAN_RUN_HPP

// Lean traversals on a GPU: lists that are placed once, the four algorithms over them, and what decides
// which way a search turns and which segments of the lists are copied.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "grainscope/cuda/mapped.hpp"
#include "grainscope/graph/answers.hpp"
#include "grainscope/graph/csr.hpp"
#include "grainscope/graph/traversal.hpp"
#include "grainscope/lean/lists.hpp"

namespace grainscope::lean {

using graph::LinkReads;

// Which way a level of a direction-optimising search goes: whichever should take less of the link. Kernels
// and the model decide by the same numbers.
//
// Beamer, Asanović and Patterson (SC 2012, section 4) compare edges of the frontier with a fixed share of
// those not yet explored. Over a link that is wrong where neighbours are random: a frontier with a fourteenth
// of the edges answers a pull seldom, and most lists are then read to their end. LeanBfsModel in the tests
// has both rules beside the cheapest way.

// Before a level.
struct LevelAhead {
  std::uint64_t active = 0;      // vertices of the frontier
  std::uint64_t edges = 0;       // in their lists
  std::uint64_t unreached = 0;   // vertices not yet reached that have a list to pull from
  std::uint64_t unexplored = 0;  // edges in the lists of vertices not yet reached
  std::uint64_t listed = 0;      // vertices that have a list to pull from
  std::uint64_t all_edges = 0;

  // Before the first, from a source with so many out-edges, and a list to pull from or none.
  [[nodiscard]] static constexpr LevelAhead of_source(std::uint64_t degree, bool source_listed,
                                                      std::uint64_t listed, std::uint64_t all_edges) {
    return {1, degree, listed - (source_listed ? 1 : 0), all_edges - degree, listed, all_edges};
  }
  // What a level found is the next one's frontier.
  constexpr void advance(std::uint64_t found, std::uint64_t edges_of_found) {
    active = found;
    edges = edges_of_found;
    unreached -= found;
    unexplored -= edges_of_found;
  }
};

// Costs in words of four bytes that cross the link in whole lines.
struct Turning {
  double push = 1;  // of an edge that is pushed; 0: never pull, infinity: pull whenever there is a choice
  double hot = 0;   // share of lists whose beginning is hot
  double told = 0;  // neighbours that such a beginning tells
  bool firsts =
      false;         // first neighbours of the other lists lie side by side, and are looked at before these
  double first = 1;  // of one of them

  // Of a list's beginning over the link: a sector of eight words, at little more than half the rate.
  static constexpr double kLook = 15;
  static constexpr double kLooked = 8;  // neighbours that it tells
  static constexpr double kHotLook = 0.25;
  // What follows a beginning is never less than a sector.
  static constexpr double kRest = 8;
  // Lists have their hubs first: where the frontier's lists are longer than most, what is looked at first is
  // that much likelier to lie in it, by no more than this.
  static constexpr double kMostBias = 16;

  [[nodiscard]] constexpr bool pulls(const LevelAhead& ahead) const {
    if (ahead.edges == 0) {
      return false;
    }
    if (ahead.unreached == 0) {
      return push > 0;  // nobody asks
    }
    const auto all = static_cast<double>(ahead.all_edges);
    const auto edges = static_cast<double>(ahead.edges);
    const auto unreached = static_cast<double>(ahead.unreached);
    const double share = edges / all;  // of neighbours that lie in the frontier
    const double longer =
        edges / static_cast<double>(ahead.active) / (all / static_cast<double>(ahead.listed));
    const double bias = longer < 1 ? 1 : longer > kMostBias ? kMostBias : longer;
    // Of a list that `looked` neighbours are told of: what is read after these.
    const auto rest = [&](double looked) {
      const double left = static_cast<double>(ahead.unexplored) / unreached - looked;
      const double until = 1 / share > kRest ? 1 / share : kRest;
      return power(1 - share, static_cast<std::uint32_t>(looked * bias)) * (left < 0       ? 0
                                                                            : left < until ? left
                                                                                           : until);
    };
    double cold = kLook + rest(kLooked);
    if (firsts) {
      const double of_first = bias < 2 ? 1 : bias / 2;  // found by LeanBfsModel.turns_where_it_pays
      cold = first_look(ahead) + power(1 - share, static_cast<std::uint32_t>(of_first)) * cold;
    }
    const double pull = hot * (kHotLook + rest(told)) + (1 - hot) * cold;
    return push * edges > unreached * pull;
  }

 private:
  // Of a vertex that asks: the fewer do, the fewer share a sector.
  [[nodiscard]] constexpr double first_look(const LevelAhead& ahead) const {
    const double alone = first * static_cast<double>(ahead.listed) / static_cast<double>(ahead.unreached);
    return alone < kRest ? alone : kRest;
  }
  // By multiplications alone. No product here is joined with a sum (src/lean/CMakeLists.txt), so that a GPU
  // and a CPU round alike.
  static constexpr double power(double base, std::uint32_t exponent) {
    double result = 1;
    for (; exponent != 0; exponent >>= 1) {
      result *= (exponent & 1) != 0 ? base : 1;
      base *= base;
    }
    return result;
  }
};

// By segment of the lists and by step, whichever takes less time over a link: reading what is asked for where
// it lies, or copying the segment whole into GPU memory and reading it there. After HyTGraph (Wang, Ai,
// Zhang, Chen and Yu, ICDE 2023).

inline constexpr std::uint64_t kSegmentWords = std::uint64_t{4} << 20;  // of four bytes: 16 MiB
inline constexpr std::uint32_t kSegmentsAtOnce = 8;  // copied together; two such groups take turns

[[nodiscard]] constexpr std::uint64_t segments_of(std::uint64_t words) {
  return (words + kSegmentWords - 1) / kSegmentWords;
}
// Of GPU memory that segments of lists of `words` words are copied into: two groups.
[[nodiscard]] constexpr std::uint64_t staged_words(std::uint64_t words) {
  return 2 * std::min<std::uint64_t>(segments_of(words), kSegmentsAtOnce) * kSegmentWords;
}

// What a step asks of a segment: requests of up to a line, and the sectors in them, for the lists that begin
// there, each by itself. The layout is the GPU's counters'.
struct SegmentDemand {
  unsigned long long sectors = 0;
  unsigned long long requests = 0;
  friend bool operator==(const SegmentDemand&, const SegmentDemand&) = default;
};
// Of a list's words.
[[nodiscard]] constexpr SegmentDemand demand_of(const Step& words) {
  if (words.from == words.to) {
    return {};
  }
  return {sectors_of(words), (words.to - 1) / kLineElements - words.from / kLineElements + 1};
}

// What a link takes, in seconds.
struct LinkCosts {
  double sector_s = 0;  // on the wire
  double header_s = 0;  // of a request, on the wire
  double slot_s = 0;    // a request's share of the round trips under way at once
  double copied_word_s = 0;
  double copy_s = 0;  // to submit a copy and what waits for it
  [[nodiscard]] double read_s(const SegmentDemand& demand) const;
  [[nodiscard]] double copied_s(std::uint64_t words) const;
};

// What this machine reaches over whole segments, decimal GB/s.
struct SegmentRates {
  double copied_gb_s = 0;
  double read_gb_s = 0;
};
class LeanLists;
// Over segments of these lists, copied and read by turns, medians of several; of lists without a segment's
// worth as far as they go. In a build without CUDA always SkipError.
[[nodiscard]] SegmentRates measure_segment_rates(const LeanLists& lists);

// Segments [first, last), read or copied.
struct SegmentRun {
  std::uint32_t first = 0;
  std::uint32_t last = 0;
  bool copied = false;
  friend bool operator==(const SegmentRun&, const SegmentRun&) = default;
};
struct StepPlan {
  std::vector<SegmentRun> runs;  // ascending; segments that nothing is asked of may be left out
  SegmentDemand read;            // of what is not copied
  std::uint64_t copied_words = 0;
  double seconds = 0;  // of the link: everything one after the other
};
// Of lists of `words` words. Runs that are copied are no longer than kSegmentsAtOnce.
[[nodiscard]] StepPlan plan_step(std::span<const SegmentDemand> demands, std::uint64_t words,
                                 const LinkCosts& costs);

// A direction-optimising bfs over lists that need not fit into GPU memory (Beamer, Asanović and Patterson,
// SC 2012): while few edges lead out of the frontier their lists are pushed; while many do, vertices not yet
// reached look for a neighbour in the frontier, from the beginning of their list, and stop at the first;
// Turning says when. All
// of it is one kernel whose blocks are on the GPU together: nothing waits for the host between two levels.

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
  // Throws FailedError where lists have left the host.
  virtual void expect_on_host() const = 0;

 protected:
  LeanLists() = default;
};

// On the NUMA node that the calling thread is bound to. `in_edges`: of a directed graph its transpose, with a
// tier of its own; else null. Throws SkipError, with the numbers, where the GPU has no room; UsageError for a
// directed graph without its transpose, weights that are not there, or first neighbours beside them;
// and as MappedMemory; in a build without CUDA always SkipError.
struct LeanPlacement {
  const graph::Csr* graph = nullptr;
  const HotTier* tier = nullptr;  // null: nothing is hot
  const graph::Csr* in_edges = nullptr;
  const HotTier* in_tier = nullptr;
  // Of what is not hot, with weights where these are placed; null: four bytes a neighbour.
  const CompressedLists* compressed = nullptr;
  const CompressedLists* in_compressed = nullptr;
  int gpu = 0;
  bool weights = false;  // placed too, for shortest paths alone; of `graph`
  // First neighbours of the lists that are pulled from, placed beside these, for searches and components;
  // null: none.
  const Firsts* firsts = nullptr;
  // Weights in an array of their own, also where they fit into the four bytes of their neighbours.
  bool apart = false;
  // Of what is on the host.
  cuda::MemoryKind memory = cuda::MemoryKind::host_alloc;
  int node = 0;
  std::vector<int> others = {};  // GPUs that read it beside this one
  // The same lists, placed in the same way for another GPU: both share what is on the host, as long as either
  // needs it. Of other lists a UsageError.
  const LeanLists* beside = nullptr;
};
[[nodiscard]] std::unique_ptr<LeanLists> place_lean(const LeanPlacement& placement,
                                                    const cuda::Surroundings& surroundings = {});

// Traversals over such lists. Their levels are steps, by the GPU's clock; count() tells what each reads, and
// of a search pulled() which were pulls.
//
// `lists` outlives it. Throws SkipError where the GPU has no room for the state, with the numbers, or cannot
// launch blocks that wait for each other; in a build without CUDA always SkipError.
// `parents`: also keeps from which vertex each was reached, of the source itself; kUnreached of the others.
[[nodiscard]] std::unique_ptr<graph::Traversal> make_lean_bfs(const LeanLists& lists, const Turning& turning,
                                                              bool parents = false);

// Lists of one graph as they are placed for each of several GPUs, which share what is on the host; several
// may be of one GPU. Words of 32 vertices are dealt out to the GPUs in turn (of cc also samples of 16
// vertices, and lists one by one). Where hubs come first, all have long lists and short ones. Each GPU reads
// what is dealt to it over its own link. It has a copy of the state of all vertices, and the GPUs tell each
// other what they find. A step begins once all are through the one before.
using LeanTeam = std::span<const LeanLists* const>;
// Every maker that takes a team: the team outlives what is made. For a team of one it makes what one GPU
// runs. Throws as the maker for one GPU; UsageError where what is on the host is not shared, and for more
// than 16; SkipError where a GPU does not reach another. Each GPU keeps its part of the answer, so
// answer_on_gpu() throws. The team reads what one GPU would; but ranks and distances reach another GPU later
// than the own one, so sweeps and steps may be more.
[[nodiscard]] std::unique_ptr<graph::Traversal> make_lean_bfs(LeanTeam team, const Turning& turning);
[[nodiscard]] std::unique_ptr<graph::Traversal> make_lean_cc(LeanTeam team);
[[nodiscard]] std::unique_ptr<graph::Traversal> make_lean_sssp(LeanTeam team, std::uint32_t delta);
[[nodiscard]] std::unique_ptr<graph::Traversal> make_lean_pr(LeanTeam team);

// Connected components by sampling (after Afforest; Sutton, Ben-Nun and Barak, IPDPS 2018): first neighbours
// that are hot or lie side by side are joined first, then some whole lists, while that is worth their lines
// (lists.hpp), then two neighbours of every vertex outside the largest component. That makes one
// component of most of the graph, and only lists of vertices that are still not in it are read.

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
[[nodiscard]] std::unique_ptr<graph::Traversal> make_lean_cc(const LeanLists& lists);

// Answers under the numbers that vertices had before their graph was put in an order by degree.
struct CallersNumbers {
  std::span<const graph::Vertex> old_of_new;  // [V], host memory; copied
  bool ids = false;                           // answers are vertices: labels, parents
};
// A traversal whose runs end with its answer in the caller's order, on the GPU: the time of the kernel that
// brings it there, between two events of its own, is added to the run's. Its answer is read back from there,
// so that who certifies it certifies what was brought. Of a search with parents answer() is their depths, and
// parents() the others. Takes 8 bytes of GPU memory a vertex, of ids 12. Throws SkipError where there is no
// room; in a build without CUDA always.
class CallersAnswer : public graph::Traversal {
 public:
  [[nodiscard]] virtual double last_mapping_s() const = 0;
  // Of the last run, of a search that keeps them: [V], under the numbers of the lists.
  [[nodiscard]] virtual std::vector<graph::Vertex> parents() const = 0;
};
[[nodiscard]] std::unique_ptr<CallersAnswer> with_callers_numbers(std::unique_ptr<graph::Traversal> traversal,
                                                                  int gpu, const CallersNumbers& numbers,
                                                                  bool parents);

// Shortest paths by near and far (Davidson, Baxter, Garland and Owens, IPDPS 2014): of the vertices whose
// distance has fallen only those below a threshold have their lists read; when there are none, the threshold
// rises. So a list is seldom read before its vertex's distance is final. A weight shares the four bytes of
// its neighbour where both fit. All of it is one kernel whose blocks are on the GPU together.

// Whether every neighbour fits into four bytes together with its weight, which has the bits above it.
[[nodiscard]] bool packs_weights(const graph::Csr& graph);
// Bits of the highest vertex.
[[nodiscard]] int vertex_bits(const graph::Csr& graph);
// The lowest weight and the highest; of no weights 0 and 0.
struct WeightBounds {
  graph::Weight least = 0;
  graph::Weight most = 0;
};
[[nodiscard]] WeightBounds weight_bounds(const graph::Csr& graph);

// The first threshold, and how far the next ones lie above the nearest vertex, where nothing else is known:
// the lowest weight, up to which every list is read once, or, where that is more, a twelfth of the mean
// weight, up to which lists are read little more than once (docs/lean.md).
[[nodiscard]] std::uint32_t usual_delta(const graph::Csr& graph);

// Distances fall while lists are read, in no fixed order, so that a run that counts may read a little more or
// less than one that is timed. `lists`, placed with weights, outlives it. Throws UsageError for lists without
// weights or a delta of 0; SkipError where the GPU has no room for the state, with the numbers, or cannot
// launch blocks that wait for each other; in a build without CUDA always SkipError.
[[nodiscard]] std::unique_ptr<graph::Traversal> make_lean_sssp(const LeanLists& lists, std::uint32_t delta);
// The same by segments that are read or copied, step by step, as these costs say: the host asks what a step
// wants and submits its kernels. Throws SkipError also for weights in an array of their own.
[[nodiscard]] std::unique_ptr<graph::Traversal> make_hybrid_sssp(const LeanLists& lists, std::uint32_t delta,
                                                                 const LinkCosts& costs);

// PageRank by pulling: every sweep reads each list once, and a vertex's new rank is there for those that come
// after it (Gauss and Seidel's way, without an order among the warps). It begins near the answer, with what
// one step would give if every edge carried the same, and where no rank is lost (undirected graphs) it puts
// the sum of all ranks right after each sweep: fewer sweeps than steps from the even rank. damping 0.85,
// teleport 0.15 / V, to GAP's 1e-4.

// Of what a sweep changed in all, |new - old|, and the factor that it was put right by: no more than that one
// more step would change, in the L1 norm. A rank that is read before it changes is missed by each edge at
// most once, and all edges of a vertex carry no more than damping times its change; the factor scales that,
// and adds its own part of the teleport, of which the ranked vertices have `ranked` / V.
[[nodiscard]] constexpr double rank_bound(double changed, double factor, double ranked_share) {
  const double off = factor > 1 ? factor - 1 : 1 - factor;
  return factor * graph::kDamping * changed + off * (1 - graph::kDamping) * ranked_share;
}
// Single precision rounds: what is measured must lie below the tolerance with room.
inline constexpr double kRankGoal = 0.9 * graph::kRankTolerance;
inline constexpr std::uint32_t kMostSweeps = 1000;

// Its steps are sweeps, all of which read the same.
// `lists` outlives it. Throws UsageError for lists that are placed with weights, or a graph without vertices;
// SkipError where the GPU has no room for the state, with the numbers, or cannot launch blocks that wait for
// each other; in a build without CUDA always SkipError.
[[nodiscard]] std::unique_ptr<graph::Traversal> make_lean_pr(const LeanLists& lists);
// The same by segments that are read or copied as these costs say, the host submitting each sweep's kernels.
[[nodiscard]] std::unique_ptr<graph::Traversal> make_hybrid_pr(const LeanLists& lists,
                                                               const LinkCosts& costs);

}  // namespace grainscope::lean

#endif
