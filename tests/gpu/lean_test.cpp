#include <limits>

#include "grainscope/core/error.hpp"
#include "grainscope/graph/build.hpp"
#include "grainscope/graph/reorder.hpp"
#include "grainscope/lean/lean_bfs.hpp"
#include "grainscope/lean/lean_cc.hpp"
#include "grainscope/lean/lean_sssp.hpp"
#include "grainscope/model/lean_bfs.hpp"
#include "grainscope/model/lean_cc.hpp"
#include "grainscope/model/lean_sssp.hpp"
#include "traversal_fixture.hpp"

namespace grainscope::lean {
namespace {

using graph::BothWays;
using graph::Csr;
using graph::Vertex;

constexpr Turning kTurnings[] = {{}, {0, 0}, {std::numeric_limits<double>::infinity(), 0}, {1e9, 1e9}};

struct Tiers {
  HotTier out;
  HotTier in;
};

class LeanSearches : public graph::TraversalTest {
 protected:
  static std::unique_ptr<LeanLists> place(const BothWays& both, const Tiers* tiers) {
    LeanPlacement placement;
    placement.graph = &both.graph;
    placement.in_edges = both.graph.directed ? &both.transposed : nullptr;
    if (tiers != nullptr) {
      placement.tier = &tiers->out;
      placement.in_tier = &tiers->in;
    }
    return place_lean(placement);
  }

  // Depths of the serial search; reads as the model has them, level by level.
  static void expect_right(const BothWays& both, const Tiers* tiers, Vertex source, const Turning& turning) {
    const auto lists = place(both, tiers);
    const auto search = make_lean_bfs(*lists, turning);
    EXPECT_GT(search->run(source), 0);
    ASSERT_EQ(search->depths(), graph::serial_bfs(both.graph, source));
    const HotTier* out = tiers != nullptr ? &tiers->out : nullptr;
    const HotTier* in = tiers == nullptr ? nullptr : both.graph.directed ? &tiers->in : &tiers->out;
    const model::LeanBfs expected =
        model::replay_bfs({&both.graph, out}, {&both.in_edges(), in}, source, turning);
    const std::vector<LevelResult> levels = search->levels();
    ASSERT_EQ(levels.size(), expected.levels.size());
    const std::vector<LinkReads> reads = search->count(source);
    ASSERT_EQ(reads.size(), expected.levels.size());
    for (std::size_t i = 0; i < levels.size(); ++i) {
      const model::LeanLevel& level = expected.levels[i];
      EXPECT_EQ(levels[i].active, level.active) << "level " << i;
      EXPECT_EQ(levels[i].edges, level.edges) << "level " << i;
      EXPECT_EQ(search->pulled()[i], level.pull) << "level " << i;
      EXPECT_EQ(reads[i].elements, level.link.elements) << "level " << i;
      EXPECT_EQ(reads[i].sectors * model::kSectorBytes, level.link.bytes()) << "level " << i;
      EXPECT_EQ(reads[i].hot, level.hot_reads) << "level " << i;
    }
    EXPECT_EQ(search->depths(), expected.depths) << "after counting";
  }

