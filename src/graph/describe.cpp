// How long lists are and how far edges reach; and the digest of an answer.

#include <algorithm>
#include <array>
#include <bit>

#include "grainscope/graph/access.hpp"
#include "grainscope/graph/answers.hpp"
#include "grainscope/graph/io.hpp"
#include "random.hpp"

namespace grainscope::graph {
namespace {

// The place of the lowest of `count` sorted values that `percent` of 100 of them do not exceed.
std::uint64_t rank(std::uint64_t count, std::uint64_t percent) {
  return (count * percent + 99) / 100 - 1;
}

Degrees degrees_of(const Csr& graph) {
  const std::uint64_t count = graph.vertices();
  HostArray<Vertex> sorted(count);  // without repeats no degree is above the count of vertices
  std::uint64_t zero = 0;
#pragma omp parallel for reduction(+ : zero)
  for (std::uint64_t v = 0; v < count; ++v) {
    sorted[v] = static_cast<Vertex>(graph.degree(static_cast<Vertex>(v)));
    zero += sorted[v] == 0 ? 1 : 0;
  }
  const auto nth = [&](std::uint64_t place) {
    std::nth_element(sorted.begin(), sorted.begin() + place, sorted.end());
    return Edge{sorted[place]};
  };
  Degrees degrees;
  degrees.median = nth(rank(count, 50));
  degrees.p99 = nth(rank(count, 99));
  degrees.least = *std::min_element(sorted.begin(), sorted.end());
  degrees.most = *std::max_element(sorted.begin(), sorted.end());
  degrees.mean = static_cast<double>(graph.edges()) / static_cast<double>(count);
  degrees.zero = zero;
  return degrees;
}

// Entries by the power of two that their list's length does not exceed.
std::array<Edge, 34> entries_by_length(const Csr& graph) {
  std::array<Edge, 34> total{};
#pragma omp parallel
  {
    std::array<Edge, 34> mine{};
#pragma omp for nowait
    for (std::uint64_t v = 0; v < graph.vertices(); ++v) {
      const Edge degree = graph.degree(static_cast<Vertex>(v));
      if (degree != 0) {
        mine[std::bit_width(degree - 1)] += degree;
      }
    }
#pragma omp critical
    for (std::size_t i = 0; i < total.size(); ++i) {
      total[i] += mine[i];
    }
  }
  return total;
}

Edge entries_below(const Csr& graph, Edge length) {
  Edge entries = 0;
#pragma omp parallel for reduction(+ : entries)
  for (std::uint64_t v = 0; v < graph.vertices(); ++v) {
    const Edge degree = graph.degree(static_cast<Vertex>(v));
    entries += degree < length ? degree : 0;
  }
  return entries;
}

double mean_distance(const Csr& graph) {
  double sum = 0;
#pragma omp parallel for schedule(dynamic, 1024) reduction(+ : sum)
  for (std::uint64_t v = 0; v < graph.vertices(); ++v) {
    std::uint64_t of_list = 0;  // below 2⁶⁴: fewer than 2³² neighbours, each nearer than 2³²
    for (const Vertex u : graph.neighbours(static_cast<Vertex>(v))) {
      of_list += u > v ? u - v : v - u;
    }
    sum += static_cast<double>(of_list);
  }
  return graph.edges() == 0 ? 0 : sum / static_cast<double>(graph.edges());
}

}  // namespace

Description describe(const Csr& graph) {
  Description description;
  if (graph.vertices() == 0) {
    return description;
  }
  description.degrees = degrees_of(graph);
  Edge up_to = 0;
  for (const Edge entries : entries_by_length(graph)) {
    up_to += entries;
    description.entries_up_to.push_back(up_to);
    if (up_to == graph.edges()) {
      break;
    }
  }
  description.entries_below_line_4 = entries_below(graph, kLineBytes / 4);
  description.entries_below_line_8 = entries_below(graph, kLineBytes / 8);
  description.mean_distance = mean_distance(graph);
  if (!graph.directed) {
    description.components = count_components(graph);
  }
  return description;
}

Digest digest_of(std::span<const std::uint32_t> answer) {
  constexpr std::size_t kManyWords = 1 << 16;  // that a team of threads is worth
  constexpr std::uint64_t kOther = 0xd1342543de82ef95U;
  std::uint64_t one = answer.size();
  std::uint64_t other = answer.size();
#pragma omp parallel for reduction(+ : one, other) if (answer.size() >= kManyWords)
  for (std::size_t i = 0; i < answer.size(); ++i) {
    const std::uint64_t word = std::uint64_t{i} << 32 | answer[i];
    one += mixed(word);
    other += mixed(word ^ kOther);
  }
  return {one, other};
}

}  // namespace grainscope::graph
