// Compressed lists, read on the CPU: what the model asks of them, and back to neighbours.

#include <algorithm>

#include "grainscope/lean/compressed_lists.hpp"
#include "grainscope/lean/steps.hpp"

namespace grainscope::lean {
namespace {

using graph::Vertex;

constexpr int kWordBits = 32;

class BitReader {
 public:
  explicit BitReader(const std::uint32_t* words) : words_(words) {}
  std::uint32_t take(int bits) {
    std::uint64_t value = 0;
    if (bits > 0) {
      const int shift = at_ % kWordBits;
      value = words_[at_ / kWordBits];
      if (shift + bits > kWordBits) {
        value |= std::uint64_t{words_[at_ / kWordBits + 1]} << kWordBits;
      }
      value = value >> shift & ((std::uint64_t{1} << bits) - 1);
      at_ += bits;
    }
    return static_cast<std::uint32_t>(value);
  }

 private:
  const std::uint32_t* words_;
  int at_ = 0;
};

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
    const auto take_weight = [&] {
      if (lists.weight_bits > 0) {
        all.weights.push_back(bits.take(lists.weight_bits));
      }
    };
    all.ids.push_back(bits.take(lists.id_bits));
    take_weight();
    std::vector<int> widths;
    widths.reserve(kMostOfLine / kBlockElements);
    const auto take_neighbour = [&](std::uint32_t i) {
      all.ids.push_back(all.ids.back() + bits.take(widths[(i - 1) / kBlockElements]) + 1);
      take_weight();
    };
    for (int block = 0; block < blocks_of_line(static_cast<int>(count)); ++block) {
      widths.push_back(static_cast<int>(bits.take(kWidthBits)));
      if (block == 0) {
        take_neighbour(1);
      }
    }
    for (std::uint32_t i = 2; i < count; ++i) {
      take_neighbour(i);
    }
  }
  return all;
}

}  // namespace grainscope::lean
