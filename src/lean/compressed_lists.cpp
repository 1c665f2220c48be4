// Compressed adjacency lists: which coding is the shorter for each line, how a line is written, and how it
// is read again. Words are a string of bits, the lowest of the first word first.

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "grainscope/core/error.hpp"
#include "grainscope/lean/lists.hpp"
#include "grainscope/lean/run.hpp"

namespace grainscope::lean {
namespace {

using graph::Csr;
using graph::Vertex;
using graph::Weight;

// That so many bits take.
constexpr int words_of_bits(int bits) {
  return (bits + kWordBits - 1) / kWordBits;
}

class BitWriter {
 public:
  explicit BitWriter(std::uint32_t* words) : words_(words) {}  // cleared
  void put(std::uint32_t value, int bits) {
    if (bits == 0) {
      return;
    }
    const int shift = at_ % kWordBits;
    words_[at_ / kWordBits] |= value << shift;
    if (shift + bits > kWordBits) {
      words_[at_ / kWordBits + 1] |= value >> (kWordBits - shift);
    }
    at_ += bits;
  }
  // So many zeros and a one.
  void put_zeros(std::uint32_t zeros) {
    at_ += static_cast<int>(zeros);
    put(1, 1);
  }

 private:
  std::uint32_t* words_;
  int at_ = 0;
};

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
  // How many zeros are before the next one, which is taken too.
  std::uint32_t take_zeros() {
    std::uint32_t zeros = 0;
    while (take(1) == 0) {
      ++zeros;
    }
    return zeros;
  }

 private:
  const std::uint32_t* words_;
  int at_ = 0;
};

// What lines of compressed lists are written in and read back by on the CPU: gaps by
// blocks, or edges with weights. Both plan a line, as many neighbours as it has room for, write what was
// planned, and read it. `counted`: a line tells how many neighbours it holds.

// Of a list what is to be compressed; weights or none.
struct ListRest {
  std::span<const graph::Vertex> ids;
  std::span<const graph::Weight> weights;

  [[nodiscard]] ListRest behind(std::size_t count) const {
    return {ids.subspan(count), weights.empty() ? weights : weights.subspan(count)};
  }
};

class GapLines {
 public:
  struct Plan {
    std::uint32_t count = 0;
    int bits = 0;
    std::array<std::uint8_t, kMostOfLine / kBlockElements> widths{};
  };

  explicit GapLines(const CompressedLists& lists) : id_bits_(lists.id_bits) {}
  // Of a list that has a neighbour.
  [[nodiscard]] Plan plan(const ListRest& list, bool counted) const;
  // `words`: cleared.
  void write(const ListRest& list, const Plan& line, bool counted, std::uint32_t* words) const;
  // A line of `count` neighbours, behind its count, goes to the end of `all`.
  void read(std::uint32_t count, BitReader& bits, Neighbours& all) const;

 private:
  int id_bits_;
};

class EdgeLines {
 public:
  struct Plan {
    std::uint32_t count = 0;
    int bits = 0;
    int width = 0;
  };

  explicit EdgeLines(const CompressedLists& lists) : id_bits_(lists.id_bits), weights_(lists.weights) {}
  [[nodiscard]] Plan plan(const ListRest& list, bool counted) const;
  void write(const ListRest& list, const Plan& line, bool counted, std::uint32_t* words) const;
  void read(std::uint32_t count, BitReader& bits, Neighbours& all) const;

 private:
  // Edge i of a list, behind another.
  [[nodiscard]] std::uint32_t number_of(const ListRest& list, std::size_t i) const {
    const std::uint32_t gap = list.ids[i] - list.ids[i - 1] - 1;
    return weights_.beside_bits > 0 ? gap : gap * weights_.range + (list.weights[i] - weights_.least);
  }

