#ifndef GRAINSCOPE_CORE_POINTER_CHASE_HPP
#define GRAINSCOPE_CORE_POINTER_CHASE_HPP

// Latency by a chain of loads, each of whose address is the result of the one before: one load a line,
// in an order that no prefetcher guesses.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace grainscope {

class PointerChase {
 public:
  // Lays one cycle through all lines of `data` (host memory, `bytes` long, owned by the caller), in an
  // order drawn from `seed`. Throws UsageError for fewer than two lines.
  PointerChase(void* data, std::size_t bytes, std::size_t line_bytes, std::uint64_t seed = 1);

  // Follows `steps` links from where the last walk ended; seconds on the steady clock.
  double walk(std::size_t steps);

  // Whether the links still form one cycle through every line. Follows each once, from several places of the
  // cycle at a time, so that loads overlap: afterwards caches hold what they can of the lines.
  [[nodiscard]] bool is_one_cycle() const;

  [[nodiscard]] std::size_t lines() const noexcept { return lines_; }

 private:
  struct Line {
    Line* next;
  };
  // A line of the cycle, and how many links lead from it to the next such place.
  struct Place {
    const Line* line;
    std::size_t links;
  };
  Line* start_;
  Line* here_;
  std::size_t lines_;
  std::vector<Place> places_;
};

}  // namespace grainscope

#endif
