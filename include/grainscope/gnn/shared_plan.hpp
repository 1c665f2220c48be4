#ifndef GRAINSCOPE_GNN_SHARED_PLAN_HPP
#define GRAINSCOPE_GNN_SHARED_PLAN_HPP

// A training plan in memory that processes share, so that those which train together need not make it again.

#include <cstddef>
#include <cstdint>
#include <string>

#include "grainscope/gnn/training.hpp"

namespace grainscope::gnn {

// What it takes.
[[nodiscard]] std::uint64_t shared_plan_bytes(const TrainingPlan& plan);
// Lays it down in shared_plan_bytes() of memory at a boundary of 64 bytes.
void write_plan(const TrainingPlan& plan, std::byte* to);
// From `offset` of a file (or shared memory opened as one): neighbours stay there, mapped; the rest is
// copied. Without what only the plan's maker asks for: accesses, rows, prepare_s. Throws UsageError where no
// plan lies there, EnvironmentError as HostBytes::map_file.
[[nodiscard]] TrainingPlan read_plan(const std::string& path, std::uint64_t offset);

}  // namespace grainscope::gnn

#endif
