#ifndef GRAINSCOPE_BENCHMARKS_REACH_POINTS_HPP
#define GRAINSCOPE_BENCHMARKS_REACH_POINTS_HPP

// Which spans and rows reach/gather looks at: far fewer than the axes span, since every span has to be locked
// in memory and every preset has its time.

#include <cstdint>
#include <vector>

#include "harness/scope.hpp"

namespace grainscope::harness {

inline constexpr std::uint64_t kUsualRows = 1 << 20;  // asked for in a sample, where rows are small

// Rows asked for in a sample: the usual number, or as many as make 256 MiB.
[[nodiscard]] std::uint64_t rows_asked(std::uint64_t row_bytes);

// One gather over a span: how its rows are and how many.
struct GatherShape {
  std::uint64_t row_bytes = 128;
  std::uint64_t rows = kUsualRows;
  bool sorted = false;
};

// Spans, rising, within the user's range: with --max-bytes also twice the last and twice that, up to a TiB.
[[nodiscard]] std::vector<std::uint64_t> cut_spans(std::vector<std::uint64_t> spans, const Scope& scope);

// Spans of the wall itself, on memory by cudaHostAlloc, rising; within the user's range, which may also reach
// beyond a preset's. `paper` goes on to the largest power of two of the `most` bytes that may be taken; 0:
// that is not known.
[[nodiscard]] std::vector<std::uint64_t> wall_spans(const Scope& scope, std::uint64_t most);
// What is gathered over one of them.
[[nodiscard]] std::vector<GatherShape> wall_shapes(const Scope& scope, std::uint64_t span);

// The same for a few points that show whether another memory has another wall.
[[nodiscard]] std::vector<std::uint64_t> comparison_spans(const Scope& scope);
[[nodiscard]] std::vector<GatherShape> comparison_shapes(const Scope& scope);

}  // namespace grainscope::harness

#endif
