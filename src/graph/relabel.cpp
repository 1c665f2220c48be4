// The same graph under other numbers, and the other way round.

#include <algorithm>
#include <string>
#include <vector>

#include "edge_chunks.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/graph/build.hpp"
#include "inverse_order.hpp"
#include "list_sort.hpp"
#include "require_memory.hpp"
#include "threads.hpp"

namespace grainscope::graph {
namespace {

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

}  // namespace grainscope::graph
