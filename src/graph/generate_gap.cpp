// GAP's synthetic graphs, bit for bit (sbeamer/gapbs, generator.h).
//
// Edges come in blocks of 2^18, each from an engine of its own, seeded with 27491095 + its number. urand: two
// uniform vertices an edge. kron: Graph500's quadrants 0.57, 0.19, 0.19, 0.05, one draw a level, most
// significant bit first; then the vertices are renumbered by a shuffle. Weights, by blocks likewise: 1 … 255.

#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

#include "generators.hpp"
#include "mersenne.hpp"
#include "permutation.hpp"

namespace grainscope::graph {
namespace {

constexpr std::uint64_t kBlock = std::uint64_t{1} << 18;

// Calls block(first, count, engine) for every block of `edges` edges and returns the largest of what they
// return. All threads.
template <class Block>
Vertex for_blocks(std::uint64_t edges, const Block& block) {
  const std::uint64_t blocks = (edges + kBlock - 1) / kBlock;
  Vertex largest = 0;
#pragma omp parallel for schedule(dynamic, 1) reduction(max : largest)
  for (std::uint64_t b = 0; b < blocks; ++b) {
    Mersenne random(kGapSeed + static_cast<std::uint32_t>(b));
    const std::uint64_t first = b * kBlock;
    largest = std::max<Vertex>(largest, block(first, std::min(kBlock, edges - first), random));
  }
  return largest;
}

// The two bits that a draw stands for, in one word: the first endpoint's from bit 16 on, the second's from
// bit 0 on, so that up to 16 levels add up in one word.
constexpr int kLevelsAWord = 16;
constexpr std::uint32_t bits_of_draw(std::uint32_t draw) {
  constexpr auto kA = static_cast<std::uint32_t>(0.57 * Mersenne::max());
  constexpr auto kB = static_cast<std::uint32_t>(0.19 * Mersenne::max());
  const std::uint32_t lower = draw >= kA + kB ? 1 : 0;
  const std::uint32_t right = lower != 0 ? draw > kA + kB + kB : draw > kA;
  return lower << kLevelsAWord | right;
}

// Reads `scale` words an edge and puts the endpoints together.
void join_levels(const std::uint32_t* bits, int scale, std::uint64_t edges, Vertex* from, Vertex* to) {
  const int first = std::min(scale, kLevelsAWord);
  const int rest = scale - first;
  constexpr std::uint32_t kLow = (1U << kLevelsAWord) - 1;
  for (std::uint64_t e = 0; e < edges; ++e) {
    std::uint32_t high = 0;
    std::uint32_t low = 0;
    for (int level = 0; level < first; ++level) {
      high = 2 * high + *bits++;
    }
    for (int level = 0; level < rest; ++level) {
      low = 2 * low + *bits++;
    }
    from[e] = (high >> kLevelsAWord) << rest | low >> kLevelsAWord;
    to[e] = (high & kLow) << rest | (low & kLow);
  }
}

// Draws whole batches that make whole edges: the least common multiple of 624 and the scale.
void kron_block(int scale, std::uint64_t count, Mersenne& random, Vertex* from, Vertex* to) {
  const int batches = scale / std::gcd(scale, Mersenne::kBatch);
  const auto edges = static_cast<std::uint64_t>(batches) * Mersenne::kBatch / static_cast<unsigned>(scale);
  std::vector<std::uint32_t> bits(static_cast<std::size_t>(batches) * Mersenne::kBatch);
  for (std::uint64_t done = 0; done < count; done += edges) {
    for (int batch = 0; batch < batches; ++batch) {
      const Mersenne::Batch& draws = random.next_batch();
      std::uint32_t* const out = bits.data() + std::size_t{Mersenne::kBatch} * batch;
      for (int i = 0; i < Mersenne::kBatch; ++i) {
        out[i] = bits_of_draw(draws[i]);
      }
    }
    join_levels(bits.data(), scale, std::min(edges, count - done), from + done, to + done);
  }
}

Vertex renumber(Vertex* ends, std::uint64_t count, const HostArray<Vertex>& numbers) {
  constexpr std::uint64_t kAhead = 32;  // most of the numbers lie beyond the cache of a core
  Vertex largest = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    if (i + kAhead < count) {
      __builtin_prefetch(numbers.data() + ends[i + kAhead]);
    }
    ends[i] = numbers[ends[i]];
    largest = std::max(largest, ends[i]);
  }
  return largest;
}

}  // namespace

EdgeList kron_edges(int scale, int degree) {
  EdgeList edges = unfilled_list(scale, degree);
  const HostArray<Vertex> numbers = shuffled_identity(std::uint64_t{1} << scale, kGapSeed);
  edges.vertices =
      std::uint64_t{1} + for_blocks(edges.from.size(), [&](auto first, auto count, Mersenne& random) {
        Vertex* const from = edges.from.data() + first;
        Vertex* const to = edges.to.data() + first;
        kron_block(scale, count, random, from, to);
        return std::max(renumber(from, count, numbers), renumber(to, count, numbers));
      });
  return edges;
}

EdgeList urand_edges(int scale, int degree) {
  EdgeList edges = unfilled_list(scale, degree);
  const GapUniform uniform(Mersenne::max(), std::uint32_t{1} << scale);
  edges.vertices =
      std::uint64_t{1} + for_blocks(edges.from.size(), [&](auto first, auto count, Mersenne& random) {
        Vertex largest = 0;
        for (std::uint64_t i = first; i < first + count; ++i) {
          edges.from[i] = uniform(random);
          edges.to[i] = uniform(random);
          largest = std::max({largest, edges.from[i], edges.to[i]});
        }
        return largest;
      });
  return edges;
}

void add_gap_weights(EdgeList& edges) {
  edges.weights = HostArray<Weight>(edges.from.size());
  const GapUniform uniform(Mersenne::max(), 255);
  for_blocks(edges.from.size(), [&](auto first, auto count, Mersenne& random) {
    for (std::uint64_t i = first; i < first + count; ++i) {
      edges.weights[i] = uniform(random) + 1;
    }
    return Vertex{0};
  });
}

}  // namespace grainscope::graph
