#include "levels_cut.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "grainscope/graph/generate.hpp"
#include "sample_graphs.hpp"

namespace grainscope::graph {
namespace {

// Entries that are read with a cut at `level`.
std::uint64_t entries_read(const BothWays& both, const std::vector<std::uint32_t>& depths,
                           std::uint64_t level) {
  std::uint64_t entries = 0;
  for (Vertex v = 0; v < both.graph.vertices(); ++v) {
    const bool reached = depths[v] != kUnreached;
    if (reached && depths[v] < level) {
      entries += both.graph.degree(v);
    } else if (level != kAllLevels && (!reached || depths[v] > level + 1)) {
      entries += both.in_edges().degree(v);
    }
  }
  return entries;
}

TEST(LevelsCut, reads_the_fewest_entries) {
  for (const BothWays& both : all_sample_graphs()) {
    const std::vector<std::uint32_t> depths = serial_bfs(both.graph, 0);
    std::uint64_t least = entries_read(both, depths, kAllLevels);
    for (std::uint64_t level = 0; level < 252; ++level) {
      least = std::min(least, entries_read(both, depths, level));
    }
    const std::uint64_t cut = cheapest_cut(both.graph, both.in_edges(), depths);
    EXPECT_EQ(entries_read(both, depths, cut), least) << both.graph.name;
  }
}

TEST(LevelsCut, leaves_most_of_a_graph_with_hubs_unread) {
  const BothWays both(make_graph(parse_graph_spec("kron:14"), false));
  const std::vector<std::uint32_t> depths = serial_bfs(both.graph, gap_sources(both.graph, 1)[0]);
  const std::uint64_t cut = cheapest_cut(both.graph, both.graph, depths);
  EXPECT_LT(entries_read(both, depths, cut), both.graph.edges() / 10);
}

// From a source in a small part, the large one is never entered.
TEST(LevelsCut, reads_what_is_reached_where_most_is_not) {
  std::vector<Triple> edges = random_edges(1000, 5000, 1, false);
  edges.push_back({1000, 1001, 1});
  const BothWays both(weighted_graph(1002, edges, false));
  const std::vector<std::uint32_t> depths = serial_bfs(both.graph, 1000);
  EXPECT_EQ(cheapest_cut(both.graph, both.graph, depths), kAllLevels);
}

}  // namespace
}  // namespace grainscope::graph
