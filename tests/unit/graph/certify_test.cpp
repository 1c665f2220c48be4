// Certificates accept what the serial oracles answer, and nothing else, whatever the number of threads.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "../../testing/oracles.hpp"
#include "../../testing/sample_graphs.hpp"
#include "../../testing/says.hpp"
#include "answers.hpp"
#include "grainscope/graph/generate.hpp"

namespace grainscope::graph {
namespace {

using Values = std::vector<std::uint32_t>;

enum class Kind { bfs, sssp };

// One question that a certificate judges answers to.
struct Question {
  const BothWays& both;
  Kind kind;
  Vertex source;
  mutable AnswerBatch alone = AnswerBatch(both.graph.vertices());

  [[nodiscard]] Values oracle() const {
    return kind == Kind::bfs ? serial_bfs(both.graph, source) : serial_sssp(both.graph, source);
  }
  [[nodiscard]] bool accepts(const Values& values) const {
    const bool accepted = !refuses([&] {
      return kind == Kind::bfs ? certify_bfs(both.graph, both.in_edges(), source, values)
                               : certify_sssp(both.graph, source, values);
    });
    alone.clear();
    bool added = true;
    const bool refused = refuses([&] { return added = alone.add(source, values); });
    if (added) {
      EXPECT_EQ(!refused && accepts(alone), accepted)
          << both.graph.name << " from " << source << ", in a batch";
    }
    return accepted;
  }
  [[nodiscard]] bool accepts(AnswerBatch& batch) const {
    return !refuses([&] {
      return kind == Kind::bfs ? certify_bfs(both.graph, both.in_edges(), batch)
                               : certify_sssp(both.graph, batch);
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

// Each lane holds the answer of a source of its own, one of them a wrong one.
TEST(CertifyPaths, a_batch_is_as_good_as_its_worst_answer) {
  for (const int threads : {1, 3}) {
    const Threads guard(threads);
    for (const BothWays& both : all_sample_graphs()) {
      for (const Kind kind : {Kind::bfs, Kind::sssp}) {
        for (std::size_t wrong = 0; wrong <= AnswerBatch::kLanes; ++wrong) {
          AnswerBatch batch(both.graph.vertices());
          for (Vertex lane = 0; lane < AnswerBatch::kLanes; ++lane) {
            const Question question{both, kind, lane * 7 % both.graph.vertices()};
            Values values = question.oracle();
            EXPECT_FALSE(batch.full());
            if (lane == wrong) {
              std::uint32_t& entry = values[(question.source + 1) % values.size()];
              entry = entry == kUnreached ? 5 : entry + 1;
            }
            EXPECT_TRUE(batch.add(question.source, values));
            EXPECT_EQ(batch.sources()[lane], question.source);
            EXPECT_TRUE(std::ranges::equal(batch.answer(lane).span(), values));
          }
          EXPECT_TRUE(batch.full());
          EXPECT_EQ((Question{both, kind, 0}.accepts(batch)), wrong == AnswerBatch::kLanes)
              << both.graph.name << ", lane " << wrong;
        }
      }
    }
  }
}

TEST(CertifyPaths, a_batch_says_which_vertex_of_which_answer_proves_it) {
  const BothWays path(weighted_graph(4, {{0, 1, 1}, {1, 2, 1}, {2, 3, 1}}, false));
  AnswerBatch batch(4);
  ASSERT_TRUE(batch.add(0, Values{0, 1, 2, 3}));
  ASSERT_TRUE(batch.add(2, Values{2, 1, 0, 2}));
  try {
    static_cast<void>(certify_bfs(path.graph, path.graph, batch));
    ADD_FAILURE() << "accepted";
  } catch (const FailedError& error) {
    EXPECT_STREQ(
        error.what(),
        "bfs from 2 on test: vertex 3 has depth 2, but an edge leads there and vertex 2 has depth 0");
  }
}

// What was there before is gone: a batch that is filled again holds what was added since.
TEST(CertifyPaths, a_batch_begins_again) {
  const BothWays path(weighted_graph(3, {{0, 1, 1}, {1, 2, 1}}, false));
  AnswerBatch batch(3);
  ASSERT_TRUE(batch.add(0, Values{0, 1, 9}));
  batch.clear();
  EXPECT_EQ(batch.greatest(), 0U);
  EXPECT_TRUE(batch.sources().empty());
  ASSERT_TRUE(batch.add(2, Values{2, 1, 0}));
  EXPECT_EQ(batch.greatest(), 2U);
  EXPECT_EQ(certify_bfs(path.graph, path.in_edges(), batch),
            certify_bfs(path.graph, path.in_edges(), 2, Values{2, 1, 0}));
  EXPECT_THROW((void)batch.add(0, Values{0, 1}), FailedError);
  for (std::size_t lane = 1; lane < AnswerBatch::kLanes; ++lane) {
    ASSERT_TRUE(batch.add(0, Values{0, 1, 2}));
  }
  EXPECT_THROW((void)batch.add(0, Values{0, 1, 2}), UsageError);
}

// 65534 is the greatest entry that has room beside what says that nothing was reached.
TEST(CertifyPaths, a_batch_takes_what_has_room_in_16_bits) {
  AnswerBatch batch(3);
  EXPECT_TRUE(batch.add(0, Values{0, 65534, kUnreached}));
  for (const std::uint32_t far : {65535U, 65536U, 65537U, kUnreached - 1}) {
    EXPECT_FALSE(batch.add(1, Values{0, far, 1})) << far;
  }
  EXPECT_EQ(batch.sources().size(), 1U);
  EXPECT_EQ(batch.greatest(), 65534U);
  EXPECT_TRUE(std::ranges::equal(batch.answer(0).span(), Values{0, 65534, kUnreached}));
}

// Over an edge whose weight is another in 16 bits there seems to be a short way.
TEST(CertifyPaths, a_batch_is_not_taken_in_by_weights_beyond_16_bits) {
  const BothWays both(weighted_graph(4, {{0, 1, 32767}, {1, 2, 32766}, {2, 3, 65537}, {0, 3, 7}}, false));
  AnswerBatch batch(4);
  ASSERT_TRUE(batch.add(0, Values{0, 32767, 65533, 7}));
  EXPECT_TRUE((Question{both, Kind::sssp, 0}.accepts(batch)));
  ASSERT_TRUE(batch.add(0, Values{0, 32767, 8, 7}));
  EXPECT_FALSE((Question{both, Kind::sssp, 0}.accepts(batch)));
}

TEST(CertifyPaths, refuses_answers_of_another_size) {
  const BothWays both(weighted_graph(3, {{0, 1, 3}}, false));
  EXPECT_FALSE((Question{both, Kind::bfs, 0}.accepts({0, 1})));
  EXPECT_FALSE((Question{both, Kind::sssp, 0}.accepts({0, 3, kUnreached, 0})));
  EXPECT_THROW((void)certify_bfs(both.graph, both.graph, 3, Values{0, 1, kUnreached}), UsageError);
  EXPECT_THROW((void)certify_bfs(both.graph, Csr{}, 0, Values{0, 1, kUnreached}), UsageError);
  AnswerBatch larger(4);
  ASSERT_TRUE(larger.add(3, Values{0, 1, kUnreached, 0}));
  EXPECT_THROW((void)certify_bfs(both.graph, both.graph, larger), FailedError);
  AnswerBatch beyond(3);
  ASSERT_TRUE(beyond.add(3, Values{0, 1, kUnreached}));
  EXPECT_THROW((void)certify_bfs(both.graph, both.graph, beyond), UsageError);
  EXPECT_THROW((void)certify_sssp(both.graph, beyond), UsageError);
}

}  // namespace

namespace {

// A search's parents: of each vertex the first in-neighbour that is one nearer.
std::vector<Vertex> parents_of(const BothWays& both, Vertex source, const Values& depths) {
  std::vector<Vertex> parents(depths.size(), kUnreached);
  for (Vertex v = 0; v < depths.size(); ++v) {
    for (const Vertex u : both.in_edges().neighbours(v)) {
      if (parents[v] == kUnreached && depths[v] != kUnreached && depths[v] > 0 &&
          depths[u] + 1 == depths[v]) {
        parents[v] = u;
      }
    }
  }
  parents[source] = source;
  return parents;
}

TEST(CertifyParents, accepts_what_is_one_nearer_and_refuses_every_other_vertex) {
  for (const BothWays& both : all_sample_graphs()) {
    const Vertex count = both.graph.vertices();
    const Vertex source = count / 2;
    const Values depths = serial_bfs(both.graph, source);
    std::vector<Vertex> parents = parents_of(both, source, depths);
    const auto accepts = [&] {
      return !refuses([&] { return certify_parents(both.graph, both.in_edges(), source, depths, parents); });
    };
    EXPECT_TRUE(accepts());
    for (Vertex v = 0; v < count; v += 1 + count / 50) {
      const Vertex right = parents[v];
      for (Vertex wrong = 0; wrong <= count; wrong += 1 + count / 40) {
        const auto neighbours = both.in_edges().neighbours(v);
        const bool fits = wrong < count && v != source && depths[v] != kUnreached &&
                          depths[wrong] + 1 == depths[v] &&
                          std::find(neighbours.begin(), neighbours.end(), wrong) != neighbours.end();
        parents[v] = wrong;
        ASSERT_EQ(accepts(), fits || wrong == right) << both.graph.name << ", " << v << " from " << wrong;
      }
      parents[v] = kUnreached;
      EXPECT_EQ(accepts(), right == kUnreached);
      parents[v] = right;
    }
    if (count > 1) {
      parents.pop_back();
      EXPECT_FALSE(accepts()) << "an entry is missing";
    }
  }
}

}  // namespace

// The certificate of cc accepts the lowest vertex of each component as its label, and nothing else.
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

// The certificate of pr accepts ranks that one more step hardly changes, and no others.
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

// Several at once are each held to account as one alone is.
TEST(CertifyPr, of_several_answers_refuses_any_that_is_wrong) {
  for (const int threads : {1, 3}) {
    const Threads guard(threads);
    for (const BothWays& both : all_sample_graphs()) {
      const auto accepts_all = [&](const std::vector<std::vector<float>>& all) {
        return !refuses([&] { return certify_pr(both.graph, both.in_edges(), all); });
      };
      for (const std::size_t lanes : {std::size_t{1}, std::size_t{3}, kRankLanes}) {
        std::vector<std::vector<float>> all(lanes, oracle(both));
        EXPECT_TRUE(accepts_all(all)) << both.graph.name;
        for (std::size_t lane = 0; lane < lanes; ++lane) {
          for (const float wrong : {3e-4F, -1.0F, std::numeric_limits<float>::quiet_NaN(), 1e38F}) {
            float& rank = all[lane][lane % all[lane].size()];
            const float right = std::exchange(rank, rank + wrong);
            EXPECT_FALSE(accepts_all(all)) << both.graph.name << ", answer " << lane << ": " << wrong;
            rank = right;
          }
        }
        all.back().pop_back();
        EXPECT_FALSE(accepts_all(all)) << "one has no rank of the last vertex";
      }
    }
  }
}

TEST(CertifyPr, of_several_answers_says_the_largest_change) {
  const BothWays both(weighted_graph(2, {{0, 1, 1}}, false));
  const std::vector<std::vector<float>> all{{0.5F, 0.5F}, {0.50001F, 0.5F}, {0.5F, 0.5F}};
  EXPECT_EQ(certify_pr(both.graph, both.graph, all),
            certify_pr(both.graph, both.graph, std::span<const float>(all[1])));
  EXPECT_NE(certify_pr(both.graph, both.graph, all),
            certify_pr(both.graph, both.graph, std::span<const float>(all[0])));
  EXPECT_THROW((void)certify_pr(both.graph, both.graph, std::vector<std::vector<float>>{}), UsageError);
  EXPECT_THROW(
      (void)certify_pr(both.graph, both.graph, std::vector<std::vector<float>>(kRankLanes + 1, {0.5F, 0.5F})),
      UsageError);
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
  EXPECT_EQ(
      certify_pr(both.graph, both.graph, std::vector<float>{0.5F, 0.5F}),
      "one more step in double precision changes the ranks by 0 in all, less than 0.0001, and none by a "
      "factor of 2");
  try {
    (void)certify_pr(both.graph, both.graph, std::vector<float>{0.5F, -0.5F});
    FAIL() << "accepted";
  } catch (const FailedError& error) {
    EXPECT_STREQ(error.what(), "pr on test: the rank of vertex 1 is -0.5");
  }
  EXPECT_FALSE(accepts(both, {0.5F}));
}

// One vertex of thousands is less than the tolerance of the sum.
TEST(CertifyPr, refuses_a_small_rank_that_was_never_made_or_is_another) {
  const Csr graph = make_graph(parse_graph_spec("kron:16"), false);
  const BothWays both(graph);
  std::vector<float> ranks = oracle(both);
  ASSERT_TRUE(accepts(both, ranks));
  const auto least = static_cast<std::size_t>(std::min_element(ranks.begin(), ranks.end()) - ranks.begin());
  const float right = ranks[least];
  for (const float wrong : {0.0F, right / 3, right * 3}) {
    ranks[least] = wrong;
    ASSERT_LT(change_of(graph, ranks), kRankTolerance) << wrong;
    EXPECT_FALSE(accepts(both, ranks)) << wrong;
  }
  ranks[least] = right * 1.5F;
  EXPECT_TRUE(accepts(both, ranks));
}

TEST(CertifyPr, nothing_to_rank_is_right) {
  const BothWays both{Csr{}};
  EXPECT_TRUE(accepts(both, {}));
}

}  // namespace
namespace {

// Entries that are read with a cut at `level`.
std::uint64_t entries_read(const BothWays& both, const std::vector<std::uint32_t>& depths,
                           std::uint64_t level) {
  std::uint64_t entries = 0;
  for (Vertex v = 0; v < both.graph.vertices(); ++v) {
    const bool reached = depths[v] != kUnreached;
    if (reached && depths[v] < level) {
      entries += both.graph.degree(v);
    } else if (level != kAllLevels && (!reached || depths[v] > level + 1)) {
      entries += both.in_edges().degree(v);
    }
  }
  return entries;
}

TEST(LevelsCut, reads_the_fewest_entries) {
  for (const BothWays& both : all_sample_graphs()) {
    const std::vector<std::uint32_t> depths = serial_bfs(both.graph, 0);
    std::uint64_t least = entries_read(both, depths, kAllLevels);
    for (std::uint64_t level = 0; level < 252; ++level) {
      least = std::min(least, entries_read(both, depths, level));
    }
    const std::uint64_t cut = cheapest_cut(both.graph, both.in_edges(), depths);
    EXPECT_EQ(entries_read(both, depths, cut), least) << both.graph.name;
  }
}

TEST(LevelsCut, leaves_most_of_a_graph_with_hubs_unread) {
  const BothWays both(make_graph(parse_graph_spec("kron:14"), false));
  const std::vector<std::uint32_t> depths = serial_bfs(both.graph, gap_sources(both.graph, 1)[0]);
  const std::uint64_t cut = cheapest_cut(both.graph, both.graph, depths);
  EXPECT_LT(entries_read(both, depths, cut), both.graph.edges() / 10);
}

// From a source in a small part, the large one is never entered.
TEST(LevelsCut, reads_what_is_reached_where_most_is_not) {
  std::vector<Triple> edges = random_edges(1000, 5000, 1, false);
  edges.push_back({1000, 1001, 1});
  const BothWays both(weighted_graph(1002, edges, false));
  const std::vector<std::uint32_t> depths = serial_bfs(both.graph, 1000);
  EXPECT_EQ(cheapest_cut(both.graph, both.graph, depths), kAllLevels);
}

}  // namespace

// Certificates of graphs that are large enough to be shared out: whatever thread meets the fault, it is
// found, and what is said of it does not depend on how many there are.
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

// A rank that was never made is small beside all, so the sum says nothing of it.
TEST(CertifyThreads, ranks_of_several_answers_refuse_a_small_rank_that_is_far) {
  const BothWays both = large_graph(false, false);
  const std::vector<double> right = serial_pr(both.graph);
  std::vector<std::vector<float>> all(2, {right.begin(), right.end()});
  EXPECT_NO_THROW((void)certify_pr(both.graph, both.in_edges(), all));
  const auto least = std::min_element(all[1].begin(), all[1].end());
  *least /= 4;
  EXPECT_TRUE(
      test::says(test::refusal<FailedError>([&] { (void)certify_pr(both.graph, both.in_edges(), all); }),
                 "the rank of vertex " + std::to_string(least - all[1].begin()) + " is "));
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
