#include <algorithm>
#include <bit>
#include <vector>

#include "line_codes.hpp"

namespace grainscope::lean {

GapLines::Plan GapLines::plan(const ListRest& list, bool counted) const {
  const auto& ids = list.ids;
  Plan line{1, (counted ? kCountBits : 0) + id_bits_, {}};
  const auto most = static_cast<std::uint32_t>(std::min<std::size_t>(ids.size(), kMostOfLine));
  for (std::size_t block = 0; line.count < most; ++block) {
    const std::uint32_t first = line.count;
    const int before = line.bits + kWidthBits;
    int width = 0;
    for (std::uint32_t i = first; i < most && i < first + kBlockElements; ++i) {
      width = std::max(width, static_cast<int>(std::bit_width(ids[i] - ids[i - 1] - 1)));
      const int bits = before + static_cast<int>(i + 1 - first) * width;
      if (bits > kLineBits) {
        break;
      }
      line.count = i + 1;
      line.bits = bits;
      line.widths[block] = static_cast<std::uint8_t>(width);
    }
    if (line.count < first + kBlockElements) {
      break;
    }
  }
  return line;
}

void GapLines::write(const ListRest& list, const Plan& line, bool counted, std::uint32_t* words) const {
  BitWriter writer(words);
  writer.put(line.count - 1, counted ? kCountBits : 0);
  writer.put(list.ids[0], id_bits_);
  const auto put_neighbour = [&](std::uint32_t i) {
    writer.put(list.ids[i] - list.ids[i - 1] - 1, line.widths[(i - 1) / kBlockElements]);
  };
  for (int block = 0; block < blocks_of_line(static_cast<int>(line.count)); ++block) {
    writer.put(line.widths[static_cast<std::size_t>(block)], kWidthBits);
    if (block == 0) {
      put_neighbour(1);
    }
  }
  for (std::uint32_t i = 2; i < line.count; ++i) {
    put_neighbour(i);
  }
}

void GapLines::read(std::uint32_t count, BitReader& bits, Neighbours& all) const {
  all.ids.push_back(bits.take(id_bits_));
  std::vector<int> widths;
  widths.reserve(kMostOfLine / kBlockElements);
  const auto take_neighbour = [&](std::uint32_t i) {
    all.ids.push_back(all.ids.back() + bits.take(widths[(i - 1) / kBlockElements]) + 1);
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

}  // namespace grainscope::lean
