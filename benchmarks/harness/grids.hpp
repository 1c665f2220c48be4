#ifndef GRAINSCOPE_BENCHMARKS_HARNESS_GRIDS_HPP
#define GRAINSCOPE_BENCHMARKS_HARNESS_GRIDS_HPP

// The points of parameter space that a run takes of one family: the lines of the table of presets, with what
// the user put in place of their values.

#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "axes.hpp"
#include "grainscope/graph/generate.hpp"
#include "scope.hpp"

namespace grainscope::harness {

// One line of the table: for each axis the values to take.
class Grid {
 public:
  using Written = std::vector<std::pair<std::string, std::string>>;

  // `axes` outlives it; `written` are the values, in the order of the line, where not what an axis has
  // otherwise.
  Grid(const std::vector<DeclaredAxis>& axes, Written written, const SizeRange& sizes);

  // Every combination of the values: axes in the order of the line, the last one changing fastest.
  [[nodiscard]] std::vector<Values> points(const NamedNumbers& names = {}) const;
  // The values of one axis, which need not be declared.
  [[nodiscard]] std::vector<AxisValue> values(const std::string& axis, const NamedNumbers& names = {}) const;
  [[nodiscard]] std::vector<std::string> words(const std::string& axis) const;
  // As the line has it; empty where it does not.
  [[nodiscard]] const std::string& written(const std::string& axis) const;
  // The same line with other values of one axis.
  [[nodiscard]] Grid with(const std::string& axis, const std::string& values) const;

 private:
  [[nodiscard]] const DeclaredAxis* declared(const std::string& key) const;

  const std::vector<DeclaredAxis>* axes_;
  Written written_;
  SizeRange sizes_;
};

// The axis `graph`: names of graphs, and `given` for those that the user names by --graph. Where a family has
// a line for these, lines without `given` are not taken of them; else they replace the graphs of every line.
[[nodiscard]] DeclaredAxis graph_axis();

// What a run takes of one family.
class Grids {
 public:
  Grids(const std::vector<DeclaredAxis>& axes, const std::string& family, const Scope& scope);

  [[nodiscard]] const std::vector<Grid>& all() const noexcept { return grids_; }
  [[nodiscard]] auto begin() const noexcept { return grids_.begin(); }
  [[nodiscard]] auto end() const noexcept { return grids_.end(); }

  // Lines that choose among the machine's places do so by `gpu` (first, each), `node` (nearest,
  // near_and_far, each), `pairs` (first, neighbours, all) and `orders` (one, both); what the user named by
  // --gpu and --numa they choose from, and all GPUs that were named are taken.
  [[nodiscard]] std::vector<GpuTarget> gpus(const Grid& grid) const;
  [[nodiscard]] std::vector<int> nodes(const Grid& grid, const GpuTarget& gpu) const;

  // GPU by GPU, and node by node, each line that takes them, in the order of the table.
  void each_gpu(const std::function<void(const GpuTarget&, const Grid&)>& visit) const;
  void each_gpu_and_node(const std::function<void(const GpuTarget&, int node, const Grid&)>& visit) const;

  // The user's graphs, else those of a line's axis `graph`, as far as their lists of `entry_bytes` an entry
  // are within the user's range of sizes; 0: whatever their size.
  [[nodiscard]] std::vector<graph::GraphSpec> graphs(const Grid& grid, std::uint64_t entry_bytes = 0) const;
  // Graph by graph, in the order of the table, each line that takes it; points of the line are of that graph.
  void each_graph(const std::function<void(const graph::GraphSpec&, const Grid&)>& visit,
                  std::uint64_t entry_bytes = 0) const;

  // A combination that cannot be is left out; the reason is told where nothing else is left.
  void leave_out(const std::string& why) const { left_out_.insert(why); }
  [[nodiscard]] const std::set<std::string>& left_out() const noexcept { return left_out_; }

 private:
  const Scope& scope_;
  std::vector<Grid> grids_;
  mutable std::set<std::string> left_out_;
};

// Puts together what has equal keys, in the order in which keys come first: for cases that share what is
// costly to make and held one at a time.
template <class T, class KeyOf>
void stand_together(std::vector<T>& all, KeyOf key_of) {
  for (auto group = all.begin(); group != all.end();) {
    const auto key = key_of(*group);
    group = std::stable_partition(group, all.end(), [&](const T& each) { return key_of(each) == key; });
  }
}

}  // namespace grainscope::harness

#endif
