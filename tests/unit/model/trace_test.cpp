#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <map>
#include <set>

#include "grainscope/model/replay.hpp"
#include "random_graph.hpp"

namespace grainscope::model {
namespace {

using graph::Access;
using graph::WarpLoad;

std::vector<graph::Edge> elements_of(const std::vector<graph::Vertex>& lists, const graph::Csr& graph) {
  std::vector<graph::Edge> elements;
  for (const graph::Vertex v : lists) {
    for (graph::Edge e = graph.offsets[v]; e < graph.offsets[v + 1]; ++e) {
      elements.push_back(e);
    }
  }
  return elements;
}

TEST(Trace, warps_read_every_element_once) {
  const graph::Csr graph = random_graph(500, 11);
  const auto frontier = random_frontier(500, 70, 12);
  for (const Access access : {Access::merged, Access::merged_aligned, Access::merged_aligned_chunked}) {
    for (const int edge_bytes : {4, 8}) {
      std::vector<graph::Edge> read;
      for (const WarpLoad& load : trace_level(graph, access, edge_bytes, frontier)) {
        const int lowest = std::countr_zero(load.lanes);
        for (int lane = lowest; lane < 32; ++lane) {
          if ((load.lanes >> lane & 1U) != 0) {
            read.push_back(load.first + static_cast<graph::Edge>(lane - lowest));
          }
        }
        EXPECT_GE(load.first, graph.offsets[load.vertex]);
        EXPECT_LT(load.first, graph.offsets[load.vertex + 1]);
      }
      std::sort(read.begin(), read.end());
      EXPECT_EQ(read, elements_of(frontier, graph));
    }
  }
}

TEST(Trace, has_the_loads_and_lanes_that_the_replay_counts) {
  const graph::Csr graph = random_graph(3000, 13);
  const auto frontier = random_frontier(3000, 50, 14);
  for (const Access access :
       {Access::naive, Access::merged, Access::merged_aligned, Access::merged_aligned_chunked}) {
    for (const int edge_bytes : {4, 8}) {
      Replayer replayer(graph, access, {edge_bytes, false, 0, 0});
      replayer.level(frontier);
      std::uint64_t lanes = 0;
      const auto loads = trace_level(graph, access, edge_bytes, frontier);
      for (const WarpLoad& load : loads) {
        lanes += static_cast<std::uint64_t>(std::popcount(load.lanes));
      }
      EXPECT_EQ(loads.size(), replayer.result().total.loads);
      EXPECT_EQ(lanes, replayer.result().total.lanes);
    }
  }
}

TEST(Trace, lanes_below_a_lists_start_are_masked) {
  const graph::Csr graph = graph_of({5, 30});
  const std::vector<graph::Vertex> second{1};
  EXPECT_EQ(trace_level(graph, Access::merged, 8, second), (std::vector<WarpLoad>{{5, 1, 0x3fffffff}}));
  EXPECT_EQ(trace_level(graph, Access::merged_aligned, 8, second),
            (std::vector<WarpLoad>{{5, 1, 0xffffffe0}, {32, 1, 0x7}}));
  EXPECT_EQ(trace_level(graph, Access::edge_gather, 8, second),
            trace_level(graph, Access::merged_aligned, 8, second));
}

TEST(Trace, lanes_whose_list_has_ended_read_no_more) {
  const graph::Csr graph = graph_of({2, 0, 1, 3});
  const auto loads = trace_level(graph, Access::naive, 8, all_vertices(graph));
  EXPECT_EQ(loads, (std::vector<WarpLoad>{{0, 0, 0b111}, {1, 0, 0b101}, {5, 3, 0b100}}));
}

}  // namespace
}  // namespace grainscope::model
