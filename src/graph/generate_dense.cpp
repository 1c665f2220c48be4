// A dense graph without hubs, in the manner of MOLIERE_2016 (Sybrandt, Shtutman and Safro, KDD 2017: 30.2
// million terms and abstracts, mean degree 222, nearly no edge at a vertex of a low degree): a page of host
// memory holds few lists, and nearly every list is several lines long.
//
// The law: vertex v draws between half and one and a half times `degree` links. In every 64 vertices each of
// 64 steps between these is taken once, by number `v xor a hash of v / 64`, so the number of edges is
// degree × 2^scale to the edge. Half of the links, by a hash, go to v's topic, the 4096 vertices with the
// same upper bits, half to any vertex. Symmetrised, v has about as many links again from others: at degree
// 128 the lists are between 150 and 370 long and 254 in the mean, for scales from 13 on.
//
// Everything is a hash of a seed, the vertex and the link's number: nothing depends on the machine.

#include <algorithm>

#include "generators.hpp"
#include "hash.hpp"

namespace grainscope::graph {
namespace {

constexpr std::uint64_t kSeed = mixed(20160817);
constexpr std::uint64_t kGroup = 64;
constexpr std::uint64_t kTopic = 4096;

// Links of the first `rank` vertices of a group of `size`, from half of `degree` upwards.
constexpr std::uint64_t links_before(std::uint64_t rank, std::uint64_t size, std::uint64_t degree) {
  return degree * rank * (size + rank) / (2 * size);
}

Vertex end_of_link(std::uint64_t v, std::uint64_t link, std::uint64_t vertices) {
  const std::uint64_t random = mixed(mixed(kSeed ^ v) + link);
  const std::uint64_t topic = std::min(kTopic, vertices);
  const bool in_topic = (random & 1) != 0;
  const std::uint64_t first = in_topic ? v & ~(topic - 1) : 0;
  return static_cast<Vertex>(first + below(random, static_cast<std::uint32_t>(in_topic ? topic : vertices)));
}

}  // namespace

EdgeList dense_edges(int scale, int degree) {
  EdgeList edges = unfilled_list(scale, degree);
  const auto draws = static_cast<std::uint64_t>(degree);
  const std::uint64_t group = std::min(kGroup, edges.vertices);
#pragma omp parallel for schedule(dynamic, 1024)
  for (std::uint64_t v = 0; v < edges.vertices; ++v) {
    const std::uint64_t rank = (v ^ mixed(~kSeed ^ (v / group))) & (group - 1);
    const std::uint64_t place = v / group * group * draws;
    const std::uint64_t first = links_before(rank, group, draws);
    const std::uint64_t past = links_before(rank + 1, group, draws);
    for (std::uint64_t link = first; link < past; ++link) {
      edges.from[place + link] = static_cast<Vertex>(v);
      edges.to[place + link] = end_of_link(v, link - first, edges.vertices);
    }
  }
  return edges;
}

}  // namespace grainscope::graph
