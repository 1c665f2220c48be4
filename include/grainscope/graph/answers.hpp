#ifndef GRAINSCOPE_GRAPH_ANSWERS_HPP
#define GRAINSCOPE_GRAPH_ANSWERS_HPP

// What the four algorithms answer: certificates that prove an answer in parallel, in a time of the order of
// one pass over the edges; and the frontiers that an algorithm goes through, level by level, which the model
// replays and a GPU's own are compared with.

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "grainscope/core/host_array.hpp"
#include "grainscope/graph/csr.hpp"

namespace grainscope::graph {

inline constexpr std::uint32_t kUnreached = 0xffffffffU;  // depth or distance of a vertex that is not reached

inline constexpr double kDamping = 0.85;
inline constexpr double kRankTolerance = 1e-4;  // GAP's: L1 norm of what one more step would change

// Certificates: throw FailedError saying which vertex or edge proves the answer wrong; otherwise the sentence
// that a row's `verification` holds. `depths` etc.: [V], host memory. All threads.
// bfs: the source has depth 0; on an edge v→u with v reached, depth(u) ≤ depth(v) + 1; every reached vertex
// but the source has an in-neighbour one nearer. `in_edges`: of a directed graph its transpose.
[[nodiscard]] std::string certify_bfs(const Csr& graph, const Csr& in_edges, Vertex source,
                                      std::span<const std::uint32_t> depths);
// Of depths so certified: the source's parent is itself, every other reached vertex's an in-neighbour one
// nearer, and what is not reached has kUnreached.
[[nodiscard]] std::string certify_parents(const Csr& graph, const Csr& in_edges, Vertex source,
                                          std::span<const std::uint32_t> depths,
                                          std::span<const Vertex> parents);
// sssp: no edge can relax; every reached vertex but the source has a tight in-edge.
[[nodiscard]] std::string certify_sssp(const Csr& graph, Vertex source,
                                       std::span<const std::uint32_t> distances);
// Answers of searches from several sources, in 16 bits an entry. Beside each other the entries of a vertex
// fill a line of a cache, so one pass over the edges proves all in little more time than one answer takes.
class AnswerBatch {
 public:
  static constexpr std::size_t kLanes = 32;
  using Entry = std::uint16_t;
  using Lanes = std::array<Entry, kLanes>;
  static constexpr Entry kNotReached = UINT16_MAX;  // kUnreached here

  explicit AnswerBatch(Vertex vertices) : vertices_(vertices) {}
  // Host memory that a full batch takes.
  [[nodiscard]] static std::uint64_t bytes(Vertex vertices) {
    return 2 * std::uint64_t{vertices} * sizeof(Lanes);
  }

  // `answer`: [V], host memory. Whether it was added: not where an entry has no room in 16 bits. Throws
  // FailedError for another size, UsageError where all lanes are taken, EnvironmentError where there is no
  // memory for it. All threads.
  [[nodiscard]] bool add(Vertex source, std::span<const std::uint32_t> answer);
  void clear();

  [[nodiscard]] Vertex vertices() const { return vertices_; }
  [[nodiscard]] bool full() const { return sources_.size() == kLanes; }
  [[nodiscard]] std::span<const Vertex> sources() const { return sources_; }
  [[nodiscard]] HostArray<std::uint32_t> answer(std::size_t lane) const;
  // [V]: the entries of each vertex, of lanes that are taken; valid until the next answer is added. Throws
  // EnvironmentError where there is no memory for them. All threads.
  [[nodiscard]] std::span<const Lanes> entries();
  [[nodiscard]] std::uint32_t greatest() const { return greatest_; }  // of what is reached

 private:
  Vertex vertices_;
  std::vector<HostArray<Entry>> answers_;  // as they came, then room for others
  HostArray<Lanes> entries_;
  std::vector<Vertex> sources_;
  std::uint32_t greatest_ = 0;
};
// As above, of every answer of a batch.
[[nodiscard]] std::string certify_bfs(const Csr& graph, const Csr& in_edges, AnswerBatch& depths);
[[nodiscard]] std::string certify_sssp(const Csr& graph, AnswerBatch& distances);
// cc: labels are equal across every edge, a label is a vertex that labels itself and no higher than those it
// labels, and there are as many labels as components (`components`: from one parallel union-find, see
// count_components).
[[nodiscard]] std::string certify_cc(const Csr& graph, std::uint64_t components,
                                     std::span<const Vertex> labels);
[[nodiscard]] std::uint64_t count_components(const Csr& graph);
// pr: no rank is negative, and one more step from `ranks` in double precision changes less than `tolerance`
// in all. `in_edges`: of a directed graph its transpose.
[[nodiscard]] std::string certify_pr(const Csr& graph, const Csr& in_edges, std::span<const float> ranks,
                                     double tolerance = kRankTolerance);
// The same of several answers, kRankLanes at most, by one pass over the edges; the sentence has the largest
// change of all. Throws UsageError for none or more, EnvironmentError where there is no memory for
// rank_lanes_bytes() of them.
inline constexpr std::size_t kRankLanes = 8;
[[nodiscard]] constexpr std::uint64_t rank_lanes_bytes(Vertex vertices) {
  return std::uint64_t{vertices} * kRankLanes * sizeof(double);
}
[[nodiscard]] std::string certify_pr(const Csr& graph, const Csr& in_edges,
                                     std::span<const std::vector<float>> ranks,
                                     double tolerance = kRankTolerance);

// 128 bits of an answer's words and where each of them is. All threads.
using Digest = std::array<std::uint64_t, 2>;
[[nodiscard]] Digest digest_of(std::span<const std::uint32_t> answer);

// What a search reached. All threads.
struct Reached {
  std::uint64_t vertices = 0;
  Edge entries = 0;  // in their lists; TEPS of an undirected graph counts half of them
};
[[nodiscard]] Reached reached_by(const Csr& graph, std::span<const std::uint32_t> depths);

// The algorithms as sequences of frontiers, level by level, on the CPU: what the model replays, and what a
// GPU's own sequence is compared with.

enum class Algorithm { bfs, sssp, cc, pr };
[[nodiscard]] constexpr const char* name(Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::bfs:
      return "bfs";
    case Algorithm::sssp:
      return "sssp";
    case Algorithm::cc:
      return "cc";
    case Algorithm::pr:
      return "pr";
  }
  return "?";
}

// A visit of one level: the active vertices, ascending, whose lists are read.
using LevelVisitor = std::function<void(std::span<const Vertex> active)>;

// Calls `visit` once a level, before the level's own work. Level-synchronous: what a level changes is seen by
// the next (a GPU's sssp and cc see some of it at once, and need fewer levels). `source` is not read by cc
// and pr. bfs: depth k in level k. sssp: vertices whose distance fell, Bellman and Ford. cc: vertices whose
// label fell, all at first; throws UsageError for a directed graph. pr: push of residuals above
// kRankTolerance / (2 V) until all that is left is below kRankTolerance. All threads.
void run_levels(const Csr& graph, Algorithm algorithm, Vertex source, const LevelVisitor& visit);

}  // namespace grainscope::graph

#endif
