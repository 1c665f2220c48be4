#include "lean_lists.hpp"

#include <algorithm>
#include <array>
#include <bit>

namespace grainscope::model {

using lean::Step;

List list_of(const TieredLists& lists, graph::Vertex v) {
  const std::uint64_t hot = lists.tier != nullptr ? lists.tier->of(v) : 0;
  return {hot,
          {lists.lists->offsets[v] + hot, lists.lists->offsets[v + std::uint64_t{1}]},
          lean::words_of(*lists.lists, lists.tier, lists.compressed, v)};
}

void add_load(std::span<const Step> words, Requests& to) {
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
  for (const Step& step : words) {
    to.lanes += step.to - step.from;
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

void add_firsts(const lean::FirstsBlock& block, std::uint32_t asked, Requests& to) {
  to.elements += static_cast<unsigned>(std::popcount(asked));
  if (asked == 0 || block.bytes() == 0) {
    return;
  }
  std::array<Step, lean::kWarpLanes> words;
  std::size_t count = 0;
  for (std::uint32_t bits = asked; bits != 0; bits &= bits - 1) {
    const std::uint64_t word = block.word_of(static_cast<std::uint32_t>(std::countr_zero(bits)));
    words[count++] = {word, word + 1};
  }
  add_load({words.data(), count}, to);
}

void add_list(const List& list, Requests& to) {
  to.elements += list.cold.to - list.cold.from;
  for (std::uint64_t piece = 0; piece < lean::pieces_of(list.words.from, list.words.to); ++piece) {
    const Step whole = lean::piece_of(list.words.from, list.words.to, piece);
    for (Step step = lean::line_step(whole.from, whole.to); step.from < step.to;
         step = lean::line_step(step.to, whole.to)) {
      add_load({&step, 1}, to);
    }
  }
}

Portion first_portion(const TieredLists& lists, graph::Vertex v, const List& list) {
  const Step words = lean::first_step(list.words.from, list.words.to);
  if (lists.compressed == nullptr) {
    return {words, words};
  }
  return {words, {list.cold.from, list.cold.from + lean::first_sector_count(*lists.compressed, v)}};
}

std::vector<Portion> line_portions(const TieredLists& lists, graph::Vertex v, const List& list) {
  std::vector<Portion> portions;
  if (lists.compressed == nullptr) {
    const std::uint64_t from = list.hot == 0 && list.words.from < list.words.to
                                   ? lean::first_step(list.words.from, list.words.to).to
                                   : list.words.from;
    for (Step step = lean::line_step(from, list.words.to); step.from < step.to;
         step = lean::line_step(step.to, list.words.to)) {
      portions.push_back({step, step});
    }
    return portions;
  }
  std::uint64_t word = list.words.from;
  std::uint64_t element = list.cold.from;
  for (const std::uint32_t count : lean::line_counts(*lists.compressed, v)) {
    const Step words{word, std::min(word + lean::kLineElements, list.words.to)};
    portions.push_back({words, {element, element + count}});
    word = words.to;
    element += count;
  }
  return portions;
}

}  // namespace grainscope::model
