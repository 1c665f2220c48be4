#include <algorithm>

#include "grainscope/transfer/mover.hpp"

namespace grainscope::transfer {

double time_any_ran(const std::vector<Span>& spans) {
  std::vector<Span> sorted = spans;
  std::sort(sorted.begin(), sorted.end(), [](const Span& a, const Span& b) { return a.start_s < b.start_s; });
  double total_s = 0;
  double covered_until_s = sorted.empty() ? 0 : sorted.front().start_s;
  for (const Span& span : sorted) {
    const double from_s = std::max(span.start_s, covered_until_s);
    total_s += std::max(0.0, span.end_s - from_s);
    covered_until_s = std::max(covered_until_s, span.end_s);
  }
  return total_s;
}

double time_all_ran(const std::vector<Span>& spans) {
  if (spans.empty()) {
    return 0;
  }
  double from_s = spans.front().start_s;
  double until_s = spans.front().end_s;
  for (const Span& span : spans) {
    from_s = std::max(from_s, span.start_s);
    until_s = std::min(until_s, span.end_s);
  }
  return std::max(0.0, until_s - from_s);
}

}  // namespace grainscope::transfer
