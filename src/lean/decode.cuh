#ifndef GRAINSCOPE_SRC_LEAN_DECODE_CUH
#define GRAINSCOPE_SRC_LEAN_DECODE_CUH

// Lines of compressed lists (compressed_lists.hpp), decoded by the lanes that hold their words.

#include <cstdint>

#include "../cuda/launch.cuh"
#include "grainscope/lean/compressed_lists.hpp"
#include "grainscope/lean/steps.hpp"
#include "reads.cuh"

namespace grainscope::lean {

// A neighbour, and the weight of the edge to it where there is one.
struct Neighbour {
  std::uint32_t vertex;
  std::uint32_t weight;
};

// `bits` bits, at most 32, from bit `at` of the words that a group of kLanes lanes holds, one each. Each lane
// may ask for others; all of the warp call together. Nothing is asked for beyond the last word.
template <int kLanes>
__device__ std::uint32_t bits_at(std::uint32_t word, int at, int bits) {
  const std::uint32_t low = __shfl_sync(kAllLanes, word, at / 32, kLanes);
  const std::uint32_t high = __shfl_sync(kAllLanes, word, at / 32 + 1, kLanes);
  const std::uint32_t found = __funnelshift_r(low, high, static_cast<unsigned>(at));
  return bits >= 32 ? found : found & ((1U << bits) - 1);
}

// How a line is to be read. `count`: its neighbours; 0: it tells itself.
struct LineFormat {
  int id_bits;
  int count;
};

// A line's beginning, the same for all lanes that hold its words.
struct LineHead {
  int count;
  std::uint32_t first;  // neighbour
  int end;              // of it, in bits
};
template <int kLanes>
__device__ LineHead head_of(std::uint32_t word, const LineFormat& format) {
  const int told = static_cast<int>(bits_at<kLanes>(word, 0, kCountBits)) + 1;
  const int at = format.count == 0 ? kCountBits : 0;
  const std::uint32_t first = bits_at<kLanes>(word, at, format.id_bits);
  return {format.count == 0 ? told : format.count, first, at + format.id_bits};
}

// Calls `visit(neighbour, mine)` for a line's neighbours, up to 32 at a time, by all lanes: `mine` is whether
// the lane has one. `word`: of the line, each lane's; words that were not read are 0. Without weights.
template <class Visit>
__device__ void decode_line(std::uint32_t word, const LineFormat& format, const Visit& visit) {
  constexpr int kLanes = kWarpLanes;
  const int lane = cuda::lane_of_warp();
  const LineHead head = head_of<kLanes>(word, format);
  visit(Neighbour{head.first, 0}, lane == 0);
  const int blocks = blocks_of_line(head.count);
  // Each lane has a block's width, and where its gaps begin. The first gap comes after the first width.
  const auto first_width = static_cast<int>(bits_at<kLanes>(word, head.end, kWidthBits));
  const int width_at = head.end + kWidthBits * lane + (lane > 0 ? first_width : 0);
  const std::uint32_t width = bits_at<kLanes>(word, lane < blocks ? width_at : 0, kWidthBits);
  const std::uint32_t size = lane < blocks ? kBlockElements * width : 0;
  const std::uint32_t begin =
      static_cast<std::uint32_t>(head.end + kWidthBits * blocks) + cuda::sum_up_to_lane(size, lane) - size;
  std::uint32_t last = head.first;
  for (int next = 1; next < head.count; next += kLanes) {
    const int block = (next - 1 + lane) / kBlockElements;
    const auto of_block = static_cast<int>(__shfl_sync(kAllLanes, width, block));
    const int in_block =
        static_cast<int>(__shfl_sync(kAllLanes, begin, block)) + lane % kBlockElements * of_block;
    const int at = next + lane == 1 ? head.end + kWidthBits : in_block;
    const bool mine = next + lane < head.count;
    const std::uint32_t gap = bits_at<kLanes>(word, mine ? at : 0, of_block) + 1;
    const std::uint32_t vertex = last + cuda::sum_up_to_lane(mine ? gap : 0, lane);
    visit(Neighbour{vertex, 0}, mine);
    last = __shfl_sync(kAllLanes, vertex, kLanes - 1);
  }
}

// Where one number `rank` of a word is; there are more than that.
__device__ inline int place_of_one(std::uint32_t ones, int rank) {
  int place = 0;
#pragma unroll
  for (int half = 16; half > 0; half /= 2) {
    const int low = __popc(ones & ((1U << half) - 1));
    const bool above = rank >= low;
    rank -= above ? low : 0;
    ones >>= above ? half : 0;
    place += above ? half : 0;
  }
  return place;
}

// The same with weights. What is high of an edge are the zeros between its one and that of the edge before.
template <class Visit>
__device__ void decode_weighted_line(std::uint32_t word, const LineFormat& format, const WeightCode& weights,
                                     const Visit& visit) {
  constexpr int kLanes = kWarpLanes;
  const int lane = cuda::lane_of_warp();
  const LineHead head = head_of<kLanes>(word, format);
  const std::uint32_t first_weight = bits_at<kLanes>(word, head.end, weights.first_bits);
  const int width_at = head.end + weights.first_bits;
  const auto width = static_cast<int>(bits_at<kLanes>(word, width_at, kWidthBits));
  const int low_at = width_at + kWidthBits;
  const int low_bits = width + weights.beside_bits;
  int at = low_at + (head.count - 1) * low_bits;  // of the ones that are looked at, 32 bits
  std::uint32_t ones = bits_at<kLanes>(word, at, kLanes);
  int passed = 1;         // neighbours before these; the first has no one
  int last_one = at - 1;  // of the turn before
  std::uint32_t last = 0;
  for (int turn = 0; turn < head.count; turn += kLanes) {
    const int index = turn + lane;
    const int end = min(head.count, turn + kLanes);
    std::uint32_t own = 0;
    int own_at = at;
    int rank = 0;
    while (true) {
      if (index >= passed) {  // here or further on
        own = ones;
        own_at = at;
        rank = index - passed;
      }
      const int behind = passed + __popc(ones);
      if (behind >= end || at + kLanes >= kLineBits) {
        break;
      }
      passed = behind;
      at += kLanes;
      ones = bits_at<kLanes>(word, at, kLanes);
    }
    const bool mine = index < end;
    const bool follows = mine && index > 0;
    const int one = follows ? own_at + place_of_one(own, rank) : last_one;
    const int before = __shfl_up_sync(kAllLanes, one, 1);
    const int high = one - (lane > 0 ? before : last_one) - 1;
    const int low = follows ? low_at + (index - 1) * low_bits : 0;
    const std::uint32_t number =
        static_cast<std::uint32_t>(high) << width | bits_at<kLanes>(word, low, width);
    const std::uint32_t beside = bits_at<kLanes>(word, follows ? low + width : 0, weights.beside_bits);
    const std::uint32_t gap = weights.gap_of(number);
    const std::uint32_t weight = index == 0 ? first_weight : number - gap * weights.range + beside;
    const std::uint32_t step = index == 0 ? head.first : gap + 1;
    const std::uint32_t vertex = last + cuda::sum_up_to_lane(mine ? step : 0, lane);
    visit(Neighbour{vertex, weights.least + weight}, mine);
    last = __shfl_sync(kAllLanes, vertex, kLanes - 1);
    last_one = __shfl_sync(kAllLanes, one, kLanes - 1);
  }
}

// What a list's words within its first sector tell a team of eight lanes: the first neighbour, and of each
// lane one of those that follow, as far as their bits are there. `words`: how many these are, of which each
// lane holds one; the others 0. Without weights.
struct FirstSector {
  std::uint32_t first;
  std::uint32_t next;
  bool mine;  // whether `next` is one
};
__device__ inline FirstSector decode_first_sector(std::uint32_t word, int words, const LineFormat& format) {
  constexpr int kLanes = kTeamLanes;
  const int member = cuda::lane_of_warp() % kTeamLanes;
  const LineHead head = head_of<kLanes>(word, format);
  const auto width = static_cast<int>(bits_at<kLanes>(word, head.end, kWidthBits));
  const int widths = member == 0 ? 1 : blocks_of_line(head.count);
  const int at = head.end + kWidthBits * widths + member * width;
  const bool mine = 1 + member < head.count && at + width <= 32 * words;
  const std::uint32_t gap = bits_at<kLanes>(word, mine ? at : 0, width) + 1;
  const std::uint32_t next = head.first + cuda::sum_up_to_lane<kLanes>(mine ? gap : 0, cuda::lane_of_warp());
  return {head.first, next, mine};
}

// What a list's first two words tell the two lanes that hold them: its first neighbour, and the second where
// its bits are there. Words that were not read are 0. Without weights.
struct FirstWords {
  std::uint32_t first;
  std::uint32_t second;
  bool two;
};
__device__ inline FirstWords decode_first_words(std::uint32_t word, const LineFormat& format) {
  constexpr int kLanes = 2;
  const LineHead head = head_of<kLanes>(word, format);
  const auto width = static_cast<int>(bits_at<kLanes>(word, head.end, kWidthBits));
  const int at = head.end + kWidthBits;
  const bool two = head.count > 1 && at + width <= 32 * kLanes;
  const std::uint32_t gap = bits_at<kLanes>(word, two ? at : 0, width) + 1;
  return {head.first, head.first + gap, two};
}

}  // namespace grainscope::lean

#endif
