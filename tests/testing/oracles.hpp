#ifndef GRAINSCOPE_TESTS_ORACLES_HPP
#define GRAINSCOPE_TESTS_ORACLES_HPP

#include <algorithm>
#include <cstdint>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "grainscope/core/pattern.hpp"
#include "grainscope/graph/answers.hpp"
#include "grainscope/graph/csr.hpp"
#include "grainscope/model/replay.hpp"

// What the four algorithms answer, slow and obviously right.

namespace grainscope::graph {

[[nodiscard]] std::vector<std::uint32_t> serial_bfs(const Csr& graph, Vertex source);   // depths
[[nodiscard]] std::vector<std::uint32_t> serial_sssp(const Csr& graph, Vertex source);  // Dijkstra
// Each vertex's component by its lowest vertex. Throws UsageError for a directed graph, saying why.
[[nodiscard]] std::vector<Vertex> serial_cc(const Csr& graph);
// Ranks by power iteration (damping 0.85, teleport 0.15 / V, the mass of vertices without out-edges dropped)
// until one more step changes less than `tolerance` in the L1 norm.
[[nodiscard]] std::vector<double> serial_pr(const Csr& graph, double tolerance = kRankTolerance);

}  // namespace grainscope::graph

// Graphs for the model, which reads where lists begin and never what is in them.

namespace grainscope::model {

// Vertex v has degrees[v] entries, all of them 0.
[[nodiscard]] graph::Csr graph_of(const std::vector<graph::Edge>& degrees);

// Degrees at random: none for a quarter of the vertices, else up to 40, now and then up to 2000.
[[nodiscard]] graph::Csr random_graph(graph::Vertex vertices, std::uint32_t seed);

// About `percent` of the vertices, ascending.
[[nodiscard]] std::vector<graph::Vertex> random_frontier(graph::Vertex vertices, int percent,
                                                         std::uint32_t seed);

[[nodiscard]] std::vector<graph::Vertex> all_vertices(const graph::Csr& graph);

// The slow and obvious replay that the model's is held against: every lane of every step of every turn.

class LaneByLane {
 public:
  LaneByLane(const graph::Csr& graph, graph::Access access, const Layout& layout, const Grid& grid);
  // The requests of one level.
  Requests level(std::span<const graph::Vertex> active);
  // Of the last level.
  [[nodiscard]] std::uint64_t level_bytes() const { return level_sectors_.size() * 32; }
  // That ask for a sector that nobody in this level asked for before; of naive the lines.
  [[nodiscard]] std::uint64_t level_requests() const {
    return access_ == graph::Access::naive ? level_lines_.size() : level_requests_;
  }
  [[nodiscard]] std::uint64_t cached_bytes() const { return sectors_.size() * 32; }
  [[nodiscard]] double block_imbalance() const;

 private:
  using Elements = std::vector<std::uint64_t>;  // that the lanes of one load read, by lane
  using Turn = std::vector<Elements>;

  [[nodiscard]] std::vector<graph::WorkItem> items(std::span<const graph::Vertex> active) const;
  [[nodiscard]] Turn steps_of(std::span<const graph::WorkItem> items) const;
  void walk_tiles(std::span<const graph::Vertex> active, Requests& sum);
  void load(const Elements& elements, int array, Requests& sum);
  void hand_out(const std::vector<std::uint64_t>& edges_of_block, Requests& sum);

  const graph::Csr& graph_;
  graph::Access access_;
  Layout layout_;
  Grid grid_;
  std::set<std::pair<int, std::uint64_t>> sectors_;  // array and sector
  std::set<std::pair<int, std::uint64_t>> level_sectors_;
  std::set<std::pair<int, std::uint64_t>> level_lines_;
  std::uint64_t level_requests_ = 0;
  std::vector<std::uint64_t> loads_of_block_;
};

// Every load of edges of one level, in no particular order: small graphs only. Of edge_gather its gathers.
[[nodiscard]] std::vector<graph::WarpLoad> trace_level(const graph::Csr& graph, graph::Access access,
                                                       int edge_bytes, std::span<const graph::Vertex> active);

}  // namespace grainscope::model

// The oracle of what a GPU counts and adds up in a list of rows: serial, on the host.

namespace grainscope::reach {

[[nodiscard]] inline std::uint64_t distinct_rows(std::vector<std::uint64_t> rows) {
  std::sort(rows.begin(), rows.end());
  return static_cast<std::uint64_t>(std::unique(rows.begin(), rows.end()) - rows.begin());
}

// Sum, mod 2⁶⁴, of the pattern's 32-bit words in `rows`, word 0 being the first of row 0.
[[nodiscard]] inline std::uint64_t sum_of_rows(std::span<const std::uint64_t> rows, std::uint64_t row_bytes,
                                               std::uint32_t pattern_seed) {
  const std::uint64_t words = row_bytes / sizeof(std::uint32_t);
  std::uint64_t sum = 0;
  for (const std::uint64_t row : rows) {
    for (std::uint64_t word = 0; word < words; ++word) {
      sum += pattern_word(row * words + word, pattern_seed);
    }
  }
  return sum;
}

}  // namespace grainscope::reach

#endif
