#include "sample_graphs.hpp"

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

namespace {

// Some graphs are named by the ends of their edges alone; weights 1..16 follow from them.
Csr from_ends(const std::string& name, Vertex vertices,
              const std::vector<std::pair<std::uint32_t, std::uint32_t>>& ends, bool directed) {
  std::vector<Triple> edges;
  for (const auto& [from, to] : ends) {
    edges.push_back({from, to, 1 + (from * 7 + to * 5) % 16});
  }
  Csr graph = weighted_graph(vertices, edges, directed);
  graph.name = name;
  return graph;
}

}  // namespace

Csr weighted_graph(Vertex vertices, const std::vector<Triple>& edges, bool directed) {
  Csr graph = build_csr(edge_list(vertices, edges, true), {!directed});
  graph.name = "test";
  return graph;
}

std::vector<BothWays> sample_graphs(bool directed) {
  std::vector<BothWays> graphs;
  const auto add = [&](const std::string& name, Vertex vertices, const auto& ends) {
    graphs.emplace_back(from_ends(name, vertices, ends, directed));
  };
  std::vector<std::pair<std::uint32_t, std::uint32_t>> path;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> star;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> clique;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> tree;
  for (std::uint32_t v = 1; v < 40; ++v) {
    path.emplace_back(v - 1, v);
    star.emplace_back(17, v == 17 ? 0 : v);
    tree.emplace_back((v - 1) / 2, v);
    for (std::uint32_t u = 0; u < v && v < 9; ++u) {
      clique.emplace_back(u, v);
    }
  }
  add("no_edges", 5, decltype(path){});
  add("single", 1, decltype(path){});
  add("path", 40, path);
  add("star", 40, star);
  add("clique", 9, clique);
  add("tree", 40, tree);
  path.emplace_back(39, 0);
  add("circle", 40, path);
  clique.emplace_back(12, 13);
  clique.emplace_back(13, 15);
  add("parts", 17, clique);
  std::vector<std::pair<std::uint32_t, std::uint32_t>> long_path;
  for (std::uint32_t v = 1; v < 700; ++v) {
    long_path.emplace_back((v - 1) * 11 % 700, v * 11 % 700);
  }
  add("long_path", 700, long_path);
  for (std::uint32_t seed = 1; seed <= 6; ++seed) {
    for (const bool hubs : {false, true}) {
      const Vertex vertices = 40 * seed * seed;
      graphs.emplace_back(
          weighted_graph(vertices, random_edges(vertices, vertices * seed / 2, seed, hubs), directed));
      graphs.back().graph.name = (hubs ? "hubs" : "even") + std::to_string(seed);
    }
  }
  return graphs;
}

Csr bridged_parts() {
  std::vector<Triple> edges{{5, 400, 1}, {400, 401, 1}};
  for (std::uint32_t v = 0; v < 400; ++v) {
    for (std::uint32_t apart = 1; apart <= 40; ++apart) {
      edges.push_back({v, (v + apart) % 400, 1});
    }
  }
  for (std::uint32_t v = 401; v < 501; ++v) {
    for (std::uint32_t u = v + 1; u < 501; ++u) {
      edges.push_back({v, u, 1});
    }
  }
  return weighted_graph(501, edges, false);
}

std::vector<BothWays> all_sample_graphs() {
  std::vector<BothWays> graphs = sample_graphs(false);
  for (BothWays& directed : sample_graphs(true)) {
    directed.graph.name += "_directed";
    graphs.push_back(std::move(directed));
  }
  return graphs;
}

std::vector<BothWays> every_graph(Vertex vertices, bool directed, const std::vector<Weight>& weights) {
  std::vector<std::pair<Vertex, Vertex>> pairs;
  for (Vertex v = 0; v < vertices; ++v) {
    for (Vertex u = directed ? 0 : v + 1; u < vertices; ++u) {
      if (u != v) {
        pairs.emplace_back(v, u);
      }
    }
  }
  std::mt19937 random(1);
  std::vector<BothWays> graphs;
  for (std::uint32_t chosen = 0; chosen < 1U << pairs.size(); ++chosen) {
    std::vector<Triple> edges;
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      if ((chosen >> i & 1U) != 0) {
        edges.push_back({pairs[i].first, pairs[i].second, weights[random() % weights.size()]});
      }
    }
    graphs.emplace_back(weighted_graph(vertices, edges, directed));
  }
  return graphs;
}

std::vector<std::vector<std::uint32_t>> all_pairs(const Csr& graph, bool unit) {
  const Vertex count = graph.vertices();
  std::vector<std::vector<std::uint32_t>> far(count, std::vector<std::uint32_t>(count, kUnreached));
  for (const auto& [from, to, weight] : entries(graph)) {
    far[from][to] = unit ? 1 : weight;
  }
  for (Vertex v = 0; v < count; ++v) {
    far[v][v] = 0;
  }
  for (Vertex by = 0; by < count; ++by) {
    for (Vertex from = 0; from < count; ++from) {
      for (Vertex to = 0; to < count; ++to) {
        const std::uint64_t over = std::uint64_t{far[from][by]} + far[by][to];
        far[from][to] = static_cast<std::uint32_t>(std::min<std::uint64_t>(far[from][to], over));
      }
    }
  }
  return far;
}

}  // namespace grainscope::graph