  static Tiers tiers_of(const BothWays& both, TierPolicy policy, int percent) {
    return {plan_tier(both.graph, policy, both.graph.edges() * static_cast<unsigned>(percent) / 100),
            plan_tier(both.in_edges(), policy, both.graph.edges() * static_cast<unsigned>(percent) / 100)};
  }
};

BothWays hubs_first(const BothWays& both) {
  return BothWays(graph::relabel(both.graph, graph::order_of(both.graph, graph::Order::degree)));
}

TEST_F(LeanSearches, find_depths_and_read_as_the_model_on_small_graphs_of_every_shape) {
  for (const BothWays& both : graph::all_sample_graphs()) {
    const Tiers tiers = tiers_of(both, TierPolicy::heads, 30);
    for (const Turning& turning : kTurnings) {
      SCOPED_TRACE(testing::Message() << both.graph.name << ", " << both.graph.vertices()
                                      << " vertices, alpha " << turning.alpha);
      expect_right(both, nullptr, busiest(both.graph), turning);
      expect_right(both, &tiers, busiest(both.graph), turning);
    }
  }
}

TEST_F(LeanSearches, find_depths_and_read_as_the_model_on_generated_and_real_graphs) {
  for (const BothWays& original : graph::larger_graphs()) {
    const BothWays ordered = hubs_first(original);
    for (const BothWays* both : {&original, &ordered}) {
      for (const Turning& turning : kTurnings) {
        expect_right(*both, nullptr, busiest(both->graph), turning);
        for (const TierPolicy policy : {TierPolicy::heads, TierPolicy::lists}) {
          const Tiers tiers = tiers_of(*both, policy, 25);
          expect_right(*both, &tiers, busiest(both->graph), turning);
        }
      }
    }
  }
}

TEST_F(LeanSearches, cut_long_lists_into_pieces) {
  const BothWays both = graph::star(100'000);
  const Tiers tiers = tiers_of(both, TierPolicy::lists, 10);
  for (const Vertex source : {Vertex{0}, Vertex{5}}) {
    for (const Turning& turning : kTurnings) {
      expect_right(both, nullptr, source, turning);
      expect_right(both, &tiers, source, turning);
    }
  }
}

TEST_F(LeanSearches, go_on_from_source_to_source) {
  const BothWays both = hubs_first(graph::larger_graphs().front());
  const Tiers tiers = tiers_of(both, TierPolicy::heads, 10);
  const auto lists = place(both, &tiers);
  const auto search = make_lean_bfs(*lists, {});
  for (Vertex source = 0; source < 200; ++source) {
    static_cast<void>(search->run(source));
    ASSERT_EQ(search->depths(), graph::serial_bfs(both.graph, source)) << source;
  }
  EXPECT_EQ(lists->hot_bytes() > 0, true);
}

void expect_equal(const LinkReads& reads, const model::Requests& link, std::uint64_t hot) {
  EXPECT_EQ(reads.elements, link.elements);
  EXPECT_EQ(reads.sectors * model::kSectorBytes, link.bytes());
  EXPECT_EQ(reads.hot, hot);
}

class LeanComponents : public LeanSearches {
 protected:
  static void expect_labels(const BothWays& both, const Tiers* tiers) {
    const auto lists = place(both, tiers);
    const auto components = make_lean_cc(*lists);
    const model::LeanCc expected = model::replay_cc({&both.graph, tiers != nullptr ? &tiers->out : nullptr});
    for (int run = 0; run < 3; ++run) {
      EXPECT_GT(components->run(), 0);
      ASSERT_EQ(components->labels(), graph::serial_cc(both.graph));
      const auto reads = components->count();
      expect_equal(reads[0], expected.sampling, expected.sampling_hot);
      expect_equal(reads[1], expected.rest, expected.rest_hot);
    }
  }
};

TEST_F(LeanComponents, label_as_the_serial_search_and_read_as_the_model) {
  std::vector<BothWays> graphs = graph::sample_graphs(false);
  for (const BothWays& each : graph::larger_graphs()) {
    if (!each.graph.directed) {
      graphs.push_back(hubs_first(each));
      graphs.push_back(each);
    }
  }
  graphs.push_back(graph::star(100'000));
  for (const BothWays& both : graphs) {
    SCOPED_TRACE(testing::Message() << both.graph.name << ", " << both.graph.vertices() << " vertices");
    expect_labels(both, nullptr);
    for (const TierPolicy policy : {TierPolicy::heads, TierPolicy::lists}) {
      const Tiers tiers = tiers_of(both, policy, 20);
      expect_labels(both, &tiers);
    }
  }
}

TEST_F(LeanComponents, of_many_small_parts_are_found) {
  // Circles of four: no component is large, and nearly all lists are read.
  std::vector<graph::Triple> edges;
  for (std::uint32_t part = 0; part < 5000; ++part) {
    for (std::uint32_t i = 0; i < 4; ++i) {
      edges.push_back({4 * part + i, 4 * part + (i + 1) % 4, 1});
    }
  }
  expect_labels(BothWays(graph::weighted_graph(20'000, edges, false)), nullptr);
}

TEST_F(LeanComponents, refuse_a_directed_graph) {
  const BothWays directed = graph::larger_graphs()[2];
  const auto lists = place(directed, nullptr);
  EXPECT_THROW(static_cast<void>(make_lean_cc(*lists)), UsageError);
}

class LeanPaths : public LeanSearches {
 protected:
  static void expect_distances(const BothWays& both, const Tiers* tiers, Vertex source, std::uint32_t delta) {
    LeanPlacement placement;
    placement.graph = &both.graph;
    placement.tier = tiers != nullptr ? &tiers->out : nullptr;
    placement.weights = true;
    const auto lists = place_lean(placement);
    const auto paths = make_lean_sssp(*lists, delta);
    const auto expected = graph::serial_sssp(both.graph, source);
    for (int run = 0; run < 3; ++run) {
      EXPECT_GT(paths->run(source), 0);
      ASSERT_EQ(paths->distances(), expected);
    }
    const std::vector<LinkReads> reads = paths->count(source);
    ASSERT_EQ(paths->distances(), expected);
    ASSERT_EQ(reads.size(), paths->levels().size());
    std::uint64_t read = 0;
    std::uint64_t listed = 0;
    for (std::size_t i = 0; i < reads.size(); ++i) {
      EXPECT_EQ(reads[i].elements + reads[i].hot, paths->levels()[i].edges) << "step " << i;
      read += reads[i].elements + reads[i].hot;
    }
    for (Vertex v = 0; v < both.graph.vertices(); ++v) {
      listed += expected[v] != graph::kUnreached ? both.graph.degree(v) : 0;
    }
    EXPECT_GE(read, listed) << "every list that is reached is read";
  }
};

TEST_F(LeanPaths, find_the_distances_of_dijkstra) {
  std::vector<BothWays> graphs = graph::all_sample_graphs();
  for (const BothWays& each : graph::larger_graphs()) {
    graphs.push_back(each);
  }
  graphs.push_back(graph::star(100'000));
  for (const BothWays& both : graphs) {
    if (!both.graph.weighted()) {
      continue;
    }
    SCOPED_TRACE(testing::Message() << both.graph.name << ", " << both.graph.vertices() << " vertices");
    const Tiers tiers = tiers_of(both, TierPolicy::lists, 20);
    for (const std::uint32_t delta : {1U, usual_delta(both.graph), 100'000U}) {
      expect_distances(both, nullptr, busiest(both.graph), delta);
      expect_distances(both, &tiers, busiest(both.graph), delta);
    }
  }
}

TEST_F(LeanPaths, read_weights_beside_neighbours_where_they_do_not_fit_into_them) {
  BothWays both = graph::larger_graphs().front();
  for (std::uint64_t i = 0; i < both.graph.edges(); ++i) {
    both.graph.weights[i] *= 1 << 20;
  }
  ASSERT_FALSE(packs_weights(both.graph));
  const Tiers tiers = tiers_of(both, TierPolicy::heads, 20);
  expect_distances(both, nullptr, busiest(both.graph), usual_delta(both.graph));
  expect_distances(both, &tiers, busiest(both.graph), usual_delta(both.graph));
}

TEST_F(LeanPaths, refuse_lists_without_weights_and_others_those_with_them) {
  const BothWays both = graph::star(10);
  const auto plain = place(both, nullptr);
  EXPECT_THROW(static_cast<void>(make_lean_sssp(*plain, 1)), UsageError);
  LeanPlacement placement;
  placement.graph = &both.graph;
  placement.weights = true;
  const auto weighted = place_lean(placement);
  EXPECT_THROW(static_cast<void>(make_lean_sssp(*weighted, 0)), UsageError);
  EXPECT_THROW(static_cast<void>(make_lean_bfs(*weighted, {})), UsageError);
  EXPECT_THROW(static_cast<void>(make_lean_cc(*weighted)), UsageError);
}

TEST_F(LeanSearches, refuse_what_cannot_be) {
  const BothWays both = graph::star(10);
  const auto lists = place(both, nullptr);
  const auto search = make_lean_bfs(*lists, {});
  EXPECT_THROW(static_cast<void>(search->run(11)), UsageError);
  EXPECT_GT(search->run(3), 0);
  const BothWays directed = graph::larger_graphs()[2];
  ASSERT_TRUE(directed.graph.directed);
  LeanPlacement placement;
  placement.graph = &directed.graph;
  EXPECT_THROW(static_cast<void>(place_lean(placement)), UsageError);
}

}  // namespace
}  // namespace grainscope::lean