  int id_bits_;
  WeightCode weights_;
};

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

constexpr std::uint64_t kManyVertices = 1 << 12;  // that a team of threads is worth

// Words that a list takes; more than a line's where its lines are counted, since one that is counted has no
// more room than one that is not.
template <class Lines>
std::uint64_t measure(const Lines& lines, ListRest rest) {
  if (rest.ids.empty()) {
    return 0;
  }
  if (const auto line = lines.plan(rest, false); line.count == rest.ids.size()) {
    return static_cast<std::uint64_t>(words_of_bits(line.bits));
  }
  std::uint64_t full = 0;
  while (true) {
    const auto line = lines.plan(rest, true);
    rest = rest.behind(line.count);
    if (rest.ids.empty()) {
      return full * kLineElements + static_cast<std::uint64_t>(words_of_bits(line.bits));
    }
    ++full;
  }
}

template <class Lines>
void write_list(const Lines& lines, ListRest rest, bool counted, std::uint32_t* words) {
  while (!rest.ids.empty()) {
    const auto line = lines.plan(rest, counted);
    lines.write(rest, line, counted, words);
    rest = rest.behind(line.count);
    words += kLineElements;
  }
}

// Where a list of so many words goes that comes after others which end at `at`: within a sector, or from the
// beginning of one and within a line, or from the beginning of a line.
std::uint64_t place_after(std::uint64_t at, std::uint64_t words) {
  const auto up = [](std::uint64_t from, std::uint64_t to) { return (from + to - 1) / to * to; };
  if (words > kSectorElements || at % kSectorElements + words > kSectorElements) {
    at = up(at, kSectorElements);
  }
  return at % kLineElements + words > kLineElements ? up(at, kLineElements) : at;
}

// The lists that `rest_of` gives, in lines of one code.
template <class Lines, class RestOf>
void write_lists(const Lines& lines, const RestOf& rest_of, std::uint64_t vertices, CompressedLists& to) {
  HostArray<std::uint64_t> sizes(vertices);
#pragma omp parallel for schedule(dynamic, 256) if (vertices >= kManyVertices)
  for (std::uint64_t v = 0; v < vertices; ++v) {
    sizes[v] = measure(lines, rest_of(v));
  }
  to.places = HostArray<ListPlace>(vertices);
  std::uint64_t at = 0;
  for (std::uint64_t v = 0; v < vertices; ++v) {
    at = place_after(at, sizes[v]);
    if (sizes[v] >= ListPlace::kMostWords || at + sizes[v] >= ListPlace::kMostBegin) {
      throw SkipError("lists of more than 128 MiB, or more than 1 TiB of them, cannot be compressed");
    }
    to.places[v] = {at, sizes[v], static_cast<std::uint32_t>(rest_of(v).ids.size())};
    at += sizes[v];
  }
  // Untouched memory is zero: only bits that are set are written. Words are one list's alone.
  to.words = HostArray<std::uint32_t>((at + kLineElements - 1) / kLineElements * kLineElements);
#pragma omp parallel for schedule(dynamic, 256) if (vertices >= kManyVertices)
  for (std::uint64_t v = 0; v < vertices; ++v) {
    write_list(lines, rest_of(v), to.places[v].is_long(), to.words.data() + to.places[v].begin());
  }
}

// Of the weights that a graph has.
WeightCode weight_code(const Csr& graph) {
  const WeightBounds bounds = weight_bounds(graph);
  const std::uint64_t range = std::uint64_t{bounds.most} - bounds.least + 1;
  const int bits = static_cast<int>(std::bit_width(range - 1));
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint32_t>::max();
  if (range > kMost / std::max<std::uint64_t>(1, graph.vertices())) {
    return {bounds.least, 1, 0, bits, bits};
  }
  return {bounds.least, static_cast<std::uint32_t>(range),
          range > 1 ? std::numeric_limits<std::uint64_t>::max() / range + 1 : 0, bits, 0};
}

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

std::uint64_t CompressedLists::bytes_read() const {
  std::uint64_t sectors = 0;
  for (const ListPlace& place : places) {
    sectors += sectors_of({place.begin(), place.end()});
  }
  return sectors * kSectorElements * sizeof(std::uint32_t);
}

void require_ids(std::uint64_t vertices) {
  if (vertices > std::uint64_t{1} << kMostIdBits) {
    throw SkipError("lists of a graph of " + std::to_string(vertices) + " vertices, more than 2^" +
                    std::to_string(kMostIdBits) + ", cannot be compressed");
  }
}

CompressedLists compress(const Csr& graph, const HotTier* tier, bool weights) {
  CompressedLists result;
  require_ids(graph.vertices());
  result.id_bits = vertex_bits(graph);
  if (weights && !graph.weighted() && graph.edges() > 0) {
    throw UsageError("the graph has no weights to compress");
  }
  result.elements = graph.edges() - (tier != nullptr ? tier->elements() : 0);
  const auto rest_of = [&](std::uint64_t vertex) {
    const auto v = static_cast<Vertex>(vertex);
    return ListRest{graph.neighbours(v), weights ? graph.weights_of(v) : std::span<const Weight>{}}.behind(
        tier != nullptr ? tier->of(v) : 0);
  };
  if (weights) {
    result.weights = weight_code(graph);
    write_lists(EdgeLines(result), rest_of, graph.vertices(), result);
  } else {
    write_lists(GapLines(result), rest_of, graph.vertices(), result);
  }
  return result;
}

Step words_of(const Csr& graph, const HotTier* tier, const CompressedLists* compressed, Vertex v) {
  if (compressed != nullptr) {
    return {compressed->places[v].begin(), compressed->places[v].end()};
  }
  return {graph.offsets[v] + (tier != nullptr ? tier->of(v) : 0), graph.offsets[v + std::uint64_t{1}]};
}

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
