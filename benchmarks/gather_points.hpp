#ifndef GRAINSCOPE_BENCHMARKS_GATHER_POINTS_HPP
#define GRAINSCOPE_BENCHMARKS_GATHER_POINTS_HPP

// Which gathers the presets look at: far fewer than the axes span.

#include <cstdint>
#include <vector>

#include "grainscope/gnn/modes.hpp"
#include "grainscope/gnn/row_lists.hpp"
#include "harness/scope.hpp"

namespace grainscope::harness {

// One gather: what is asked of which table, and how.
struct GatherPoint {
  gnn::Mode mode = gnn::Mode::masked;
  gnn::Store store = gnn::Store::mapped;
  std::uint32_t row_bytes = 128;
  std::uint64_t rows = 1 << 20;  // of a mini-batch
  std::uint64_t span_bytes = 0;  // of the table
  gnn::Indices indices = gnn::Indices::uniform;
  std::uint32_t element = 4;  // bytes: float32 or float16
  std::uint32_t width = 4;    // bytes of a load, of kernels
  int window = 1;             // mini-batches that are gathered together, of address_ordered
  int hot = 0;                // percent of the rows that are on GPUs: tiered, multi_gpu
  int replicated = 0;         // percent that each of several GPUs has, before those: multi_gpu
  int gpus = 1;               // that share the hot rows: multi_gpu

  [[nodiscard]] std::uint64_t asked_rows() const { return rows * static_cast<std::uint64_t>(window); }
  [[nodiscard]] std::uint64_t asked_bytes() const { return asked_rows() * row_bytes; }
  friend bool operator==(const GatherPoint&, const GatherPoint&) = default;
};

// Of a preset, each once; by rising span, so that host memory grows with them. Cut to the user's range of
// spans. `most_gpus`: that can share rows.
[[nodiscard]] std::vector<GatherPoint> gather_points(const Scope& scope, int most_gpus);
// Of the CPU alone.
[[nodiscard]] std::vector<GatherPoint> host_gather_points(const Scope& scope);

}  // namespace grainscope::harness

#endif
