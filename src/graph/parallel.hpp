#ifndef GRAINSCOPE_SRC_GRAPH_PARALLEL_HPP
#define GRAINSCOPE_SRC_GRAPH_PARALLEL_HPP

// Work on a whole graph by all threads: over indices, over vertices with loads that do not depend on their
// degrees, and sorting.

#include <omp.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "grainscope/graph/csr.hpp"

namespace grainscope::graph {

// Calls body(0) … body(count − 1) by all threads, in no order. What the lowest index throws comes out, which
// is the same whatever the number of threads; indices above one that threw may be left out.
template <class Body>
void for_each_index(std::uint64_t count, const Body& body) {
  std::atomic<std::uint64_t> failed{count};
  std::exception_ptr error;
  std::mutex mutex;
#pragma omp parallel for schedule(dynamic) if (count > 1)
  for (std::uint64_t i = 0; i < count; ++i) {
    if (i > failed.load(std::memory_order_relaxed)) {
      continue;
    }
    try {
      body(i);
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (i < failed) {
        failed = i;
        error = std::current_exception();
      }
    }
  }
  if (error) {
    std::rethrow_exception(error);
  }
}

// body(first, last) for pieces [first, last) of at most `piece` of `count` things, by all threads.
template <class Body>
void for_pieces(std::uint64_t count, std::uint64_t piece, const Body& body) {
  for_each_index(count / piece + (count % piece != 0 ? 1 : 0), [&](std::uint64_t i) {
    const std::uint64_t first = i * piece;
    body(first, count - first < piece ? count : first + piece);
  });
}

// Waking a thread is worth while for so many things.
inline constexpr std::uint64_t kWorthThreads = std::uint64_t{1} << 14;

// As many threads as `count` things are worth.
[[nodiscard]] inline int threads_for(std::uint64_t count) {
  return static_cast<int>(std::min<std::uint64_t>(omp_get_max_threads(), 1 + count / kWorthThreads));
}

// Passes over a graph by all threads, evenly loaded whatever the degrees.

// Passes over so few vertices are left to one thread: waking the others costs more.
inline constexpr std::size_t kFewVertices = 4096;

// Vertices in ascending order, cut into chunks of about as much work: a vertex counts one and its list's
// length. Where the cuts lie depends on the graph alone, never on the number of threads.
class EdgeChunks {
 public:
  explicit EdgeChunks(const Csr& graph)
      : graph_(graph), chunks_((graph.edges() + graph.vertices() + kWork - 1) / kWork) {}

