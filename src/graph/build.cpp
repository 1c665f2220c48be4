// Edges to compressed sparse rows.
//
// 1. Arcs are scattered into buckets, each a range of vertices (buckets.cpp).
// 2. Every bucket by itself, in a core's cache: its arcs are scattered into lists, each list is sorted and
//    cleaned, and the result written over the bucket's beginning.
// 3. Lengths become offsets, and the buckets' lists are joined.
// At its peak, in 1 and 3, this takes about three times the memory of the result.

#include "grainscope/graph/build.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "buckets.hpp"
#include "grainscope/core/error.hpp"
#include "list_sort.hpp"
#include "require_memory.hpp"
#include "threads.hpp"

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

// What one thread needs to finish buckets; grows with the largest it met.
template <class Element>
struct Workplace {
  std::vector<Edge> ends;  // [vertices of a bucket + 1]
  std::vector<Element> lists;
  std::vector<Element> spare;

  // Scatters `count` arcs into lists; afterwards that of the bucket's vertex v goes from ends[v] to ends[v +
  // 1].
  void scatter(const std::uint32_t* arcs, std::uint64_t count, std::uint64_t first, std::uint64_t vertices) {
    constexpr std::size_t kWords = sizeof(Element) == 4 ? 2 : 3;
    ends.assign(vertices + 2, 0);
    for (std::uint64_t i = 0; i < count; ++i) {
      ++ends[arcs[i * kWords] - first + 2];
    }
    std::partial_sum(ends.begin(), ends.end(), ends.begin());
    lists.resize(std::max<std::size_t>(lists.size(), count));
    spare.resize(lists.size());
    for (std::uint64_t i = 0; i < count; ++i) {
      lists[ends[arcs[i * kWords] - first + 1]++] =
          element_of<Element>(arcs[i * kWords + 1], arcs[i * kWords + kWords - 1]);
    }
  }
};

// Writes a bucket's lists, one behind the other, over its arcs: neighbours first, weights from word `count`
// on. The length of v's list goes to offsets[v + 1].
template <class Element>
void finish(Workplace<Element>& place, std::uint32_t* arcs, std::uint64_t count, std::uint64_t first,
            std::uint64_t vertices, Edge* offsets) {
  place.scatter(arcs, count, first, vertices);
  std::uint64_t done = 0;
  for (std::uint64_t v = 0; v < vertices; ++v) {
    Element* const list = place.lists.data() + place.ends[v];
    const std::size_t length = place.ends[v + 1] - place.ends[v];
    sort_list(list, length, place.spare.data());
    const std::size_t kept = clean(list, length);
    write_list(list, kept, arcs + done, arcs + count + done);
    done += kept;
    offsets[first + v + 1] = kept;
  }
}

// What the workplaces of `threads` threads take at most: each has met another largest bucket.
std::uint64_t workplace_bytes(const Buckets& buckets, int threads, std::uint64_t element_bytes) {
  std::vector<Edge> sizes(buckets.count());
  for (std::uint64_t b = 0; b < buckets.count(); ++b) {
    sizes[b] = buckets.arcs_in(b);
  }
  std::sort(sizes.begin(), sizes.end(), std::greater<>());
  sizes.resize(std::min(sizes.size(), static_cast<std::size_t>(threads)));
  return std::accumulate(sizes.begin(), sizes.end(), Edge{0}) * 2 * element_bytes;
}

template <class Element>
void finish_all(const Buckets& buckets, Edge* offsets) {
  const int threads = threads_for(buckets.begin.back());
  require_memory(workplace_bytes(buckets, threads, sizeof(Element)));
#pragma omp parallel num_threads(threads)
  {
    Workplace<Element> place;
#pragma omp for schedule(dynamic)
    for (std::uint64_t b = 0; b < buckets.count(); ++b) {
      finish(place, buckets.words_of(b), buckets.arcs_in(b), buckets.first(b),
             buckets.first(b + 1) - buckets.first(b), offsets);
    }
  }
}

void join(const Buckets& buckets, const Csr& graph) {
#pragma omp parallel for schedule(dynamic) num_threads(threads_for(graph.edges()))
  for (std::uint64_t b = 0; b < buckets.count(); ++b) {
    const Edge begin = graph.offsets[buckets.first(b)];
    const std::uint64_t count = graph.offsets[buckets.first(b + 1)] - begin;
    const std::uint32_t* const lists = buckets.words_of(b);
    std::copy_n(lists, count, graph.targets.data() + begin);
    if (graph.weighted()) {
      std::copy_n(lists + buckets.arcs_in(b), count, graph.weights.data() + begin);
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
  const Buckets buckets = fill_buckets(edges, options.symmetrise);
  edges = {};  // its memory is needed for what follows
  (weighted ? finish_all<WeightedNeighbour> : finish_all<Neighbour>)(buckets, graph.offsets.data());
  std::partial_sum(graph.offsets.begin(), graph.offsets.end(), graph.offsets.begin());
  require_memory(graph.offsets[vertices] * (weighted ? 8 : 4));
  graph.targets = HostArray<Vertex>(graph.offsets[vertices]);
  graph.weights = HostArray<Weight>(weighted ? graph.targets.size() : 0);
  join(buckets, graph);
  return graph;
}

}  // namespace grainscope::graph
