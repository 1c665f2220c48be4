#include <gtest/gtest.h>

#include "../graph/sample_graphs.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/graph/build.hpp"
#include "grainscope/graph/generate.hpp"
#include "grainscope/graph/reorder.hpp"
#include "grainscope/model/lean_cc.hpp"

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
    const LeanCc beside = replay_cc({&graph, nullptr, nullptr, &plain});
    const auto all = static_cast<double>(lean::list_phases(graph, nullptr, nullptr).requests(listed(graph)));
    EXPECT_LT(static_cast<double>(beside.total().count()), 0.12 * all) << spec;
    EXPECT_LT(beside.total().bytes(), 8U * graph.vertices()) << spec;
    EXPECT_LT(beside.stages[lean::samples].vertices * 100, graph.vertices()) << spec;
    const LeanCc fewer = replay_cc({&graph, nullptr, &compressed, &packed});
    EXPECT_LT(fewer.total().bytes() * 3, beside.total().bytes() * 2) << spec;
    for (const LeanCc& cc : {beside, fewer}) {
      EXPECT_EQ(cc.labels, graph::serial_cc(graph)) << spec;
      EXPECT_EQ(cc.stages[lean::rest].link.elements, 0U) << spec;
    }
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
    const LeanCc cc = replay_cc({&graph});
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
  const LeanCc cc = replay_cc({&graph, &tier});
  EXPECT_EQ(cc.stages[lean::samples].hot, 2 * std::uint64_t{graph.vertices()});
  EXPECT_EQ(cc.stages[lean::early].vertices, 0U) << "two neighbours of each vertex leave nothing to join";
  EXPECT_EQ(cc.stages[lean::samples].link.elements, 0U);
}

TEST(LeanCcModel, who_was_not_sampled_is_read_where_another_component_turns_out_the_largest) {
  const Csr graph = graph::bridged_parts();
  const lean::HotTier tier = plan_tier(graph, lean::TierPolicy::lists, 9901);
  const LeanCc cc = replay_cc({&graph, &tier});
  EXPECT_EQ(cc.labels, std::vector<Vertex>(graph.vertices(), 0));
  EXPECT_EQ(cc.stages[lean::samples].vertices, 400U) << "those in the ring that is not hot";
  EXPECT_EQ(cc.stages[lean::rest].vertices, 101U) << "the others";
}

TEST(LeanCcModel, samples_of_compressed_lists_are_a_sector_each_or_part_of_one) {
  const Csr graph = hubs_first("kron:16");
  const lean::CompressedLists packed = lean::compress(graph, nullptr, false);
  const LeanCc plain = replay_cc({&graph});
  const LeanCc fewer = replay_cc({&graph, nullptr, &packed});
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
  const LeanCc cc = replay_cc({&graph});
  EXPECT_EQ(cc.stages[lean::rest].vertices, 0U) << "the sample was all of each list";
  EXPECT_EQ(cc.labels[63], 0U);
  EXPECT_EQ(cc.labels[127], 64U);
}

TEST(LeanCcModel, refuses_a_directed_graph) {
  const Csr graph = graph::weighted_graph(3, {{0, 1, 1}}, true);
  EXPECT_THROW(static_cast<void>(replay_cc({&graph})), UsageError);
}

}  // namespace
}  // namespace grainscope::model
