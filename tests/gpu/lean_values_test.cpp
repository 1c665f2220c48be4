// Lean components, paths and ranks, against oracles.

#include <cuda_runtime_api.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include "grainscope/core/error.hpp"
#include "grainscope/cuda/check.hpp"
#include "grainscope/graph/generate.hpp"
#include "grainscope/lean/run.hpp"
#include "grainscope/model/lean.hpp"
#include "lean_fixture.hpp"

namespace grainscope::lean {
namespace {

using graph::BothWays;

class LeanComponents : public LeanTest {
 protected:
  static void expect_labels(const BothWays& both, const Lists& lists) {
    const auto placed = lists.place();
    const auto components = make_lean_cc(*placed);
    const model::CcPrediction expected = model::replay_cc(lists.pushed());
    for (int run = 0; run < 3; ++run) {
      const double seconds = graph::run_anew(*components, 0);
      EXPECT_GT(seconds, 0);
      const std::vector<LevelResult> stages = components->levels();
      double stages_s = 0;
      for (const LevelResult& stage : stages) {
        stages_s += stage.seconds;
      }
      EXPECT_LT(stages_s, seconds);
      EXPECT_GT(stages.at(samples).seconds, 0);
      ASSERT_EQ(components->answer(), graph::serial_cc(both.graph));
      const auto reads = components->count(0);
      for (std::size_t i = 0; i < reads.size(); ++i) {
        SCOPED_TRACE(testing::Message() << "stage " << i);
        expect_equal(reads[i], expected.stages[i].link, expected.stages[i].hot);
      }
    }
  }
  static void expect_labels_over_all_lists(const BothWays& both, int percent = 20) {
    for (const TierPolicy policy : {TierPolicy::heads, TierPolicy::lists}) {
      over_all_lists(both, policy, percent, false, [&](const Lists& lists) { expect_labels(both, lists); });
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
    expect_labels_over_all_lists(both);
  }
}

TEST_F(LeanComponents, are_joined_by_first_neighbours_and_by_whole_lists_where_these_make_trees) {
  for (const char* spec : {"urand:15", "kron:15"}) {
    const BothWays both = hubs_first(BothWays(graph::make_graph(graph::parse_graph_spec(spec), false)));
    const model::CcPrediction expected = model::replay_cc(Lists(both).firsts(true).pushed());
    EXPECT_EQ(expected.stages[early].vertices > 0, spec[0] == 'u') << spec;
    expect_labels_over_all_lists(both);
    expect_labels_over_all_lists(both, 2);
  }
}

TEST_F(LeanComponents, are_found_where_every_list_is_hot) {
  expect_labels_over_all_lists(
      hubs_first(BothWays(graph::make_graph(graph::parse_graph_spec("kron:15"), false))), 100);
}

TEST_F(LeanComponents, whose_largest_is_not_the_first_found) {
  const BothWays both(graph::bridged_parts());
  expect_labels(both, Lists(both).hot(TierPolicy::lists, 24));
}

TEST_F(LeanComponents, of_many_small_parts_are_found) {
  // Rings of five with two chords: no component is large, and nearly all lists are read.
  std::vector<graph::Triple> edges;
  for (std::uint32_t part = 0; part < 5000; ++part) {
    for (std::uint32_t i = 0; i < 5; ++i) {
      edges.push_back({5 * part + i, 5 * part + (i + 1) % 5, 1});
    }
    edges.push_back({5 * part, 5 * part + 2, 1});
    edges.push_back({5 * part + 1, 5 * part + 3, 1});
  }
  expect_labels_over_all_lists(BothWays(graph::weighted_graph(25'000, edges, false)));
}

TEST_F(LeanComponents, refuse_a_directed_graph) {
  const BothWays directed = graph::larger_graphs()[2];
  const auto placed = Lists(directed).place();
  EXPECT_THROW(static_cast<void>(make_lean_cc(*placed)), UsageError);
}

}  // namespace
namespace {

using graph::BothWays;
using graph::Vertex;

class LeanPaths : public LeanTest {
 protected:
  static void expect_distances(const BothWays& both, const Lists& lists, Vertex source, std::uint32_t delta) {
    SCOPED_TRACE(testing::Message() << "delta " << delta);
    const auto placed = lists.place();
    const auto paths = make_lean_sssp(*placed, delta);
    const auto expected = graph::serial_sssp(both.graph, source);
    for (int run = 0; run < 3; ++run) {
      EXPECT_GT(graph::run_anew(*paths, source), 0);
      ASSERT_EQ(paths->answer(), expected);
    }
    const std::vector<LinkReads> reads = paths->count(source);
    ASSERT_EQ(paths->answer(), expected);
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
  static void expect_distances_over_all_lists(const BothWays& both, std::uint32_t delta, int percent = 20) {
    over_all_lists(both, TierPolicy::lists, percent, true,
                   [&](const Lists& lists) { expect_distances(both, lists, busiest(both.graph), delta); });
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
    for (const std::uint32_t delta : {1U, usual_delta(both.graph), 100'000U}) {
      expect_distances_over_all_lists(both, delta);
    }
  }
}

TEST_F(LeanPaths, find_the_distances_where_every_list_is_hot) {
  const BothWays both = graph::larger_graphs().front();
  expect_distances_over_all_lists(both, usual_delta(both.graph), 100);
}

TEST_F(LeanPaths, read_weights_beside_neighbours_where_they_do_not_fit_into_them) {
  BothWays both = graph::larger_graphs().front();
  for (std::uint64_t i = 0; i < both.graph.edges(); ++i) {
    both.graph.weights[i] *= 1 << 20;
  }
  ASSERT_FALSE(packs_weights(both.graph));
  expect_distances_over_all_lists(both, usual_delta(both.graph));
}

TEST_F(LeanPaths, read_weights_apart_where_that_is_asked_and_more_of_the_link_then) {
  for (const BothWays& both : graph::larger_graphs()) {
    if (!both.graph.weighted()) {
      continue;
    }
    ASSERT_TRUE(packs_weights(both.graph));
    const std::uint32_t delta = usual_delta(both.graph);
    const Vertex source = busiest(both.graph);
    expect_distances(both, Lists(both).apart(), source, delta);
    expect_distances(both, Lists(both).hot(TierPolicy::lists, 20).apart(), source, delta);
    const auto sectors = [&](const Lists& lists) {
      const auto placed = lists.place();
      std::uint64_t sum = 0;
      for (const LinkReads& step : make_lean_sssp(*placed, delta)->count(source)) {
        sum += step.sectors;
      }
      return static_cast<double>(sum);
    };
    EXPECT_GT(sectors(Lists(both).apart()), 1.5 * sectors(Lists(both).weighted()));
    const auto modelled = [&](const Lists& lists) {
      std::uint64_t bytes = 0;
      for (const auto& step : model::replay_sssp(lists.pushed(), source, delta, {}).steps) {
        bytes += step.link.bytes();
      }
      return static_cast<double>(bytes);
    };
    EXPECT_NEAR(sectors(Lists(both).apart()) * model::kSectorBytes / modelled(Lists(both).apart()), 1, 0.3);
  }
  const BothWays both = graph::larger_graphs().front();
  LeanPlacement placement;
  placement.graph = &both.graph;
  placement.apart = true;
  EXPECT_THROW(static_cast<void>(place_lean(placement)), UsageError);
}

// 10 and 4294967290 are 4 more than 32 bits hold.
TEST_F(LeanPaths, do_not_take_a_path_whose_length_does_not_fit) {
  const BothWays both(graph::weighted_graph(3, {{0, 1, 10}, {1, 2, 4'294'967'290}, {0, 2, 5000}}, false));
  expect_distances_over_all_lists(both, 100);
}

TEST_F(LeanTest, leaves_nothing_of_an_answer_that_is_spoiled) {
  const BothWays both = hubs_first(graph::larger_graphs().front());
  const Vertex source = busiest(both.graph);
  const LinkCosts costs{1e-9, 1e-9, 1e-9, 1e-9, 1e-6};
  const auto plain = Lists(both).place();
  const auto weighted = Lists(both).weighted().place();
  const auto expect_gone = [&](std::unique_ptr<graph::Traversal> traversal, graph::Algorithm algorithm) {
    SCOPED_TRACE(name(algorithm));
    expect_spoiled(*traversal, both, algorithm, source);
  };
  expect_gone(make_lean_bfs(*plain, {}), graph::Algorithm::bfs);
  expect_gone(make_lean_bfs(*plain, {}, true), graph::Algorithm::bfs);
  expect_gone(make_lean_cc(*plain), graph::Algorithm::cc);
  expect_gone(make_lean_pr(*plain), graph::Algorithm::pr);
  expect_gone(make_lean_sssp(*weighted, usual_delta(both.graph)), graph::Algorithm::sssp);
  expect_gone(make_hybrid_pr(*plain, costs), graph::Algorithm::pr);
  expect_gone(make_hybrid_sssp(*weighted, usual_delta(both.graph), costs), graph::Algorithm::sssp);
  std::vector<Vertex> same(both.graph.vertices());
  std::iota(same.begin(), same.end(), Vertex{0});
  expect_gone(with_callers_numbers(make_lean_bfs(*plain, {}), 0, {same, false}, false),
              graph::Algorithm::bfs);
}

TEST_F(LeanPaths, find_the_distances_over_runs_of_neighbours_and_far_ones) {
  // Gaps of one and now and then of hundreds: of an edge more is above the low bits than a warp looks at in a
  // turn. Lists of one neighbour, of a line and of several.
  std::vector<graph::Triple> edges;
  std::mt19937_64 random(7);
  constexpr Vertex kVertices = 40'000;
  for (Vertex v = 0; v < 300; ++v) {
    const std::uint64_t length = v == 0 ? 12'000 : 1 + random() % (1U << v % 10);
    std::uint64_t at = v == 0 ? 1 : random() % 400;
    for (std::uint64_t i = 0; i < length && at < kVertices; ++i) {
      if (at != v) {
        edges.push_back({v, static_cast<Vertex>(at), static_cast<graph::Weight>(8 + random() % 65)});
      }
      at += random() % 64 == 0 ? random() % 900 + 1 : 1;
    }
  }
  for (const graph::Weight most : {72U, 10U, 8U}) {
    for (graph::Triple& edge : edges) {
      edge[2] = std::min(edge[2], most);
    }
    const BothWays both(graph::weighted_graph(kVertices, edges, true));
    expect_distances_over_all_lists(both, usual_delta(both.graph));
  }
}

TEST_F(LeanPaths, refuse_lists_without_weights_and_others_those_with_them) {
  const BothWays both = graph::star(10);
  const auto plain = Lists(both).place();
  EXPECT_THROW(static_cast<void>(make_lean_sssp(*plain, 1)), UsageError);
  const auto weighted = Lists(both).weighted().place();
  EXPECT_THROW(static_cast<void>(make_lean_sssp(*weighted, 0)), UsageError);
  EXPECT_THROW(static_cast<void>(make_lean_bfs(*weighted, {})), UsageError);
  EXPECT_THROW(static_cast<void>(make_lean_cc(*weighted)), UsageError);
  EXPECT_THROW(static_cast<void>(make_lean_pr(*weighted)), UsageError);
  LeanPlacement placement;
  placement.graph = &both.graph;
  const CompressedLists without = compress(both.graph, nullptr, false);
  placement.compressed = &without;
  placement.weights = true;
  EXPECT_THROW(static_cast<void>(place_lean(placement)), UsageError);
}

}  // namespace
namespace {

using graph::BothWays;

class LeanRanks : public LeanTest {
 protected:
  static void expect_ranks_of_one(const BothWays& both, const Lists& lists) {
    const auto placed = lists.place();
    expect_ranks(*make_lean_pr(*placed), both, lists, 3);
  }
};

TEST_F(LeanRanks, are_what_one_more_step_would_not_change_and_read_as_the_model) {
  std::vector<BothWays> graphs = graph::all_sample_graphs();
  for (const BothWays& each : graph::larger_graphs()) {
    graphs.push_back(hubs_first(each));
    graphs.push_back(each);
  }
  graphs.push_back(graph::star(100'000));
  for (const BothWays& both : graphs) {
    over_all_lists(both, TierPolicy::heads, 20, false,
                   [&](const Lists& lists) { expect_ranks_of_one(both, lists); });
  }
}

TEST_F(LeanRanks, are_those_where_every_list_is_hot) {
  const BothWays both = hubs_first(graph::larger_graphs().front());
  over_all_lists(both, TierPolicy::heads, 100, false,
                 [&](const Lists& lists) { expect_ranks_of_one(both, lists); });
}

}  // namespace
namespace {

using graph::BothWays;
using graph::Vertex;

// A graph as its caller numbers it, and the same in the order by degree.
struct Renumbered {
  explicit Renumbered(const BothWays& of)
      : old(of),
        old_of_new(graph::order_of(of.graph, graph::Order::degree)),
        ordered(graph::relabel(of.graph, old_of_new)) {}
  [[nodiscard]] Vertex old_source() const { return old_of_new[new_source()]; }
  [[nodiscard]] Vertex new_source() const {
    Vertex best = 0;
    for (Vertex v = 0; v < ordered.graph.vertices(); ++v) {
      best = ordered.graph.degree(v) > ordered.graph.degree(best) ? v : best;
    }
    return best;
  }
  const BothWays& old;
  std::vector<Vertex> old_of_new;
  BothWays ordered;
};

template <class T>
std::vector<T> read_from_gpu(const void* memory, std::uint64_t count) {
  std::vector<T> values(count);
  cuda::check(cudaMemcpy(values.data(), memory, count * sizeof(T), cudaMemcpyDefault), "read an answer");
  return values;
}

class CallersAnswers : public LeanTest {
 protected:
  static std::unique_ptr<CallersAnswer> brought(std::unique_ptr<graph::Traversal> traversal,
                                                const Renumbered& graph, bool ids) {
    return with_callers_numbers(std::move(traversal), 0, {graph.old_of_new, ids}, false);
  }
  // Of all larger graphs, and small ones of every shape.
  static std::vector<BothWays> graphs() {
    std::vector<BothWays> all = graph::all_sample_graphs();
    for (const BothWays& each : graph::larger_graphs()) {
      all.push_back(each);
    }
    return all;
  }
};

TEST_F(CallersAnswers, are_those_of_the_graph_as_the_caller_numbers_it) {
  for (const BothWays& both : graphs()) {
    SCOPED_TRACE(both.graph.name);
    const Renumbered graph(both);
    const auto vertices = both.graph.vertices();
    const auto plain = Lists(graph.ordered).place();
    const auto search = brought(make_lean_bfs(*plain, {}), graph, false);
    for (int run = 0; run < 2; ++run) {
      EXPECT_GT(search->run(graph.new_source()), search->last_mapping_s());
      EXPECT_GT(search->last_mapping_s(), 0);
      EXPECT_EQ(read_from_gpu<std::uint32_t>(search->answer_on_gpu(), vertices),
                graph::serial_bfs(both.graph, graph.old_source()));
      EXPECT_EQ(search->answer(), graph::serial_bfs(graph.ordered.graph, graph.new_source()));
    }
    EXPECT_THROW(static_cast<void>(search->parents()), UsageError);
    if (!both.graph.directed) {
      const auto components = brought(make_lean_cc(*plain), graph, true);
      components->run(0);
      EXPECT_EQ(components->answer(), graph::serial_cc(graph.ordered.graph));
      // Of each component one vertex, which has itself.
      const auto labels = read_from_gpu<Vertex>(components->answer_on_gpu(), vertices);
      const std::vector<Vertex> lowest = graph::serial_cc(both.graph);
      for (Vertex v = 0; v < vertices; ++v) {
        ASSERT_LT(labels[v], vertices);
        ASSERT_EQ(labels[labels[v]], labels[v]);
        ASSERT_EQ(lowest[labels[v]], lowest[v]);
        ASSERT_EQ(labels[lowest[v]], labels[v]);
      }
    }
    if (both.graph.vertices() > 0) {
      const auto ranks = brought(make_lean_pr(*plain), graph, false);
      ranks->run(0);
      EXPECT_NO_THROW(static_cast<void>(graph::certify_pr(
          both.graph, both.in_edges(), read_from_gpu<float>(ranks->answer_on_gpu(), vertices))));
      EXPECT_NO_THROW(static_cast<void>(
          graph::certify_pr(graph.ordered.graph, graph.ordered.in_edges(), ranks->ranks())));
    }
    if (both.graph.weighted()) {
      const auto weighted = Lists(graph.ordered).weighted().place();
      const auto paths = brought(make_lean_sssp(*weighted, usual_delta(both.graph)), graph, false);
      paths->run(graph.new_source());
      EXPECT_EQ(read_from_gpu<std::uint32_t>(paths->answer_on_gpu(), vertices),
                graph::serial_sssp(both.graph, graph.old_source()));
    }
  }
}

TEST_F(CallersAnswers, of_a_search_with_parents_are_edges_of_the_callers_graph) {
  for (const BothWays& both : graphs()) {
    SCOPED_TRACE(both.graph.name);
    const Renumbered graph(both);
    const auto plain = Lists(graph.ordered).place();
    const auto search =
        with_callers_numbers(make_lean_bfs(*plain, {}, true), 0, {graph.old_of_new, true}, true);
    search->run(graph.new_source());
    EXPECT_NO_THROW(static_cast<void>(graph::certify_parents(
        both.graph, both.in_edges(), graph.old_source(), graph::serial_bfs(both.graph, graph.old_source()),
        read_from_gpu<Vertex>(search->answer_on_gpu(), both.graph.vertices()))));
  }
}

}  // namespace
}  // namespace grainscope::lean
