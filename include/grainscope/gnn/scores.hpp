#ifndef GRAINSCOPE_GNN_SCORES_HPP
#define GRAINSCOPE_GNN_SCORES_HPP

// Which rows of a feature table will be asked for most often: scores of vertices, and their ranking.
// Source: dissertation 4.2.1; presampling after GNNLab (EuroSys 2022).
//
// Sampling follows in-edges, so a vertex is reached over its out-edges: a score pulls over these.
//
// What a ranking is worth: how many accesses its best rows take; and a graph numbered by it.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "grainscope/core/host_array.hpp"
#include "grainscope/gnn/sampling.hpp"
#include "grainscope/graph/csr.hpp"

namespace grainscope::gnn {

enum class Score {
  degree,                     // out-degree
  reverse_pagerank,           // until it converges
  weighted_reverse_pagerank,  // five iterations from the labelled vertices: the dissertation's algorithm 2
  presampled,                 // how often sampled mini-batches of another epoch ask for it
  optimal,                    // how often those asked for it that it is judged by: after the fact
};
inline constexpr Score kAllScores[] = {Score::degree, Score::reverse_pagerank,
                                       Score::weighted_reverse_pagerank, Score::presampled, Score::optimal};
// As it stands in case names.
[[nodiscard]] const char* name(Score score);

// u32[V], host.
[[nodiscard]] HostArray<std::uint32_t> degree_scores(const graph::Csr& out_edges);

inline constexpr double kDamping = 0.85;  // the dissertation gives none
inline constexpr int kWeightedIterations = 5;
inline constexpr double kConverged = 1e-4;  // sum of all changes in one iteration, as GAP has it for pr
inline constexpr int kMostIterations = 100;

struct PageRank {
  HostArray<float> scores;  // [V], host
  int iterations = 0;
};

// With a graph's lists both ways (of an undirected graph twice the same): start 1 / V; in each iteration a
// score is divided by its vertex's in-degree (0 where that is 0), a vertex adds up what it pulls over its
// out-edges, and keeps (1 − d) / V + d · sum. Summed in double precision in the order of the lists: the same
// with any number of threads. Throws EnvironmentError where 20 bytes a vertex are not to be had.
[[nodiscard]] PageRank reverse_pagerank(const graph::Csr& out_edges, const graph::Csr& in_edges);
// The same for five iterations, the starting scores of labelled vertices times V / labelled. Throws
// UsageError where nothing is labelled or a label is no vertex.
[[nodiscard]] PageRank weighted_reverse_pagerank(const graph::Csr& out_edges, const graph::Csr& in_edges,
                                                 std::span<const graph::Vertex> labelled);

// Adds to u32[V] how often rows are asked for. Throws UsageError for a row that is no vertex.
void count_accesses(std::span<const std::uint32_t> rows, std::span<std::uint32_t> counts);
[[nodiscard]] HostArray<std::uint32_t> access_counts(const Trace& trace, graph::Vertex vertices);

// Vertices by falling score: new to old. Those of one score stand as in `ties`, another ranking, or by number
// where that is empty. Scores are not negative. All threads, the same with any number of them.
[[nodiscard]] std::vector<graph::Vertex> ranking(std::span<const std::uint32_t> scores,
                                                 std::span<const graph::Vertex> ties = {});
[[nodiscard]] std::vector<graph::Vertex> ranking(std::span<const float> scores);

// The push over in-edges: the oracle of both page ranks. Each thread pushes to a range of the vertices, so
// that every score is added up as one thread alone would. `labelled` empty: all scores start alike.
[[nodiscard]] std::vector<double> pushed_reverse_pagerank(const graph::Csr& in_edges,
                                                          std::span<const graph::Vertex> labelled,
                                                          int iterations);

// The share of all accesses (`counts`: u32[V] by vertex) that the first `share` of the ranking take, the
// number of rows rounded to the nearest; 0 where there is no access. For each of `shares`, from 0 to 1.
// Throws UsageError for a share outside, and where ranking and counts differ in size.
[[nodiscard]] std::vector<double> hit_rates(std::span<const std::uint32_t> counts,
                                            std::span<const graph::Vertex> ranking,
                                            std::span<const double> shares);

// Where each old vertex goes: the inverse of a ranking. Throws UsageError where that is no permutation.
[[nodiscard]] std::vector<graph::Vertex> old_to_new(std::span<const graph::Vertex> ranking);

// The graph under new numbers, by dissertation 4.2.2: new offsets by a cumulative sum, each list pasted to
// its new place, each neighbour looked up in the map; all in parallel. A list keeps its order, so it is no
// longer ascending (graph::relabel sorts it again); sampling does not mind. Throws UsageError where
// `new_of_old` is no permutation of the vertices, EnvironmentError where memory for a second graph is not to
// be had.
[[nodiscard]] graph::Csr reorder(const graph::Csr& graph, std::span<const graph::Vertex> new_of_old);

// Throws FailedError, naming a vertex, unless `reordered` is `graph` under new numbers: every list of the old
// vertex, looked up and in its order, or `sorted` ascending. Says what was checked. All threads.
std::string certify_reordered(const graph::Csr& graph, std::span<const graph::Vertex> new_of_old,
                              const graph::Csr& reordered, bool sorted);

}  // namespace grainscope::gnn

#endif
