// From a list of edges to compressed sparse rows, and whether a graph is what csr.hpp promises of it.
//
// 1. Arcs are scattered into buckets, each a range of vertices.
// 2. Every bucket by itself, in a core's cache: its arcs are scattered into lists, each list is sorted and
// cleaned, and the result written over the bucket's beginning.
// 3. Lengths become offsets, and the buckets' lists are joined.
// At its peak, in 1 and 3, this takes about three times the memory of the result.

#include <algorithm>
#include <functional>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "grainscope/core/error.hpp"
#include "grainscope/core/host_array.hpp"
#include "grainscope/core/thread_team.hpp"
#include "grainscope/graph/csr.hpp"
#include "parallel.hpp"
#include "readers.hpp"

namespace grainscope::graph {
namespace {

// Arcs sorted roughly, by ranges of the vertices they leave: the first half of building a graph. What follows
// then works on one range at a time, in a core's cache.
struct Buckets {
  std::uint64_t vertices = 0;
  int shift = 0;                  // vertex >> shift is its bucket
  int words = 2;                  // an arc: from, to, and with weights the weight
  std::vector<Edge> begin;        // [buckets + 1] arcs
  HostArray<std::uint32_t> arcs;  // [words * arcs]

  [[nodiscard]] std::uint64_t count() const noexcept { return begin.size() - 1; }
  [[nodiscard]] std::uint64_t arcs_in(std::uint64_t bucket) const noexcept {
    return begin[bucket + 1] - begin[bucket];
  }
  // Where a bucket's arcs stand.
  [[nodiscard]] std::uint32_t* words_of(std::uint64_t bucket) const noexcept {
    return arcs.data() + begin[bucket] * static_cast<unsigned>(words);
  }
  // Its vertices are first(bucket) … first(bucket + 1) − 1.
  [[nodiscard]] std::uint64_t first(std::uint64_t bucket) const noexcept {
    return std::min(bucket << shift, vertices);
  }
};

// Arcs that a core's cache holds with room to spare; buckets whose ends a core can write to at once; and so
// few vertices, as a power of two, that 2³² of them make no more buckets than that.
constexpr std::uint64_t kArcsABucket = 65536;
constexpr std::uint64_t kMostBuckets = 4096;
constexpr int kLargestShift = 20;

int shift_for(std::uint64_t vertices, std::uint64_t arcs) {
  const std::uint64_t wished = std::clamp<std::uint64_t>(arcs / kArcsABucket, 1, kMostBuckets);
  int shift = 0;
  while (shift < kLargestShift && (vertices >> shift) + 1 > wished && vertices >> shift != 0) {
    ++shift;
  }
  return shift;
}

[[noreturn]] void throw_no_vertex(const EdgeList& edges) {
  for (std::uint64_t i = 0; i < edges.from.size(); ++i) {
    if (edges.from[i] >= edges.vertices || edges.to[i] >= edges.vertices) {
      throw UsageError("edge " + std::to_string(i) + ", from " + std::to_string(edges.from[i]) + " to " +
                       std::to_string(edges.to[i]) + ": the graph has " + std::to_string(edges.vertices) +
                       " vertices");
    }
  }
  throw FailedError("the list of edges changed while it was read");
}

// Calls take(edge, from, to) for every arc of edges [first, last).
template <class Take>
void for_arcs(const EdgeList& edges, bool symmetrise, Share share, const Take& take) {
  for (std::size_t i = share.first; i < share.last; ++i) {
    const Vertex from = edges.from[i];
    const Vertex to = edges.to[i];
    if (from != to) {
      take(i, from, to);
      if (symmetrise) {
        take(i, to, from);
      }
    }
  }
}

// counts[part of the list][bucket]; false where an endpoint is no vertex.
bool count_arcs(const EdgeList& edges, bool symmetrise, int shift, std::vector<std::vector<Edge>>& counts) {
  bool valid = true;
#pragma omp parallel num_threads(static_cast <int>(counts.size())) reduction(&& : valid)
  {
    const int thread = omp_get_thread_num();
    std::vector<Edge>& mine = counts[thread];
    const Share share = share_of(edges.from.size(), thread, static_cast<int>(counts.size()));
    Vertex largest = 0;
    for (std::size_t i = share.first; i < share.last; ++i) {
      largest = std::max({largest, edges.from[i], edges.to[i]});
    }
    if (share.first != share.last && largest >= edges.vertices) {
      valid = false;
    } else {
      for_arcs(edges, symmetrise, share, [&](std::size_t, Vertex from, Vertex) { ++mine[from >> shift]; });
    }
  }
  return valid;
}

// Counts to places: bucket by bucket, in each the parts of the list in order.
std::vector<Edge> place(std::vector<std::vector<Edge>>& counts) {
  const std::size_t buckets = counts[0].size();
  std::vector<Edge> begin(buckets + 1);
  Edge next = 0;
  for (std::size_t bucket = 0; bucket < buckets; ++bucket) {
    begin[bucket] = next;
    for (std::vector<Edge>& part : counts) {
      next += std::exchange(part[bucket], next);
    }
  }
  begin[buckets] = next;
  return begin;
}

template <int words>
void scatter(const EdgeList& edges, bool symmetrise, int shift, std::vector<std::vector<Edge>>& places,
             std::uint32_t* arcs) {
#pragma omp parallel num_threads(static_cast <int>(places.size()))
  {
    const int thread = omp_get_thread_num();
    Edge* const mine = places[thread].data();
    const Share share = share_of(edges.from.size(), thread, static_cast<int>(places.size()));
    for_arcs(edges, symmetrise, share, [&](std::size_t i, Vertex from, Vertex to) {
      std::uint32_t* const arc = arcs + mine[from >> shift]++ * words;
      arc[0] = from;
      arc[1] = to;
      if constexpr (words == 3) {
        arc[2] = edges.weights[i];
      }
    });
  }
}

// Both directions of every edge, or the one, without self-loops. All threads. Throws
// UsageError for an endpoint that is no vertex, EnvironmentError where memory does not suffice.
Buckets fill_buckets(const EdgeList& edges, bool symmetrise) {
  Buckets buckets;
  buckets.vertices = edges.vertices;
  buckets.shift = shift_for(edges.vertices, edges.from.size() * (symmetrise ? 2 : 1));
  buckets.words = edges.weights.empty() ? 2 : 3;
  std::vector<std::vector<Edge>> counts(static_cast<std::size_t>(threads_for(edges.from.size())),
                                        std::vector<Edge>((edges.vertices >> buckets.shift) + 1));
  if (!count_arcs(edges, symmetrise, buckets.shift, counts)) {
    throw_no_vertex(edges);
  }
  buckets.begin = place(counts);
  buckets.arcs = HostArray<std::uint32_t>(buckets.begin.back() * static_cast<unsigned>(buckets.words));
  (buckets.words == 3 ? scatter<3> : scatter<2>)(edges, symmetrise, buckets.shift, counts,
                                                 buckets.arcs.data());
  return buckets;
}

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

EdgeList edges_of(Csr graph) {
  EdgeList edges;
  edges.vertices = graph.vertices();
  edges.from = HostArray<Vertex>(graph.edges());
#pragma omp parallel for schedule(dynamic, 1024)
  for (std::uint64_t v = 0; v < edges.vertices; ++v) {
    for (Edge i = graph.offsets[v]; i < graph.offsets[v + 1]; ++i) {
      edges.from[i] = static_cast<Vertex>(v);
    }
  }
  edges.to = std::move(graph.targets);
  edges.weights = std::move(graph.weights);
  return edges;
}

void require_memory(std::uint64_t bytes) {
  static_cast<void>(HostBytes(bytes));
}

void require_vertex(Vertex source, Vertex vertices) {
  if (source >= vertices) {
    throw UsageError("there is no vertex " + std::to_string(source) + " to start from: the graph has " +
                     std::to_string(vertices));
  }
}

// Holds a graph to what csr.hpp promises of it.
namespace {

constexpr std::uint64_t kNone = UINT64_MAX;

[[noreturn]] void refuse(const Csr& graph, const std::string& what) {
  throw FailedError("the graph " + (graph.name.empty() ? "" : "'" + graph.name + "' ") +
                    "is damaged: " + what);
}

void check_offsets(const Csr& graph) {
  if (graph.offsets.empty()) {
    if (graph.edges() != 0) {
      refuse(graph, "it has edges and no offsets");
    }
    return;
  }
  if (graph.offsets.size() - 1 > UINT32_MAX) {
    refuse(graph, "its vertices do not fit in 32 bits");
  }
  if (graph.offsets[0] != 0) {
    refuse(graph, "the first offset is " + std::to_string(graph.offsets[0]));
  }
  std::uint64_t falling = kNone;
#pragma omp parallel for reduction(min : falling) if (graph.vertices() > kWorthThreads)
  for (std::uint64_t v = 0; v < graph.vertices(); ++v) {
    if (v < falling && graph.offsets[v] > graph.offsets[v + 1]) {
      falling = v;
    }
  }
  if (falling != kNone) {
    refuse(graph, "its offsets fall behind vertex " + std::to_string(falling));
  }
  if (graph.offsets[graph.vertices()] != graph.edges()) {
    refuse(graph, "the last offset is " + std::to_string(graph.offsets[graph.vertices()]) +
                      ", its edges are " + std::to_string(graph.edges()));
  }
}

}  // namespace

void check_csr(const Csr& graph) {
  if (graph.weighted() && graph.weights.size() != graph.edges()) {
    refuse(graph, "it has " + std::to_string(graph.weights.size()) + " weights for " +
                      std::to_string(graph.edges()) + " edges");
  }
  check_offsets(graph);
  if (const auto fault = first_list_fault(graph)) {
    refuse(graph, "in the list of vertex " + std::to_string(fault->vertex) + ": " + fault->what);
  }
  const auto fault = graph.directed ? std::nullopt : first_unpaired(graph);
  if (fault) {
    refuse(graph,
           "the edge from " + std::to_string(fault->vertex) + " to " +
               std::to_string(graph.targets[fault->entry]) +
               (fault->other_weight ? " has another weight the other way round"
                                    : " is not there the other way round, though the graph is undirected"));
  }
}

VertexRange range_of_part(const Csr& graph, Division division, int part, int parts) {
  if (part < 0 || part >= parts) {
    throw UsageError("there is no part " + std::to_string(part) + " of " + std::to_string(parts) +
                     ": they are counted from 0");
  }
  constexpr std::uint64_t kWord = 32;  // vertices whose state is one word
  const std::uint64_t words = (graph.vertices() + kWord - 1) / kWord;
  const auto begin = [&](int of) -> Vertex {
    const auto share = static_cast<std::uint64_t>(of);
    std::uint64_t word = words * share / static_cast<std::uint64_t>(parts);
    if (division == Division::edges) {
      // The first word before which so many edges lie.
      const Edge edges = graph.edges() / static_cast<std::uint64_t>(parts) * share;
      std::uint64_t low = 0;
      for (word = words; low < word;) {
        const std::uint64_t middle = low + (word - low) / 2;
        if (graph.offsets[middle * kWord] < edges) {
          low = middle + 1;
        } else {
          word = middle;
        }
      }
    }
    return static_cast<Vertex>(std::min<std::uint64_t>(word * kWord, graph.vertices()));
  };
  return {part == 0 ? 0 : begin(part), part + 1 == parts ? graph.vertices() : begin(part + 1)};
}

}  // namespace grainscope::graph
