#include "lean_lists.hpp"

#include <bit>

namespace grainscope::model {

List list_of(const TieredLists& lists, graph::Vertex v) {
  const std::uint64_t hot = lists.tier != nullptr ? lists.tier->of(v) : 0;
  return {hot, lists.lists->offsets[v] + hot, lists.lists->offsets[v + std::uint64_t{1}]};
}

void add_load(std::span<const lean::Step> steps, Requests& to) {
  ++to.loads;
  std::uint64_t line = UINT64_MAX;
  unsigned sectors = 0;  // of the line, a bit each
  const auto finish = [&] {
    if (sectors == 0) {
      return;
    }
    ++to.by_sectors[static_cast<std::size_t>(std::popcount(sectors)) - 1];
    const unsigned run = sectors >> std::countr_zero(sectors);
    to.split += (run & (run + 1)) != 0 ? 1 : 0;
    sectors = 0;
  };
  for (const lean::Step& step : steps) {
    to.lanes += step.to - step.from;
    to.elements += step.to - step.from;
    for (std::uint64_t sector = step.from / lean::kSectorElements;
         sector <= (step.to - 1) / lean::kSectorElements; ++sector) {
      if (sector / 4 != line) {
        finish();
        line = sector / 4;
      }
      sectors |= 1U << sector % 4;
    }
  }
  finish();
}

void add_pieces(std::uint64_t begin, std::uint64_t end, Requests& to) {
  for (std::uint64_t piece = 0; piece < lean::pieces_of(begin, end); ++piece) {
    const lean::Step whole = lean::piece_of(begin, end, piece);
    for (lean::Step step = lean::line_step(whole.from, whole.to); step.from < step.to;
         step = lean::line_step(step.to, whole.to)) {
      add_load({&step, 1}, to);
    }
  }
}

}  // namespace grainscope::model
