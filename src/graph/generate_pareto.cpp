// An undirected graph whose degrees follow a Pareto law from the first vertex to the last, without kron's
// empty half: what hit rates of tiers are shown on.
//
// The law (Chung and Lu, Annals of Combinatorics 6, 2002): the vertex of rank r = 0 … n − 1 has the weight
// (r / n)^(−3/4), so that the share x of the vertices with the most edges has the share x^(1/4) of all ends:
// 1 % has 32 %, as the dissertation (4.4.2) says of ogbn-papers100M, and of 2^scale vertices the share that
// has at least k edges falls as k^(−4/3). Each of the degree × 2^scale edges draws both its ends by weight;
// repeats and self-loops go when the graph is built, which takes from the hubs. Ranks are spread over the
// numbers of vertices by a bijection, so that the original order is not already the one by degree.
//
// Everything is a hash of a seed and the edge's number: nothing depends on the machine.

#include "generators.hpp"
#include "hash.hpp"

namespace grainscope::graph {
namespace {

constexpr std::uint64_t kSeed = mixed(18970101);  // Pareto's Cours d'économie politique
constexpr int kRounds = 4;

// The upper half of a square: of a number from 0 to 1, counted in 2⁻⁶⁴.
std::uint64_t squared(std::uint64_t x) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::uint64_t>((static_cast<Wide>(x) * x) >> 64);
}

// A bijection of 0 … 2^scale − 1: each step is one.
std::uint64_t spread(std::uint64_t rank, int scale) {
  const std::uint64_t mask = (std::uint64_t{1} << scale) - 1;
  for (int round = 0; round < kRounds; ++round) {
    const std::uint64_t random = mixed(kSeed + static_cast<std::uint64_t>(round));
    rank = (rank * (random | 1) + (random >> 32)) & mask;
    rank ^= rank >> ((scale + 1) / 2);
  }
  return rank;
}

Vertex drawn(std::uint64_t random, int scale) {
  const std::uint64_t rank = squared(squared(random)) >> (64 - scale);
  return static_cast<Vertex>(spread(rank, scale));
}

}  // namespace

EdgeList pareto_edges(int scale, int degree) {
  EdgeList edges = unfilled_list(scale, degree);
#pragma omp parallel for
  for (std::uint64_t edge = 0; edge < edges.from.size(); ++edge) {
    const std::uint64_t random = mixed(kSeed ^ edge);
    edges.from[edge] = drawn(random, scale);
    edges.to[edge] = drawn(mixed(random), scale);
  }
  return edges;
}

}  // namespace grainscope::graph
