// Certificates of graphs that are large enough to be shared out: whatever thread meets the fault, it is
// found, and what is said of it does not depend on how many there are.

#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "sample_graphs.hpp"

namespace grainscope::graph {
namespace {

constexpr Vertex kAllVertices = 30000;
constexpr Vertex kSource = 11;

BothWays large_graph(bool directed, bool hubs) {
  return BothWays(weighted_graph(kAllVertices, random_edges(kAllVertices, 400000, 21, hubs), directed));
}

using Values = std::vector<std::uint32_t>;
using Certify = std::function<std::string(const Values&)>;

std::string complaint(const Certify& certify, const Values& values) {
  try {
    (void)certify(values);
    return "";
  } catch (const FailedError& error) {
    return error.what();
  }
}

// Accepts `right`, and says the same of a wrong entry, or of two, with any number of threads.
void expect_steady(const Certify& certify, Values values) {
  std::mt19937 random(2);
  for (int round = 0; round < 12; ++round) {
    Values wrong = values;
    for (int faults = 0; faults < round % 3; ++faults) {
      std::uint32_t& entry = wrong[random() % wrong.size()];
      entry = round % 2 == 0 ? entry + 1 : entry - 1;
    }
    std::string first;
    for (const int threads : {1, 2, 5}) {
      const Threads guard(threads);
      const std::string said = complaint(certify, wrong);
      ASSERT_EQ(said.empty(), wrong == values) << said;
      first = threads == 1 ? said : first;
      ASSERT_EQ(said, first);
    }
  }
}

TEST(CertifyThreads, paths) {
  for (const bool directed : {false, true}) {
    for (const bool hubs : {false, true}) {
      const BothWays both = large_graph(directed, hubs);
      expect_steady(
          [&](const Values& values) { return certify_bfs(both.graph, both.in_edges(), kSource, values); },
          serial_bfs(both.graph, kSource));
      expect_steady([&](const Values& values) { return certify_sssp(both.graph, kSource, values); },
                    serial_sssp(both.graph, kSource));
    }
  }
}

TEST(CertifyThreads, components) {
  for (const bool hubs : {false, true}) {
    const BothWays both = large_graph(false, hubs);
    const Values labels = serial_cc(both.graph);
    std::uint64_t components = 0;
    for (Vertex v = 0; v < kAllVertices; ++v) {
      components += labels[v] == v ? 1 : 0;
    }
    for (const int threads : {1, 2, 5}) {
      const Threads guard(threads);
      for (int again = 0; again < 8; ++again) {
        ASSERT_EQ(count_components(both.graph), components) << threads;
      }
    }
    expect_steady([&](const Values& values) { return certify_cc(both.graph, components, values); }, labels);
  }
}

TEST(CertifyThreads, ranks) {
  for (const bool directed : {false, true}) {
    const BothWays both = large_graph(directed, true);
    const std::vector<double> ranks = serial_pr(both.graph);
    std::vector<float> values(ranks.begin(), ranks.end());
    const auto certify = [&] { return certify_pr(both.graph, both.in_edges(), values); };
    std::string first;
    for (const int threads : {1, 2, 5}) {
      const Threads guard(threads);
      const std::string said = certify();
      first = threads == 1 ? said : first;
      EXPECT_EQ(said, first);
      for (Vertex v = 1; v < kAllVertices; v += 997) {
        const float right = values[v];
        values[v] = right + 3e-4F;
        EXPECT_TRUE(refuses(certify)) << v;
        values[v] = right;
      }
    }
  }
}

// More components than the sample of labels finds, each of them small.
TEST(CertifyThreads, many_small_components) {
  std::vector<Triple> edges;
  for (Vertex v = 0; v + 5 <= kAllVertices; v += 5) {
    for (Vertex i = 1; i < 5; ++i) {
      edges.push_back({v + i - 1, v + i, 1});
    }
  }
  const Csr graph = weighted_graph(kAllVertices, edges, false);
  EXPECT_EQ(count_components(graph), kAllVertices / 5);
  EXPECT_NO_THROW((void)certify_cc(graph, kAllVertices / 5, serial_cc(graph)));
}

}  // namespace
}  // namespace grainscope::graph
