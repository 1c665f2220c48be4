// Edges to compressed sparse rows.
//
// 1. Arcs are scattered into buckets, each a range of vertices (buckets.cpp).
// 2. Every bucket by itself, in a core's cache: its arcs are scattered into lists, each list is sorted and
//    cleaned, and the result written over the bucket's beginning.
// 3. Lengths become offsets, and the buckets' lists are joined.
// At its peak, in 1 and 3, this takes about three times the memory of the result.

#include "grainscope/graph/build.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include "buckets.hpp"
#include "grainscope/core/error.hpp"
#include "list_sort.hpp"

namespace grainscope::graph {
namespace {

// Drops repeats from a sorted list; the lowest weight stays. What is left.
std::size_t clean(Neighbour* list, std::size_t count) {
  return static_cast<std::size_t>(std::unique(list, list + count) - list);
}
std::size_t clean(WeightedNeighbour* list, std::size_t count) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (kept != 0 && neighbour_of(list[kept - 1]) == neighbour_of(list[i])) {
      list[kept - 1] = std::min(list[kept - 1], list[i]);
    } else {
      list[kept++] = list[i];
    }
  }
  return kept;
}

// The element of an arc {from, to, weight}.
template <class Element>
Element element_of(const std::uint32_t* arc) {
  if constexpr (sizeof(Element) == 4) {
    return arc[1];
  } else {
    return static_cast<Element>(arc[1]) << 32 | arc[2];
  }
}

// What one thread needs to finish buckets; grows with the largest it met.
template <class Element>
struct Workplace {
  std::vector<Edge> ends;  // [vertices of a bucket + 1]
  std::vector<Element> lists;
  std::vector<Element> spare;

  // Scatters `count` arcs into lists; afterwards the list of vertex v of the bucket is [ends[v], ends[v +
  // 1]).
  void scatter(const std::uint32_t* arcs, std::uint64_t count, Vertex first, std::uint64_t vertices) {
    constexpr std::size_t kWords = sizeof(Element) == 4 ? 2 : 3;
    ends.assign(vertices + 2, 0);
    for (std::uint64_t i = 0; i < count; ++i) {
      ++ends[arcs[i * kWords] - first + std::size_t{2}];
    }
    std::partial_sum(ends.begin(), ends.end(), ends.begin());
    lists.resize(std::max<std::size_t>(lists.size(), count));
    spare.resize(lists.size());
    for (std::uint64_t i = 0; i < count; ++i) {
      lists[ends[arcs[i * kWords] - first + std::size_t{1}]++] = element_of<Element>(arcs + i * kWords);
    }
  }
};

// Writes a bucket's lists, one behind the other, over its arcs: neighbours first, weights from word `count`
// on. The length of v's list goes to offsets[v + 1].
template <class Element>
void finish(Workplace<Element>& place, std::uint32_t* arcs, std::uint64_t count, Vertex first,
            std::uint64_t vertices, Edge* offsets) {
  place.scatter(arcs, count, first, vertices);
  std::uint64_t done = 0;
  for (std::uint64_t v = 0; v < vertices; ++v) {
    Element* const list = place.lists.data() + place.ends[v];
    const std::size_t length = place.ends[v + 1] - place.ends[v];
    sort_list(list, length, place.spare.data());
    const std::size_t kept = clean(list, length);
    for (std::size_t i = 0; i < kept; ++i) {
      arcs[done + i] = neighbour_of(list[i]);
      if constexpr (sizeof(Element) == 8) {
        arcs[count + done + i] = static_cast<Weight>(list[i]);
      }
    }
    done += kept;
    offsets[first + v + 1] = kept;
  }
}

template <class Element>
void finish_all(Buckets& buckets, std::uint64_t vertices, Edge* offsets) {
#pragma omp parallel
  {
    Workplace<Element> place;
#pragma omp for schedule(dynamic, 1)
    for (std::uint64_t b = 0; b < buckets.count(); ++b) {
      const std::uint64_t first = b << buckets.shift;
      const std::uint64_t past = std::min(vertices, (b + 1) << buckets.shift);
      if (first < past) {
        finish(place, buckets.arcs.data() + buckets.begin[b] * static_cast<unsigned>(buckets.words),
               buckets.begin[b + 1] - buckets.begin[b], static_cast<Vertex>(first), past - first, offsets);
      }
    }
  }
}

void join(const Buckets& buckets, Csr& graph) {
#pragma omp parallel for schedule(dynamic, 1)
  for (std::uint64_t b = 0; b < buckets.count(); ++b) {
    const std::uint64_t first = std::min<std::uint64_t>(graph.vertices(), b << buckets.shift);
    const std::uint64_t past = std::min<std::uint64_t>(graph.vertices(), (b + 1) << buckets.shift);
    const Edge begin = graph.offsets[first];
    const std::uint64_t bytes = (graph.offsets[past] - begin) * sizeof(std::uint32_t);
    const std::uint32_t* const lists =
        buckets.arcs.data() + buckets.begin[b] * static_cast<unsigned>(buckets.words);
    if (bytes != 0) {
      std::memcpy(graph.targets.data() + begin, lists, bytes);
    }
    if (bytes != 0 && graph.weighted()) {
      std::memcpy(graph.weights.data() + begin, lists + (buckets.begin[b + 1] - buckets.begin[b]), bytes);
    }
  }
}

}  // namespace

Csr build_csr(EdgeList edges, const BuildOptions& options) {
  const std::uint64_t vertices = edges.vertices;
  if (vertices > UINT32_MAX || edges.to.size() != edges.from.size() ||
      (!edges.weights.empty() && edges.weights.size() != edges.from.size())) {
    throw UsageError("building a graph of " + std::to_string(vertices) + " vertices from " +
                     std::to_string(edges.from.size()) + " first and " + std::to_string(edges.to.size()) +
                     " second ends and " + std::to_string(edges.weights.size()) +
                     " weights: at most 2^32 - 1 vertices, and as many of each");
  }
  const bool weighted = !edges.weights.empty();
  Csr graph;
  graph.directed = !options.symmetrise;
  graph.offsets = HostArray<Edge>(vertices + 1);
  Buckets buckets = fill_buckets(std::move(edges), options.symmetrise);
  (weighted ? finish_all<WeightedNeighbour> : finish_all<Neighbour>)(buckets, vertices, graph.offsets.data());
  std::partial_sum(graph.offsets.begin(), graph.offsets.end(), graph.offsets.begin());
  graph.targets = HostArray<Vertex>(graph.offsets[vertices]);
  graph.weights = HostArray<Weight>(weighted ? graph.targets.size() : 0);
  join(buckets, graph);
  return graph;
}

}  // namespace grainscope::graph
