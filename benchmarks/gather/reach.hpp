#ifndef GRAINSCOPE_BENCHMARKS_GATHER_REACH_HPP
#define GRAINSCOPE_BENCHMARKS_GATHER_REACH_HPP

// How many rows a gather asks for, and three kinds of its bytes, apart: what was asked for, what must cross
// the link, and what crosses it where no cache keeps anything.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "grainscope/core/operation.hpp"
#include "grainscope/reach/row_gather.hpp"

namespace grainscope::harness {

// Rows asked for in a sample: 1 Mi, or as many as make `most_bytes`.
[[nodiscard]] constexpr std::uint64_t usual_rows(std::uint64_t row_bytes,
                                                 std::uint64_t most_bytes = std::uint64_t{256} << 20) {
  return std::clamp<std::uint64_t>(most_bytes / row_bytes, 1, 1 << 20);
}

// Those asked for, and of `unique_rows` different ones those that must cross; with rates by the median.
void add_bytes(const reach::GatherRequest& gather, std::uint64_t unique_rows, Measurement& measurement);

// What the kernel's loads ask for, `rows` in the order in which it reads them. Nothing for a list of more
// than a few Mi rows, since the model goes over it lane by lane, nor for rows whose numbers take more than
// 32 bits.
void add_traffic(const reach::GatherRequest& gather, const std::vector<std::uint64_t>& rows,
                 Measurement& measurement);

}  // namespace grainscope::harness

#endif
