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
    EXPECT_EQ(replay_cc({&both.graph, &tier}).labels, graph::serial_cc(both.graph));
    const lean::CompressedLists packed = lean::compress(both.graph, &tier, false);
    EXPECT_EQ(replay_cc({&both.graph, &tier, &packed}).labels, graph::serial_cc(both.graph));
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

TEST(HubPhases, follow_each_other_and_each_has_as_many_lines_as_all_before) {
  const Csr graph = hubs_first("kron:16");
  const lean::HotTier tier = plan_tier(graph, lean::TierPolicy::lists, graph.edges() / 20);
  for (const lean::HotTier* hot : {static_cast<const lean::HotTier*>(nullptr), &tier}) {
    const lean::HubPhases phases = lean::hub_phases(graph, hot, nullptr);
    EXPECT_EQ(phases.listed, listed(graph));
    std::uint64_t target = std::max(phases.listed >> (lean::kHubPhases - 1), lean::kFewestLines);
    Vertex first = 0;
    for (std::size_t p = 0; p < lean::kHubPhases; ++p) {
      std::uint64_t words = 0;
      for (Vertex v = first; v < phases.ends[p]; ++v) {
        words += graph.degree(v) - (hot != nullptr ? hot->of(v) : 0);
      }
      EXPECT_EQ(phases.lines[p], words / 32) << p;
      EXPECT_TRUE(phases.lines[p] >= target || phases.ends[p] == graph.vertices()) << p;
      const Vertex last = phases.ends[p] - 1;
      EXPECT_LT(words - graph.degree(last), target * 32) << p << ": a list less is too few";
      first = phases.ends[p];
      target *= p == 0 ? 1 : 2;
    }
  }
}

