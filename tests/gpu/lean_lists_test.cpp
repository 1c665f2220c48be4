#include <algorithm>
#include <random>
#include <vector>

#include "grainscope/graph/generate.hpp"
#include "lean_fixture.hpp"
#include "list_walk.hpp"

namespace grainscope::lean {
namespace {

using graph::BothWays;
using graph::Vertex;
using graph::Weight;

class LeanListWalks : public LeanTest {
 protected:
  static void expect_lists(const BothWays& both, const Lists& lists, bool weights) {
    const auto placed = lists.place();
    const std::vector<Neighbours> walked = walk_all_lists(*placed, both.graph);
    for (Vertex v = 0; v < both.graph.vertices(); ++v) {
      const auto ids = both.graph.neighbours(v);
      ASSERT_TRUE(std::equal(ids.begin(), ids.end(), walked[v].ids.begin(), walked[v].ids.end())) << v;
      if (weights) {
        const auto expected = both.graph.weights_of(v);
        ASSERT_TRUE(std::equal(expected.begin(), expected.end(), walked[v].weights.begin())) << v;
      }
    }
  }
  static void expect_all_lists(const BothWays& both) {
    for (const bool weights : {false, true}) {
      if (weights && !both.graph.weighted()) {
        continue;
      }
      for (const TierPolicy policy : {TierPolicy::heads, TierPolicy::lists}) {
        over_all_lists(both, policy, 25, weights, [&](Lists lists) { expect_lists(both, lists, weights); });
      }
    }
  }
};

TEST_F(LeanListWalks, find_every_neighbour_and_weight_however_lists_are_placed) {
  for (const BothWays& both : graph::all_sample_graphs()) {
    expect_all_lists(both);
  }
  for (const BothWays& both : graph::larger_graphs()) {
    expect_all_lists(both);
  }
}

// Lists of gaps of every width, near ones and far ones.
graph::Csr of_random_gaps(std::uint64_t seed, const std::vector<Weight>& weights, Vertex vertices) {
  std::mt19937_64 random(seed);
  std::vector<graph::Triple> edges;
  for (Vertex v = 0; v < 200; ++v) {
    const std::uint64_t length = 1 + random() % (1U << v % 12);
    std::uint64_t at = random() % 100;
    const std::uint64_t widest = random() % 14;
    for (std::uint64_t i = 0; i < length; ++i) {
      at += at == v ? 1 : 0;
      if (at >= vertices) {
        break;
      }
      edges.push_back({v, static_cast<Vertex>(at), weights[random() % weights.size()]});
      at += 1 + (random() % 16 == 0 ? random() % (std::uint64_t{1} << widest) : random() % 3);
    }
  }
  return graph::weighted_graph(vertices, edges, true);
}

TEST_F(LeanListWalks, find_weights_of_every_range) {
  constexpr Weight kMost = ~Weight{0};
  const std::vector<std::vector<Weight>> ranges{
      {7}, {7, 8}, {kMost}, {kMost - 1, kMost}, {0, kMost}, {8, 72, 9, 71, 40}, {65'534, 0, 1}, {65'535, 0}};
  std::uint64_t seed = 0;
  for (const std::vector<Weight>& weights : ranges) {
    SCOPED_TRACE(weights.front());
    const BothWays both(of_random_gaps(++seed, weights, 65'536));
    over_all_lists(both, TierPolicy::heads, 10, true, [&](Lists lists) { expect_lists(both, lists, true); });
  }
}

}  // namespace
}  // namespace grainscope::lean
