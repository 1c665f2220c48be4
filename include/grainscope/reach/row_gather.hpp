#ifndef GRAINSCOPE_REACH_ROW_GATHER_HPP
#define GRAINSCOPE_REACH_ROW_GATHER_HPP

// A kernel that reads random rows of a memory over the link: prepared, timed, checked. Its rows are
// numbers drawn at random from a span, the same on the host and on a GPU.

#include <cstdint>
#include <memory>
#include <vector>

#include "grainscope/core/operation.hpp"
#include "grainscope/reach/span_memory.hpp"

namespace grainscope::reach {

// The upper half of a product of two 64-bit numbers.
constexpr std::uint64_t multiply_high(std::uint64_t a, std::uint64_t b) {
  const std::uint64_t a_low = a & 0xffffffffU;
  const std::uint64_t a_high = a >> 32;
  const std::uint64_t b_low = b & 0xffffffffU;
  const std::uint64_t b_high = b >> 32;
  const std::uint64_t middle = a_high * b_low + (a_low * b_low >> 32);
  const std::uint64_t carry = a_low * b_high + (middle & 0xffffffffU);
  return a_high * b_high + (middle >> 32) + (carry >> 32);
}

// The mixing function of splitmix64: Steele, Lea and Flood, "Fast splittable pseudorandom number
// generators", OOPSLA 2014.
constexpr std::uint64_t mix64(std::uint64_t x) {
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9U;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

// Entry `position` of the list that `seed` draws: uniform over [0, rows_in_span), repeats included.
constexpr std::uint64_t random_row(std::uint64_t position, std::uint64_t rows_in_span, std::uint64_t seed) {
  constexpr std::uint64_t kGoldenRatio = 0x9e3779b97f4a7c15U;
  return multiply_high(mix64(mix64(seed + kGoldenRatio) + (position + 1) * kGoldenRatio), rows_in_span);
}

inline constexpr std::uint64_t kSmallestRow = 32;
inline constexpr std::uint64_t kLargestRow = 4096;

// One gather: `rows` rows of `row_bytes` each, drawn from the first `span_bytes` of a memory.
struct GatherRequest {
  std::uint64_t row_bytes = 128;  // a power of two from 32 to 4096
  std::uint64_t rows = 1 << 20;   // asked for in one sample
  std::uint64_t span_bytes = 0;   // a multiple of the row
  bool sorted = false;            // asked for in the order of their addresses
  std::uint64_t seed = 1;

  [[nodiscard]] constexpr std::uint64_t rows_in_span() const { return span_bytes / row_bytes; }
  [[nodiscard]] constexpr std::uint64_t asked_bytes() const { return rows * row_bytes; }
};

// Consecutive samples read different lists, in turn: this many.
inline constexpr int kLists = 4;

// Throws UsageError, with the numbers, for a gather that cannot be.
void require_possible(const GatherRequest& request);

// The seed of one of a gather's lists.
constexpr std::uint64_t list_seed(const GatherRequest& request, int list) {
  return request.seed * kLists + static_cast<std::uint64_t>(list);
}

// The oracle of what a GPU draws and sorts: serial, on the host.
[[nodiscard]] std::vector<std::uint64_t> row_list(const GatherRequest& request, int list);

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
// `others`: GPUs that read it at the same time, as many rows each; host memory that the driver locked or that
// was asked for with these GPUs.
// Throws UsageError for an impossible request or one beyond the memory, SkipError where the GPU has no room
// for the lists; in a build without CUDA always SkipError.
[[nodiscard]] std::unique_ptr<RowGather> make_row_gather(const SpanMemory& memory,
                                                         const GatherRequest& request,
                                                         const std::vector<int>& others = {});

}  // namespace grainscope::reach

#endif
