// Compressed lists, read on the CPU: what the model asks of them, and back to neighbours.

#include <algorithm>

#include "grainscope/lean/compressed_lists.hpp"
#include "grainscope/lean/steps.hpp"
#include "line_codes.hpp"

namespace grainscope::lean {
namespace {

using graph::Vertex;

// Reads a list's lines one by one.
class LineReader {
 public:
  LineReader(const CompressedLists& lists, Vertex v)
      : place_(lists.places[v]), words_(lists.words.data()), at_(place_.begin()) {}
  // Whether there is a line more: then its count and its bits after that.
  bool next(std::uint32_t& count, BitReader& bits) {
    if (at_ >= place_.end()) {
      return false;
    }
    bits = BitReader(words_ + at_);
    count = place_.is_long() ? bits.take(kCountBits) + 1 : static_cast<std::uint32_t>(place_.count());
    at_ += kLineElements;
    return true;
  }

 private:
  ListPlace place_;
  const std::uint32_t* words_;
  std::uint64_t at_;
};

// How many neighbours of the first line's first block and before it have all their bits in a list's first
// `words`.
std::uint32_t count_within(const CompressedLists& lists, Vertex v, std::uint64_t words) {
  BitReader bits(nullptr);
  std::uint32_t count = 0;
  LineReader(lists, v).next(count, bits);
  static_cast<void>(bits.take(lists.id_bits));
  const int head = (lists.places[v].is_long() ? kCountBits : 0) + lists.id_bits;
  const auto width = static_cast<int>(count > 1 ? bits.take(kWidthBits) : 0);
  const auto end_of = [&](int i) {  // the block's neighbour i
    const int widths = i == 0 ? 1 : blocks_of_line(static_cast<int>(count));
    return head + kWidthBits * widths + (i + 1) * width;
  };
  std::uint32_t told = 1;
  for (int i = 0; i < kBlockElements && told < count; ++i) {
    if (end_of(i) > static_cast<int>(words) * kWordBits) {
      break;
    }
    ++told;
  }
  return told;
}

}  // namespace

std::vector<std::uint32_t> line_counts(const CompressedLists& lists, Vertex v) {
  std::vector<std::uint32_t> counts;
  LineReader reader(lists, v);
  BitReader bits(nullptr);
  for (std::uint32_t count = 0; reader.next(count, bits);) {
    counts.push_back(count);
  }
  return counts;
}

std::uint32_t first_sector_count(const CompressedLists& lists, Vertex v) {
  const ListPlace place = lists.places[v];
  const Step there = first_step(place.begin(), place.end());
  return count_within(lists, v, there.to - there.from);
}

std::uint32_t first_words_count(const CompressedLists& lists, Vertex v) {
  return std::min(2U, count_within(lists, v, 2));
}

Neighbours decompress(const CompressedLists& lists, Vertex v) {
  Neighbours all;
  LineReader reader(lists, v);
  BitReader bits(nullptr);
  for (std::uint32_t count = 0; reader.next(count, bits);) {
    if (lists.weights.given()) {
      EdgeLines(lists).read(count, bits, all);
    } else {
      GapLines(lists).read(count, bits, all);
    }
  }
  return all;
}

}  // namespace grainscope::lean
