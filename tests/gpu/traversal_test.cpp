// Traversals against serial oracles, and every case of the families over graphs.

#include <algorithm>
#include <chrono>
#include <iostream>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "family_fixture.hpp"
#include "gnn/case.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/cuda/hint.hpp"
#include "grainscope/graph/generate.hpp"
#include "grainscope/graph/traversal.hpp"
#include "grainscope/model/replay.hpp"
#include "probes.hpp"
#include "traversal/lean_runs.hpp"
#include "traversal/loaded_graph.hpp"
#include "traversal_fixture.hpp"

namespace grainscope::graph {
namespace {

class Traversals : public TraversalTest {};

// Of one algorithm by one access.
class TraversalAnswers : public TraversalTest,
                         public testing::WithParamInterface<std::tuple<Algorithm, Access>> {
 protected:
  void expect_oracle(const BothWays& both, EdgePlacement placement, int edge_bytes) {
    const auto& [algorithm, access] = GetParam();
    expect_right_from(both, placement, edge_bytes, algorithm, access);
  }

  void expect_oracle(const BothWays& both) {
    for (const int edge_bytes : {4, 8}) {
      expect_oracle(both, EdgePlacement::mapped, edge_bytes);
      expect_oracle(both, EdgePlacement::device, edge_bytes);
    }
  }
};

INSTANTIATE_TEST_SUITE_P(All, TraversalAnswers,
                         testing::Combine(testing::ValuesIn(kAllAlgorithms), testing::ValuesIn(kAllAccess)),
                         [](const auto& tested) {
                           return std::string(name(std::get<0>(tested.param))) + "_" +
                                  name(std::get<1>(tested.param));
                         });

TEST_P(TraversalAnswers, are_the_oracles_on_small_graphs_of_every_shape) {
  for (const BothWays& both : all_sample_graphs()) {
    expect_oracle(both, EdgePlacement::mapped, 8);
    expect_oracle(both, EdgePlacement::device, 4);
  }
}

TEST_P(TraversalAnswers, are_the_oracles_on_generated_and_real_graphs) {
  for (const BothWays& both : larger_graphs()) {
    expect_oracle(both);
  }
}

TEST_P(TraversalAnswers, are_the_oracles_where_one_list_is_much_longer_than_all_others) {
  expect_oracle(star(100'000));
}

// Of one GPU in several parts, so that it is tested where there is no second.
TEST_P(TraversalAnswers, are_the_oracles_of_parts_on_one_gpu) {
  const auto& [algorithm, access] = GetParam();
  for (const BothWays& both : all_sample_graphs()) {
    expect_right_by({0, 0}, both, EdgePlacement::mapped, 8, Division::edges, algorithm, access);
  }
  for (const BothWays& both : larger_graphs()) {
    for (const Division division : kDivisions) {
      expect_right_by({0, 0, 0}, both, EdgePlacement::mapped, 8, division, algorithm, access);
      expect_right_by({0, 0, 0}, both, EdgePlacement::device, 4, division, algorithm, access);
    }
  }
}

TEST_P(TraversalAnswers, are_the_oracles_of_several_gpus) {
  const std::vector<int> gpus = reachable_gpus();
  if (gpus.size() < 2) {
    GTEST_SKIP() << "needs two GPUs that reach each other";
  }
  const auto& [algorithm, access] = GetParam();
  for (const BothWays& both : larger_graphs()) {
    for (const EdgePlacement placement :
         {EdgePlacement::mapped, EdgePlacement::device, EdgePlacement::interleaved}) {
      expect_right_by(gpus, both, placement, 8, Division::edges, algorithm, access);
      expect_right_by(gpus, both, placement, 4, Division::vertices, algorithm, access);
    }
  }
  expect_right_by(gpus, star(100'000), EdgePlacement::mapped, 8, Division::edges, algorithm, access);
}

TEST_P(TraversalAnswers, are_the_oracles_from_the_memory_of_others) {
  const std::vector<int> gpus = reachable_gpus();
  const auto& [algorithm, access] = GetParam();
  for (const BothWays& both : larger_graphs()) {
    if (!applies(both.graph, algorithm)) {
      continue;
    }
    for (const EdgePlacement placement : {EdgePlacement::peer, EdgePlacement::interleaved}) {
      PlacementRequest request;
      request.placement = placement;
      request.weights = both.graph.weighted();
      request.gpu = gpus.front();
      request.gpus = placement == EdgePlacement::peer ? std::vector{gpus.back()} : gpus;
      if (placement == EdgePlacement::peer && gpus.size() < 2) {
        continue;
      }
      SCOPED_TRACE(testing::Message() << both.graph.name << ", " << name(placement));
      const auto placed = place_graph(both.graph, request, {nullptr, &budget_});
      const auto traversal = make_traversal(*placed, algorithm, access);
      EXPECT_GT(traversal->run(busiest(both.graph)), 0);
      expect_right(both, algorithm, busiest(both.graph), *traversal);
    }
  }
}

TEST_F(Traversals, answer_right_from_interleaved_edges_of_many_pieces) {
  const BothWays both(make_graph(parse_graph_spec("kron:16"), true));
  PlacementRequest request;
  request.placement = EdgePlacement::interleaved;
  request.weights = true;
  request.gpus = reachable_gpus();
  const auto placed = place_graph(both.graph, request, {nullptr, &budget_});
  for (const Algorithm algorithm : kAllAlgorithms) {
    const auto traversal = make_traversal(*placed, algorithm, Access::merged_aligned);
    EXPECT_GT(traversal->run(busiest(both.graph)), 0);
    expect_right(both, algorithm, busiest(both.graph), *traversal);
  }
}

// Over the lists of in-neighbours; of a directed graph these are its transpose's.
TEST_F(Traversals, by_pull_are_the_oracles) {
  std::vector<BothWays> graphs = all_sample_graphs();
  for (BothWays& both : larger_graphs()) {
    graphs.push_back(std::move(both));
  }
  graphs.push_back(star(100'000));
  for (const BothWays& both : graphs) {
    for (const Algorithm algorithm : {Algorithm::bfs, Algorithm::pr}) {
      if (algorithm == Algorithm::pr && both.graph.directed) {
        continue;  // its out-degrees are not in the transpose
      }
      for (const Access access : {Access::merged_aligned, Access::edge_gather}) {
        for (const EdgePlacement placement : {EdgePlacement::mapped, EdgePlacement::device}) {
          SCOPED_TRACE(testing::Message() << both.graph.name << ", " << name(algorithm) << ", "
                                          << name(access) << ", " << name(placement));
          PlacementRequest request;
          request.placement = placement;
          const auto placed = place_graph(both.in_edges(), request, {nullptr, &budget_});
          const auto traversal = make_traversal(*placed, algorithm, access, Direction::pull);
          EXPECT_GT(traversal->run(busiest(both.graph)), 0);
          expect_right(both, algorithm, busiest(both.graph), *traversal);
        }
      }
    }
  }
}

TEST_F(Traversals, by_pull_look_at_all_that_is_not_reached_yet) {
  const BothWays both = star(1000);  // its hub is the last
  const auto placed = place(both.graph, EdgePlacement::device, 8);
  const auto traversal = make_traversal(*placed, Algorithm::bfs, Access::merged_aligned, Direction::pull);
  std::vector<std::size_t> active;
  traversal->follow(0, [&](std::span<const Vertex> level) { active.push_back(level.size()); });
  EXPECT_EQ(active, (std::vector<std::size_t>{1000, 999}));  // the hub is found, then all leaves
}

TEST_F(Traversals, refuse_a_pull_that_is_not_there) {
  const BothWays both = star(10);
  const auto placed = place(both.graph, EdgePlacement::device, 4);
  for (const Algorithm algorithm : kAllAlgorithms) {
    for (const Access access : kAllAccess) {
      if (why_no_pull(algorithm, access) != nullptr) {
        EXPECT_THROW(static_cast<void>(make_traversal(*placed, algorithm, access, Direction::pull)),
                     UsageError);
      }
    }
  }
}

TEST_F(Traversals, of_parts_tell_the_levels_of_the_whole) {
  const BothWays both = larger_graphs().front();
  const auto whole = place(both.graph, EdgePlacement::device, 8);
  const auto alone = make_traversal(*whole, Algorithm::bfs, Access::merged_aligned);
  const auto placed = place_parts(both.graph, EdgePlacement::device, 8, {0, 0, 0}, Division::edges);
  const PlacedGraph* const parts[] = {placed[0].get(), placed[1].get(), placed[2].get()};
  const auto together = make_traversal(parts, Algorithm::bfs, Access::merged_aligned);
  const Vertex source = busiest(both.graph);
  std::vector<std::vector<Vertex>> of_whole;
  std::vector<std::vector<Vertex>> of_parts;
  alone->follow(source, [&](auto active) { of_whole.emplace_back(active.begin(), active.end()); });
  together->follow(source, [&](auto active) { of_parts.emplace_back(active.begin(), active.end()); });
  EXPECT_EQ(of_parts, of_whole);
  const std::vector<LevelResult> one = alone->levels();
  const std::vector<LevelResult> all = together->levels();
  ASSERT_EQ(all.size(), one.size());
  for (std::size_t level = 0; level < all.size(); ++level) {
    EXPECT_EQ(all[level].active, one[level].active);
    EXPECT_EQ(all[level].edges, one[level].edges);
  }
  EXPECT_EQ(together->statistics(source).lanes, alone->statistics(source).lanes);
  EXPECT_THROW(static_cast<void>(together->run(both.graph.vertices())), UsageError);
}

TEST_F(Traversals, refuse_parts_that_are_no_whole) {
  const BothWays both = larger_graphs().front();
  const auto placed = place_parts(both.graph, EdgePlacement::device, 8, {0, 0}, Division::edges);
  const auto make = [&](std::vector<const PlacedGraph*> parts) {
    static_cast<void>(make_traversal(parts, Algorithm::bfs, Access::merged));
  };
  EXPECT_THROW(make({}), UsageError);
  EXPECT_THROW(make({placed[0].get()}), UsageError);
  EXPECT_THROW(make({placed[1].get(), placed[0].get()}), UsageError);
  EXPECT_NO_THROW(make({placed[0].get(), placed[1].get()}));
  // A part alone is no graph either.
  EXPECT_THROW(static_cast<void>(make_traversal(*placed[0], Algorithm::bfs, Access::merged)), UsageError);
}

TEST_F(Traversals, answer_alike_run_after_run) {
  const BothWays both = larger_graphs().front();
  const auto placed = place(both.graph, EdgePlacement::mapped, 8);
  for (const Algorithm algorithm : {Algorithm::sssp, Algorithm::cc}) {
    const auto traversal = make_traversal(*placed, algorithm, Access::edge_gather);
    for (int run = 0; run < 50; ++run) {
      static_cast<void>(traversal->run(busiest(both.graph)));
      expect_right(both, algorithm, busiest(both.graph), *traversal);
    }
  }
}

TEST_F(Traversals, answer_right_from_managed_memory_made_cold_each_time) {
  if (!runtime().devices[0].concurrent_managed_access) {
    GTEST_SKIP() << "managed memory does not migrate on demand here";
  }
  const BothWays both = larger_graphs().front();
  for (const int edge_bytes : {4, 8}) {
    const auto placed = place(both.graph, EdgePlacement::managed, edge_bytes);
    for (const Access access : kAllAccess) {
      for (const Algorithm algorithm : kAllAlgorithms) {
        SCOPED_TRACE(testing::Message() << name(algorithm) << ", " << name(access));
        const auto traversal = make_traversal(*placed, algorithm, access);
        for (int trial = 0; trial < 2; ++trial) {
          placed->make_cold();
          EXPECT_GT(traversal->run(busiest(both.graph)), 0);
          expect_right(both, algorithm, busiest(both.graph), *traversal);
        }
      }
    }
  }
}

TEST_F(Traversals, answer_right_from_managed_memory_under_every_hint_and_move_what_it_lets_move) {
  if (!runtime().devices[0].concurrent_managed_access) {
    GTEST_SKIP() << "managed memory does not migrate on demand here";
  }
  const BothWays both = larger_graphs().front();
  for (const cuda::Hint hint : cuda::kHints) {
    PlacementRequest request;
    request.placement = EdgePlacement::managed;
    request.weights = both.graph.weighted();
    request.hint = hint;
    const auto placed = place_graph(both.graph, request, {nullptr, &budget_});
    for (const Algorithm algorithm : kAllAlgorithms) {
      SCOPED_TRACE(testing::Message() << name(algorithm) << ", " << cuda::name(hint));
      const auto traversal = make_traversal(*placed, algorithm, Access::merged_aligned);
      for (int trial = 0; trial < 2; ++trial) {
        placed->make_cold();
        EXPECT_EQ(placed->moved_bytes().value_or(0), 0U);
        EXPECT_GT(traversal->run(busiest(both.graph)), 0);
        expect_right(both, algorithm, busiest(both.graph), *traversal);
        if (const auto moved = placed->moved_bytes()) {
          EXPECT_EQ(*moved > 0, cuda::migrates(hint)) << *moved;
        }
        EXPECT_NO_THROW(placed->expect_on_host());
      }
    }
  }
}

TEST_F(Traversals, refuse_a_source_that_is_no_vertex) {
  const BothWays both = star(10);
  const auto placed = place(both.graph, EdgePlacement::device, 4);
  for (const Access access : kAllAccess) {
    const auto traversal = make_traversal(*placed, Algorithm::bfs, access);
    EXPECT_THROW(static_cast<void>(traversal->run(11)), UsageError);
    EXPECT_THROW(static_cast<void>(traversal->trace(11)), UsageError);
    EXPECT_THROW(static_cast<void>(traversal->statistics(11)), UsageError);
  }
}

TEST_F(Traversals, refuse_sssp_without_weights) {
  const BothWays both = star(10);
  const auto placed = place_graph(both.graph, PlacementRequest{}, {});
  EXPECT_THROW(static_cast<void>(make_traversal(*placed, Algorithm::sssp, Access::merged)), UsageError);
  EXPECT_NO_THROW(static_cast<void>(make_traversal(*placed, Algorithm::bfs, Access::merged)));
}

TEST_F(Traversals, of_edges_in_any_host_memory_are_right) {
  const Topology topology = Topology::read();
  for (const BothWays& both : larger_graphs()) {
    for (const cuda::MemoryKind kind :
         {cuda::MemoryKind::registered, cuda::MemoryKind::transparent_huge, cuda::MemoryKind::managed_host}) {
      SCOPED_TRACE(testing::Message() << both.graph.name << ", " << cuda::name(kind));
      PlacementRequest request;
      request.weights = both.graph.weighted();
      request.memory = kind;
      request.node = topology.usable_nodes().front();
      try {
        const auto placed = place_graph(both.graph, request, {&topology, &budget_});
        for (const Algorithm algorithm : kAllAlgorithms) {
          if (applies(both.graph, algorithm)) {
            const auto traversal = make_traversal(*placed, algorithm, Access::merged_aligned);
            placed->expect_on_host();
            EXPECT_GT(traversal->run(busiest(both.graph)), 0);
            placed->expect_on_host();
            expect_right(both, algorithm, busiest(both.graph), *traversal);
          }
        }
      } catch (const SkipError& error) {
        std::cout << cuda::name(kind) << ": " << error.what() << '\n';
      }
    }
  }
}

TEST_F(Traversals, refuse_the_other_kind_of_answer) {
  const BothWays both = star(10);
  const auto placed = place(both.graph, EdgePlacement::device, 4);
  for (const Algorithm algorithm : kAllAlgorithms) {
    const auto traversal = make_traversal(*placed, algorithm, Access::merged);
    static_cast<void>(traversal->run(0));
    if (algorithm == Algorithm::pr) {
      EXPECT_THROW(static_cast<void>(traversal->answer()), UsageError);
    } else {
      EXPECT_THROW(static_cast<void>(traversal->ranks()), UsageError);
    }
  }
}

TEST_F(Traversals, a_certificate_refuses_an_answer_with_one_wrong_number) {
  const BothWays both = larger_graphs().front();
  const Csr& graph = both.graph;
  const Vertex source = busiest(graph);
  const Vertex wrong = graph.neighbours(source)[0];
  const auto placed = place(graph, EdgePlacement::device, 4);
  const auto answer_of = [&](Algorithm algorithm) {
    const auto traversal = make_traversal(*placed, algorithm, Access::edge_gather);
    static_cast<void>(traversal->run(source));
    return traversal->answer();
  };
  auto depths = answer_of(Algorithm::bfs);
  EXPECT_NO_THROW((void)certify_bfs(graph, graph, source, depths));
  depths[wrong] += 1;
  EXPECT_THROW((void)certify_bfs(graph, graph, source, depths), FailedError);
  auto distances = answer_of(Algorithm::sssp);
  EXPECT_NO_THROW((void)certify_sssp(graph, source, distances));
  distances[wrong] += 1;
  EXPECT_THROW((void)certify_sssp(graph, source, distances), FailedError);
  auto labels = answer_of(Algorithm::cc);
  EXPECT_NO_THROW((void)certify_cc(graph, count_components(graph), labels));
  labels[wrong] = wrong + 1;
  EXPECT_THROW((void)certify_cc(graph, count_components(graph), labels), FailedError);
}

TEST_F(Traversals, a_certificate_refuses_a_rank_that_is_wrong) {
  const BothWays both = larger_graphs().front();
  const auto placed = place(both.graph, EdgePlacement::device, 4);
  const auto traversal = make_traversal(*placed, Algorithm::pr, Access::edge_gather);
  static_cast<void>(traversal->run(0));
  std::vector<float> ranks = traversal->ranks();
  EXPECT_NO_THROW((void)certify_pr(both.graph, both.in_edges(), ranks));
  ranks[busiest(both.graph)] += 0.001F;
  EXPECT_THROW((void)certify_pr(both.graph, both.in_edges(), ranks), FailedError);
}

}  // namespace
}  // namespace grainscope::graph

// Every case of the families over graphs, as the suite would run it on a small graph.

namespace grainscope::harness {
namespace {

class GraphFamilies : public FamilyTest {
 protected:
  // Of the preset `full` on this graph; how many could run.
  std::size_t measure_all_on(const char* graph, const Family& family) {
    return measure_all(listed_on(graph, family, Preset::full),
                       [](const Measurement& measurement) { EXPECT_NE(measurement.verification, ""); });
  }
};

TEST_F(GraphFamilies, every_traversal_is_measured) {
  EXPECT_GE(measure_all_on("kron:12", traversal()), 10U);
  EXPECT_GE(measure_all_on("web:12", traversal()), 5U);
}

TEST_F(GraphFamilies, every_lean_traversal_is_measured) {
  EXPECT_GE(measure_all_on("kron:12", lean_traversal()), 20U);
  EXPECT_GE(measure_all_on("web:12", lean_traversal()), 15U);
}

TEST_F(GraphFamilies, every_sampler_is_measured) {
  EXPECT_GE(measure_all_on("kron:12", sampling_neighbours(std::make_shared<GnnGraphCache>())), 2U);
}

// A row fails where a run read what its model does not.
TEST_F(GraphFamilies, lean_reads_that_are_not_the_model_s_are_told) {
  for (const graph::Algorithm algorithm :
       {graph::Algorithm::bfs, graph::Algorithm::cc, graph::Algorithm::pr, graph::Algorithm::sssp}) {
    LeanPoint point;
    point.spec = graph::parse_graph_spec("kron:12");
    point.graph = {point.spec.name(), graph::Order::degree};
    point.algorithm = algorithm;
    const LoadedGraph graph(point.spec, point.graph.order, "");
    const LeanLayout layout(point, graph);
    const PlacedTeam lists(point, layout, {});
    const LeanRun run = make_lean_run(point, graph, lists.team(), layout);
    const graph::Vertex source = graph.sources(1).front();
    static_cast<void>(run.traversal->run(source));
    const std::vector<lean::LinkReads> reads = run.traversal->count(source);
    EXPECT_NO_THROW(static_cast<void>(run.model(source, reads))) << name(algorithm);
    std::vector<lean::LinkReads> more = reads;
    more.front().sectors += 1;
    more.front().elements += 3000 + graph.csr().edges();
    EXPECT_THROW(static_cast<void>(run.model(source, more)), FailedError) << name(algorithm);
  }
}

}  // namespace
}  // namespace grainscope::harness

// How traversals walk: which loads, over which frontiers, by which lanes and blocks.

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
