#include "traversal/loaded_graph.hpp"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "grainscope/core/error.hpp"
#include "grainscope/graph/answers.hpp"
#include "traversal/trials.hpp"

namespace grainscope::harness {
namespace {

using graph::Algorithm;

TEST(CertifiedAnswers, a_digest_tells_words_and_their_places) {
  std::vector<std::uint32_t> answer(100'000);
  for (std::uint32_t i = 0; i < answer.size(); ++i) {
    answer[i] = i % 7;
  }
  const graph::Digest digest = graph::digest_of(answer);
  EXPECT_EQ(graph::digest_of(answer), digest);
  std::vector<std::uint32_t> changed = answer;
  changed[777] ^= 1;
  EXPECT_NE(graph::digest_of(changed), digest);
  std::vector<std::uint32_t> swapped = answer;
  std::swap(swapped[3], swapped[4]);
  EXPECT_NE(graph::digest_of(swapped), digest);
  std::vector<std::uint32_t> moved = answer;  // one up, another down
  moved[10] += 1;
  moved[11] -= 1;
  EXPECT_NE(graph::digest_of(moved), digest);
  answer.push_back(0);
  EXPECT_NE(graph::digest_of(answer), digest);
  EXPECT_NE(graph::digest_of({}), digest);
}

TEST(CertifiedAnswers, only_the_same_answer_to_the_same_question_is_known) {
  CertifiedAnswers answers;
  const graph::Digest digest{1, 2};
  EXPECT_EQ(answers.find(Algorithm::bfs, 5, digest), nullptr);
  answers.keep(Algorithm::bfs, 5, digest, {"right", 10, 3});
  ASSERT_NE(answers.find(Algorithm::bfs, 5, digest), nullptr);
  EXPECT_EQ(answers.find(Algorithm::bfs, 5, digest)->reached, 3U);
  EXPECT_EQ(answers.find(Algorithm::bfs, 5, {1, 3}), nullptr);
  EXPECT_EQ(answers.find(Algorithm::bfs, 6, digest), nullptr);
  EXPECT_EQ(answers.find(Algorithm::sssp, 5, digest), nullptr);
}

TEST(CertifiedAnswers, a_wrong_answer_is_refused_after_a_right_one) {
  const LoadedGraph graph(graph::parse_graph_spec("kron:8"), graph::Order::original, "");
  const graph::Vertex source = graph.sources(1).front();
  std::vector<std::uint32_t> depths = graph::serial_bfs(graph.csr(), source);
  const Verdict first = certify(graph, Algorithm::bfs, source, depths);
  const Verdict again = certify(graph, Algorithm::bfs, source, depths);
  EXPECT_EQ(again.sentence, first.sentence);
  EXPECT_EQ(again.reached, first.reached);
  EXPECT_EQ(again.entries, first.entries);
  depths[source] = 1;
  EXPECT_THROW(static_cast<void>(certify(graph, Algorithm::bfs, source, depths)), FailedError);
  EXPECT_THROW(static_cast<void>(certify(graph, Algorithm::bfs, source, depths)), FailedError);
}

// As the suite loads graphs: what it keeps beside the lists is enough for every certificate.
TEST(CertifiedAnswers, of_directed_graphs_are_judged_too) {
  const LoadedGraph graph(graph::parse_graph_spec("web:10"), graph::Order::degree, "");
  ASSERT_TRUE(graph.csr().directed);
  for (const graph::Vertex source : graph.sources(4)) {
    const std::vector<std::uint32_t> depths = graph::serial_bfs(graph.csr(), source);
    EXPECT_GT(certify(graph, Algorithm::bfs, source, depths).reached, 1U);
    std::vector<std::uint32_t> distances = graph::serial_sssp(graph.csr(), source);
    EXPECT_GT(certify(graph, Algorithm::sssp, source, distances).reached, 1U);
    distances[graph.csr().neighbours(source)[0]] += 1;
    EXPECT_THROW(static_cast<void>(certify(graph, Algorithm::sssp, source, distances)), FailedError);
  }
  const std::vector<double> ranks = graph::serial_pr(graph.csr());
  EXPECT_NE(certify_ranks(graph, std::vector<float>(ranks.begin(), ranks.end())).sentence, "");
}

}  // namespace
}  // namespace grainscope::harness
