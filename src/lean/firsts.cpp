#include "grainscope/lean/firsts.hpp"

#include <algorithm>

namespace grainscope::lean {
namespace {

using graph::Csr;
using graph::Vertex;

struct Source {
  const Csr& lists;
  const HotTier* tier;
};

// Calls `each(lane, first)` for those vertices of a block that have neighbours, none of them hot.
template <class Each>
void for_cold(const Source& source, std::uint64_t block, const Each& each) {
  const Csr& lists = source.lists;
  const std::uint64_t begin = block * kWarpLanes;
  const std::uint64_t end = std::min<std::uint64_t>(begin + kWarpLanes, lists.vertices());
  for (std::uint64_t i = begin; i < end; ++i) {
    const auto v = static_cast<Vertex>(i);
    if (lists.degree(v) > 0 && (source.tier == nullptr || source.tier->of(v) == 0)) {
      each(static_cast<std::uint32_t>(i - begin), lists.neighbours(v).front());
    }
  }
}

FirstsBlock packed_block(const Source& source, std::uint64_t block) {
  Vertex lowest = source.lists.vertices();
  Vertex highest = 0;
  for_cold(source, block, [&](std::uint32_t /*lane*/, Vertex first) {
    lowest = std::min(lowest, first);
    highest = std::max(highest, first);
  });
  if (lowest >= highest) {
    return {lowest, 0, 0};
  }
  const Vertex higher = highest - lowest;
  return {lowest, higher < 1U << 8 ? 1U : higher < 1U << 16 ? 2U : 4U, 0};
}

HostArray<FirstsBlock> packed_blocks(const Source& source, std::uint64_t count) {
  HostArray<FirstsBlock> blocks(count);
#pragma omp parallel for
  for (std::uint64_t i = 0; i < count; ++i) {
    blocks[i] = packed_block(source, i);
  }
  std::uint64_t begin = 0;
  for (FirstsBlock& block : blocks) {
    block = {block.lowest(), block.bytes(), begin};
    begin = block.words().to;
  }
  return blocks;
}

}  // namespace

Vertex Firsts::of(Vertex v) const {
  const std::uint32_t lane = v % kWarpLanes;
  const FirstsBlock its = block(v / kWarpLanes);
  return its.of(lane, its.bytes() > 0 ? words[its.word_of(lane)] : 0);
}

Firsts first_neighbours(const Csr& lists, const HotTier* tier, bool packed) {
  const Source source{lists, tier};
  const std::uint64_t count = (std::uint64_t{lists.vertices()} + kWarpLanes - 1) / kWarpLanes;
  Firsts firsts;
  firsts.lists = cold_lists(lists, tier);
  if (packed) {
    firsts.blocks = packed_blocks(source, count);
  }
  firsts.words = HostArray<std::uint32_t>(count > 0 ? firsts.block(count - 1).words().to : 0);
#pragma omp parallel for
  for (std::uint64_t i = 0; i < count; ++i) {
    const FirstsBlock block = firsts.block(i);
    for_cold(source, i, [&](std::uint32_t lane, Vertex first) {
      if (block.bytes() > 0) {
        firsts.words[block.word_of(lane)] |= block.placed(lane, first);
      }
    });
  }
  return firsts;
}

}  // namespace grainscope::lean
