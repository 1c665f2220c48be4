#ifndef GRAINSCOPE_SRC_LEAN_LISTS_CUH
#define GRAINSCOPE_SRC_LEAN_LISTS_CUH

// How kernels read adjacency lists (lean/lists.hpp): plain, compressed, from the hot tier, or in segments
// that were copied; and what they count of their own reads, in runs that are not timed.

#include <cstdint>
#include <vector>

#include "../cuda/launch.cuh"
#include "grainscope/cuda/check.hpp"
#include "grainscope/cuda/device.hpp"
#include "grainscope/lean/lists.hpp"
#include "grainscope/lean/run.hpp"
#include "view.hpp"

namespace grainscope::lean {

// What kernels count of their own reads, in runs that are not timed. By all lanes of a warp together.

inline constexpr unsigned kAllLanes = 0xffffffffU;

struct ReadNote {
  unsigned long long sectors;   // over the link, no cache
  unsigned long long elements;  // neighbours over the link
  unsigned long long hot;       // neighbours from GPU memory
};
inline void add_reads(const ReadNote& note, LinkReads& sum) {
  sum.sectors += note.sectors;
  sum.elements += note.elements;
  sum.hot += note.hot;
}
// Of each step.
inline std::vector<LinkReads> reads_of(const std::vector<ReadNote>& notes) {
  std::vector<LinkReads> reads(notes.size());
  for (std::size_t i = 0; i < notes.size(); ++i) {
    add_reads(notes[i], reads[i]);
  }
  return reads;
}

__device__ inline void add_lanes(unsigned long long* sum, bool mine) {
  const unsigned lanes = __ballot_sync(kAllLanes, mine);
  if (cuda::lane_of_warp() == 0 && lanes != 0) {
    atomicAdd(sum, static_cast<unsigned long long>(__popc(lanes)));
  }
}

// The sectors of one load of a word each by the lanes that `reads`.
__device__ inline void count_sectors(ReadNote* note, bool reads, std::uint64_t word) {
  // Idle lanes have sectors of their own.
  const unsigned long long sector = reads ? word / kSectorElements : ~0ULL - cuda::lane_of_warp();
  const unsigned same = __match_any_sync(kAllLanes, sector);
  add_lanes(&note->sectors, reads && __ffs(static_cast<int>(same)) - 1 == cuda::lane_of_warp());
}

// Lines of compressed lists, decoded by the lanes that hold their words.

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

// Walks over lists, by warps: what is hot from GPU memory, the rest over the link in pieces of up to eight
// lines, all loads of which are sent out before the first neighbour is looked at. Long lists are handed out:
// their pieces are noted, and taken by whichever warp comes to them.
//
// A visitor says what is done: start(vertex) before a list or a piece of one, then visit(neighbour) by each
// lane that has one, then finish(whole), which tells whether that was the whole list; start and finish by all
// lanes.

inline constexpr int kLeanThreads = 256;     // of a block
inline constexpr unsigned kBlocksPerSm = 8;  // of kernels that the host submits step by step

__device__ inline std::uint32_t warp_of_grid() {
  return static_cast<std::uint32_t>(cuda::thread_of_grid() / kWarpLanes);
}
__device__ inline std::uint32_t warps_of_grid() {
  return static_cast<std::uint32_t>(cuda::threads_of_grid() / kWarpLanes);
}

// Hot neighbours of a list: [begin, begin + count) of the tier.
struct HotPart {
  std::uint32_t begin = 0;
  std::uint32_t count = 0;
};
__device__ inline HotPart hot_of(const ListsView& lists, std::uint32_t vertex) {
  if (lists.hot_offsets == nullptr) {
    return {};
  }
  const std::uint32_t begin = lists.hot_offsets[vertex];
  return {begin, lists.hot_offsets[vertex + std::uint64_t{1}] - begin};
}

// A list's two parts: what is hot, then words [begin, end) of what lies behind the link.
struct ListParts {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  HotPart hot;
  int count = 0;  // neighbours in a line of them, where they are compressed and within one; else 0
};

template <Coding kCoding>
__device__ ListParts parts_of(const ListsView& lists, std::uint32_t vertex) {
  ListParts parts;
  parts.hot = hot_of(lists, vertex);
  if constexpr (is_compressed(kCoding)) {
    const ListPlace place = lists.places[vertex];
    parts.begin = place.begin();
    parts.end = place.end();
    parts.count = place.is_long() ? 0 : place.count();
  } else {
    parts.begin = lists.offsets[vertex] + parts.hot.count;
    parts.end = lists.offsets[vertex + std::uint64_t{1}];
  }
  return parts;
}

__device__ inline std::uint64_t degree_of(const ListsView& lists, std::uint32_t vertex) {
  return lists.offsets[vertex + std::uint64_t{1}] - lists.offsets[vertex];
}

// The first neighbour of this lane's vertex of block `index`, for each lane that asks for it; by all lanes.
template <bool kCount>
__device__ std::uint32_t first_of(const ListsView& lists, std::uint64_t index, bool mine, ReadNote* note) {
  const FirstsBlock block =
      lists.first_blocks != nullptr ? lists.first_blocks[index] : FirstsBlock::plain(index);
  const auto lane = static_cast<std::uint32_t>(cuda::lane_of_warp());
  const std::uint64_t word = block.word_of(lane);
  const bool reads = mine && block.bytes() > 0;
  __syncwarp();  // one load
  if constexpr (kCount) {
    count_sectors(note, reads, word);
    add_lanes(&note->elements, mine);
  }
  return block.of(lane, reads ? lists.firsts[word] : 0);
}

__device__ inline LineFormat format_of(const ListsView& lists, const ListParts& parts) {
  return {lists.id_bits, parts.count};
}

__device__ inline Neighbour apart(std::uint32_t joined, int bits) {
  return bits < 32 ? Neighbour{joined & ((1U << bits) - 1), joined >> bits} : Neighbour{joined, 0};
}

template <bool kCount, class Visitor>
__device__ void visit_hot(const ListsView& lists, const HotPart& hot, ReadNote* note, Visitor& visitor) {
  for (std::uint32_t at = 0; at < hot.count; at += kWarpLanes) {
    const std::uint32_t element = hot.begin + at + cuda::lane_of_warp();
    const bool mine = at + cuda::lane_of_warp() < hot.count;
    if constexpr (kCount) {
      add_lanes(&note->hot, mine);
    }
    if (mine) {
      Neighbour neighbour = apart(lists.hot[element], lists.joined_bits);
      if (lists.hot_weights != nullptr) {
        neighbour.weight = lists.hot_weights[element];
      }
      visitor.visit(neighbour);
    }
  }
}

// Words that a warp has read of a piece: each lane one of each line.
struct PieceWords {
  static constexpr int kLines = static_cast<int>(kPieceElements / kLineElements);
  std::uint32_t words[kLines];
};

// By `word_of(line's first word, word)`; words outside the piece are 0. `first`: word of lane 0 in the first
// line. The lanes come together first: what they ask for apart are requests apart.
template <bool kCount, class WordOf>
__device__ PieceWords load_words(const WordOf& word_of, std::uint64_t first, const Step& piece,
                                 ReadNote* note) {
  PieceWords read;
  __syncwarp();
#pragma unroll
  for (int line = 0; line < PieceWords::kLines; ++line) {
    const std::uint64_t begin = first + line * kLineElements;
    const std::uint64_t word = begin + cuda::lane_of_warp();
    const bool mine = word >= piece.from && word < piece.to;
    if constexpr (kCount) {
      count_sectors(note, mine, word);
    }
    read.words[line] = mine ? word_of(begin, word) : 0;
  }
  return read;
}

// Of an array, or of its segments (null: it has none). One question for all loads, so that none waits for
// another.
template <bool kCount>
__device__ PieceWords load_piece(const std::uint32_t* array, const std::uint32_t* const* segments,
                                 std::uint64_t first, const Step& piece, ReadNote* note) {
  if (segments == nullptr) {
    return load_words<kCount>([&](std::uint64_t, std::uint64_t word) { return array[word]; }, first, piece,
                              note);
  }
  return load_words<kCount>(
      [&](std::uint64_t begin, std::uint64_t word) {
        return segments[begin / kSegmentWords][word % kSegmentWords];
      },
      first, piece, note);
}

template <Coding kCoding, bool kCount, class Visitor>
__device__ void visit_piece(const ListsView& lists, const ListParts& parts, const Step& piece, ReadNote* note,
                            Visitor& visitor) {
  // A compressed list begins with a line, or lies within one and is shorter.
  const std::uint64_t first =
      is_compressed(kCoding) ? piece.from : piece.from / kLineElements * kLineElements;
  const PieceWords read = load_piece<kCount>(lists.words, lists.segments, first, piece, note);
  PieceWords weights;
  if constexpr (kCoding == Coding::beside) {
    weights = load_piece<kCount>(lists.weights, nullptr, first, piece, note);
  }
  const auto visit = [&](const Neighbour& neighbour, bool mine) {
    if constexpr (kCount) {
      add_lanes(&note->elements, mine);
    }
    if (mine) {
      visitor.visit(neighbour);
    }
  };
#pragma unroll
  for (int line = 0; line < PieceWords::kLines; ++line) {
    const std::uint64_t begin = first + line * kLineElements;
    if (begin >= piece.to) {
      break;
    }
    const std::uint64_t word = begin + cuda::lane_of_warp();
    if constexpr (kCoding == Coding::compressed) {
      decode_line(read.words[line], format_of(lists, parts), visit);
    } else if constexpr (kCoding == Coding::compressed_weighted) {
      decode_weighted_line(read.words[line], format_of(lists, parts), lists.weight_code, visit);
    } else if constexpr (kCoding == Coding::beside) {
      visit({read.words[line], weights.words[line]}, word >= piece.from && word < piece.to);
    } else {
      visit(apart(read.words[line], lists.joined_bits), word >= piece.from && word < piece.to);
    }
  }
}

// A piece of a long list: of its hot part where that is long, then of what lies behind the link where that
// is.
struct PieceItem {
  std::uint32_t vertex;
  std::uint32_t piece;
};
// Where pieces are handed out, in device memory, of lists that are `longer`.
struct HandOut {
  PieceItem* items;
  unsigned long long* count;
  std::uint64_t longer = kLongList;
  __device__ std::uint64_t elements() const { return piece_elements(longer); }  // of a piece
};

__device__ inline void hand_out(std::uint32_t vertex, std::uint32_t pieces, const HandOut& to) {
  unsigned long long at = 0;
  if (cuda::lane_of_warp() == 0) {
    at = atomicAdd(to.count, static_cast<unsigned long long>(pieces));
  }
  at = __shfl_sync(kAllLanes, at, 0);
  for (std::uint32_t piece = cuda::lane_of_warp(); piece < pieces; piece += kWarpLanes) {
    to.items[at + piece] = {vertex, piece};
  }
}

// The list of one vertex, but for what is handed out of it.
template <Coding kCoding, bool kCount, class Visitor>
__device__ void visit_list(const ListsView& lists, std::uint32_t vertex, const HandOut& out, ReadNote* note,
                           Visitor& visitor) {
  const ListParts parts = parts_of<kCoding>(lists, vertex);
  const auto hot_pieces = static_cast<std::uint32_t>(hot_pieces_of(parts.hot.count, out.longer));
  const bool is_long = parts.end - parts.begin > out.longer;
  const auto cold_pieces =
      static_cast<std::uint32_t>(is_long ? pieces_of(parts.begin, parts.end, out.elements()) : 0);
  const std::uint32_t handed_out = hot_pieces + cold_pieces;
  visitor.start(vertex);
  if (hot_pieces == 0) {
    visit_hot<kCount>(lists, parts.hot, note, visitor);
  }
  if (handed_out > 0) {
    hand_out(vertex, handed_out, out);
  }
  if (!is_long) {
    const std::uint64_t pieces = pieces_of(parts.begin, parts.end);
    for (std::uint64_t piece = 0; piece < pieces; ++piece) {
      visit_piece<kCoding, kCount>(lists, parts, piece_of(parts.begin, parts.end, piece), note, visitor);
    }
  }
  visitor.finish(handed_out == 0);
}

// Words [first, last) of a set of vertices, 32 to a word.
struct WordRange {
  std::uint32_t first;
  std::uint32_t last;
};

// Whose lists a GPU reads, of so many words of 32 vertices: all of them, or every so many of them where these
// are dealt out to several GPUs. Of `count(words)` number i is `word(i)`; or a loop begins at the first that
// is no lower than `from(word)` says, and goes on by `step()`.
struct AllWords {
  [[nodiscard]] __device__ std::uint32_t count(std::uint32_t words) const { return words; }
  template <class Index>
  [[nodiscard]] __device__ Index word(Index i) const {
    return i;
  }
  [[nodiscard]] __device__ std::uint32_t from(std::uint32_t word) const { return word; }
  [[nodiscard]] __device__ std::uint32_t step() const { return 1; }
  [[nodiscard]] __device__ bool has(std::uint64_t /*word*/) const { return true; }
};
struct DealtWords {
  std::uint32_t of;     // this GPU's number
  std::uint32_t among;  // so many
  [[nodiscard]] __device__ std::uint32_t count(std::uint32_t words) const {
    return (words + among - 1 - of) / among;
  }
  template <class Index>
  [[nodiscard]] __device__ Index word(Index i) const {
    return i * among + of;
  }
  [[nodiscard]] __device__ std::uint32_t from(std::uint32_t word) const {
    return word + (among + of - word % among) % among;
  }
  [[nodiscard]] __device__ std::uint32_t step() const { return among; }
  [[nodiscard]] __device__ bool has(std::uint64_t word) const { return word % among == of; }
};

// Calls `body(word, bits)` for the words of a set that have a bit, each by all lanes of some warp. A warp's
// words lie far apart, since neighbours' lists are alike long, and 32 of them are asked for at a time, each
// by one lane: `bits_of(word)`.
template <class BitsOf, class Body>
__device__ void for_words(const WordRange& words, const BitsOf& bits_of, const Body& body) {
  const std::uint32_t apart = warps_of_grid();
  for (std::uint32_t first = words.first + warp_of_grid(); first < words.last; first += apart * kWarpLanes) {
    const std::uint32_t own = first + apart * static_cast<std::uint32_t>(cuda::lane_of_warp());
    const std::uint32_t bits = own < words.last ? bits_of(own) : 0;
    for (std::uint32_t with = __ballot_sync(kAllLanes, bits != 0); with != 0; with &= with - 1) {
      const int lane = __ffs(static_cast<int>(with)) - 1;
      body(first + apart * static_cast<std::uint32_t>(lane), __shfl_sync(kAllLanes, bits, lane));
    }
  }
}

// The lists of a word's vertices.
template <Coding kCoding, bool kCount, class Visitor>
__device__ void visit_word(const ListsView& lists, std::uint32_t word, std::uint32_t bits, const HandOut& out,
                           ReadNote* note, Visitor& visitor) {
  for (; bits != 0; bits &= bits - 1) {
    const std::uint32_t vertex =
        word * kWarpLanes + static_cast<std::uint32_t>(__ffs(static_cast<int>(bits))) - 1;
    visit_list<kCoding, kCount>(lists, vertex, out, note, visitor);
  }
}

// The lists of a set of vertices.
template <Coding kCoding, bool kCount, class BitsOf, class Visitor>
__device__ void visit_lists(const ListsView& lists, const WordRange& words, const BitsOf& bits_of,
                            const HandOut& out, ReadNote* note, Visitor& visitor) {
  for_words(words, bits_of, [&](std::uint32_t word, std::uint32_t bits) {
    visit_word<kCoding, kCount>(lists, word, bits, out, note, visitor);
  });
}

// The same of those of `all` words that a GPU reads.
template <Coding kCoding, bool kCount, class Words, class BitsOf, class Visitor>
__device__ void visit_words(const ListsView& lists, std::uint32_t all, const Words& words,
                            const BitsOf& bits_of, const HandOut& out, ReadNote* note, Visitor& visitor) {
  for_words(
      {0, words.count(all)}, [&](std::uint32_t i) { return bits_of(words.word(i)); },
      [&](std::uint32_t i, std::uint32_t bits) {
        visit_word<kCoding, kCount>(lists, words.word(i), bits, out, note, visitor);
      });
}

// The pieces that were handed out, `count` of them.
template <Coding kCoding, bool kCount, class Visitor>
__device__ void visit_pieces(const ListsView& lists, const HandOut& out, std::uint64_t count, ReadNote* note,
                             Visitor& visitor) {
  for (std::uint64_t i = warp_of_grid(); i < count; i += warps_of_grid()) {
    const PieceItem item = out.items[i];
    const ListParts parts = parts_of<kCoding>(lists, item.vertex);
    const auto hot_pieces = static_cast<std::uint32_t>(hot_pieces_of(parts.hot.count, out.longer));
    visitor.start(item.vertex);
    if (item.piece < hot_pieces) {
      const auto elements = static_cast<std::uint32_t>(out.elements());
      const std::uint32_t first = item.piece * elements;
      const std::uint32_t count = min(elements, parts.hot.count - first);
      visit_hot<kCount>(lists, {parts.hot.begin + first, count}, note, visitor);
    } else {
      const Step piece = piece_of(parts.begin, parts.end, item.piece - hot_pieces, out.elements());
      visit_piece<kCoding, kCount>(lists, parts, piece, note, visitor);
    }
    visitor.finish(false);
  }
}

__global__ static void __launch_bounds__(kLeanThreads)
    mark_listed_vertices(ListsView lists, graph::Vertex vertices, std::uint32_t* listed,
                         unsigned long long* count) {
  const std::uint64_t all = (std::uint64_t{vertices} + kWarpLanes - 1) / kWarpLanes * kWarpLanes;
  for (std::uint64_t v = cuda::thread_of_grid(); v < all; v += cuda::threads_of_grid()) {
    const bool has_list = v < vertices && degree_of(lists, static_cast<graph::Vertex>(v)) > 0;
    const unsigned bits = __ballot_sync(kAllLanes, has_list);
    if (cuda::lane_of_warp() == 0) {
      listed[v / kWarpLanes] = bits;
      if (count != nullptr) {
        atomicAdd(count, static_cast<unsigned long long>(__popc(bits)));
      }
    }
  }
}

// Which vertices have a list, a bit each, 32 to a word, and how many (null: not wanted; cleared before).
// Waits for it.
inline void mark_listed(const ListsView& lists, graph::Vertex vertices, std::uint32_t* listed,
                        unsigned long long* count, const cuda::Stream& stream) {
  constexpr unsigned kBlocks = 512;
  mark_listed_vertices<<<kBlocks, kLeanThreads, 0, stream.get()>>>(lists, vertices, listed, count);
  cuda::check_launch("mark_listed_vertices");
  stream.synchronize();
}

}  // namespace grainscope::lean

#endif
