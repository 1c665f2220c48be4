#include "grainscope/lean/compressed_lists.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <string>

#include "grainscope/core/error.hpp"
#include "grainscope/lean/lean_sssp.hpp"
#include "grainscope/lean/steps.hpp"

namespace grainscope::lean {
namespace {

using graph::Csr;
using graph::Vertex;
using graph::Weight;

constexpr int kWordBits = 32;
constexpr int kLineBits = static_cast<int>(kLineElements) * kWordBits;
constexpr std::uint64_t kManyVertices = 1 << 12;  // that a team of threads is worth

// `counted`: lines tell how many neighbours they hold.
struct Format {
  int id_bits;
  int weight_bits;
  bool counted;
  [[nodiscard]] int head() const { return (counted ? kCountBits : 0) + id_bits + weight_bits; }
};

// A list's neighbours that are to be compressed, and their weights or none.
struct Source {
  std::span<const Vertex> ids;
  std::span<const Weight> weights;
};

struct LinePlan {
  std::uint32_t count = 0;
  int bits = 0;
  std::array<std::uint8_t, kMostOfLine / kBlockElements> widths{};
};

// As many neighbours as a line has room for.
LinePlan plan_line(std::span<const Vertex> ids, Format format) {
  LinePlan line{1, format.head(), {}};
  const auto most = static_cast<std::uint32_t>(std::min<std::size_t>(ids.size(), kMostOfLine));
  for (std::size_t block = 0; line.count < most; ++block) {
    const std::uint32_t first = line.count;
    const int before = line.bits + kWidthBits;
    int width = 0;
    for (std::uint32_t i = first; i < most && i < first + kBlockElements; ++i) {
      width = std::max(width, static_cast<int>(std::bit_width(ids[i] - ids[i - 1] - 1)));
      const int bits = before + static_cast<int>(i + 1 - first) * (width + format.weight_bits);
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

std::uint64_t words_of_bits(int bits) {
  return static_cast<std::uint64_t>((bits + kWordBits - 1) / kWordBits);
}

// Words that a list takes; more than a line's where its lines are counted.
std::uint64_t measure(std::span<const Vertex> ids, Format format) {
  if (ids.empty()) {
    return 0;
  }
  format.counted = false;
  if (const LinePlan line = plan_line(ids, format); line.count == ids.size()) {
    return words_of_bits(line.bits);
  }
  format.counted = true;
  std::uint64_t lines = 0;
  while (true) {
    const LinePlan line = plan_line(ids, format);
    ids = ids.subspan(line.count);
    if (ids.empty()) {
      return std::max(lines * kLineElements + words_of_bits(line.bits), kLineElements + 1);
    }
    ++lines;
  }
}

class BitWriter {
 public:
  explicit BitWriter(std::uint32_t* words) : words_(words) {}
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

 private:
  std::uint32_t* words_;  // cleared
  int at_ = 0;
};

void write_line(const Source& list, const LinePlan& line, Format format, std::uint32_t* words) {
  BitWriter writer(words);
  const auto weight_of = [&](std::uint32_t i) { return format.weight_bits > 0 ? list.weights[i] : 0; };
  writer.put(line.count - 1, format.counted ? kCountBits : 0);
  writer.put(list.ids[0], format.id_bits);
  writer.put(weight_of(0), format.weight_bits);
  const auto put_neighbour = [&](std::uint32_t i) {
    writer.put(list.ids[i] - list.ids[i - 1] - 1, line.widths[(i - 1) / kBlockElements]);
    writer.put(weight_of(i), format.weight_bits);
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

void write_list(Source list, Format format, std::uint32_t* words) {
  while (!list.ids.empty()) {
    const LinePlan line = plan_line(list.ids, format);
    write_line(list, line, format, words);
    list.ids = list.ids.subspan(line.count);
    list.weights = list.weights.empty() ? list.weights : list.weights.subspan(line.count);
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
  result.weight_bits = weights ? std::max(1, weight_bits(graph)) : 0;
  const auto source = [&](std::uint64_t vertex) {
    const auto v = static_cast<Vertex>(vertex);
    const std::uint64_t hot = tier != nullptr ? tier->of(v) : 0;
    return Source{graph.neighbours(v).subspan(hot),
                  weights ? graph.weights_of(v).subspan(hot) : std::span<const Weight>{}};
  };
  const std::uint64_t vertices = graph.vertices();
  result.elements = graph.edges() - (tier != nullptr ? tier->elements() : 0);
  HostArray<std::uint64_t> sizes(vertices);
  const Format format{result.id_bits, result.weight_bits, false};
#pragma omp parallel for schedule(dynamic, 256) if (vertices >= kManyVertices)
  for (std::uint64_t v = 0; v < vertices; ++v) {
    sizes[v] = measure(source(v).ids, format);
  }
  result.places = HostArray<ListPlace>(vertices);
  std::uint64_t at = 0;
  for (std::uint64_t v = 0; v < vertices; ++v) {
    at = place_after(at, sizes[v]);
    if (sizes[v] >= ListPlace::kMostWords || at + sizes[v] >= ListPlace::kMostBegin) {
      throw SkipError("lists of more than 128 MiB, or more than 1 TiB of them, cannot be compressed");
    }
    result.places[v] = {at, sizes[v], static_cast<std::uint32_t>(source(v).ids.size())};
    at += sizes[v];
  }
  // Untouched memory is zero: only bits that are set are written. Words are one list's alone.
  result.words = HostArray<std::uint32_t>((at + kLineElements - 1) / kLineElements * kLineElements);
#pragma omp parallel for schedule(dynamic, 256) if (vertices >= kManyVertices)
  for (std::uint64_t v = 0; v < vertices; ++v) {
    Format of_list = format;
    of_list.counted = result.places[v].is_long();
    write_list(source(v), of_list, result.words.data() + result.places[v].begin());
  }
  return result;
}

Step words_of(const Csr& graph, const HotTier* tier, const CompressedLists* compressed, Vertex v) {
  if (compressed != nullptr) {
    return {compressed->places[v].begin(), compressed->places[v].end()};
  }
  return {graph.offsets[v] + (tier != nullptr ? tier->of(v) : 0), graph.offsets[v + std::uint64_t{1}]};
}

}  // namespace grainscope::lean