  [[nodiscard]] std::uint64_t size() const { return chunks_; }
  // The first vertex of a chunk; of chunk size() one past the last vertex.
  [[nodiscard]] Vertex first(std::uint64_t chunk) const {
    const std::uint64_t work = chunk * kWork;
    Vertex low = 0;
    Vertex high = graph_.vertices();
    while (low < high) {
      const Vertex middle = low + (high - low) / 2;
      if (graph_.offsets[middle] + middle < work) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }

 private:
  static constexpr std::uint64_t kWork = std::uint64_t{1} << 17;
  const Csr& graph_;
  std::uint64_t chunks_;
};

// work(v) once for every vertex.
template <class Work>
void for_all(const Csr& graph, const Work& work) {
  const EdgeChunks chunks(graph);
#pragma omp parallel for schedule(dynamic) if (chunks.size() > 1)
  for (std::uint64_t chunk = 0; chunk < chunks.size(); ++chunk) {
    const Vertex last = chunks.first(chunk + 1);
    for (Vertex v = chunks.first(chunk); v < last; ++v) {
      work(v);
    }
  }
}

// The lowest vertex of which `wrong` is true. Once a thread has found one it looks at none above it, so
// `wrong` must answer true for a vertex whether or not it was asked about others.
template <class Wrong>
[[nodiscard]] std::optional<Vertex> first_wrong(const Csr& graph, const Wrong& wrong) {
  const EdgeChunks chunks(graph);
  const Vertex none = graph.vertices();
  Vertex found = none;
#pragma omp parallel for schedule(dynamic) reduction(min : found) if (chunks.size() > 1)
  for (std::uint64_t chunk = 0; chunk < chunks.size(); ++chunk) {
    const Vertex last = std::min(chunks.first(chunk + 1), found);
    for (Vertex v = chunks.first(chunk); v < last; ++v) {
      if (wrong(v)) {
        found = v;
        break;
      }
    }
  }
  return found == none ? std::nullopt : std::optional(found);
}

// The sum of term(v) over all vertices, the same to the last bit for any number of threads.
template <class Term>
[[nodiscard]] double sum_of(const Csr& graph, const Term& term) {
  const EdgeChunks chunks(graph);
  std::vector<double> sums(chunks.size());
#pragma omp parallel for schedule(dynamic) if (chunks.size() > 1)
  for (std::uint64_t chunk = 0; chunk < chunks.size(); ++chunk) {
    const Vertex last = chunks.first(chunk + 1);
    double sum = 0;
    for (Vertex v = chunks.first(chunk); v < last; ++v) {
      sum += term(v);
    }
    sums[chunk] = sum;
  }
  return std::accumulate(sums.begin(), sums.end(), 0.0);
}

// Sorts one adjacency list, of neighbours alone (u32) or of neighbours with weights (u64, the neighbour
// above).

using Neighbour = Vertex;
using WeightedNeighbour = std::uint64_t;  // neighbour << 32 | weight

[[nodiscard]] constexpr Vertex neighbour_of(Neighbour element) {
  return element;
}
[[nodiscard]] constexpr Vertex neighbour_of(WeightedNeighbour element) {
  return static_cast<Vertex>(element >> 32);
}

template <class Element>
[[nodiscard]] constexpr Element element_of(Vertex neighbour, Weight weight) {
  if constexpr (sizeof(Element) == sizeof(Neighbour)) {
    return neighbour;
  } else {
    return static_cast<Element>(neighbour) << 32 | weight;
  }
}

// Elements as they stand in a graph; `weights` is not touched where there are none.
inline void write_list(const Neighbour* list, std::size_t count, Vertex* targets, Weight* /*weights*/) {
  std::copy_n(list, count, targets);
}
inline void write_list(const WeightedNeighbour* list, std::size_t count, Vertex* targets, Weight* weights) {
  for (std::size_t i = 0; i < count; ++i) {
    targets[i] = neighbour_of(list[i]);
    weights[i] = static_cast<Weight>(list[i]);
  }
}

namespace detail {

inline constexpr int kDigitBits = 8;
inline constexpr std::size_t kDigits = std::size_t{1} << kDigitBits;

// One pass of a radix sort, stable, by the neighbour's digit from bit `shift`. `places`: where each digit
// goes.
template <class Element>
void scatter_by_digit(const Element* from, std::size_t count, int shift,
                      std::array<std::uint64_t, kDigits>& places, Element* to) {
  for (std::size_t i = 0; i < count; ++i) {
    to[places[neighbour_of(from[i]) >> shift & (kDigits - 1)]++] = from[i];
  }
}

}  // namespace detail

// Sorts by neighbour; the order of equal neighbours' weights is not told. `spare`: room for `count` elements.
template <class Element>
void sort_list(Element* list, std::size_t count, Element* spare) {
  constexpr std::size_t kRadixFrom = 96;  // below, comparisons are quicker
  if (count < kRadixFrom) {
    std::sort(list, list + count);
    return;
  }
  constexpr int kPasses = 32 / detail::kDigitBits;
  std::array<std::array<std::uint64_t, detail::kDigits>, kPasses> places{};
  for (std::size_t i = 0; i < count; ++i) {
    for (int pass = 0; pass < kPasses; ++pass) {
      ++places[pass][neighbour_of(list[i]) >> (pass * detail::kDigitBits) & (detail::kDigits - 1)];
    }
  }
  Element* from = list;
  Element* to = spare;
  for (int pass = 0; pass < kPasses; ++pass) {
    const int shift = pass * detail::kDigitBits;
    if (places[pass][neighbour_of(list[0]) >> shift & (detail::kDigits - 1)] == count) {
      continue;  // all have the same digit
    }
    std::uint64_t place = 0;
    for (std::uint64_t& digit : places[pass]) {
      place += std::exchange(digit, place);
    }
    detail::scatter_by_digit(from, count, shift, places[pass], to);
    std::swap(from, to);
  }
  if (from != list) {
    std::copy(from, from + count, list);
  }
}

}  // namespace grainscope::graph

#endif
