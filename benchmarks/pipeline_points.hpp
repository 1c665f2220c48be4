#ifndef GRAINSCOPE_BENCHMARKS_PIPELINE_POINTS_HPP
#define GRAINSCOPE_BENCHMARKS_PIPELINE_POINTS_HPP

#include <vector>

#include "harness/scope.hpp"
#include "pipeline_case.hpp"

namespace grainscope::harness {

// Which training runs a preset looks at on a graph: those that share a plan stand together. `most_gpus`: that
// can train together.
[[nodiscard]] std::vector<PipelinePoint> pipeline_points(const Scope& scope, const graph::GraphSpec& spec,
                                                         int most_gpus);

}  // namespace grainscope::harness

#endif
