// What a mini-batch must be, whatever was drawn.

#include <algorithm>
#include <array>
#include <atomic>

#include "grainscope/core/error.hpp"
#include "grainscope/gnn/sampling.hpp"

namespace grainscope::gnn {
namespace {

using graph::Csr;
using graph::Vertex;

[[noreturn]] void refuse(const std::string& what) {
  throw FailedError("wrong result: a sampled mini-batch: " + what);
}

void require(bool holds, const std::string& what) {
  if (!holds) {
    refuse(what);
  }
}

// Whether destination `i` of a layer has as many different neighbours as it should. Marks them as reached.
bool fits(const Csr& neighbours, const MiniBatch& sampled, const Layer& layer, std::uint64_t i, int fanout,
          std::uint32_t nodes, std::vector<std::uint8_t>& reached) {
  const auto list = neighbours.neighbours(sampled.nodes[i]);
  const std::uint64_t begin = layer.offsets[i];
  const std::uint64_t end = layer.offsets[i + 1];
  if (end < begin ||
      end - begin != std::min<std::uint64_t>(list.size(), static_cast<std::uint64_t>(fanout)) ||
      end > layer.sources.size()) {
    return false;
  }
  std::array<std::uint32_t, kMostFanout> copied;
  const std::span sources(copied.data(), end - begin);
  std::copy_n(layer.sources.data() + begin, sources.size(), sources.data());
  for (const std::uint32_t source : sources) {
    if (source >= nodes || !std::binary_search(list.begin(), list.end(), sampled.nodes[source])) {
      return false;
    }
    std::atomic_ref(reached[source]).store(1, std::memory_order_relaxed);
  }
  std::sort(sources.begin(), sources.end());
  return std::adjacent_find(sources.begin(), sources.end()) == sources.end();
}

void certify_layer(const Csr& neighbours, const MiniBatch& sampled, std::size_t hop, int fanout) {
  const Layer& layer = sampled.layers[hop];
  const std::uint32_t destinations = sampled.nodes_upto[hop];
  const std::uint32_t nodes = sampled.nodes_upto[hop + 1];
  const std::string where = "layer " + std::to_string(hop) + ": ";
  require(layer.offsets.size() == std::uint64_t{destinations} + 1 && layer.offsets.front() == 0 &&
              layer.offsets.back() == layer.sources.size(),
          where + "its offsets do not frame its sources");
  std::vector<std::uint8_t> reached(nodes);
  std::uint64_t wrong = UINT64_MAX;
#pragma omp parallel for schedule(dynamic, 256) reduction(min : wrong) if (destinations > 1024)
  for (std::uint64_t i = 0; i < destinations; ++i) {
    if (!fits(neighbours, sampled, layer, i, fanout, nodes, reached)) {
      wrong = std::min(wrong, i);
    }
  }
  require(wrong == UINT64_MAX, where + "destination " + std::to_string(wrong) +
                                   " does not have as many different neighbours as it should");
  const auto unreached = std::find(reached.begin() + destinations, reached.end(), 0);
  require(unreached == reached.end(),
          where + "node " + std::to_string(unreached - reached.begin()) + " is not reached by any edge");
}

void certify_nodes(const Csr& neighbours, std::span<const int> fanouts, std::span<const Vertex> seeds,
                   const MiniBatch& sampled) {
  const auto& nodes = sampled.nodes;
  const auto& upto = sampled.nodes_upto;
  require(upto.size() == fanouts.size() + 1 && sampled.layers.size() == fanouts.size(),
          "it does not have as many hops as fan-outs");
  require(upto.front() == seeds.size() && upto.back() == nodes.size() &&
              std::is_sorted(upto.begin(), upto.end()) &&
              std::equal(seeds.begin(), seeds.end(), nodes.begin()),
          "its first nodes are not the seeds");
  for (std::size_t hop = 0; hop < fanouts.size(); ++hop) {
    require(std::is_sorted(nodes.begin() + upto[hop], nodes.begin() + upto[hop + 1]),
            "what hop " + std::to_string(hop) + " adds is not ascending");
  }
  std::vector<Vertex> sorted = nodes;
  std::sort(sorted.begin(), sorted.end());
  require(std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end(), "a node is there twice");
  require(sorted.back() < neighbours.vertices(), "a node is no vertex");
}

}  // namespace

std::string certify_sample(const Csr& neighbours, std::span<const int> fanouts, std::span<const Vertex> seeds,
                           const MiniBatch& sampled) {
  require_fanouts(fanouts);
  require_seeds(seeds, neighbours.vertices());
  certify_nodes(neighbours, fanouts, seeds, sampled);
  std::uint64_t edges = 0;
  for (std::size_t hop = 0; hop < fanouts.size(); ++hop) {
    certify_layer(neighbours, sampled, hop, fanouts[hop]);
    edges += sampled.layers[hop].sources.size();
  }
  require(edges == sampled.sampled_edges, "its number of edges is not that of its layers");
  return "every destination has the right number of different neighbours, and the nodes are what they reach";
}

}  // namespace grainscope::gnn
