#include "grainscope/model/lean_cc.hpp"

#include <algorithm>
#include <array>
#include <map>

#include "grainscope/core/error.hpp"
#include "lean_lists.hpp"

namespace grainscope::model {
namespace {

using graph::Csr;
using graph::Vertex;
using lean::kSampledNeighbours;
using lean::Step;

constexpr std::uint64_t kPairs = lean::kWarpLanes / lean::kPairLanes;

std::uint64_t at_a_time(const TieredLists& lists) {
  return lists.compressed != nullptr ? lean::kWarpLanes / lean::kTeamLanes : kPairs;
}

// Trees in which a parent is never higher than its child.
class Forest {
 public:
  explicit Forest(Vertex vertices) : parents_(vertices) {
    for (Vertex v = 0; v < vertices; ++v) {
      parents_[v] = v;
    }
  }
  Vertex root(Vertex v) {
    while (parents_[v] != v) {
      v = parents_[v] = parents_[parents_[v]];
    }
    return v;
  }
  void join(Vertex u, Vertex v) {
    const Vertex one = root(u);
    const Vertex other = root(v);
    parents_[std::max(one, other)] = std::min(one, other);
  }
  [[nodiscard]] std::vector<Vertex> roots() {
    std::vector<Vertex> roots(parents_.size());
    for (Vertex v = 0; v < roots.size(); ++v) {
      roots[v] = root(v);
    }
    return roots;
  }

 private:
  std::vector<Vertex> parents_;
};

// The first neighbours of some vertices, by a warp: sixteen, or of compressed lists four.
void sample(const TieredLists& lists, std::uint64_t turn, LeanCc& cc) {
  std::array<Step, kPairs> steps;
  std::size_t reading = 0;
  const std::uint64_t together = at_a_time(lists);
  const std::uint64_t vertices = lists.lists->vertices();
  for (std::uint64_t v = turn * together; v < std::min((turn + 1) * together, vertices); ++v) {
    const List list = list_of(lists, static_cast<Vertex>(v));
    const std::uint64_t hot = std::min(list.hot, kSampledNeighbours);
    const std::uint64_t cold = std::min(kSampledNeighbours - hot, list.cold.to - list.cold.from);
    cc.sampling_hot += hot;
    cc.sampling.elements += cold;
    if (cold > 0) {
      steps[reading++] = lists.compressed != nullptr ? lean::first_step(list.words.from, list.words.to)
                                                     : Step{list.words.from, list.words.from + cold};
    }
  }
  if (reading > 0) {
    add_load({steps.data(), reading}, cc.sampling);
  }
}

Vertex largest(const std::vector<Vertex>& roots) {
  std::map<Vertex, int> counts;
  for (std::uint32_t i = 0; i < lean::kSampledVertices; ++i) {
    ++counts[roots[lean::sampled_vertex(i, static_cast<Vertex>(roots.size()))]];
  }
  // Of several the lowest.
  return std::max_element(counts.begin(), counts.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; })
      ->first;
}

}  // namespace

Requests LeanCc::total() const {
  Requests all = sampling;
  all += rest;
  return all;
}

LeanCc replay_cc(const TieredLists& lists) {
  const Csr& graph = *lists.lists;
  if (graph.directed) {
    throw UsageError("components are those of an undirected graph");
  }
  LeanCc cc;
  if (graph.vertices() == 0) {
    return cc;
  }
  Forest forest(graph.vertices());
  for (std::uint64_t turn = 0; turn * at_a_time(lists) < graph.vertices(); ++turn) {
    sample(lists, turn, cc);
  }
  for (Vertex v = 0; v < graph.vertices(); ++v) {
    for (const Vertex u : graph.neighbours(v).first(std::min(kSampledNeighbours, graph.degree(v)))) {
      forest.join(v, u);
    }
  }
  const std::vector<Vertex> sampled = forest.roots();
  const Vertex most = largest(sampled);
  for (Vertex v = 0; v < graph.vertices(); ++v) {
    if (sampled[v] == most || graph.degree(v) <= kSampledNeighbours) {
      continue;
    }
    ++cc.outside;
    const List list = list_of(lists, v);
    cc.rest_hot += list.hot;
    add_list(list, cc.rest);
    for (const Vertex u : graph.neighbours(v)) {
      forest.join(v, u);
    }
  }
  cc.labels = forest.roots();
  return cc;
}

}  // namespace grainscope::model
