// The model's components, shortest paths, PageRank and hybrid steps: answers, and what they ask of the link.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "../../testing/oracles.hpp"
#include "../../testing/sample_graphs.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/graph/csr.hpp"
#include "grainscope/graph/generate.hpp"
#include "grainscope/lean/run.hpp"
#include "grainscope/model/lean.hpp"

namespace grainscope::model {
namespace {

using graph::BothWays;
using graph::Csr;
using graph::Vertex;

TEST(LeanCcModel, labels_as_the_serial_search_whatever_is_hot) {
  for (const BothWays& both : graph::sample_graphs(false)) {
    const lean::HotTier tier = plan_tier(both.graph, lean::TierPolicy::lists, both.graph.edges() / 3);
    EXPECT_EQ(replay_cc({&both.graph}).labels, graph::serial_cc(both.graph));
    for (const bool pack : {false, true}) {
      const lean::Firsts firsts = lean::first_neighbours(both.graph, nullptr, pack);
      EXPECT_EQ(replay_cc({&both.graph, nullptr, nullptr, &firsts}).labels, graph::serial_cc(both.graph));
    }
    EXPECT_EQ(replay_cc({&both.graph, &tier}).labels, graph::serial_cc(both.graph));
    const lean::CompressedLists packed = lean::compress(both.graph, &tier, false);
    EXPECT_EQ(replay_cc({&both.graph, &tier, &packed}).labels, graph::serial_cc(both.graph));
    const lean::Firsts firsts = lean::first_neighbours(both.graph, &tier, true);
    EXPECT_EQ(replay_cc({&both.graph, &tier, &packed, &firsts}).labels, graph::serial_cc(both.graph));
  }
}

Csr hubs_first(const char* spec) {
  const Csr graph = graph::make_graph(graph::parse_graph_spec(spec), false);
  return graph::relabel(graph, graph::order_of(graph, graph::Order::degree));
}

std::uint64_t listed(const Csr& graph) {
  std::uint64_t listed = 0;
  for (Vertex v = 0; v < graph.vertices(); ++v) {
    listed += graph.degree(v) > 0 ? 1 : 0;
  }
  return listed;
}

// Of a power-law graph they are one of a few hubs, and leave hardly anything to read; of a uniform one they
// make trees, which few lists join.
TEST(LeanCcModel, is_worth_what_it_reads_before_samples) {
  for (const char* spec : {"kron:17", "urand:17"}) {
    const Csr graph = hubs_first(spec);
    const lean::CompressedLists compressed = lean::compress(graph, nullptr, false);
    const lean::Firsts plain = lean::first_neighbours(graph, nullptr, false);
    const lean::Firsts packed = lean::first_neighbours(graph, nullptr, true);
    const CcPrediction beside = replay_cc({&graph, nullptr, nullptr, &plain});
    const auto all = static_cast<double>(lean::list_phases(graph, nullptr, nullptr).requests(listed(graph)));
    EXPECT_LT(static_cast<double>(beside.total().count()), 0.12 * all) << spec;
    EXPECT_LT(beside.total().bytes(), 8U * graph.vertices()) << spec;
    EXPECT_LT(beside.stages[lean::samples].vertices * 100, graph.vertices()) << spec;
    const CcPrediction fewer = replay_cc({&graph, nullptr, &compressed, &packed});
    EXPECT_LT(fewer.total().bytes() * 3, beside.total().bytes() * 2) << spec;
    for (const CcPrediction& cc : {beside, fewer}) {
      EXPECT_EQ(cc.labels, graph::serial_cc(graph)) << spec;
      EXPECT_EQ(cc.stages[lean::rest].link.elements, 0U) << spec;
    }
  }
}

// What hangs from its first neighbour by a store: nearly all.
TEST(LeanCcModel, has_few_vertices_whose_first_neighbour_is_higher) {
  for (const char* spec : {"kron:17", "urand:17"}) {
    const Csr graph = hubs_first(spec);
    std::uint64_t higher = 0;
    std::uint64_t listed = 0;
    for (Vertex v = 0; v < graph.vertices(); ++v) {
      const auto neighbours = graph.neighbours(v);
      listed += neighbours.empty() ? 0 : 1;
      higher += !neighbours.empty() && neighbours.front() > v ? 1 : 0;
    }
    EXPECT_GT(higher, 0U) << spec;
    EXPECT_LT(static_cast<double>(higher), 0.04 * static_cast<double>(listed)) << spec;
  }
}

TEST(ListPhases, follow_each_other_and_each_has_as_many_lines_as_all_before) {
  const Csr graph = hubs_first("kron:16");
  const lean::HotTier tier = plan_tier(graph, lean::TierPolicy::lists, graph.edges() / 20);
  for (const lean::HotTier* hot : {static_cast<const lean::HotTier*>(nullptr), &tier}) {
    const lean::ListPhases phases = lean::list_phases(graph, hot, nullptr);
    EXPECT_EQ(phases.listed, listed(graph));
    std::uint64_t target = std::max(phases.listed >> (lean::kListPhases - 1), lean::kFewestLines);
    Vertex first = phases.begins[0];
    for (std::size_t p = 0; p < lean::kListPhases; ++p) {
      std::uint64_t words = 0;
      for (Vertex v = first; v < phases.begins[p + 1]; ++v) {
        words += graph.degree(v) - (hot != nullptr ? hot->of(v) : 0);
      }
      EXPECT_EQ(phases.lines[p], words / 32) << p;
      EXPECT_TRUE(phases.lines[p] >= target || phases.begins[p + 1] == graph.vertices()) << p;
      const Vertex last = phases.begins[p + 1] - 1;
      EXPECT_LT(words - graph.degree(last), target * 32) << p << ": a list less is too few";
      first = phases.begins[p + 1];
      target *= p == 0 ? 1 : 2;
    }
  }
}

TEST(ListPhases, tell_what_sampling_the_shortest_lists_asks) {
  // Lists of two neighbours: sixteen in a line, and as many are sampled at a time.
  std::vector<graph::Triple> edges;
  for (std::uint32_t v = 0; v < 4096; ++v) {
    edges.push_back({v, (v + 1) % 4096, 1});
  }
  const Csr ring = graph::weighted_graph(5000, edges, false);
  const lean::ListPhases phases = lean::list_phases(ring, nullptr, nullptr);
  EXPECT_EQ(phases.requests(0), 0U);
  EXPECT_EQ(phases.requests(1), 1U);
  constexpr double kCut = 4;  // the last sixteen, at powers of two
  EXPECT_NEAR(static_cast<double>(phases.requests(64)), 4, kCut);
  EXPECT_EQ(phases.requests(96), (phases.requests(64) + phases.requests(128)) / 2) << "between two powers";
  EXPECT_NEAR(static_cast<double>(phases.requests(4096)), 256, kCut);
  EXPECT_EQ(phases.requests(1U << 20U), phases.requests(4096) << 8U) << "as many more";
  // One neighbour of each is hot, so each has one to be sampled; two: none has.
  const lean::HotTier one = plan_tier(ring, lean::TierPolicy::heads, 4096);
  EXPECT_NEAR(static_cast<double>(lean::list_phases(ring, &one, nullptr).requests(4096)), 256, kCut);
  const lean::HotTier all = plan_tier(ring, lean::TierPolicy::heads, 8192);
  EXPECT_EQ(lean::list_phases(ring, &all, nullptr).requests(4096), 0U);
  const Csr none = graph::weighted_graph(3, {}, false);
  EXPECT_EQ(lean::list_phases(none, nullptr, nullptr).requests(3), 0U);
  // Long lists: a request each.
  const Csr urand = hubs_first("urand:12");
  const auto each = static_cast<double>(listed(urand));
  EXPECT_NEAR(static_cast<double>(lean::list_phases(urand, nullptr, nullptr).requests(listed(urand))), each,
              0.1 * each);
}

TEST(ListPhases, begin_behind_those_lists_that_have_most_vertices_first_neighbours) {
  const Csr urand = hubs_first("urand:16");
  const Vertex begin = lean::list_phases(urand, nullptr, nullptr).begins[0];
  std::uint64_t firsts = 0;
  for (Vertex v = 0; v < urand.vertices(); ++v) {
    firsts += urand.neighbours(v).front() < begin ? 1 : 0;
  }
  EXPECT_GT(firsts * 5, urand.vertices() * 4U);
  EXPECT_LT(begin * 10, urand.vertices()) << "most lists are left";
  const Csr few = graph::weighted_graph(5, {{0, 1, 1}, {2, 3, 1}}, false);
  EXPECT_LE(lean::list_phases(few, nullptr, nullptr).begins[0], 5U);
  const Csr none = graph::weighted_graph(3, {}, false);
  EXPECT_EQ(lean::list_phases(none, nullptr, nullptr).outside, 0U);
}

TEST(ListPhases, know_how_many_vertices_first_neighbours_leave_outside_of_the_largest_part) {
  // Three stars in a row, of 6000, 3000 and 1000 vertices: as many parts.
  std::vector<graph::Triple> edges;
  for (Vertex v = 0; v < 10'000; ++v) {
    const Vertex middle = v < 6000 ? 0 : v < 9000 ? 6000 : 9000;
    if (v != middle) {
      edges.push_back({middle, v, 1});
    }
  }
  const Csr stars = graph::weighted_graph(10'000, edges, false);
  EXPECT_NEAR(static_cast<double>(lean::list_phases(stars, nullptr, nullptr).outside), 4000, 20);
  // A part each of two: nothing is known of any.
  edges.clear();
  for (Vertex v = 0; v < 10'000; v += 2) {
    edges.push_back({v, v + 1, 1});
  }
  const Csr pairs = graph::weighted_graph(10'000, edges, false);
  EXPECT_EQ(lean::list_phases(pairs, nullptr, nullptr).outside, 10'000U);
  // Along a path there is a way of a hundred thousand steps.
  edges.clear();
  for (Vertex v = 1; v < 100'000; ++v) {
    edges.push_back({v - 1, v, 1});
  }
  const Csr path = graph::weighted_graph(100'000, edges, false);
  EXPECT_GT(lean::list_phases(path, nullptr, nullptr).outside, 50'000U);
}

TEST(ListPhases, are_of_undirected_graphs) {
  for (const BothWays& both : graph::sample_graphs(true)) {
    ASSERT_TRUE(both.graph.directed);
    EXPECT_THROW(static_cast<void>(lean::list_phases(both.graph, nullptr, nullptr)), UsageError);
  }
}

TEST(ListPhases, of_trees_pay_while_their_neighbours_make_joins) {
  lean::ListPhases phases;
  phases.listed = 100'000;
  phases.mean_list = 32;
  phases.outside = 90'000;
  phases.lines = {1000, 1000, 2000};
  phases.entries = {32'000, 32'000, 64'000};
  for (std::size_t i = 0; i < phases.samples.size(); ++i) {
    phases.samples[i] = std::uint64_t{1} << i;  // a request each
  }
  std::array<unsigned long long, lean::kListPhases + 1> joined{97'000};  // three thousand trees
  EXPECT_TRUE(lean::phase_pays(phases, 0, joined.data()));
  EXPECT_FALSE(lean::phase_pays(phases, 1, joined.data())) << "the one before was not";
  joined[1] = 1279;
  EXPECT_EQ(lean::outside_before(phases, 1, joined.data()), 1998U);
  EXPECT_FALSE(lean::phase_pays(phases, 1, joined.data())) << "two for each line are not left";
  joined[1] = 1280;
  EXPECT_TRUE(lean::phase_pays(phases, 1, joined.data()));
  joined[2] = 2560;
  joined[1] = 4479;
  EXPECT_FALSE(lean::phase_pays(phases, 2, joined.data()))
      << "the one before did not save three for each line";
  joined[1] = 4480;
  EXPECT_TRUE(lean::phase_pays(phases, 2, joined.data()));
  joined[2] = 2559;
  EXPECT_FALSE(lean::phase_pays(phases, 2, joined.data())) << "two for each line are not left";
  joined = {99'939};
  EXPECT_TRUE(lean::phase_pays(phases, 0, joined.data()));
  joined = {99'940};
  EXPECT_FALSE(lean::phase_pays(phases, 0, joined.data()))
      << "second neighbours were hot as well: sixty parts";
  joined = {97'000};
  phases.outside = 1999;
  EXPECT_FALSE(lean::phase_pays(phases, 0, joined.data())) << "most are in the largest part";
  phases.outside = 90'000;
  joined[1] = 32'000;
  phases.entries = {};
  EXPECT_FALSE(lean::phase_pays(phases, 1, joined.data())) << "there is nothing to read";
}

TEST(LeanCcModel, samples_every_list_where_nothing_else_is_read_first) {
  // Too few vertices for phases, and nothing is hot.
  for (const char* spec : {"kron:10", "urand:10"}) {
    const Csr graph = hubs_first(spec);
    const CcPrediction cc = replay_cc({&graph});
    std::uint64_t sampled = 0;
    for (Vertex v = 0; v < graph.vertices(); ++v) {
      sampled += std::min(lean::kSampledNeighbours, graph.degree(v));
    }
    EXPECT_EQ(cc.stages[lean::early].vertices, 0U);
    EXPECT_EQ(cc.stages[lean::samples].link.elements, sampled) << spec;
    EXPECT_EQ(cc.stages[lean::samples].vertices, listed(graph)) << spec;
    EXPECT_LT(cc.stages[lean::rest].link.elements, graph.edges() / 10) << spec;
  }
}

TEST(LeanCcModel, hot_neighbours_are_joined_before_anything_is_read) {
  const Csr graph = hubs_first("urand:15");
  const lean::HotTier tier = plan_tier(graph, lean::TierPolicy::heads, graph.edges() / 8);
  const CcPrediction cc = replay_cc({&graph, &tier});
  EXPECT_EQ(cc.stages[lean::samples].hot, 2 * std::uint64_t{graph.vertices()});
  EXPECT_EQ(cc.stages[lean::early].vertices, 0U) << "two neighbours of each vertex leave nothing to join";
  EXPECT_EQ(cc.stages[lean::samples].link.elements, 0U);
}

TEST(LeanCcModel, who_was_not_sampled_is_read_where_another_component_turns_out_the_largest) {
  const Csr graph = graph::bridged_parts();
  const lean::HotTier tier = plan_tier(graph, lean::TierPolicy::lists, 9901);
  const CcPrediction cc = replay_cc({&graph, &tier});
  EXPECT_EQ(cc.labels, std::vector<Vertex>(graph.vertices(), 0));
  EXPECT_EQ(cc.stages[lean::samples].vertices, 400U) << "those in the ring that is not hot";
  EXPECT_EQ(cc.stages[lean::rest].vertices, 101U) << "the others";
}

TEST(LeanCcModel, samples_of_compressed_lists_are_a_sector_each_or_part_of_one) {
  const Csr graph = hubs_first("kron:16");
  const lean::CompressedLists packed = lean::compress(graph, nullptr, false);
  const CcPrediction plain = replay_cc({&graph});
  const CcPrediction fewer = replay_cc({&graph, nullptr, &packed});
  const auto& samples = fewer.stages[lean::samples];
  EXPECT_GT(samples.vertices, 1000U);
  EXPECT_LE(samples.link.bytes(), samples.vertices * 32);
  EXPECT_LT(fewer.total().bytes(), plain.total().bytes());
}

TEST(LeanCcModel, compressed_lists_are_asked_for_less_whatever_is_hot) {
  for (const char* spec : {"kron:17", "urand:17", "pareto:17"}) {
    const Csr graph = hubs_first(spec);
    const lean::HotTier heads = plan_tier(graph, lean::TierPolicy::heads, graph.edges() / 100);
    const lean::HotTier longest = plan_tier(graph, lean::TierPolicy::lists, graph.edges() / 20);
    for (const lean::HotTier* hot : {static_cast<const lean::HotTier*>(nullptr), &heads, &longest}) {
      const lean::CompressedLists packed = lean::compress(graph, hot, false);
      const Requests plain = replay_cc({&graph, hot}).total();
      const Requests fewer = replay_cc({&graph, hot, &packed}).total();
      EXPECT_LT(fewer.count(), plain.count()) << spec;
      EXPECT_LT(fewer.bytes(), plain.bytes()) << spec;
    }
  }
}

TEST(LeanCcModel, two_words_tell_two_neighbours_unless_ids_are_long) {
  EXPECT_EQ(lean::surely_sampled(0), 2U) << "plain";
  EXPECT_EQ(lean::surely_sampled(29), 2U);
  EXPECT_EQ(lean::surely_sampled(30), 1U);
}

TEST(LeanCcModel, two_halves_of_a_graph_are_two_components) {
  // Two circles: one is the largest by the sample.
  std::vector<graph::Triple> edges;
  for (std::uint32_t v = 0; v < 64; ++v) {
    edges.push_back({v, (v + 1) % 64, 1});
    edges.push_back({64 + v, 64 + (v + 1) % 64, 1});
  }
  const Csr graph = graph::weighted_graph(128, edges, false);
  const CcPrediction cc = replay_cc({&graph});
  EXPECT_EQ(cc.stages[lean::rest].vertices, 0U) << "the sample was all of each list";
  EXPECT_EQ(cc.labels[63], 0U);
  EXPECT_EQ(cc.labels[127], 64U);
}

TEST(LeanCcModel, refuses_a_directed_graph) {
  const Csr graph = graph::weighted_graph(3, {{0, 1, 1}}, true);
  EXPECT_THROW(static_cast<void>(replay_cc({&graph})), UsageError);
}

}  // namespace
namespace {

void expect_ranks(const BothWays& both, const lean::HotTier* tier, const lean::CompressedLists* packed) {
  const PrPrediction pr = replay_pr({&both.in_edges(), tier, packed}, both.graph);
  EXPECT_NO_THROW(static_cast<void>(graph::certify_pr(both.graph, both.in_edges(), pr.ranks)))
      << both.graph.name << ", " << both.graph.vertices() << " vertices";
  EXPECT_EQ(pr.sweep.elements + pr.hot_reads, both.graph.edges());
}

TEST(LeanPrModel, finds_ranks_that_one_more_step_would_not_change) {
  for (const BothWays& both : graph::all_sample_graphs()) {
    const lean::HotTier tier = plan_tier(both.in_edges(), lean::TierPolicy::heads, both.graph.edges() / 3);
    const lean::CompressedLists packed = lean::compress(both.in_edges(), &tier, false);
    expect_ranks(both, nullptr, nullptr);
    expect_ranks(both, &tier, nullptr);
    expect_ranks(both, &tier, &packed);
  }
}

// Steps from the even rank until one changes less than the goal.
std::uint32_t steps_from_even(const Csr& graph) {
  const auto vertices = static_cast<double>(graph.vertices());
  std::vector<double> ranks(graph.vertices(), 1 / vertices);
  double changed = 1;
  std::uint32_t steps = 0;
  for (; changed >= lean::kRankGoal; ++steps) {
    std::vector<double> next(graph.vertices(), (1 - graph::kDamping) / vertices);
    for (Vertex v = 0; v < graph.vertices(); ++v) {
      for (const Vertex u : graph.neighbours(v)) {
        next[u] += graph::kDamping * ranks[v] / static_cast<double>(graph.degree(v));
      }
    }
    changed = 0;
    for (Vertex v = 0; v < graph.vertices(); ++v) {
      changed += graph.degree(v) > 0 ? std::abs(next[v] - ranks[v]) : 0;
    }
    ranks = std::move(next);
  }
  return steps;
}

TEST(LeanPrModel, takes_few_sweeps_over_compressed_lists_few_bytes_each) {
  for (const char* spec : {"kron:16", "urand:16", "dense:11"}) {
    const Csr made = graph::make_graph(graph::parse_graph_spec(spec), false);
    const BothWays both(graph::relabel(made, graph::order_of(made, graph::Order::degree)));
    const lean::CompressedLists packed = lean::compress(both.graph, nullptr, false);
    expect_ranks(both, nullptr, &packed);
    const PrPrediction plain = replay_pr({&both.graph}, both.graph);
    const PrPrediction fewer = replay_pr({&both.graph, nullptr, &packed}, both.graph);
    EXPECT_LE(plain.sweeps, 5U) << spec;
    EXPECT_LT(plain.sweeps, steps_from_even(both.graph)) << spec;
    EXPECT_LT(fewer.sweep.bytes(), plain.sweep.bytes() * 2 / 3) << spec;
  }
}

TEST(LeanPrModel, keeps_a_star_and_a_directed_circle_right) {
  for (const bool directed : {false, true}) {
    std::vector<graph::Triple> star;
    std::vector<graph::Triple> circle;
    for (std::uint32_t v = 0; v < 5000; ++v) {
      star.push_back({v + 1, 0, 1});
      circle.push_back({v, (v + 1) % 5000, 1});
    }
    expect_ranks(BothWays(graph::weighted_graph(5001, star, directed)), nullptr, nullptr);
    expect_ranks(BothWays(graph::weighted_graph(5000, circle, directed)), nullptr, nullptr);
  }
}

}  // namespace
namespace {

TEST(LeanSsspModel, finds_the_distances_of_dijkstra_whatever_delta) {
  for (const BothWays& both : graph::all_sample_graphs()) {
    if (!both.graph.weighted()) {
      continue;
    }
    const lean::HotTier tier = plan_tier(both.graph, lean::TierPolicy::lists, both.graph.edges() / 3);
    const lean::CompressedLists packed = lean::compress(both.graph, &tier, true);
    for (Vertex source = 0; source < both.graph.vertices(); source += 1 + both.graph.vertices() / 4) {
      const auto expected = graph::serial_sssp(both.graph, source);
      for (const std::uint32_t delta : {1U, 5U, 1000U}) {
        EXPECT_EQ(replay_sssp({&both.graph}, source, delta).distances, expected);
        EXPECT_EQ(replay_sssp({&both.graph, &tier}, source, delta).distances, expected);
        EXPECT_EQ(replay_sssp({&both.graph, &tier, &packed}, source, delta).distances, expected);
      }
    }
  }
}

// 10 and 4294967290 are 4 more than 32 bits hold.
TEST(LeanSsspModel, does_not_take_a_path_whose_length_does_not_fit) {
  const Csr graph = graph::weighted_graph(3, {{0, 1, 10}, {1, 2, 4'294'967'290}, {0, 2, 5000}}, false);
  const auto expected = graph::serial_sssp(graph, 0);
  EXPECT_EQ(expected, (std::vector<std::uint32_t>{0, 10, 5000}));
  for (const std::uint32_t delta : {1U, 100U, 4'000'000'000U}) {
    EXPECT_EQ(replay_sssp({&graph}, 0, delta).distances, expected) << delta;
    const lean::CompressedLists packed = lean::compress(graph, nullptr, true);
    EXPECT_EQ(replay_sssp({&graph, nullptr, &packed}, 0, delta).distances, expected) << delta;
  }
}

// How often lists are read with a threshold that rises by so many times the usual.
double reads_a_list(const Csr& graph, std::uint32_t times) {
  const std::uint64_t delta = std::uint64_t{lean::usual_delta(graph)} * times;
  return static_cast<double>(
             replay_sssp({&graph}, 7, static_cast<std::uint32_t>(std::min<std::uint64_t>(delta, 1U << 30)))
                 .total()
                 .elements) /
         static_cast<double>(graph.edges());
}

TEST(LeanSsspModel, reads_lists_once_where_no_weight_is_below_what_the_threshold_rises_by) {
  for (const char* const name : {"urand:14", "kron:14"}) {
    Csr graph = graph::make_graph(graph::parse_graph_spec(name), false);
    graph::draw_weights(graph, 8, 72, 7);
    EXPECT_EQ(lean::usual_delta(graph), 8);
    EXPECT_LE(reads_a_list(graph, 1), 1) << name;
    EXPECT_GT(reads_a_list(graph, 4), 1) << name;
    EXPECT_GT(reads_a_list(graph, 1 << 20), 1.5) << name;
  }
}

TEST(LeanSsspModel, reads_lists_little_more_than_once_where_some_weights_are_far_below_the_mean) {
  const Csr urand = graph::make_graph(graph::parse_graph_spec("urand:14"), true);
  EXPECT_EQ(lean::usual_delta(urand), 10) << "of weights from 1 to 255";
  EXPECT_LT(reads_a_list(urand, 1), 1.1);
  EXPECT_LT(reads_a_list(urand, 1), reads_a_list(urand, 3));
  EXPECT_GT(reads_a_list(urand, 1 << 20), 3);
  const Csr kron = graph::make_graph(graph::parse_graph_spec("kron:14"), true);
  EXPECT_LT(reads_a_list(kron, 1), 2);
  EXPECT_LT(reads_a_list(kron, 1), reads_a_list(kron, 3));
  EXPECT_GT(reads_a_list(kron, 1 << 20), 2);
}

TEST(LeanSsspModel, weights_are_packed_where_they_fit) {
  const Csr narrow = graph::make_graph(graph::parse_graph_spec("kron:12"), true);
  EXPECT_EQ(lean::vertex_bits(narrow), 12);
  EXPECT_TRUE(lean::packs_weights(narrow));
  const Csr wide = graph::weighted_graph(3, {{0, 1, 1U << 30}, {1, 2, 5}}, true);
  EXPECT_EQ(lean::vertex_bits(wide), 2);
  EXPECT_FALSE(lean::packs_weights(wide));
  const SsspPrediction both = replay_sssp({&wide}, 0, 1);
  EXPECT_EQ(both.total().count(), 4U) << "of each list its neighbours and its weights";
  EXPECT_EQ(both.total().elements, 2U);
}

TEST(LeanSsspModel, compressed_lists_have_their_weights_within) {
  const Csr graph = graph::make_graph(graph::parse_graph_spec("kron:14"), true);
  const lean::CompressedLists packed = lean::compress(graph, nullptr, true);
  const SsspPrediction plain = replay_sssp({&graph}, 7, lean::usual_delta(graph));
  const SsspPrediction fewer = replay_sssp({&graph, nullptr, &packed}, 7, lean::usual_delta(graph));
  EXPECT_EQ(fewer.total().elements, plain.total().elements);
  EXPECT_LT(static_cast<double>(fewer.total().bytes()), 0.75 * static_cast<double>(plain.total().bytes()));
}

TEST(LeanSsspModel, refuses_what_cannot_be) {
  const Csr graph = graph::make_graph(graph::parse_graph_spec("kron:8"), false);
  const Csr weighted = graph::make_graph(graph::parse_graph_spec("kron:8"), true);
  EXPECT_THROW(static_cast<void>(replay_sssp({&graph}, 0, 1)), UsageError);
  EXPECT_THROW(static_cast<void>(replay_sssp({&weighted}, 0, 0)), UsageError);
  EXPECT_THROW(static_cast<void>(replay_sssp({&weighted}, 1 << 20, 1)), UsageError);
}

}  // namespace
namespace {

using lean::kSegmentsAtOnce;
using lean::kSegmentWords;
using lean::LinkCosts;
using lean::plan_step;
using lean::SegmentDemand;
using lean::SegmentRun;
using lean::StepPlan;

// Reading costs one a sector, copying a word an eighth of that: a segment read whole costs as much either
// way.
LinkCosts even() {
  LinkCosts costs;
  costs.sector_s = 1;
  costs.copied_word_s = 1.0 / lean::kSectorElements;
  return costs;
}
constexpr unsigned long long kAllSectors = kSegmentWords / lean::kSectorElements;

TEST(HybridPlan, copies_what_is_asked_for_more_than_once_and_reads_the_rest) {
  const std::vector<SegmentDemand> demands{{kAllSectors + 1, 1}, {kAllSectors - 1, 1}, {0, 0}, {5, 5}};
  const StepPlan plan = plan_step(demands, 4 * kSegmentWords, even());
  EXPECT_EQ(plan.runs, (std::vector<SegmentRun>{{0, 1, true}, {1, 4, false}}));
  EXPECT_EQ(plan.copied_words, kSegmentWords);
  EXPECT_EQ(plan.read, (SegmentDemand{kAllSectors + 4, 6}));
  EXPECT_DOUBLE_EQ(plan.seconds, static_cast<double>(2 * kAllSectors - 1 + 5));
}

TEST(HybridPlan, cuts_what_is_copied_into_groups) {
  const std::vector<SegmentDemand> demands(kSegmentsAtOnce + 3, {2 * kAllSectors, 1});
  const StepPlan plan = plan_step(demands, demands.size() * kSegmentWords, even());
  EXPECT_EQ(plan.runs, (std::vector<SegmentRun>{{0, kSegmentsAtOnce, true},
                                                {kSegmentsAtOnce, kSegmentsAtOnce + 3, true}}));
}

TEST(HybridPlan, leaves_out_of_copies_what_nothing_is_asked_of) {
  const std::vector<SegmentDemand> demands{{2 * kAllSectors, 1}, {0, 0}, {2 * kAllSectors, 1}};
  EXPECT_EQ(plan_step(demands, 3 * kSegmentWords, even()).runs,
            (std::vector<SegmentRun>{{0, 1, true}, {2, 3, true}}));
}

TEST(HybridPlan, knows_that_the_last_segment_is_shorter) {
  const std::vector<SegmentDemand> demands{{20, 20}};
  EXPECT_TRUE(plan_step(demands, 100, even()).runs.front().copied) << "100 words are 12.5 sectors";
  EXPECT_EQ(plan_step(demands, 100, even()).copied_words, 100U);
  EXPECT_FALSE(plan_step(demands, 1000, even()).runs.front().copied);
}

TEST(HybridPlan, requests_and_what_a_copy_costs_to_submit_count_too) {
  LinkCosts costs = even();
  costs.header_s = 3;
  EXPECT_DOUBLE_EQ(costs.read_s({10, 5}), 25);
  costs.slot_s = 100;
  EXPECT_DOUBLE_EQ(costs.read_s({10, 5}), 500);
  costs.copy_s = 7;
  EXPECT_DOUBLE_EQ(costs.copied_s(16), 9);
}

TEST(HybridPlan, demand_is_the_sectors_and_lines_of_a_list) {
  EXPECT_EQ(lean::demand_of({5, 5}), SegmentDemand{});
  EXPECT_EQ(lean::demand_of({7, 9}), (SegmentDemand{2, 1}));
  EXPECT_EQ(lean::demand_of({31, 33}), (SegmentDemand{2, 2}));
  EXPECT_EQ(lean::demand_of({0, 64}), (SegmentDemand{8, 2}));
}

TEST(HybridModel, rates_are_told_apart) {
  const Link link = link_named("pcie5x16");
  const LinkCosts costs = costs_of(link, {55, 51});
  // Whole lines: a request and four sectors carry 128 bytes.
  EXPECT_NEAR(128 / costs.read_s({4, 1}) / 1e9, 51, 0.5);
  EXPECT_NEAR(4 * 1e6 / (costs.copied_s(1'000'000) - costs.copy_s) / 1e9, 55, 0.01);
}

TEST(HybridModel, reads_or_copies_every_list_of_a_step) {
  const Csr graph = graph::make_graph(graph::parse_graph_spec("urand:18"), false);
  const lean::CompressedLists packed = lean::compress(graph, nullptr, false);
  for (const lean::CompressedLists* compressed :
       {static_cast<const lean::CompressedLists*>(nullptr), &packed}) {
    const TieredLists lists{&graph, nullptr, compressed};
    const PrPrediction all = replay_pr(lists, graph);
    LinkCosts never = even();
    never.copy_s = 1e18;
    const HybridStep read = hybrid_step(lists, never);
    EXPECT_EQ(read.plan.copied_words, 0U);
    EXPECT_EQ(read.read, all.sweep);
    EXPECT_EQ(read.plan.read.sectors * kSectorBytes, all.sweep.bytes());
    LinkCosts always = even();
    always.copied_word_s = 0;
    const HybridStep copied = hybrid_step(lists, always);
    EXPECT_EQ(copied.read.count(), 0U);
    EXPECT_EQ(copied.plan.copied_words, compressed != nullptr ? packed.words.size() : graph.edges());
  }
}

TEST(HybridModel, is_told_the_vertices_of_each_step_of_shortest_paths) {
  const Csr graph = graph::make_graph(graph::parse_graph_spec("kron:12"), true);
  std::vector<std::uint64_t> edges;
  const SsspPrediction paths =
      replay_sssp({&graph}, 7, lean::usual_delta(graph), [&](std::span<const Vertex> active) {
        EXPECT_TRUE(std::is_sorted(active.begin(), active.end()));
        edges.push_back(std::accumulate(active.begin(), active.end(), std::uint64_t{0},
                                        [&](std::uint64_t sum, Vertex v) { return sum + graph.degree(v); }));
      });
  ASSERT_EQ(edges.size(), paths.steps.size());
  for (std::size_t i = 0; i < edges.size(); ++i) {
    EXPECT_EQ(edges[i], paths.steps[i].edges);
  }
}

}  // namespace
}  // namespace grainscope::model
