// How traversals walk: which loads, over which frontiers, by which lanes and blocks.

#include <algorithm>
#include <chrono>
#include <numeric>
#include <set>

#include "grainscope/model/replay.hpp"
#include "probes.hpp"
#include "traversal_fixture.hpp"

namespace grainscope::graph {
namespace {

using Loads = std::vector<WarpLoad>;
using Frontiers = std::vector<std::vector<Vertex>>;

// What the model says that a level loads.
Loads expected_loads(const Csr& graph, Access access, int edge_bytes, const std::vector<Vertex>& active) {
  Loads loads = model::trace_level(graph, access, edge_bytes, active);
  std::sort(loads.begin(), loads.end());
  return loads;
}

Frontiers followed(Traversal& traversal, Vertex source) {
  Frontiers frontiers;
  traversal.follow(
      source, [&](std::span<const Vertex> active) { frontiers.emplace_back(active.begin(), active.end()); });
  return frontiers;
}

// bfs' frontiers as the host says, without vertices whose lists are empty, and without levels of none.
Frontiers expected_frontiers(const Csr& graph, Vertex source) {
  Frontiers frontiers;
  run_levels(graph, Algorithm::bfs, source, [&](std::span<const Vertex> active) {
    std::vector<Vertex> level;
    std::copy_if(active.begin(), active.end(), std::back_inserter(level),
                 [&](Vertex v) { return graph.degree(v) > 0; });
    if (!level.empty()) {
      frontiers.push_back(level);
    }
  });
  return frontiers;
}

// Lanes that had an edge, over all loads.
std::uint64_t lanes_of(const Loads& loads) {
  return std::accumulate(loads.begin(), loads.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const WarpLoad& load) {
                           return sum + static_cast<unsigned>(__builtin_popcount(load.lanes));
                         });
}

class Walks : public TraversalTest {
 protected:
  [[nodiscard]] static std::vector<BothWays> graphs() {
    std::vector<BothWays> graphs = larger_graphs();
    graphs.push_back(star(5000));
    graphs.push_back(star(0));
    return graphs;
  }
};

TEST_F(Walks, of_bfs_go_over_the_same_frontiers_as_the_host) {
  for (const BothWays& both : graphs()) {
    const auto placed = place(both.graph, EdgePlacement::mapped, 8);
    for (const Access access : kAllAccess) {
      SCOPED_TRACE(testing::Message() << name(access) << ", " << both.graph.name);
      const auto traversal = make_traversal(*placed, Algorithm::bfs, access);
      const Vertex source = busiest(both.graph);
      const Frontiers expected = expected_frontiers(both.graph, source);
      EXPECT_EQ(followed(*traversal, source), expected);
      EXPECT_EQ(traversal->answer(), serial_bfs(both.graph, source));
      ASSERT_EQ(traversal->levels().size(), expected.size());
      for (std::size_t level = 0; level < expected.size(); ++level) {
        EXPECT_EQ(traversal->levels()[level].active, expected[level].size());
      }
    }
  }
}

TEST_F(Walks, load_what_the_model_says) {
  for (const BothWays& both : graphs()) {
    for (const int edge_bytes : {4, 8}) {
      const auto placed = place(both.graph, EdgePlacement::mapped, edge_bytes);
      for (const Access access : kAllAccess) {
        SCOPED_TRACE(testing::Message() << name(access) << ", " << both.graph.name << ", " << edge_bytes);
        const auto traversal = make_traversal(*placed, Algorithm::bfs, access);
        const Vertex source = busiest(both.graph);
        const Frontiers frontiers = followed(*traversal, source);
        std::vector<Loads> traced = traversal->trace(source);
        ASSERT_EQ(traced.size(), frontiers.size());
        for (std::size_t level = 0; level < traced.size(); ++level) {
          std::sort(traced[level].begin(), traced[level].end());
          EXPECT_EQ(traced[level], expected_loads(both.graph, access, edge_bytes, frontiers[level])) << level;
        }
      }
    }
  }
}

// Frontiers of these differ from run to run, so the lists that a level loaded tell which they were.
TEST_F(Walks, of_every_algorithm_load_lists_as_the_model_says) {
  for (const BothWays& both : graphs()) {
    for (const int edge_bytes : {4, 8}) {
      const auto placed = place(both.graph, EdgePlacement::mapped, edge_bytes);
      for (const Algorithm algorithm : {Algorithm::sssp, Algorithm::cc, Algorithm::pr}) {
        if (!applies(both.graph, algorithm)) {
          continue;
        }
        for (const Access access : kAllAccess) {
          SCOPED_TRACE(testing::Message() << name(algorithm) << ", " << name(access) << ", "
                                          << both.graph.name << ", " << edge_bytes);
          const auto traversal = make_traversal(*placed, algorithm, access);
          std::vector<Loads> traced = traversal->trace(busiest(both.graph));
          const std::vector<LevelResult> levels = traversal->levels();
          ASSERT_EQ(traced.size(), levels.size());
          EXPECT_TRUE(!traced.empty() || both.graph.edges() == 0);
          for (std::size_t i = 0; i < traced.size(); ++i) {
            std::sort(traced[i].begin(), traced[i].end());
            std::set<Vertex> active;
            for (const WarpLoad& load : traced[i]) {
              active.insert(load.vertex);
            }
            EXPECT_EQ(lanes_of(traced[i]), levels[i].edges) << i;
            if (access == Access::merged || access == Access::merged_aligned ||
                access == Access::merged_aligned_chunked || access == Access::edge_gather) {
              // Loads of the others name the first of several lists.
              EXPECT_EQ(traced[i],
                        expected_loads(both.graph, access, edge_bytes, {active.begin(), active.end()}));
            }
          }
        }
      }
    }
  }
}

TEST_F(Walks, count_the_loads_that_they_trace) {
  for (const BothWays& both : graphs()) {
    const auto placed = place(both.graph, EdgePlacement::mapped, 8);
    for (const Access access : kAllAccess) {
      SCOPED_TRACE(testing::Message() << name(access) << ", " << both.graph.name);
      const auto traversal = make_traversal(*placed, Algorithm::bfs, access);
      const Vertex source = busiest(both.graph);
      std::uint64_t loads = 0;
      std::uint64_t lanes = 0;
      for (const Loads& level : traversal->trace(source)) {
        loads += level.size();
        lanes += lanes_of(level);
      }
      const WalkStatistics statistics = traversal->statistics(source);
      EXPECT_EQ(traversal->answer(), serial_bfs(both.graph, source));
      EXPECT_EQ(statistics.lanes, lanes);  // every edge once
      if (access != Access::edge_gather) {
        EXPECT_EQ(statistics.loads, loads);
      }
      EXPECT_GE(statistics.blocks, runtime().devices[0].sm_count);
      EXPECT_GE(statistics.block_imbalance, 1);
      EXPECT_LE(statistics.block_imbalance, statistics.blocks);
      EXPECT_LE(statistics.lane_use(), 1);
    }
  }
}

TEST_F(Walks, take_part_of_a_traversal_to_find_and_to_cut_lists) {
  const BothWays both = std::move(larger_graphs().front());
  const auto placed = place(both.graph, EdgePlacement::device, 8);
  for (const Access access : kAllAccess) {
    const auto traversal = make_traversal(*placed, Algorithm::bfs, access);
    const WalkStatistics statistics = traversal->statistics(busiest(both.graph));
    ASSERT_TRUE(statistics.frontier_s) << name(access);
    EXPECT_GT(*statistics.frontier_s, 0) << name(access);
    double all_s = 0;
    for (const LevelResult& level : traversal->levels()) {
      all_s += level.seconds;
    }
    EXPECT_LT(*statistics.frontier_s, all_s) << name(access);
  }
  // A lane that walks a hub's list alone takes far longer than what finds it.
  const BothWays hub = star(2'000'000);
  const auto placed_hub = place(hub.graph, EdgePlacement::device, 8);
  const auto traversal = make_traversal(*placed_hub, Algorithm::pr, Access::naive);
  const WalkStatistics statistics = traversal->statistics(0);
  double all_s = 0;
  for (const LevelResult& level : traversal->levels()) {
    all_s += level.seconds;
  }
  EXPECT_LT(*statistics.frontier_s, 0.5 * all_s);
}

// A block that got a hub's list whole would have most of all edges.
TEST_F(Walks, of_merge_path_are_alike_for_all_blocks) {
  const BothWays both = star(2'000'000);
  const auto placed = place(both.graph, EdgePlacement::device, 8);
  const auto imbalance = [&](Access access) {
    return make_traversal(*placed, Algorithm::pr, access)->statistics(0).block_imbalance;
  };
  EXPECT_LT(imbalance(Access::merge_path), 1.5);
  EXPECT_GT(imbalance(Access::block_mapped), 2 * imbalance(Access::merge_path));
}

TEST_F(Walks, hand_gathered_edges_to_more_lanes_than_lists_would_fill) {
  const BothWays both = std::move(larger_graphs()[1]);  // lists of about 32 edges, none aligned
  const auto placed = place(both.graph, EdgePlacement::device, 8);
  const auto lane_use = [&](Access access) {
    return make_traversal(*placed, Algorithm::pr, access)->statistics(0).lane_use();
  };
  EXPECT_GT(lane_use(Access::edge_gather), lane_use(Access::merged));
  EXPECT_GT(lane_use(Access::merged), lane_use(Access::merged_aligned));
}

// A block that kept the hub's list to itself would have half of all edges, the other half being the leaves'.
TEST_F(Walks, of_edge_gather_share_out_the_list_of_a_hub) {
  const BothWays both = star(2'000'000);
  const auto placed = place(both.graph, EdgePlacement::mapped, 8);
  const auto traversal = make_traversal(*placed, Algorithm::bfs, Access::edge_gather);
  const WalkStatistics statistics = traversal->statistics(2'000'000);
  EXPECT_EQ(statistics.lanes, both.graph.edges());
  EXPECT_LT(statistics.block_imbalance / statistics.blocks, 0.1);
}

}  // namespace
namespace {

class Gathers : public TraversalTest {};

std::vector<std::uint32_t> in_degrees(const Csr& graph) {
  std::vector<std::uint32_t> degrees(graph.vertices());
  for (const Vertex target : graph.targets.span()) {
    ++degrees[target];
  }
  return degrees;
}

TEST_F(Gathers, hand_out_every_edge_exactly_once_as_every_walk_does) {
  std::vector<BothWays> graphs = all_sample_graphs();
  for (BothWays& both : larger_graphs()) {
    graphs.push_back(std::move(both));
  }
  graphs.push_back(star(300'000));
  for (const BothWays& both : graphs) {
    for (const int edge_bytes : {4, 8}) {
      const auto placed = place(both.graph, EdgePlacement::mapped, edge_bytes);
      for (const Access access : kAllAccess) {
        SCOPED_TRACE(testing::Message() << both.graph.name << ", " << name(access) << ", " << edge_bytes);
        const auto traversal = make_in_degrees(*placed, access);
        for (int run = 0; run < 3; ++run) {
          static_cast<void>(traversal->run(0));
          EXPECT_EQ(traversal->answer(), in_degrees(both.graph));
        }
      }
    }
  }
}

TEST_F(Gathers, leave_by_their_clock_and_say_so_where_a_list_never_gets_done) {
  using namespace std::chrono_literals;
  const auto begun = std::chrono::steady_clock::now();
  EXPECT_TRUE(gives_up_waiting(0.05));
  EXPECT_LT(std::chrono::steady_clock::now() - begun, 5s);
}

}  // namespace
}  // namespace grainscope::graph
