#ifndef GRAINSCOPE_BENCHMARKS_HARNESS_SCOPE_HPP
#define GRAINSCOPE_BENCHMARKS_HARNESS_SCOPE_HPP

// How much of parameter space a run covers and how long it looks at each point: the presets.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "grainscope/core/sampler.hpp"
#include "grainscope/gnn/npy_file.hpp"
#include "grainscope/graph/generate.hpp"
#include "grainscope/transfer/written.hpp"
#include "machine.hpp"
#include "presets.hpp"

namespace grainscope::harness {

struct Scope {
  Preset preset = Preset::quick;
  SamplingPlan sampling;
  int repetitions = 1;
  std::optional<std::uint64_t> min_bytes;  // what the user set; else a family's own range holds
  std::optional<std::uint64_t> max_bytes;
  std::vector<GpuTarget> gpus;
  bool gpus_asked_for = false;
  bool programs_on_first = false;  // programs run on the first of them alone, which says what they take
  std::vector<int> nodes;
  std::vector<graph::GraphSpec> graphs;          // what the user asked for; empty: a family's own
  std::shared_ptr<const gnn::NpyFile> features;  // of the one graph asked for; null: synthetic ones
  std::string graph_cache;                       // where generated graphs are kept; empty: nowhere
  int trials = 8;                                // sources of a traversal
  std::vector<std::uint64_t> hot_budgets;        // GPU memory for edges in lean/, beside the preset's shares
  // What the user gives axes in place of the preset's values: ("bytes", "4KiB,1MiB").
  std::vector<std::pair<std::string, std::string>> axes;
  std::vector<transfer::WrittenLanes> transfers;  // written down by the user, and then all that is listed

  // Whether every point of an axis is wanted, or a few that show its shape.
  [[nodiscard]] bool dense() const { return preset == Preset::full || preset == Preset::paper; }

  // That families run on whose cases are whole programs, or walk through memory as these do.
  [[nodiscard]] std::span<const GpuTarget> program_gpus() const {
    return std::span(gpus).first(programs_on_first && !gpus.empty() ? 1 : gpus.size());
  }

  // Where a ladder of sizes ends: of another preset than full and paper at `usual`.
  [[nodiscard]] std::uint64_t end(std::uint64_t usual, std::uint64_t full, std::uint64_t paper) const {
    return preset == Preset::paper ? paper : preset == Preset::full ? full : usual;
  }

  // Powers of two between `low` and `high`, both included: every octave in paper and, up to 16 MiB, in full,
  // else every second, in smoke and acceptance a few; cut to the user's range, which may also reach beyond
  // `high`.
  [[nodiscard]] std::vector<std::uint64_t> sizes(std::uint64_t low, std::uint64_t high) const;

  // The same for one size that stands for a whole axis: `bytes`, or nothing where the user's range excludes
  // it. A smaller one in smoke.
  [[nodiscard]] std::vector<std::uint64_t> one_size(std::uint64_t bytes) const;
  // Whether that is `bytes` itself, for a size that cannot be another.
  [[nodiscard]] bool keeps(std::uint64_t bytes) const { return one_size(bytes) == std::vector{bytes}; }

  // Whether the user's range has a size.
  [[nodiscard]] bool in_range(std::uint64_t bytes) const {
    return bytes >= min_bytes.value_or(0) && bytes <= max_bytes.value_or(UINT64_MAX);
  }

  // `sizes` from `low` to `high` where dense; in smoke the first of `few`, else all of them, cut to the
  // user's range.
  [[nodiscard]] std::vector<std::uint64_t> few_or_all(std::uint64_t low, std::uint64_t high,
                                                      const std::vector<std::uint64_t>& few) const;

  // Nodes to pair with a GPU: all where dense, else the local one and one remote.
  [[nodiscard]] std::vector<int> nodes_for(const GpuTarget& gpu) const;
  // The local one and one remote; all where they are no more, or it is not known which is local.
  [[nodiscard]] std::vector<int> near_and_far(const GpuTarget& gpu) const;

  // Of the scope's nodes the GPU's own, else the first: where a program that minds its placement runs.
  // 0 where there are none.
  [[nodiscard]] int nearest_node(const GpuTarget& gpu) const;
};

// The preset's own sampling and repetitions, on the GPUs and nodes given: quick and smoke take the first GPU
// alone unless GPUs were asked for, and full does so for programs.
[[nodiscard]] Scope make_scope(Preset preset, std::vector<GpuTarget> gpus, bool gpus_asked_for,
                               std::vector<int> nodes);

}  // namespace grainscope::harness

#endif
