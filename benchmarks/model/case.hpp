#ifndef GRAINSCOPE_BENCHMARKS_MODEL_CASE_HPP
#define GRAINSCOPE_BENCHMARKS_MODEL_CASE_HPP

// What the families of the model share: graphs, links, and the rows of modelled traversals.

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/benchmark.hpp"
#include "runs.hpp"

namespace grainscope::harness {

// A link to model for: one by name, or this machine's own, whose copies this run measures.
struct ModelLink {
  std::string name;  // as it stands in case names
  std::optional<GpuTarget> gpu;
  int node = 0;

  // Measures the copies' rate where it is not a named one.
  [[nodiscard]] model::Link get(const Session& session) const;
};
// Which links: by name, and `measured`, this machine's own.
[[nodiscard]] DeclaredAxis link_axis();
// Of a point: the named one, or that of each of the line's GPUs and its nearest node.
[[nodiscard]] std::vector<ModelLink> links_of(const Values& values, const Grid& grid, const Grids& grids,
                                              const Scope& scope);

// What a case of the model is about.
struct ModelPoint {
  graph::GraphSpec graph;
  graph::Algorithm algorithm = graph::Algorithm::bfs;
  int edge_bytes = 8;
  ModelLink link;
  int sources = 1;
};

// The axes of such cases; `more` are a family's own.
[[nodiscard]] std::vector<DeclaredAxis> model_axes(std::vector<DeclaredAxis> more);
// Those of a run, of one graph and algorithm together, with the values of the family's own axes.
[[nodiscard]] std::vector<std::pair<ModelPoint, Values>> model_points(const Scope& scope, const Grids& grids);

// A benchmark about a point: `axes` before and behind those of the graph; its link is the last. Skip, needs
// and site are set.
[[nodiscard]] Benchmark model_benchmark(const std::string& family, std::vector<Axis> before,
                                        const ModelPoint& point, std::vector<Axis> behind);

// From what a model says of an algorithm on a graph to a row about one walk or one card over one link. Both
// check what was counted before they say anything, and throw FailedError where it cannot be right.

// A walk: requests, bytes, and the sum over levels of the link's bound.
[[nodiscard]] Measurement walk_row(const TraversalModel& model, const WalkRequest& walk,
                                   const model::Link& link);

// Managed memory on a card. Throws SkipError where there are too few pages to hold a part of.
[[nodiscard]] Measurement card_row(const TraversalModel& model, const CardRequest& card,
                                   const model::Link& link);

// Pages that can be held in part: of fewer a quarter is hardly told from a half.
inline constexpr std::uint64_t kFewestPages = 8;

// The common part: modelled seconds, one a trial, with trials, TEPS and the graph.
[[nodiscard]] Measurement modelled_row(const TraversalModel& model, std::vector<double> seconds);

}  // namespace grainscope::harness

#endif
