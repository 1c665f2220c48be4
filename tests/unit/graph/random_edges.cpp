#include "random_edges.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <utility>

namespace grainscope::graph {

EdgeList edge_list(std::uint64_t vertices, const std::vector<Triple>& edges, bool weighted) {
  EdgeList list{vertices, HostArray<Vertex>(edges.size()), HostArray<Vertex>(edges.size()),
                HostArray<Weight>(weighted ? edges.size() : 0)};
  for (std::size_t i = 0; i < edges.size(); ++i) {
    list.from[i] = edges[i][0];
    list.to[i] = edges[i][1];
    if (weighted) {
      list.weights[i] = edges[i][2];
    }
  }
  return list;
}

std::vector<Triple> random_edges(std::uint32_t vertices, std::size_t count, std::uint32_t seed, bool hubs) {
  std::mt19937 random(seed);
  const auto draw = [&](std::uint32_t bound) { return static_cast<std::uint32_t>(random() % bound); };
  const auto end = [&] {
    std::uint32_t v = draw(vertices);
    for (int again = 0; hubs && again < 3; ++again) {
      v = draw(v + 1);
    }
    return v;
  };
  std::vector<Triple> edges(count);
  for (Triple& edge : edges) {
    edge[0] = end();
    edge[1] = end();
    edge[2] = 1 + draw(16);
  }
  return edges;
}

std::vector<Triple> entries(const Csr& graph) {
  std::vector<Triple> all;
  for (Vertex v = 0; v < graph.vertices(); ++v) {
    for (Edge i = graph.offsets[v]; i < graph.offsets[v + std::uint64_t{1}]; ++i) {
      all.push_back({v, graph.targets[i], graph.weighted() ? graph.weights[i] : 0});
    }
  }
  return all;
}

void expect_same(const Csr& one, const Csr& other) {
  EXPECT_EQ(one.name, other.name);
  EXPECT_EQ(one.directed, other.directed);
  EXPECT_EQ(one.weighted(), other.weighted());
  EXPECT_EQ(one.vertices(), other.vertices());
  EXPECT_EQ(entries(one), entries(other));
}

std::vector<Triple> expected_entries(const std::vector<Triple>& edges, bool symmetrise, bool weighted) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> lowest;
  const auto add = [&](std::uint32_t from, std::uint32_t to, std::uint32_t weight) {
    if (from != to) {
      const auto [place, is_new] = lowest.emplace(std::pair(from, to), weight);
      place->second = std::min(place->second, weight);
    }
  };
  for (const auto& [from, to, weight] : edges) {
    add(from, to, weighted ? weight : 0);
    if (symmetrise) {
      add(to, from, weighted ? weight : 0);
    }
  }
  std::vector<Triple> all;
  for (const auto& [ends, weight] : lowest) {
    all.push_back({ends.first, ends.second, weight});
  }
  return all;
}

}  // namespace grainscope::graph
