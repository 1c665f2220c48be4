// A graph under the numbers of a ranking: dissertation 4.2.2.

#include <algorithm>
#include <atomic>
#include <utility>

#include "grainscope/core/error.hpp"
#include "grainscope/gnn/tiers.hpp"

namespace grainscope::gnn {
namespace {

using graph::Csr;
using graph::Edge;
using graph::Vertex;
using graph::Weight;

constexpr std::uint64_t kChunk = 1024;  // vertices that a thread takes at a time
constexpr std::uint64_t kAhead = 16;    // entries whose new numbers are fetched in advance

void require_permutation(std::span<const Vertex> new_of_old, Vertex vertices) {
  bool good = new_of_old.size() == vertices;
  HostArray<std::uint8_t> taken(vertices);
#pragma omp parallel for reduction(&& : good) if (vertices > 65536)
  for (std::size_t v = 0; v < new_of_old.size(); ++v) {
    good = good && new_of_old[v] < vertices &&
           std::atomic_ref(taken[new_of_old[v]]).exchange(1, std::memory_order_relaxed) == 0;
  }
  if (!good) {
    throw UsageError("reordering " + std::to_string(vertices) + " vertices by a map of " +
                     std::to_string(new_of_old.size()) + " entries that is no permutation of them");
  }
}

// From degrees, entry v + 1 holding that of v, to offsets: sums of chunks, then within each.
void add_up(const HostArray<Edge>& offsets) {
  const std::uint64_t chunks = (offsets.size() + kChunk - 1) / kChunk;
  std::vector<Edge> begins(chunks);
#pragma omp parallel for if (chunks > 1)
  for (std::uint64_t chunk = 0; chunk < chunks; ++chunk) {
    const Edge* const first = offsets.data() + chunk * kChunk;
    const Edge* const last = offsets.data() + std::min(offsets.size(), (chunk + 1) * kChunk);
    for (const Edge* degree = first; degree < last; ++degree) {
      begins[chunk] += *degree;
    }
  }
  Edge sum = 0;
  for (Edge& begin : begins) {
    sum += std::exchange(begin, sum);
  }
#pragma omp parallel for if (chunks > 1)
  for (std::uint64_t chunk = 0; chunk < chunks; ++chunk) {
    Edge so_far = begins[chunk];
    for (std::uint64_t i = chunk * kChunk; i < std::min(offsets.size(), (chunk + 1) * kChunk); ++i) {
      so_far += offsets[i];
      offsets[i] = so_far;
    }
  }
}

void paste(const Csr& graph, std::span<const Vertex> new_of_old, const Csr& result, Vertex v) {
  const Edge begin = graph.offsets[v];
  const Edge degree = graph.degree(v);
  const Vertex* const from = graph.targets.data() + begin;
  Vertex* const to = result.targets.data() + result.offsets[new_of_old[v]];
  const Edge last = graph.edges() - begin;  // entries behind the list are the next that this thread needs
  for (Edge i = 0; i < degree; ++i) {
    if (i + kAhead < last) {
      __builtin_prefetch(new_of_old.data() + from[i + kAhead]);
    }
    to[i] = new_of_old[from[i]];
  }
  if (graph.weighted()) {
    std::copy_n(graph.weights.data() + begin, degree, result.weights.data() + result.offsets[new_of_old[v]]);
  }
}

}  // namespace

Csr reorder(const Csr& graph, std::span<const Vertex> new_of_old) {
  const Vertex vertices = graph.vertices();
  require_permutation(new_of_old, vertices);
  Csr result{graph.name, graph.directed, HostArray<Edge>(graph.offsets.size()),
             HostArray<Vertex>(graph.targets.size()), HostArray<Weight>(graph.weights.size())};
#pragma omp parallel for if (vertices > kChunk)
  for (std::uint64_t v = 0; v < vertices; ++v) {
    result.offsets[std::uint64_t{new_of_old[v]} + 1] = graph.degree(static_cast<Vertex>(v));
  }
  add_up(result.offsets);
#pragma omp parallel for schedule(dynamic, kChunk) if (vertices > kChunk)
  for (std::uint64_t v = 0; v < vertices; ++v) {
    paste(graph, new_of_old, result, static_cast<Vertex>(v));
  }
  return result;
}

std::string certify_reordered(const Csr& graph, std::span<const Vertex> new_of_old, const Csr& reordered,
                              bool sorted) {
  if (reordered.vertices() != graph.vertices() || reordered.edges() != graph.edges() ||
      (graph.vertices() > 0 && reordered.offsets[0] != 0)) {
    throw FailedError("wrong result: a reordered graph has other sizes than the graph");
  }
  std::uint64_t wrong = UINT64_MAX;
#pragma omp parallel reduction(min : wrong) if (graph.vertices() > kChunk)
  {
    std::vector<Vertex> expected;
#pragma omp for schedule(dynamic, kChunk)
    for (std::uint64_t v = 0; v < graph.vertices(); ++v) {
      const auto list = graph.neighbours(static_cast<Vertex>(v));
      expected.resize(list.size());
      std::transform(list.begin(), list.end(), expected.begin(), [&](Vertex u) { return new_of_old[u]; });
      if (sorted) {
        std::sort(expected.begin(), expected.end());
      }
      const Edge begin = reordered.offsets[new_of_old[v]];
      const Edge end = reordered.offsets[std::uint64_t{new_of_old[v]} + 1];
      if (begin > end || end > graph.edges() || end - begin != list.size() ||
          !std::equal(expected.begin(), expected.end(), reordered.targets.data() + begin)) {
        wrong = std::min(wrong, v);
      }
    }
  }
  if (wrong != UINT64_MAX) {
    throw FailedError("wrong result: the list of vertex " + std::to_string(wrong) +
                      " is another one under its new number");
  }
  return "every list stands under its vertex's new number, with its neighbours' new numbers";
}

}  // namespace grainscope::gnn
