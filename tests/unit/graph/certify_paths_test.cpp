// The certificates of bfs and sssp accept what the serial oracles answer, and nothing else.

#include <gtest/gtest.h>

#include <random>

#include "sample_graphs.hpp"

namespace grainscope::graph {
namespace {

using Values = std::vector<std::uint32_t>;

enum class Kind { bfs, sssp };

// One question that a certificate judges answers to.
struct Question {
  const BothWays& both;
  Kind kind;
  Vertex source;

  [[nodiscard]] Values oracle() const {
    return kind == Kind::bfs ? serial_bfs(both.graph, source) : serial_sssp(both.graph, source);
  }
  [[nodiscard]] bool accepts(const Values& values) const {
    return !refuses([&] {
      return kind == Kind::bfs ? certify_bfs(both.graph, both.in_edges(), source, values)
                               : certify_sssp(both.graph, source, values);
    });
  }
};

// Each kind of question, from up to `sources` sources.
std::vector<Question> questions(const BothWays& both, Vertex sources) {
  std::vector<Question> all;
  const Vertex count = both.graph.vertices();
  for (Vertex i = 0; i < std::min(sources, count); ++i) {
    const Vertex source = static_cast<Vertex>(std::uint64_t{count} * i / std::min(sources, count));
    all.push_back({both, Kind::bfs, source});
    all.push_back({both, Kind::sssp, source});
  }
  return all;
}

std::string describe(const Question& question) {
  return question.both.graph.name + (question.kind == Kind::bfs ? " bfs" : " sssp") + " from " +
         std::to_string(question.source);
}

TEST(CertifyPaths, accepts_the_oracles) {
  for (const int threads : {1, 3}) {
    const Threads guard(threads);
    for (const BothWays& both : all_sample_graphs()) {
      for (const Question& question : questions(both, 7)) {
        EXPECT_TRUE(question.accepts(question.oracle())) << describe(question);
      }
    }
  }
}

// What one wrong entry could be.
Values planted_faults(std::uint32_t right) {
  if (right == kUnreached) {
    return {0, 1, 2, 3, 5, 100, kUnreached - 1};
  }
  Values wrong{right + 1, right + 2, right + 7, kUnreached, kUnreached - 1};
  for (const std::uint32_t less : {1U, 2U, right}) {
    if (less <= right && less != 0) {
      wrong.push_back(right - less);
    }
  }
  return wrong;
}

TEST(CertifyPaths, refuses_every_single_wrong_entry) {
  for (const BothWays& both : all_sample_graphs()) {
    for (const Question& question : questions(both, 2)) {
      Values values = question.oracle();
      for (Vertex v = 0; v < values.size(); v += 1 + both.graph.vertices() / 200) {
        const std::uint32_t right = values[v];
        for (const std::uint32_t wrong : planted_faults(right)) {
          values[v] = wrong;
          ASSERT_FALSE(question.accepts(values))
              << describe(question) << ", " << v << ": " << wrong << " in place of " << right;
        }
        values[v] = right;
      }
    }
  }
}

TEST(CertifyPaths, refuses_another_sources_answer) {
  for (const BothWays& both : all_sample_graphs()) {
    for (const Question& question : questions(both, 2)) {
      const Vertex other = (question.source + 1) % both.graph.vertices();
      if (other != question.source) {
        EXPECT_FALSE((Question{both, question.kind, other}.accepts(question.oracle()))) << describe(question);
      }
    }
  }
}

// Corruptions of a few entries at once, and of neighbours together, which hide each other's faults.
TEST(CertifyPaths, accepts_exactly_the_oracles_among_random_corruptions) {
  std::mt19937 random(7);
  const auto draw = [&](std::uint32_t bound) { return static_cast<std::uint32_t>(random() % bound); };
  int same = 0;
  for (const BothWays& both : all_sample_graphs()) {
    for (const Question& question : questions(both, 2)) {
      const Values oracle = question.oracle();
      for (int round = 0; round < 100; ++round) {
        Values values = oracle;
        for (std::uint32_t changes = draw(6); changes > 0; --changes) {
          const Vertex v = draw(both.graph.vertices());
          const std::uint32_t shift = draw(5) - 2;
          const auto neighbours = both.graph.neighbours(v);
          values[v] = draw(4) == 0 ? kUnreached : values[v] + shift;
          for (std::size_t i = 0; i < neighbours.size() && round % 2 == 0; ++i) {
            values[neighbours[i]] += shift;
          }
        }
        same += values == oracle ? 1 : 0;
        ASSERT_EQ(question.accepts(values), values == oracle) << describe(question) << ", round " << round;
      }
    }
  }
  EXPECT_GT(same, 100);
}

// Calls try_all(values) for every list of `size` values out of `choices`.
template <class TryAll>
void for_every_list(std::size_t size, const Values& choices, const TryAll& try_all) {
  std::vector<std::size_t> digits(size);
  Values values(size, choices[0]);
  while (true) {
    try_all(values);
    std::size_t place = 0;
    while (place < size && ++digits[place] == choices.size()) {
      digits[place] = 0;
      values[place] = choices[0];
      ++place;
    }
    if (place == size) {
      return;
    }
    values[place] = choices[digits[place]];
  }
}

// Where distances go beyond 32 bits there is no answer, and none is accepted.
Values oracle_or_none(const Question& question) {
  try {
    return question.oracle();
  } catch (const UsageError&) {
    return {};
  }
}

void expect_exact(const std::vector<BothWays>& graphs, Kind kind, const Values& choices) {
  for (const BothWays& both : graphs) {
    const Question question{both, kind, 1};
    const Values oracle = oracle_or_none(question);
    for_every_list(both.graph.vertices(), choices, [&](const Values& values) {
      ASSERT_EQ(question.accepts(values), values == oracle) << describe(question);
    });
  }
}

TEST(CertifyPaths, bfs_is_exact_for_every_answer_on_every_graph_of_four_vertices) {
  expect_exact(every_graph(4, false, {1}), Kind::bfs, {0, 1, 2, 3, kUnreached - 1, kUnreached});
}

TEST(CertifyPaths, bfs_is_exact_for_every_answer_on_every_directed_graph_of_three_vertices) {
  expect_exact(every_graph(3, true, {1}), Kind::bfs, {0, 1, 2, 3, kUnreached - 1, kUnreached});
}

TEST(CertifyPaths, sssp_is_exact_for_every_answer_on_every_graph_of_four_vertices) {
  expect_exact(every_graph(4, false, {1, 2, 3}), Kind::sssp, {0, 1, 2, 3, 4, kUnreached});
}

// Edges without length vouch for each other, so these need more than a tight edge.
TEST(CertifyPaths, sssp_is_exact_where_edges_have_no_length) {
  expect_exact(every_graph(4, false, {0, 0, 1, 2}), Kind::sssp, {0, 1, 2, 3, kUnreached});
  expect_exact(every_graph(3, true, {0, 0, 1, 2}), Kind::sssp, {0, 1, 2, 3, 4, kUnreached});
}

TEST(CertifyPaths, sssp_is_exact_near_the_end_of_32_bits) {
  for (const bool directed : {false, true}) {
    expect_exact(every_graph(3, directed, {1, kUnreached - 2, kUnreached - 1, kUnreached}), Kind::sssp,
                 {0, 1, 2, kUnreached - 2, kUnreached - 1, kUnreached});
  }
}

// Depth 0 less one is the number that stands for "not reached".
TEST(CertifyPaths, bfs_refuses_a_second_source_beside_what_is_not_reached) {
  const BothWays both(weighted_graph(4, {{2, 3, 1}}, true));
  EXPECT_FALSE((Question{both, Kind::bfs, 0}.accepts({0, kUnreached, kUnreached, 0})));
  EXPECT_TRUE((Question{both, Kind::bfs, 0}.accepts({0, kUnreached, kUnreached, kUnreached})));
}

TEST(CertifyPaths, sssp_refuses_not_reached_behind_an_edge_that_leads_beyond_32_bits) {
  const BothWays both(weighted_graph(3, {{0, 1, 0x80000000U}, {1, 2, 0xfffffff0U}}, false));
  EXPECT_FALSE((Question{both, Kind::sssp, 0}.accepts({0, 0x80000000U, kUnreached})));
}

TEST(CertifyPaths, says_which_vertex_proves_it) {
  const BothWays both(weighted_graph(4, {{0, 1, 3}, {1, 2, 4}}, false));
  const auto why = [&](const Values& values, Kind kind) -> std::string {
    try {
      return kind == Kind::bfs ? certify_bfs(both.graph, both.graph, 0, values)
                               : certify_sssp(both.graph, 0, values);
    } catch (const FailedError& error) {
      return error.what();
    }
  };
  EXPECT_EQ(why({0, 1, 3, kUnreached}, Kind::bfs),
            "bfs from 0 on test: vertex 2 has depth 3, but an edge leads there and vertex 1 has depth 1");
  EXPECT_EQ(
      why({0, 1, 2, 2}, Kind::bfs),
      "bfs from 0 on test: vertex 3 has depth 2, and no edge leads there from a vertex that is one nearer");
  EXPECT_EQ(
      why({0, 3, kUnreached, kUnreached}, Kind::sssp),
      "sssp from 0 on test: vertex 2 is not reached, but an edge of weight 4 leads there and vertex 1 has "
      "distance 3");
  EXPECT_EQ(why({0, 3, 6, kUnreached}, Kind::sssp),
            "sssp from 0 on test: vertex 2 has distance 6, and no edge leads there that is as long as the "
            "difference");
  EXPECT_EQ(why({1, 3, 6, kUnreached}, Kind::bfs), "bfs on test: the source 0 has depth 1, not 0");
}

TEST(CertifyPaths, refuses_answers_of_another_size) {
  const BothWays both(weighted_graph(3, {{0, 1, 3}}, false));
  EXPECT_FALSE((Question{both, Kind::bfs, 0}.accepts({0, 1})));
  EXPECT_FALSE((Question{both, Kind::sssp, 0}.accepts({0, 3, kUnreached, 0})));
  EXPECT_THROW((void)certify_bfs(both.graph, both.graph, 3, Values{0, 1, kUnreached}), UsageError);
  EXPECT_THROW((void)certify_bfs(both.graph, Csr{}, 0, Values{0, 1, kUnreached}), UsageError);
}

}  // namespace
}  // namespace grainscope::graph
