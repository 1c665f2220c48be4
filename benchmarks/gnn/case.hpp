#ifndef GRAINSCOPE_BENCHMARKS_GNN_CASE_HPP
#define GRAINSCOPE_BENCHMARKS_GNN_CASE_HPP

// What the families about training graph neural networks share: graphs, fan-outs, and what a run is judged
// by.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "claim_cache.hpp"
#include "families.hpp"
#include "grainscope/gnn/gpu_sampling.hpp"
#include "grainscope/gnn/labels.hpp"
#include "grainscope/gnn/sampling.hpp"
#include "grainscope/graph/generate.hpp"
#include "harness/axes.hpp"
#include "harness/benchmark.hpp"

namespace grainscope::harness {

// A graph with its lists both ways, without weights.
class GnnGraph {
 public:
  // Makes or reads it; `own` says which of its vertices are trained on. Throws as make_graph.
  GnnGraph(const graph::GraphSpec& spec, const std::string& cache_dir,
           std::shared_ptr<const gnn::OwnLabels> own = nullptr);

  [[nodiscard]] const graph::Csr& out_edges() const { return out_; }
  // Of an undirected graph the graph itself. Sampling follows these.
  [[nodiscard]] const graph::Csr& in_edges() const { return in_ ? *in_ : out_; }
  [[nodiscard]] graph::Vertex vertices() const { return out_.vertices(); }
  // Ascending. Throws as gnn::trained_on.
  [[nodiscard]] std::vector<graph::Vertex> trained_on(double percent) const;
  // The oracle of page rank, a push, computed once for each number of iterations and percentage of labels (0:
  // not weighted).
  [[nodiscard]] const std::vector<double>& pushed_rank(int iterations, int labelled_percent,
                                                       std::span<const graph::Vertex> labelled) const;
  // What a row says of the graph it is about.
  [[nodiscard]] GraphFacts facts() const { return {out_.vertices(), out_.edges(), {}}; }

 private:
  graph::GraphSpec spec_;
  std::shared_ptr<const gnn::OwnLabels> own_;
  graph::Csr out_;
  std::optional<graph::Csr> in_;
  mutable std::map<std::pair<int, int>, std::vector<double>> pushed_;
};

// By the name of its spec. The families share one.
using GnnGraphCache = ClaimCache<std::string, GnnGraph>;

// Neighbours that are sampled of each vertex, from the seeds outward.
[[nodiscard]] DeclaredAxis fanout_axis(std::string otherwise = {});

// Where the lists lie that mini-batches are sampled from: "host", where the CPU samples (absent), or wherever
// a GPU reads them.
[[nodiscard]] DeclaredAxis placement_axis(std::string otherwise = {});
[[nodiscard]] std::optional<gnn::ListPlacement> placement_of(const Values& values);
[[nodiscard]] std::string placement_name(const std::optional<gnn::ListPlacement>& placement);
// Back from its name; throws as enumerator for another.
[[nodiscard]] std::optional<gnn::ListPlacement> placement_named(const std::string& name);

// Host memory for making a graph and having it both ways.
[[nodiscard]] std::uint64_t gnn_host_bytes(const graph::GraphSpec& spec);

// The numbers by which labels, orders and draws are seeded, in all families.
inline constexpr std::uint64_t kGnnSeed = 1;

// Adds whose labels or training ids a case is about, where they are the user's.
void name_labels(const gnn::OwnLabels* own, Case& id);

// Which vertices are trained on, for an explanation: "labels are spread at random over the graph, …".
[[nodiscard]] std::string said_of_labels(const gnn::OwnLabels* own);

}  // namespace grainscope::harness

#endif
