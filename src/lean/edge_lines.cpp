#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <vector>

#include "line_codes.hpp"

namespace grainscope::lean {
namespace {

// The edges behind a line's first, as many as there could be room for at any width.
struct Numbers {
  std::array<std::uint32_t, kMostOfLine - 1> of{};
  std::uint32_t count = 0;
  int widest = 0;  // bits of the largest
};

// What is low of each edge, and above that as many zeros and a one.
std::uint64_t bits_at_width(const Numbers& numbers, int width, int beside_bits) {
  std::uint64_t zeros = 0;
  for (std::uint32_t i = 0; i < numbers.count; ++i) {
    zeros += numbers.of[i] >> width;
  }
  return std::uint64_t{numbers.count} * static_cast<std::uint64_t>(width + beside_bits + 1) + zeros;
}

// How many edges fit into so many bits at a width, and the bits that these take.
EdgeLines::Plan fit(const Numbers& numbers, int width, int beside_bits, int room) {
  EdgeLines::Plan line{0, 0, width};
  for (std::uint32_t i = 0; i < numbers.count; ++i) {
    const std::uint64_t bits =
        std::uint64_t{numbers.of[i] >> width} + static_cast<std::uint64_t>(width + beside_bits + 1);
    if (bits > static_cast<std::uint64_t>(room - line.bits)) {
      break;
    }
    line.bits += static_cast<int>(bits);
    ++line.count;
  }
  return line;
}

int words_of(int bits) {
  return (bits + kWordBits - 1) / kWordBits;
}

}  // namespace

// The most edges; of widths at which these are as many the fewest words; of those the largest width, since a
// warp looks at a bit a lane of what is above.
EdgeLines::Plan EdgeLines::plan(const ListRest& list, bool counted) const {
  const int head = (counted ? kCountBits : 0) + id_bits_ + weights_.first_bits;
  if (list.ids.size() == 1) {
    return {1, head, 0};
  }
  const int room = kLineBits - head - kWidthBits;
  Numbers numbers;
  const std::size_t most = std::min<std::size_t>(list.ids.size(), kMostOfLine);
  int least_bits = 0;  // at the best of widths
  for (std::size_t i = 1; i < most && least_bits <= room; ++i) {
    const std::uint32_t number = number_of(list, i);
    const int own = static_cast<int>(std::bit_width(number));
    least_bits += own + 1 + weights_.beside_bits;
    numbers.of[numbers.count++] = number;
    numbers.widest = std::max(numbers.widest, own);
  }
  Plan best;  // of the edges alone; there is room for one
  for (int width = std::min(numbers.widest, (1 << kWidthBits) - 1); width >= 0; --width) {
    const std::uint64_t all = bits_at_width(numbers, width, weights_.beside_bits);
    const Plan line = all <= static_cast<std::uint64_t>(room)
                          ? Plan{numbers.count, static_cast<int>(all), width}
                          : fit(numbers, width, weights_.beside_bits, room);
    const int before = head + kWidthBits;
    if (line.count > best.count ||
        (line.count == best.count && words_of(before + line.bits) < words_of(before + best.bits))) {
      best = line;
    }
  }
  return {best.count + 1, head + kWidthBits + best.bits, best.width};
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