TEST(HubPhases, are_none_where_what_is_hot_joins_most_of_those_in_the_first_lists) {
  // A hub of 40,000 leaves: more lines than the first phase asks for.
  std::vector<graph::Triple> edges;
  for (std::uint32_t v = 1; v <= 40'000; ++v) {
    edges.push_back({0, v, 1});
  }
  const Csr star = graph::weighted_graph(50'000, edges, false);
  lean::HotTier tier = plan_tier(star, lean::TierPolicy::heads, 50'000);
  const auto make_hot = [&](std::uint32_t leaves) {
    for (Vertex v = 0; v <= star.vertices(); ++v) {
      tier.offsets[v] = v == 0 ? 0 : std::min(v - 1, leaves);
    }
  };
  make_hot(20'000);
  EXPECT_EQ(lean::hub_phases(star, &tier, nullptr).ends[0], 1U);
  EXPECT_EQ(lean::hub_phases(star, &tier, nullptr).lines[0], 1250U);
  make_hot(20'001);
  EXPECT_EQ(lean::hub_phases(star, &tier, nullptr).ends[0], 0U);
  EXPECT_EQ(lean::hub_phases(star, &tier, nullptr).lines[0], 0U);
  // Long lists: a request each, whatever is hot of them.
  const Csr urand = hubs_first("urand:15");
  const lean::HotTier heads = plan_tier(urand, lean::TierPolicy::heads, urand.vertices());
  EXPECT_GT(lean::hub_phases(urand, &heads, nullptr).lines[0], 0U);
}

TEST(HubPhases, tell_what_sampling_the_shortest_lists_asks) {
  // Lists of two neighbours: sixteen in a line, and as many are sampled at a time.
  std::vector<graph::Triple> edges;
  for (std::uint32_t v = 0; v < 4096; ++v) {
    edges.push_back({v, (v + 1) % 4096, 1});
  }
  const Csr ring = graph::weighted_graph(5000, edges, false);
  const lean::HubPhases phases = lean::hub_phases(ring, nullptr, nullptr);
  EXPECT_EQ(phases.requests(0), 0U);
  EXPECT_EQ(phases.requests(1), 1U);
  constexpr double kCut = 4;  // the last sixteen, at powers of two
  EXPECT_NEAR(static_cast<double>(phases.requests(64)), 4, kCut);
  EXPECT_EQ(phases.requests(96), (phases.requests(64) + phases.requests(128)) / 2) << "between two powers";
  EXPECT_NEAR(static_cast<double>(phases.requests(4096)), 256, kCut);
  EXPECT_EQ(phases.requests(1U << 20U), phases.requests(4096) << 8U) << "as many more";
  // One neighbour of each is hot, so each has one to be sampled; two: none has.
  const lean::HotTier one = plan_tier(ring, lean::TierPolicy::heads, 4096);
  EXPECT_NEAR(static_cast<double>(lean::hub_phases(ring, &one, nullptr).requests(4096)), 256, kCut);
  const lean::HotTier all = plan_tier(ring, lean::TierPolicy::heads, 8192);
  EXPECT_EQ(lean::hub_phases(ring, &all, nullptr).requests(4096), 0U);
  const Csr none = graph::weighted_graph(3, {}, false);
  EXPECT_EQ(lean::hub_phases(none, nullptr, nullptr).requests(3), 0U);
  // Long lists: a request each.
  const Csr urand = hubs_first("urand:12");
  const auto each = static_cast<double>(listed(urand));
  EXPECT_NEAR(static_cast<double>(lean::hub_phases(urand, nullptr, nullptr).requests(listed(urand))), each,
              0.1 * each);
}

TEST(HubPhases, pay_while_their_lines_save_more_requests_than_they_are) {
  lean::HubPhases phases;
  phases.listed = 10'000;
  phases.lines = {1000, 1000, 2000};
  for (std::size_t i = 0; i < phases.samples.size(); ++i) {
    phases.samples[i] = std::uint64_t{1} << i;  // a request each
  }
  std::array<unsigned long long, lean::kHubPhases + 1> joined{};
  EXPECT_TRUE(lean::phase_pays(phases, 0, joined.data()));
  EXPECT_FALSE(lean::phase_pays(phases, 1, joined.data())) << "the one before was not";
  joined[1] = 2999;
  EXPECT_FALSE(lean::phase_pays(phases, 1, joined.data())) << "the one before did not pay";
  joined[1] = 3000;
  EXPECT_TRUE(lean::phase_pays(phases, 1, joined.data()));
  joined[2] = 3001;
  EXPECT_FALSE(lean::phase_pays(phases, 2, joined.data())) << "3999 parts are left";
  joined[2] = 3000;
  EXPECT_TRUE(lean::phase_pays(phases, 2, joined.data()));
  joined[3] = 4000;
  EXPECT_FALSE(lean::phase_pays(phases, 3, joined.data())) << "there is none";
  joined[0] = 8001;
  EXPECT_FALSE(lean::phase_pays(phases, 0, joined.data())) << "what is hot has joined most";
  joined = {};
  for (std::uint64_t& requests : phases.samples) {
    requests /= 8;  // eight lists share a line
  }
  EXPECT_FALSE(lean::phase_pays(phases, 0, joined.data())) << "1250 requests sample all";
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
    EXPECT_EQ(cc.stages[lean::hubs].vertices, 0U);
    EXPECT_EQ(cc.stages[lean::samples].link.elements, sampled) << spec;
    EXPECT_EQ(cc.stages[lean::samples].vertices, listed(graph)) << spec;
    EXPECT_LT(cc.stages[lean::rest].link.elements, graph.edges() / 10) << spec;
  }
}

TEST(LeanCcModel, hubs_lists_save_samples_and_are_worth_it) {
  struct Expected {
    const char* spec;
    double share;  // of the requests that sample each list, at most
  };
  // Of kron the hubs' lists save long lists' samples, and short ones share lines anyway.
  for (const Expected& expected : {Expected{"urand:17", 0.3}, Expected{"kron:17", 0.7}}) {
    const Csr graph = hubs_first(expected.spec);
    const LeanCc cc = replay_cc({&graph});
    EXPECT_EQ(cc.labels, graph::serial_cc(graph)) << expected.spec;
    const auto& hubs = cc.stages[lean::hubs];
    EXPECT_GT(hubs.vertices, 0U) << expected.spec;
    EXPECT_EQ(hubs.link.elements, graph.offsets[hubs.vertices]) << "the first lists, each once";
    const std::uint64_t all = lean::hub_phases(graph, nullptr, nullptr).requests(listed(graph));
    EXPECT_LT(static_cast<double>(cc.total().count()), expected.share * static_cast<double>(all))
        << expected.spec;
  }
}

TEST(LeanCcModel, hot_neighbours_are_joined_before_anything_is_read) {
  const Csr graph = hubs_first("urand:15");
  const lean::HotTier tier = plan_tier(graph, lean::TierPolicy::heads, graph.edges() / 8);
  const LeanCc cc = replay_cc({&graph, &tier});
  EXPECT_EQ(cc.stages[lean::samples].hot, 2 * std::uint64_t{graph.vertices()});
  EXPECT_EQ(cc.stages[lean::hubs].vertices, 0U) << "two neighbours of each vertex leave nothing to join";
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
