#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <span>
#include <vector>

#include "line_codes.hpp"

namespace grainscope::lean {
namespace {

// The edges behind a line's first, as many as there could be room for at any width, or one more.
struct Numbers {
  std::span<const std::uint32_t> of;
  std::uint64_t sum = 0;
};

// Bits of an edge but for what is high of it, the one included.
int bits_beside(int width, int beside_bits) {
  return width + beside_bits + 1;
}

// As many edges as fit into so many bits at a width, and the bits that these take: what is low of each, and
// as many zeros as what is high of it, and a one.
EdgeLines::Plan fit(const Numbers& numbers, int width, int beside_bits, int room) {
  const auto each = static_cast<std::uint64_t>(bits_beside(width, beside_bits));
  std::uint64_t zeros = 0;
  for (const std::uint32_t number : numbers.of) {
    zeros += number >> width;
  }
  if (const std::uint64_t all = numbers.of.size() * each + zeros; all <= static_cast<std::uint64_t>(room)) {
    return {static_cast<std::uint32_t>(numbers.of.size()), static_cast<int>(all), width};
  }
  EdgeLines::Plan line{0, 0, width};
  for (const std::uint32_t number : numbers.of) {
    const std::uint64_t bits = (number >> width) + each;
    if (bits > static_cast<std::uint64_t>(room - line.bits)) {
      break;
    }
    line.bits += static_cast<int>(bits);
    ++line.count;
  }
  return line;
}

constexpr int kMostWidth = (1 << kWidthBits) - 1;

// The most edges, of widths at which these are as many the fewest bits. What some edges take falls with the
// width and then rises, so the widths at which they fit lie side by side: where fewer fit, nothing better is
// beyond, nor where all fit and bits have begun to rise.
EdgeLines::Plan fit_best(const Numbers& numbers, int beside_bits, int room) {
  const auto mean = numbers.sum / numbers.of.size();
  const int from = std::max(0, static_cast<int>(std::bit_width(mean)) - 1);
  EdgeLines::Plan best = fit(numbers, from, beside_bits, room);
  for (const int step : {-1, 1}) {
    for (int width = from + step; width >= 0 && width <= kMostWidth; width += step) {
      const EdgeLines::Plan line = fit(numbers, width, beside_bits, room);
      const bool all = line.count == numbers.of.size();
      if (line.count < best.count || (all && best.count == line.count && line.bits >= best.bits)) {
        break;
      }
      if (line.count > best.count || line.bits < best.bits) {
        best = line;
      }
    }
  }
  return best;
}

}  // namespace

// Of widths at which as many edges take as many words the largest, since what is high of edges is what a warp
// looks for.
EdgeLines::Plan EdgeLines::plan(const ListRest& list, bool counted) const {
  const int head = (counted ? kCountBits : 0) + id_bits_ + weights_.first_bits;
  if (list.ids.size() == 1) {
    return {1, head, 0};
  }
  const int before = head + kWidthBits;
  const int room = kLineBits - before;
  std::array<std::uint32_t, kMostOfLine> memory;
  Numbers numbers;
  const std::size_t most = std::min<std::size_t>(list.ids.size(), kMostOfLine);
  int least_bits = 0;  // at the best of widths
  for (std::size_t i = 1; i < most && least_bits <= room; ++i) {
    const std::uint32_t number = number_of(list, i);
    least_bits += bits_beside(static_cast<int>(std::bit_width(number)), weights_.beside_bits);
    memory[i - 1] = number;
    numbers.of = {memory.data(), i};
    numbers.sum += number;
  }
  Plan best = fit_best(numbers, weights_.beside_bits, room);
  const auto has_zeros = [&] {
    return best.bits > static_cast<int>(best.count) * bits_beside(best.width, weights_.beside_bits);
  };
  for (int width = best.width + 1; width <= kMostWidth && has_zeros(); ++width) {
    const Plan line = fit(numbers, width, weights_.beside_bits, room);
    if (line.count < best.count || words_of_bits(before + line.bits) > words_of_bits(before + best.bits)) {
      break;
    }
    best = line;
  }
  return {best.count + 1, before + best.bits, best.width};
}

void EdgeLines::write(const ListRest& list, const Plan& line, bool counted, std::uint32_t* words) const {
  BitWriter writer(words);
  writer.put(line.count - 1, counted ? kCountBits : 0);
  writer.put(list.ids[0], id_bits_);
  writer.put(list.weights[0] - weights_.least, weights_.first_bits);
  if (line.count == 1) {
    return;
  }
  writer.put(static_cast<std::uint32_t>(line.width), kWidthBits);
  for (std::uint32_t i = 1; i < line.count; ++i) {
    const std::uint32_t number = number_of(list, i);
    writer.put(number & ((1U << line.width) - 1), line.width);
    writer.put(list.weights[i] - weights_.least, weights_.beside_bits);
  }
  for (std::uint32_t i = 1; i < line.count; ++i) {
    writer.put_zeros(number_of(list, i) >> line.width);
  }
}

void EdgeLines::read(std::uint32_t count, BitReader& bits, Neighbours& all) const {
  all.ids.push_back(bits.take(id_bits_));
  all.weights.push_back(weights_.least + bits.take(weights_.first_bits));
  if (count == 1) {
    return;
  }
  struct Low {
    std::uint32_t number;
    std::uint32_t beside;
  };
  const auto width = static_cast<int>(bits.take(kWidthBits));
  std::vector<Low> low(count - 1);
  for (Low& one : low) {
    one.number = bits.take(width);
    one.beside = bits.take(weights_.beside_bits);
  }
  for (const Low& one : low) {
    const std::uint32_t number = bits.take_zeros() << width | one.number;
    const std::uint32_t gap = weights_.gap_of(number);
    all.ids.push_back(all.ids.back() + gap + 1);
    all.weights.push_back(weights_.least + (number - gap * weights_.range) + one.beside);
  }
}

}  // namespace grainscope::lean
