#include "reach_points.hpp"

#include <algorithm>
#include <bit>

#include "grainscope/core/units.hpp"

namespace grainscope::harness {
namespace {

constexpr std::uint64_t kMostAsked = 256 * kMiB;      // in a sample, where rows are large
constexpr std::uint64_t kFarthestSpan = 1024 * kGiB;  // that --max-bytes and `paper` add
constexpr std::uint64_t kMi = 1 << 20;
constexpr std::uint64_t kWidestSmallRow = 256;

using Numbers = std::vector<std::uint64_t>;

Numbers octaves(std::uint64_t low, std::uint64_t high) {
  Numbers spans;
  for (std::uint64_t span = low; span <= high; span *= 2) {
    spans.push_back(span);
  }
  return spans;
}

// Powers of two, and quarters of an octave where the rates of small rows fall on an H100
// (results/reference/h100-full.json.gz): a knee is told no closer than the spans on both sides of it.
Numbers spans_of_full() {
  Numbers spans = octaves(64 * kMiB, 32 * kGiB);
  for (const std::uint64_t octave : {256 * kMiB, 512 * kMiB}) {
    for (const std::uint64_t quarters : {5, 6, 7}) {
      spans.push_back(octave / 4 * quarters);
    }
  }
  std::sort(spans.begin(), spans.end());
  return spans;
}

// The same spans and the largest power of two of `most` bytes.
Numbers up_to_most(Numbers spans, std::uint64_t most) {
  const std::uint64_t last = std::bit_floor(std::min(most, kFarthestSpan));
  const auto place = std::lower_bound(spans.begin(), spans.end(), last);
  if (last > 0 && (place == spans.end() || *place != last)) {
    spans.insert(place, last);
  }
  return spans;
}

Numbers rows_as_asked(Preset preset) {
  switch (preset) {
    case Preset::full:
      return {32, 64, 128, 256, 512, 1024, 2048, 4096};
    case Preset::paper:
      return {128, 512, 4096};
    default:
      return {128, 4096};
  }
}

Numbers rows_sorted(Preset preset) {
  switch (preset) {
    case Preset::full:
      return {128, 512, 4096};
    case Preset::paper:
      return {128, 512};
    default:
      return {128};
  }
}

// More, or fewer, rows in a sorted batch than the usual number: what it takes to have enough of them in a
// granule.
Numbers batches(const Scope& scope, std::uint64_t span) {
  if (scope.dense() && (span == 8 * kGiB || span == 32 * kGiB)) {
    return {kMi / 4, 2 * kMi, 4 * kMi, 8 * kMi};
  }
  return {};
}

}  // namespace

std::uint64_t rows_asked(std::uint64_t row_bytes) {
  return std::min(kUsualRows, kMostAsked / row_bytes);
}

std::vector<std::uint64_t> cut_spans(Numbers spans, const Scope& scope) {
  const std::uint64_t most = scope.max_bytes.value_or(UINT64_MAX);
  if (scope.max_bytes && scope.preset != Preset::smoke) {
    while (spans.back() <= std::min(most, kFarthestSpan) / 2) {
      spans.push_back(2 * spans.back());
    }
  }
  std::erase_if(spans, [&](std::uint64_t span) { return span < scope.min_bytes.value_or(0) || span > most; });
  return spans;
}

std::vector<std::uint64_t> wall_spans(const Scope& scope, std::uint64_t most) {
  switch (scope.preset) {
    case Preset::smoke:
      return cut_spans({64 * kMiB}, scope);
    case Preset::acceptance:
      return cut_spans({256 * kMiB, 4 * kGiB}, scope);
    case Preset::paper:
      return cut_spans(up_to_most({256 * kMiB, kGiB, 4 * kGiB, 8 * kGiB, 32 * kGiB, 64 * kGiB}, most), scope);
    case Preset::quick:
      return cut_spans({64 * kMiB, 256 * kMiB, 512 * kMiB, kGiB, 2 * kGiB, 4 * kGiB}, scope);
    case Preset::full:
      break;
  }
  return cut_spans(spans_of_full(), scope);
}

std::vector<GatherShape> wall_shapes(const Scope& scope, std::uint64_t span) {
  const bool between_octaves = !std::has_single_bit(span);
  std::vector<GatherShape> shapes;
  for (const std::uint64_t row : rows_as_asked(scope.preset)) {
    if (!between_octaves || row <= kWidestSmallRow) {
      shapes.push_back({row, rows_asked(row), false});
    }
  }
  if (between_octaves) {
    return shapes;
  }
  for (const std::uint64_t row : rows_sorted(scope.preset)) {
    shapes.push_back({row, rows_asked(row), true});
  }
  for (const std::uint64_t rows : batches(scope, span)) {
    shapes.push_back({128, rows, true});
  }
  return shapes;
}

std::vector<std::uint64_t> comparison_spans(const Scope& scope) {
  if (scope.preset == Preset::smoke) {
    return cut_spans({64 * kMiB}, scope);
  }
  switch (scope.preset) {
    case Preset::paper:
      return cut_spans({256 * kMiB, kGiB, 4 * kGiB, 16 * kGiB}, scope);
    case Preset::full:
      return cut_spans({256 * kMiB, kGiB, 8 * kGiB}, scope);
    default:
      return cut_spans({256 * kMiB, 2 * kGiB}, scope);
  }
}

std::vector<GatherShape> comparison_shapes(const Scope& scope) {
  std::vector<GatherShape> shapes{{128, rows_asked(128), false}};
  if (scope.preset == Preset::full) {
    shapes.push_back({128, rows_asked(128), true});
    shapes.push_back({4096, rows_asked(4096), false});
  }
  return shapes;
}

}  // namespace grainscope::harness
