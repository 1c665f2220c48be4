// The certificate of pr accepts ranks that one more step hardly changes, and no others.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "sample_graphs.hpp"

namespace grainscope::graph {
namespace {

bool accepts(const BothWays& both, const std::vector<float>& ranks, double tolerance = kRankTolerance) {
  return !refuses([&] { return certify_pr(both.graph, both.in_edges(), ranks, tolerance); });
}

std::vector<float> oracle(const BothWays& both) {
  const std::vector<double> ranks = serial_pr(both.graph);
  return {ranks.begin(), ranks.end()};
}

// The same sum the other way: pushed along out-edges.
double change_of(const Csr& graph, const std::vector<float>& ranks) {
  std::vector<double> next(ranks.size(), 0.15 / static_cast<double>(ranks.size()));
  for (const auto& [from, to, weight] : entries(graph)) {
    next[to] += 0.85 * ranks[from] / static_cast<double>(graph.degree(from));
  }
  double change = 0;
  for (std::size_t v = 0; v < ranks.size(); ++v) {
    change += std::abs(next[v] - ranks[v]);
  }
  return change;
}

TEST(CertifyPr, accepts_the_oracle) {
  for (const int threads : {1, 3}) {
    const Threads guard(threads);
    for (const BothWays& both : all_sample_graphs()) {
      EXPECT_TRUE(accepts(both, oracle(both))) << both.graph.name;
    }
  }
}

TEST(CertifyPr, refuses_ranks_that_are_scaled_shifted_or_all_alike) {
  for (const BothWays& both : all_sample_graphs()) {
    for (const float factor : {0.0F, 0.99F, 1.01F, 2.0F}) {
      std::vector<float> ranks = oracle(both);
      for (float& rank : ranks) {
        rank *= factor;
      }
      EXPECT_FALSE(accepts(both, ranks)) << both.graph.name << " times " << factor;
    }
  }
}

TEST(CertifyPr, refuses_one_wrong_rank) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const BothWays& both : all_sample_graphs()) {
    std::vector<float> ranks = oracle(both);
    for (std::size_t v = 0; v < ranks.size(); v += 1 + ranks.size() / 100) {
      const float right = ranks[v];
      for (const float wrong :
           {right + 3e-4F, right + 1, -right, -1e-30F, nan, -nan, INFINITY, -INFINITY, 1e38F}) {
        ranks[v] = wrong;
        ASSERT_FALSE(accepts(both, ranks)) << both.graph.name << ", " << v << ": " << wrong;
      }
      ranks[v] = right;
    }
  }
}

TEST(CertifyPr, judges_by_the_change_that_a_step_makes) {
  std::mt19937 random(3);
  for (const BothWays& both : all_sample_graphs()) {
    std::vector<float> ranks = oracle(both);
    for (float& rank : ranks) {
      rank *= 1 + static_cast<float>(random() % 1000) * 1e-4F;
    }
    const double change = change_of(both.graph, ranks);
    EXPECT_TRUE(accepts(both, ranks, change * 1.000001)) << both.graph.name;
    EXPECT_FALSE(accepts(both, ranks, change * 0.999999)) << both.graph.name;
  }
}

// Ranks of the transposed graph are another answer, and so is what follows edges the wrong way.
TEST(CertifyPr, follows_edges_the_right_way) {
  const BothWays both(weighted_graph(4, {{0, 1, 1}, {0, 2, 1}, {0, 3, 1}, {1, 2, 1}}, true));
  const BothWays reversed(transpose(both.graph));
  EXPECT_TRUE(accepts(both, oracle(both)));
  EXPECT_FALSE(accepts(both, oracle(reversed)));
}

TEST(CertifyPr, says_by_how_much_and_which_rank_is_none) {
  const BothWays both(weighted_graph(2, {{0, 1, 1}}, false));
  EXPECT_EQ(certify_pr(both.graph, both.graph, std::vector<float>{0.5F, 0.5F}),
            "one more step in double precision changes the ranks by 0 in all, less than 0.0001");
  try {
    (void)certify_pr(both.graph, both.graph, std::vector<float>{0.5F, -0.5F});
    FAIL() << "accepted";
  } catch (const FailedError& error) {
    EXPECT_STREQ(error.what(), "pr on test: the rank of vertex 1 is -0.5");
  }
  EXPECT_FALSE(accepts(both, {0.5F}));
}

TEST(CertifyPr, nothing_to_rank_is_right) {
  const BothWays both{Csr{}};
  EXPECT_TRUE(accepts(both, {}));
}

}  // namespace
}  // namespace grainscope::graph
