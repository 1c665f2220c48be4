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

// How many of a list's cold neighbours are sampled where `hot` are from its hot part.
std::uint64_t cold_samples(const TieredLists& lists, Vertex v, const List& list, std::uint64_t hot) {
  const std::uint64_t wanted = std::min(kSampledNeighbours - hot, list.cold.to - list.cold.from);
  return lists.compressed != nullptr && wanted > 1 ? lean::first_words_count(*lists.compressed, v) : wanted;
}

// The first neighbours of sixteen vertices, by a warp.
void sample(const TieredLists& lists, std::uint64_t turn, LeanCc& cc, Forest& forest) {
  std::array<Step, kPairs> steps;
  std::size_t reading = 0;
  const std::uint64_t vertices = lists.lists->vertices();
  for (std::uint64_t i = turn * kPairs; i < std::min((turn + 1) * kPairs, vertices); ++i) {
    const auto v = static_cast<Vertex>(i);
    const List list = list_of(lists, v);
    const std::uint64_t hot = std::min(list.hot, kSampledNeighbours);
    const std::uint64_t cold = cold_samples(lists, v, list, hot);
    cc.sampling_hot += hot;
    cc.sampling.elements += cold;
    if (cold > 0) {
      // Of compressed lists two words, whatever is wanted of them.
      const std::uint64_t words = lists.compressed != nullptr ? lean::kPairLanes : cold;
      steps[reading++] = {list.words.from, std::min(list.words.from + words, list.words.to)};
    }
    for (const Vertex u : lists.lists->neighbours(v).first(hot + cold)) {
      forest.join(v, u);
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
  for (std::uint64_t turn = 0; turn * kPairs < graph.vertices(); ++turn) {
    sample(lists, turn, cc, forest);
  }
  const std::vector<Vertex> sampled = forest.roots();
  const Vertex most = largest(sampled);
  const std::uint64_t sure =
      lean::surely_sampled(lists.compressed != nullptr ? lists.compressed->id_bits : 0);
  for (Vertex v = 0; v < graph.vertices(); ++v) {
    if (sampled[v] == most || graph.degree(v) <= sure) {
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
