#ifndef GRAINSCOPE_GRAPH_DESCRIBE_HPP
#define GRAINSCOPE_GRAPH_DESCRIBE_HPP

// What decides how a graph is walked: how long its lists are, and how far its edges reach.

#include <cstdint>
#include <optional>
#include <vector>

#include "grainscope/graph/csr.hpp"

namespace grainscope::graph {

struct Degrees {
  Edge least = 0;
  Edge median = 0;  // the lowest degree that at least half of the vertices do not exceed
  Edge p99 = 0;     // and 99 of 100
  Edge most = 0;
  double mean = 0;
  std::uint64_t zero = 0;  // vertices without an out-edge
};

struct Description {
  Degrees degrees;
  // Entries in lists of at most 2^i entries, for i = 0, 1, … up to where it is all of them: the cumulative
  // distribution of EMOGI's figure 6.
  std::vector<Edge> entries_up_to;
  // Entries in lists that are shorter than a line of 128 bytes, with entries of 4 and of 8 bytes.
  Edge entries_below_line_4 = 0;
  Edge entries_below_line_8 = 0;
  // Mean |u − v| over all entries; of random ends it is a third of the vertices. 0 without entries.
  double mean_distance = 0;
  std::optional<std::uint64_t> components;  // of undirected graphs
};

// Throws EnvironmentError where 4 bytes a vertex are not to be had. All threads.
[[nodiscard]] Description describe(const Csr& graph);

}  // namespace grainscope::graph

#endif
