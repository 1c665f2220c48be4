#ifndef GRAINSCOPE_REACH_ROW_GATHER_HPP
#define GRAINSCOPE_REACH_ROW_GATHER_HPP

// A kernel that reads random rows of a memory over the link: prepared, timed, checked.

#include <cstdint>
#include <memory>
#include <vector>

#include "grainscope/core/operation.hpp"
#include "grainscope/reach/row_list.hpp"
#include "grainscope/reach/span_memory.hpp"

namespace grainscope::reach {

// Timed is one kernel over the next list in turn. Before it the GPU's L2 cache is overwritten; in the end the
// words that all samples read must add up to what is in the rows they asked for.
class RowGather : public Operation {
 public:
  // Different rows in a sample: exactly, of the list that has fewest.
  [[nodiscard]] virtual std::uint64_t unique_rows() const = 0;

  // The row numbers of a list, in the order in which they are read.
  [[nodiscard]] virtual std::vector<std::uint64_t> rows_of(int list) const = 0;
  // For tests: the sum of their words.
  [[nodiscard]] virtual std::uint64_t sum_of(int list) const = 0;
};

// Draws and sorts the lists on the GPU that reads `memory`, which outlives the gather and does not shrink.
// Throws UsageError for an impossible request or one beyond the memory, SkipError where the GPU has no room
// for the lists; in a build without CUDA always SkipError.
[[nodiscard]] std::unique_ptr<RowGather> make_row_gather(const SpanMemory& memory,
                                                         const GatherRequest& request);

}  // namespace grainscope::reach

#endif
