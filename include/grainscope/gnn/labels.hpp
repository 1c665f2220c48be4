#ifndef GRAINSCOPE_GNN_LABELS_HPP
#define GRAINSCOPE_GNN_LABELS_HPP

// Which vertices a training run starts from: those of one's own files, or those that a graph's kind implies.
//
// Files are as data sets of the field come: a text with a number a line, or a NumPy array (.npy) of one
// dimension, or of one column, as the Open Graph Benchmark has them.

#include <cstdint>
#include <string>
#include <vector>

#include "grainscope/graph/csr.hpp"
#include "grainscope/graph/generate.hpp"

namespace grainscope::gnn {

inline constexpr std::int32_t kNoLabel = -1;

// A label for each vertex, i32[V]: 0 to 2³¹ − 1, or kNoLabel where the file has -1 or nan. Lines that begin
// with '#' are skipped. Throws UsageError, with the line or the element, for anything else, a file that is
// cut off, and a file without labels.
[[nodiscard]] std::vector<std::int32_t> read_labels(const std::string& path);

// Throws UsageError, with both numbers, unless a file of so many labels has one for each vertex of the graph.
void require_label_for_each(const std::string& path, std::uint64_t labels, graph::Vertex vertices,
                            const std::string& graph);

// Vertices, ascending. Throws UsageError, with the line or the element, for what is no number of a vertex,
// one that is there twice, a file that is cut off, and an empty one.
[[nodiscard]] std::vector<graph::Vertex> read_train_ids(const std::string& path);

// What a user's files say of one graph.
class OwnLabels {
 public:
  // Either path may be empty, not both. Throws as the readers; and UsageError for a training id that the
  // labels' file has no label for.
  OwnLabels(const std::string& labels, const std::string& train_ids);

  // By which file the vertices are chosen, for case names: "train_ids" or "labels", and its name without
  // folder and ending.
  [[nodiscard]] const char* axis() const noexcept { return ids_path_.empty() ? "labels" : "train_ids"; }
  [[nodiscard]] std::string stem() const;
  // Whether all of them are trained on, whatever the percentage.
  [[nodiscard]] bool has_train_ids() const noexcept { return !ids_path_.empty(); }

  // Throws UsageError, with both numbers, unless there is a label for each vertex of the graph, and every
  // training id is one of them.
  void require_of(graph::Vertex vertices, const std::string& graph) const;

  // The training ids; without them `percent` of the vertices, drawn from those that have a label, or all of
  // these where they are fewer. Ascending. Throws as require_of and labelled_vertices.
  [[nodiscard]] std::vector<graph::Vertex> trained_on(graph::Vertex vertices, double percent,
                                                      std::uint64_t seed) const;

 private:
  std::string labels_path_;
  std::string ids_path_;
  std::uint64_t labels_ = 0;           // that the file has, none included
  std::vector<graph::Vertex> chosen_;  // training ids, or the vertices with a label
};

// The vertices that a run on a graph of `spec` trains on, ascending: those of `own`; else of graphs with
// topics `percent` of the papers, by archived_papers; else labelled_vertices. Throws as these.
[[nodiscard]] std::vector<graph::Vertex> trained_on(const graph::GraphSpec& spec, graph::Vertex vertices,
                                                    double percent, std::uint64_t seed,
                                                    const OwnLabels* own = nullptr);

}  // namespace grainscope::gnn

#endif
