#ifndef GRAINSCOPE_BENCHMARKS_HARNESS_SCOPE_HPP
#define GRAINSCOPE_BENCHMARKS_HARNESS_SCOPE_HPP

// What a run was asked for: the preset, how to sample, and what the user put in place of its values.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "grainscope/core/sampler.hpp"
#include "grainscope/gnn/features.hpp"
#include "grainscope/graph/generate.hpp"
#include "grainscope/transfer/written.hpp"
#include "machine.hpp"
#include "presets.hpp"

namespace grainscope::harness {

class Question;

struct Scope {
  Preset preset = Preset::quick;
  SamplingPlan sampling;
  int visits = 1;                          // of a run to each case
  int visits_here = 1;                     // of those, by this process
  std::optional<std::uint64_t> min_bytes;  // what the user set; else a family's own range holds
  std::optional<std::uint64_t> max_bytes;
  std::vector<GpuTarget> gpus;
  bool gpus_asked_for = false;
  std::vector<int> nodes;
  std::vector<graph::GraphSpec> graphs;          // what the user asked for; empty: a family's own
  std::shared_ptr<const gnn::NpyFile> features;  // of the one graph asked for; null: synthetic ones
  std::string graph_cache;                       // where generated graphs are kept; empty: nowhere
  int trials = 8;                                // sources of a traversal
  std::vector<std::uint64_t> hot_budgets;        // GPU memory for edges in lean/, beside the preset's shares
  // What the user gives axes in place of the preset's values: ("bytes", "4KiB,1MiB").
  std::vector<std::pair<std::string, std::string>> axes;
  std::shared_ptr<const Question> question;       // of which cases there are; null: of all
  std::vector<transfer::WrittenLanes> transfers;  // written down by the user, and then all that is listed

  // Whether the user's range has a size.
  [[nodiscard]] bool in_range(std::uint64_t bytes) const {
    return bytes >= min_bytes.value_or(0) && bytes <= max_bytes.value_or(UINT64_MAX);
  }

  // The local node and one remote; all where they are no more, or it is not known which is local.
  [[nodiscard]] std::vector<int> near_and_far(const GpuTarget& gpu) const;

  // Of the scope's nodes the GPU's own, else the first: where a program that minds its placement runs.
  // 0 where there are none.
  [[nodiscard]] int nearest_node(const GpuTarget& gpu) const;
};

// The preset's own sampling and visits, on the GPUs and nodes given. Which of them a case is listed for,
// the table of presets says.
[[nodiscard]] Scope make_scope(Preset preset, std::vector<GpuTarget> gpus, bool gpus_asked_for,
                               std::vector<int> nodes);

}  // namespace grainscope::harness

#endif
