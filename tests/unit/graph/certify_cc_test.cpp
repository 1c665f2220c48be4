// The certificate of cc accepts the lowest vertex of each component as its label, and nothing else.

#include <gtest/gtest.h>

#include <random>

#include "sample_graphs.hpp"

namespace grainscope::graph {
namespace {

bool accepts(const Csr& graph, const std::vector<Vertex>& labels) {
  return !refuses([&] { return certify_cc(graph, count_components(graph), labels); });
}

TEST(CertifyCc, accepts_the_oracle_and_counts_as_it_does) {
  for (const int threads : {1, 3}) {
    const Threads guard(threads);
    for (const BothWays& both : sample_graphs(false)) {
      const std::vector<Vertex> labels = serial_cc(both.graph);
      std::uint64_t own = 0;
      for (Vertex v = 0; v < labels.size(); ++v) {
        own += labels[v] == v ? 1 : 0;
      }
      EXPECT_EQ(count_components(both.graph), own) << both.graph.name;
      EXPECT_TRUE(accepts(both.graph, labels)) << both.graph.name;
    }
  }
}

TEST(CertifyCc, refuses_every_single_wrong_label) {
  for (const BothWays& both : sample_graphs(false)) {
    std::vector<Vertex> labels = serial_cc(both.graph);
    const Vertex count = both.graph.vertices();
    for (Vertex v = 0; v < count; v += 1 + count / 100) {
      const Vertex right = labels[v];
      for (const Vertex wrong : {v, right + 1, right - 1, Vertex{0}, count - 1, count, 0xffffffffU}) {
        if (wrong != right) {
          labels[v] = wrong;
          ASSERT_FALSE(accepts(both.graph, labels)) << both.graph.name << ", " << v << ": " << wrong;
        }
      }
      labels[v] = right;
    }
  }
}

// A whole component under another of its vertices, or under another component's label.
TEST(CertifyCc, refuses_wrong_labels_of_whole_components) {
  for (const BothWays& both : sample_graphs(false)) {
    const std::vector<Vertex> oracle = serial_cc(both.graph);
    for (Vertex v = 0; v < both.graph.vertices(); v += 1 + both.graph.vertices() / 100) {
      for (const Vertex to : {v, oracle[0], oracle.back()}) {
        std::vector<Vertex> labels = oracle;
        for (Vertex& label : labels) {
          label = label == oracle[v] ? to : label;
        }
        ASSERT_EQ(accepts(both.graph, labels), labels == oracle)
            << both.graph.name << ", " << v << " to " << to;
      }
    }
  }
}

TEST(CertifyCc, refuses_a_component_that_was_cut_in_two) {
  const Csr path = weighted_graph(6, {{0, 1, 1}, {1, 2, 1}, {2, 3, 1}, {3, 4, 1}, {4, 5, 1}}, false);
  EXPECT_TRUE(accepts(path, {0, 0, 0, 0, 0, 0}));
  EXPECT_FALSE(accepts(path, {0, 0, 0, 3, 3, 3}));
  EXPECT_FALSE(accepts(path, {0, 0, 0, 0, 0, 5}));
}

TEST(CertifyCc, is_exact_for_every_answer_on_every_graph_of_four_vertices) {
  for (const BothWays& both : every_graph(4, false, {1})) {
    const std::vector<Vertex> oracle = serial_cc(both.graph);
    for (Vertex code = 0; code < 5 * 5 * 5 * 5; ++code) {
      const std::vector<Vertex> labels{code % 5, code / 5 % 5, code / 25 % 5, code / 125};
      ASSERT_EQ(accepts(both.graph, labels), labels == oracle);
    }
  }
}

TEST(CertifyCc, accepts_exactly_the_oracle_among_random_corruptions) {
  std::mt19937 random(5);
  for (const BothWays& both : sample_graphs(false)) {
    const std::vector<Vertex> oracle = serial_cc(both.graph);
    for (int round = 0; round < 100; ++round) {
      std::vector<Vertex> labels = oracle;
      for (std::uint32_t changes = random() % 4; changes > 0; --changes) {
        const Vertex from = labels[random() % labels.size()];
        const auto to = static_cast<Vertex>(random() % labels.size());
        for (Vertex& label : labels) {
          label = label == from && random() % 8 != 0 ? to : label;
        }
      }
      ASSERT_EQ(accepts(both.graph, labels), labels == oracle) << both.graph.name << ", round " << round;
    }
  }
}

TEST(CertifyCc, refuses_directed_graphs_and_answers_of_another_size) {
  const Csr directed = weighted_graph(2, {{0, 1, 1}}, true);
  EXPECT_THROW((void)certify_cc(directed, 1, std::vector<Vertex>{0, 0}), UsageError);
  EXPECT_FALSE(accepts(weighted_graph(2, {{0, 1, 1}}, false), {0}));
}

}  // namespace
}  // namespace grainscope::graph
