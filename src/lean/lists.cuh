#ifndef GRAINSCOPE_SRC_LEAN_LISTS_CUH
#define GRAINSCOPE_SRC_LEAN_LISTS_CUH

// Walks over lists, by warps: what is hot from GPU memory, the rest over the link in pieces of up to eight
// lines, all loads of which are sent out before the first neighbour is looked at. Long lists are handed out:
// their pieces are noted, and taken by whichever warp comes to them.
//
// A visitor says what is done: start(vertex) before a list or a piece of one, then visit(neighbour) by each
// lane that has one, then finish(whole), which tells whether that was the whole list; start and finish by all
// lanes.

#include <cstdint>

#include "../cuda/launch.cuh"
#include "decode.cuh"
#include "grainscope/lean/hybrid.hpp"
#include "lean_view.hpp"
#include "reads.cuh"

namespace grainscope::lean {

inline constexpr int kLeanThreads = 256;  // of a block

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

}  // namespace grainscope::lean

#endif
