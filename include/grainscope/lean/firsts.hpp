#ifndef GRAINSCOPE_LEAN_FIRSTS_HPP
#define GRAINSCOPE_LEAN_FIRSTS_HPP

// The first neighbours of all lists of which nothing is hot, side by side. Those of 32 vertices, which a warp
// looks at together, are a block.
//
// Plain they take four bytes each. Packed, the lowest of a block is told with the block's place, and each
// takes one, two or four bytes for how much higher it is, whatever the highest needs, or none where all are
// the same: where vertices of one degree go by their first neighbours, as graph::Order::degree has them,
// mostly one. Every block begins with a sector of 32 bytes. What stands for another vertex means nothing.

#include <cstdint>

#include "grainscope/core/host_array.hpp"
#include "grainscope/graph/csr.hpp"
#include "grainscope/lean/hot_tier.hpp"
#include "grainscope/lean/steps.hpp"

namespace grainscope::lean {

// Where a block's words are, and what is in them.
class FirstsBlock {
 public:
  constexpr FirstsBlock() = default;
  // `bytes`: of each, 0, 1, 2 or 4; `begin`: a multiple of eight words, below 2^33.
  constexpr FirstsBlock(graph::Vertex lowest, std::uint32_t bytes, std::uint64_t begin)
      : bits_(lowest | std::uint64_t{bytes == 4 ? 3 : bytes} << kBytesAt |
              begin / kSectorElements << kBeginAt) {}
  // Of lists that are plain, the one of vertices from 32 * `block` on.
  static constexpr FirstsBlock plain(std::uint64_t block) { return {0, 4, block * kWarpLanes}; }

  [[nodiscard]] constexpr graph::Vertex lowest() const { return static_cast<graph::Vertex>(bits_); }
  [[nodiscard]] constexpr std::uint32_t bytes() const {
    const auto code = static_cast<std::uint32_t>(bits_ >> kBytesAt & 3);
    return code == 3 ? 4 : code;
  }
  // Words from here to there have it all.
  [[nodiscard]] constexpr Step words() const {
    const std::uint64_t begin = (bits_ >> kBeginAt) * kSectorElements;
    return {begin, begin + bytes() * kWarpLanes / 4};
  }
  // The word that tells the first neighbour of vertex `lane` of 32, where there are any.
  [[nodiscard]] constexpr std::uint64_t word_of(std::uint32_t lane) const {
    return words().from + lane * bytes() / 4;
  }
  // Which that is, and how it stands in its word.
  [[nodiscard]] constexpr graph::Vertex of(std::uint32_t lane, std::uint32_t word) const {
    return lowest() + (word >> shift(lane) & mask());
  }
  [[nodiscard]] constexpr std::uint32_t placed(std::uint32_t lane, graph::Vertex first) const {
    return (first - lowest()) << shift(lane);
  }

 private:
  [[nodiscard]] constexpr std::uint32_t shift(std::uint32_t lane) const { return lane * bytes() % 4 * 8; }
  [[nodiscard]] constexpr std::uint32_t mask() const {
    return static_cast<std::uint32_t>((std::uint64_t{1} << bytes() * 8) - 1);
  }
  static constexpr int kBytesAt = 32;
  static constexpr int kBeginAt = 34;
  std::uint64_t bits_ = 0;
};

struct Firsts {
  std::uint64_t lists = 0;         // that they are of
  HostArray<FirstsBlock> blocks;   // packed, those of all vertices; plain: none
  HostArray<std::uint32_t> words;  // whole blocks
  [[nodiscard]] bool packed() const { return !blocks.empty(); }
  [[nodiscard]] FirstsBlock block(std::uint64_t i) const {
    return packed() ? blocks[i] : FirstsBlock::plain(i);
  }
  // Of a vertex that has neighbours, none of them hot.
  [[nodiscard]] graph::Vertex of(graph::Vertex v) const;
};

// `tier`: null: nothing is hot. All threads.
[[nodiscard]] Firsts first_neighbours(const graph::Csr& lists, const HotTier* tier, bool packed);

}  // namespace grainscope::lean

#endif
