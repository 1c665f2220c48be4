// The oracle of neighbour sampling: one thread, a set for each destination's places, a sort for each hop.

#include <algorithm>
#include <set>

#include "grainscope/gnn/random.hpp"
#include "grainscope/gnn/sampling.hpp"

namespace grainscope::gnn {
namespace {

using graph::Csr;
using graph::Vertex;

constexpr std::uint32_t kNowhere = UINT32_MAX;

// The neighbours that `vertex` keeps.
std::vector<Vertex> kept(const Csr& neighbours, Vertex vertex, std::uint64_t fanout, std::uint64_t key) {
  const auto list = neighbours.neighbours(vertex);
  if (list.size() <= fanout) {
    return {list.begin(), list.end()};
  }
  std::vector<Vertex> result;
  std::set<std::uint64_t> taken;
  const std::uint64_t stream = vertex_key(key, vertex);
  for (std::uint64_t i = 0; i < fanout; ++i) {
    const std::uint64_t last = list.size() - fanout + i;
    const std::uint64_t place = random_below(stream, i, static_cast<std::uint32_t>(last + 1));
    const std::uint64_t chosen = taken.contains(place) ? last : place;
    taken.insert(chosen);
    result.push_back(list[chosen]);
  }
  return result;
}

}  // namespace

MiniBatch serial_sample(const Csr& neighbours, const SampleRequest& request, std::span<const Vertex> seeds,
                        std::uint64_t batch) {
  require_fanouts(request.fanouts);
  require_seeds(seeds, neighbours.vertices());
  MiniBatch result;
  std::vector<std::uint32_t> index_of(neighbours.vertices(), kNowhere);
  for (const Vertex seed : seeds) {
    index_of[seed] = static_cast<std::uint32_t>(result.nodes.size());
    result.nodes.push_back(seed);
  }
  result.nodes_upto.push_back(static_cast<std::uint32_t>(result.nodes.size()));
  for (std::size_t hop = 0; hop < request.fanouts.size(); ++hop) {
    const std::uint64_t key = hop_key(request.seed, batch, hop);
    Layer layer;
    layer.offsets.push_back(0);
    std::set<Vertex> fresh;
    for (const Vertex vertex : result.nodes) {
      for (const Vertex source :
           kept(neighbours, vertex, static_cast<std::uint64_t>(request.fanouts[hop]), key)) {
        layer.sources.push_back(source);
        if (index_of[source] == kNowhere) {
          fresh.insert(source);
        }
      }
      layer.offsets.push_back(layer.sources.size());
    }
    for (const Vertex vertex : fresh) {
      index_of[vertex] = static_cast<std::uint32_t>(result.nodes.size());
      result.nodes.push_back(vertex);
    }
    for (std::uint32_t& source : layer.sources) {
      source = index_of[source];
    }
    result.nodes_upto.push_back(static_cast<std::uint32_t>(result.nodes.size()));
    result.sampled_edges += layer.sources.size();
    result.layers.push_back(std::move(layer));
  }
  return result;
}

}  // namespace grainscope::gnn
