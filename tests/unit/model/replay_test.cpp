#include "grainscope/model/replay.hpp"

#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <numeric>

#include "grainscope/core/error.hpp"
#include "lane_by_lane.hpp"
#include "random_graph.hpp"

namespace grainscope::model {
namespace {

using graph::Access;

void expect_equal(const Requests& model, const Requests& reference) {
  EXPECT_EQ(model.by_sectors, reference.by_sectors);
  EXPECT_EQ(model.split, reference.split);
  EXPECT_EQ(model.loads, reference.loads);
  EXPECT_EQ(model.lanes, reference.lanes);
  EXPECT_EQ(model.elements, reference.elements);
}

// Three levels of a graph, by every access.
void expect_replayed(const graph::Csr& graph, const Layout& layout, const Grid& grid) {
  for (const Access access : graph::kAllAccess) {
    SCOPED_TRACE(testing::Message() << name(access) << ", " << graph.vertices() << " vertices, edges of "
                                    << layout.edge_bytes << " at " << layout.edges_at << ", weights "
                                    << layout.weights << " at " << layout.weights_at << ", " << grid.blocks
                                    << " blocks");
    Replayer replayer(graph, access, layout, grid);
    LaneByLane reference(graph, access, layout, grid);
    Requests total;
    for (const int percent : {3, 100, 60}) {
      const auto frontier = random_frontier(graph.vertices(), percent, 7U + graph.vertices());
      replayer.level(frontier);
      const Requests level = reference.level(frontier);
      total += level;
      expect_equal(replayer.result().levels.back(), level);
      EXPECT_EQ(replayer.result().active.back(), frontier.size());
      EXPECT_EQ(replayer.result().level_bytes.back(), reference.level_bytes());
      EXPECT_EQ(replayer.result().level_requests.back(), reference.level_requests());
    }
    expect_equal(replayer.result().total, total);
    EXPECT_EQ(replayer.result().cached_bytes, reference.cached_bytes());
    EXPECT_DOUBLE_EQ(replayer.result().block_imbalance, reference.block_imbalance());
    const Replay& result = replayer.result();
    EXPECT_LE(result.cached_bytes, result.total.bytes());
    const std::uint64_t each_level_anew =
        std::accumulate(result.level_bytes.begin(), result.level_bytes.end(), std::uint64_t{0});
    EXPECT_EQ(result.least_bytes(0), each_level_anew);
    EXPECT_EQ(result.least_bytes(1 << 30), result.cached_bytes);
    EXPECT_LE(result.least_bytes(4096), each_level_anew);
    EXPECT_GE(result.least_bytes(4096), result.cached_bytes);
  }
}

TEST(Replay, equals_a_replay_lane_by_lane) {
  for (const int edge_bytes : {4, 8}) {
    for (const bool weights : {false, true}) {
      expect_replayed(random_graph(2500, 1), {edge_bytes, weights, 0, 0}, {3, 2});
      expect_replayed(random_graph(300, 2), {edge_bytes, weights, 0, 0}, {264, 32});
      expect_replayed(random_graph(70, 3), {edge_bytes, weights, 40, 100}, {1, 1});
    }
  }
}

TEST(Replay, equals_a_replay_lane_by_lane_where_lists_are_short_and_where_they_are_hubs) {
  const std::vector<graph::Edge> roads(3000, 3);
  std::vector<graph::Edge> hubs(40, 1);
  hubs[7] = 9000;
  hubs[8] = 8999;
  for (const int edge_bytes : {4, 8}) {
    expect_replayed(graph_of(roads), {edge_bytes, true, 0, 0}, {3, 2});
    expect_replayed(graph_of(hubs), {edge_bytes, true, 0, 0}, {3, 2});
  }
}

TEST(Replay, counts_beyond_2_to_the_32nd_edge) {
  graph::Csr graph;  // whose lists nobody reads
  graph.offsets = HostArray<graph::Edge>(202);
  for (std::uint64_t v = 1; v < graph.offsets.size(); ++v) {
    graph.offsets[v] = (graph::Edge{1} << 32U) - 2000 + v * (v % 50);
    graph.offsets[v] = std::max(graph.offsets[v], graph.offsets[v - 1]);
  }
  std::vector<graph::Vertex> frontier(200);
  std::iota(frontier.begin(), frontier.end(), 1);  // without the first, which has nearly all edges
  ASSERT_GT(graph.offsets[201], graph::Edge{1} << 32U);
  try {
    graph.targets = HostArray<graph::Vertex>(graph.offsets[201]);  // 16 GiB of addresses, never touched
  } catch (const std::exception& error) {
    GTEST_SKIP() << error.what();
  }
  for (const Access access : graph::kAllAccess) {
    SCOPED_TRACE(name(access));
    Replayer replayer(graph, access, {4, false, 0, 0}, {3, 2});
    LaneByLane reference(graph, access, {4, false, 0, 0}, {3, 2});
    replayer.level(frontier);
    expect_equal(replayer.result().levels.back(), reference.level(frontier));
    EXPECT_EQ(replayer.result().level_bytes.back(), reference.level_bytes());
    EXPECT_EQ(replayer.result().level_requests.back(), reference.level_requests());
    EXPECT_EQ(replayer.result().cached_bytes, reference.cached_bytes());
  }
}

TEST(Replay, of_nothing_is_nothing) {
  for (const Access access : graph::kAllAccess) {
    const graph::Csr graph = graph_of({0, 0, 0});
    Replayer replayer(graph, access, {});
    replayer.level({});
    replayer.level(all_vertices(graph));
    const Replay& replay = replayer.result();
    EXPECT_EQ(replay.total, Requests{});
    EXPECT_EQ(replay.levels.size(), 2U);
    EXPECT_EQ(replay.active, (std::vector<std::uint64_t>{0, 3}));
    EXPECT_EQ(replay.amplification(), 0);
    EXPECT_EQ(replay.total.lane_use(), 0);
    EXPECT_EQ(replay.block_imbalance, 1);
  }
}

TEST(Replay, a_list_is_split_where_lines_are) {
  // Elements 3 to 99 of 8 bytes, bytes 24 to 800, after a list that nobody reads.
  const graph::Csr graph = graph_of({3, 97});
  const std::vector<graph::Vertex> second{1};
  Replayer merged(graph, Access::merged, {});
  merged.level(second);
  // Steps of 256 bytes from byte 24: 24-280, 280-536, 536-792, 792-800.
  EXPECT_EQ(merged.result().total.by_sectors, (std::array<std::uint64_t, 4>{4, 0, 0, 6}));
  EXPECT_EQ(merged.result().total.loads, 4U);
  Replayer aligned(graph, Access::merged_aligned, {});
  aligned.level(second);
  EXPECT_EQ(aligned.result().total.by_sectors, (std::array<std::uint64_t, 4>{1, 0, 0, 6}));
  EXPECT_EQ(aligned.result().total.loads, 4U);
  EXPECT_DOUBLE_EQ(aligned.result().total.lane_use(), 97.0 / 128);
  EXPECT_EQ(aligned.result().cached_bytes, 800U);
  EXPECT_DOUBLE_EQ(aligned.result().amplification(), 800.0 / (97 * 8));
}

TEST(Replay, weights_of_wide_edges_are_aligned_to_half_a_line_alone) {
  // Both walks start at element 16: the edges at a line, the weights in the middle of one.
  const graph::Csr graph = graph_of({16, 64});
  Replayer replayer(graph, Access::merged_aligned, {8, true, 0, 0});
  replayer.level(std::vector<graph::Vertex>{1});
  EXPECT_EQ(replayer.result().total.by_sectors, (std::array<std::uint64_t, 4>{0, 4, 0, 4}));
  EXPECT_EQ(replayer.result().total.loads, 4U);
  EXPECT_EQ(replayer.result().total.elements, 64U);
}

TEST(Replay, lanes_of_one_line_ask_once_and_gaps_are_told) {
  // Lists of 4-byte edges at bytes 0, 4 and, behind a list that is not active, 96: sectors 0 and 3.
  const graph::Csr graph = graph_of({1, 1, 22, 1});
  Replayer replayer(graph, Access::naive, {4, false, 0, 0});
  replayer.level(std::vector<graph::Vertex>{0, 1, 3});
  EXPECT_EQ(replayer.result().total.by_sectors, (std::array<std::uint64_t, 4>{0, 1, 0, 0}));
  EXPECT_EQ(replayer.result().total.split, 1U);
  EXPECT_EQ(replayer.result().total.lanes, 3U);
}

TEST(Replay, eight_lists_in_a_row_are_one_warps_turn) {
  // 16 lists of one step each on two blocks of one warp: by eights, each block has 8.
  std::vector<graph::Edge> degrees(16, 16);
  degrees[0] = 16 * 32;  // and 15 steps more, in two pieces, which are two items of the first turn
  const graph::Csr graph = graph_of(degrees);
  Replayer chunked(graph, Access::merged_aligned_chunked, {}, {2, 1});
  chunked.level(all_vertices(graph));
  EXPECT_DOUBLE_EQ(chunked.result().block_imbalance, (16.0 + 6 + 1) / ((31 + 0.0) / 2));
  Replayer one(graph, Access::merged_aligned, {}, {2, 1});
  one.level(all_vertices(graph));
  EXPECT_DOUBLE_EQ(one.result().block_imbalance, 16 / 15.5);
}

TEST(Replay, gathered_edges_fill_warps) {
  const graph::Csr graph = graph_of(std::vector<graph::Edge>(1000, 5));
  Replayer gather(graph, Access::edge_gather, {8, true, 0, 0}, {4, 2});
  gather.level(all_vertices(graph));
  Replayer aligned(graph, Access::merged_aligned, {8, true, 0, 0}, {4, 2});
  aligned.level(all_vertices(graph));
  EXPECT_EQ(gather.result().total.by_sectors, aligned.result().total.by_sectors);
  EXPECT_EQ(gather.result().total.lanes, 5000U);
  EXPECT_LE(gather.result().total.loads, 5000U / 32 + 4);
  EXPECT_LT(aligned.result().total.lane_use(), 0.16);
  EXPECT_GT(gather.result().total.lane_use(), 0.97);
}

TEST(Replay, does_not_depend_on_the_number_of_threads) {
  const graph::Csr graph = random_graph(20000, 5);
  const int threads = omp_get_max_threads();
  for (const Access access : graph::kAllAccess) {
    std::vector<Replay> replays;
    for (const int used : {1, 3}) {
      omp_set_num_threads(used);
      Replayer replayer(graph, access, {4, true, 0, 0});
      replayer.level(all_vertices(graph));
      replays.push_back(replayer.result());
    }
    omp_set_num_threads(threads);
    EXPECT_EQ(replays[0].total, replays[1].total);
    EXPECT_EQ(replays[0].cached_bytes, replays[1].cached_bytes);
    EXPECT_EQ(replays[0].block_imbalance, replays[1].block_imbalance);
  }
}

TEST(Replay, refuses_frontiers_that_do_not_ascend_below_v) {
  const graph::Csr graph = random_graph(100, 6);
  Replayer replayer(graph, Access::merged, {});
  EXPECT_THROW(replayer.level(std::vector<graph::Vertex>{3, 3}), FailedError);
  EXPECT_THROW(replayer.level(std::vector<graph::Vertex>{4, 3}), FailedError);
  EXPECT_THROW(replayer.level(std::vector<graph::Vertex>{5, 100}), FailedError);
  EXPECT_TRUE(replayer.result().levels.empty());
}

TEST(Replay, refuses_layouts_and_grids_that_cannot_be) {
  const graph::Csr graph = random_graph(10, 6);
  EXPECT_THROW(Replayer(graph, Access::merged, {3, false, 0, 0}), FailedError);
  EXPECT_THROW(Replayer(graph, Access::merged, {8, false, 4, 0}), FailedError);
  EXPECT_THROW(Replayer(graph, Access::merged, {8, true, 0, 2}), FailedError);
  EXPECT_THROW(Replayer(graph, Access::merged, {}, {0, 32}), FailedError);
}

}  // namespace
}  // namespace grainscope::model
