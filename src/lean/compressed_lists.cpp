#include "grainscope/lean/compressed_lists.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <string>

#include "grainscope/core/error.hpp"
#include "grainscope/lean/lean_sssp.hpp"
#include "grainscope/lean/steps.hpp"
#include "line_codes.hpp"

namespace grainscope::lean {
namespace {

using graph::Csr;
using graph::Vertex;
using graph::Weight;

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

}  // namespace grainscope::lean
