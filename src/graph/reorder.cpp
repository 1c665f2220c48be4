// The same graph under other numbers, and the other way round; orders by degree and by how near vertices are
// to sources.

#include <algorithm>
#include <atomic>
#include <numeric>
#include <parallel/algorithm>
#include <span>
#include <string>
#include <vector>

#include "grainscope/core/error.hpp"
#include "grainscope/core/host_array.hpp"
#include "grainscope/graph/answers.hpp"
#include "grainscope/graph/csr.hpp"
#include "grainscope/graph/generate.hpp"
#include "parallel.hpp"

namespace grainscope::graph {
namespace {

[[noreturn]] void throw_no_permutation(std::span<const Vertex> order) {
  std::vector<bool> seen(order.size());
  for (std::size_t v = 0; v < order.size(); ++v) {
    const bool outside = order[v] >= order.size();
    if (outside || seen[order[v]]) {
      throw UsageError("an order that is no permutation: entry " + std::to_string(v) + ", " +
                       std::to_string(order[v]) + (outside ? ", is no vertex" : ", is repeated"));
    }
    seen[order[v]] = true;
  }
  throw FailedError("the order changed while it was read");
}

// Fills the lists of `result`, whose offsets stand, from those of `graph`.
template <class Element>
void fill_lists(const Csr& graph, std::span<const Vertex> order, const HostArray<Vertex>& inverse,
                const Csr& result) {
  const EdgeChunks chunks(result);
#pragma omp parallel if (chunks.size() > 1)
  {
    std::vector<Element> list;
    std::vector<Element> spare;
#pragma omp for schedule(dynamic)
    for (std::uint64_t chunk = 0; chunk < chunks.size(); ++chunk) {
      const Vertex last = chunks.first(chunk + 1);
      for (Vertex v = chunks.first(chunk); v < last; ++v) {
        list.clear();
        for (Edge i = graph.offsets[order[v]]; i < graph.offsets[order[v] + std::uint64_t{1}]; ++i) {
          list.push_back(
              element_of<Element>(inverse[graph.targets[i]], graph.weighted() ? graph.weights[i] : 0));
        }
        spare.resize(std::max(spare.size(), list.size()));
        sort_list(list.data(), list.size(), spare.data());
        write_list(list.data(), list.size(), result.targets.data() + result.offsets[v],
                   result.weights.data() + (result.weighted() ? result.offsets[v] : 0));
      }
    }
  }
}

Csr unfilled_like(const Csr& graph) {
  require_memory(graph.offsets.bytes() + graph.targets.bytes() + graph.weights.bytes());
  return {graph.name, graph.directed, HostArray<Edge>(graph.offsets.size()),
          HostArray<Vertex>(graph.targets.size()), HostArray<Weight>(graph.weights.size())};
}

template <class T>
void copy_array(const HostArray<T>& from, const HostArray<T>& to) {
#pragma omp parallel for if (from.size() > kWorthThreads)
  for (std::uint64_t i = 0; i < from.size(); ++i) {
    to[i] = from[i];
  }
}

EdgeList turned_edges(const Csr& graph) {
  require_memory(2 * graph.targets.bytes() + graph.weights.bytes());
  EdgeList edges{graph.vertices(), HostArray<Vertex>(graph.edges()), HostArray<Vertex>(graph.edges()),
                 HostArray<Weight>(graph.weights.size())};
  copy_array(graph.targets, edges.from);
  copy_array(graph.weights, edges.weights);
  for_all(graph, [&](Vertex v) { std::fill_n(edges.to.data() + graph.offsets[v], graph.degree(v), v); });
  return edges;
}

}  // namespace

HostArray<Vertex> inverse_order(std::span<const Vertex> order) {
  HostArray<Vertex> inverse(order.size());
  bool good = true;
#pragma omp parallel for reduction(&& : good) if (order.size() > kWorthThreads)
  for (std::size_t v = 0; v < order.size(); ++v) {
    if (order[v] < order.size()) {
      std::atomic_ref(inverse[order[v]]).store(static_cast<Vertex>(v), std::memory_order_relaxed);
    }
    good = good && order[v] < order.size();
  }
  if (!good) {
    throw_no_permutation(order);
  }
  // Of a number that is repeated only one entry is found again.
#pragma omp parallel for reduction(&& : good) if (order.size() > kWorthThreads)
  for (std::size_t v = 0; v < order.size(); ++v) {
    good = good && inverse[order[v]] == v;
  }
  if (!good) {
    throw_no_permutation(order);
  }
  return inverse;
}

Csr transpose(const Csr& graph) {
  if (graph.directed) {
    Csr turned = build_csr(turned_edges(graph), {.symmetrise = false});
    turned.name = graph.name;
    return turned;
  }
  Csr same = unfilled_like(graph);
  copy_array(graph.offsets, same.offsets);
  copy_array(graph.targets, same.targets);
  copy_array(graph.weights, same.weights);
  return same;
}

Csr relabel(const Csr& graph, std::span<const Vertex> order) {
  if (order.size() != graph.vertices()) {
    throw UsageError("relabelling " + std::to_string(graph.vertices()) + " vertices by an order of " +
                     std::to_string(order.size()));
  }
  const HostArray<Vertex> inverse = inverse_order(order);
  Csr result = unfilled_like(graph);
  for (std::size_t v = 0; v < order.size(); ++v) {
    result.offsets[v + 1] = result.offsets[v] + graph.degree(order[v]);
  }
  (graph.weighted() ? fill_lists<WeightedNeighbour> : fill_lists<Neighbour>)(graph, order, inverse, result);
  return result;
}

std::vector<std::uint32_t> looked_up(std::span<const std::uint32_t> table,
                                     std::span<const std::uint32_t> indices) {
  std::vector<std::uint32_t> values;
  values.reserve(indices.size());
  wish_for_huge_pages(values.data(), indices.size_bytes());
  values.resize(indices.size());
#pragma omp parallel for if (indices.size() > kWorthThreads)
  for (std::size_t i = 0; i < indices.size(); ++i) {
    values[i] = indices[i] < table.size() ? table[indices[i]] : indices[i];
  }
  return values;
}

namespace {

constexpr int kTieRounds = 2;  // a third changes hardly anything

struct Scored {
  double score = 0;
  Vertex tie = 0;
  Vertex vertex = 0;
};

// Vertices by score, the highest first; of one score by what decides ties, the lowest first, then by number.
std::vector<Vertex> highest_first(HostArray<Scored>& scored) {
  // No two are equivalent, so the order is the same for any number of threads.
  __gnu_parallel::sort(scored.begin(), scored.end(), [](const Scored& a, const Scored& b) {
    if (a.score != b.score) {
      return a.score > b.score;
    }
    return a.tie != b.tie ? a.tie < b.tie : a.vertex < b.vertex;
  });
  std::vector<Vertex> order(scored.size());
#pragma omp parallel for if (order.size() > kFewVertices)
  for (std::size_t i = 0; i < order.size(); ++i) {
    order[i] = scored[i].vertex;
  }
  return order;
}

// No scores yet.
HostArray<Scored> unscored(Vertex vertices) {
  HostArray<Scored> scored(vertices);
#pragma omp parallel for if (vertices > kFewVertices)
  for (Vertex v = 0; v < vertices; ++v) {
    scored[v] = {0, 0, v};
  }
  return scored;
}

std::vector<Vertex> degree_order(const Csr& graph) {
  HostArray<Scored> scored(graph.vertices());
  const auto by_degree = [&](const auto& tie) {
#pragma omp parallel for schedule(dynamic, 4096) if (graph.vertices() > kFewVertices)
    for (Vertex v = 0; v < graph.vertices(); ++v) {
      scored[v] = {static_cast<double>(graph.degree(v)), tie(v), v};
    }
    return highest_first(scored);
  };
  std::vector<Vertex> order = by_degree([](Vertex) { return Vertex{0}; });
  for (int round = 0; round < kTieRounds; ++round) {
    const HostArray<Vertex> places = inverse_order(order);
    order = by_degree([&](Vertex v) {
      Vertex first = graph.vertices();
      for (const Vertex neighbour : graph.neighbours(v)) {
        first = std::min(first, places[neighbour]);
      }
      return first;
    });
  }
  return order;
}

// A vertex's terms are added source by source, so the sums do not depend on the number of threads.
std::vector<Vertex> halo_like_order(const Csr& graph, int samples) {
  if (samples < 1) {
    throw UsageError("the halo_like order needs at least one sample, not " + std::to_string(samples));
  }
  HostArray<Scored> scored = unscored(graph.vertices());
  if (graph.edges() == 0) {
    return highest_first(scored);
  }
  for (const Vertex source : gap_sources(graph, samples)) {
    double depth = 0;
    run_levels(graph, Algorithm::bfs, source, [&](std::span<const Vertex> active) {
      const double term = 1 / (1 + depth++);
#pragma omp parallel for if (active.size() > kFewVertices)
      for (const Vertex v : active) {
        scored[v].score += term;
      }
    });
  }
  return highest_first(scored);
}

}  // namespace

const char* name(Order order) {
  switch (order) {
    case Order::original:
      return "original";
    case Order::degree:
      return "degree";
    case Order::halo_like:
      return "halo_like";
  }
  return "?";
}

std::vector<Vertex> order_of(const Csr& graph, Order order, int samples) {
  switch (order) {
    case Order::degree:
      return degree_order(graph);
    case Order::halo_like:
      return halo_like_order(graph, samples);
    case Order::original:
      break;
  }
  std::vector<Vertex> order_kept(graph.vertices());
  std::iota(order_kept.begin(), order_kept.end(), Vertex{0});
  return order_kept;
}

}  // namespace grainscope::graph
