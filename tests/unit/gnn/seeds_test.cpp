#include "grainscope/gnn/sampling.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "../graph/sample_graphs.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/gnn/scores.hpp"
#include "grainscope/graph/generate.hpp"

namespace grainscope::gnn {
namespace {

using graph::Vertex;

TEST(Permutation, sends_every_number_somewhere_else_below_the_size) {
  for (const std::uint64_t size : {1, 2, 3, 4, 5, 31, 64, 1000, 65537}) {
    for (const std::uint64_t key : {0, 1}) {
      const Permutation places(size, key);
      std::vector<std::uint64_t> values(size);
      for (std::uint64_t i = 0; i < size; ++i) {
        values[i] = places(i);
      }
      std::sort(values.begin(), values.end());
      for (std::uint64_t i = 0; i < size; ++i) {
        ASSERT_EQ(values[i], i) << size;
      }
    }
  }
  EXPECT_LT(Permutation(std::uint64_t{1} << 32, 3)(12345), std::uint64_t{1} << 32);
}

TEST(Permutation, depends_on_its_key) {
  const Permutation one(1000, 1);
  const Permutation two(1000, 2);
  int same = 0;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    same += one(i) == two(i) ? 1 : 0;
  }
  EXPECT_LT(same, 10);
}

TEST(LabelledVertices, are_a_share_ascending_and_spread_over_the_graph) {
  const std::vector<Vertex> labelled = labelled_vertices(10000, 12.5, 1);
  ASSERT_EQ(labelled.size(), 1250);
  EXPECT_TRUE(std::is_sorted(labelled.begin(), labelled.end()));
  EXPECT_EQ(std::adjacent_find(labelled.begin(), labelled.end()), labelled.end());
  EXPECT_LT(labelled.back(), 10000U);
  const auto lower = std::count_if(labelled.begin(), labelled.end(), [](Vertex v) { return v < 5000; });
  EXPECT_NEAR(static_cast<double>(lower), 625, 75);  // about four standard deviations
  EXPECT_NE(labelled, labelled_vertices(10000, 12.5, 2));
  std::vector<Vertex> all(50);
  std::iota(all.begin(), all.end(), 0U);
  EXPECT_EQ(labelled_vertices(50, 100, 1), all);
}

TEST(LabelledVertices, of_an_empty_or_impossible_share_are_refused_with_the_numbers) {
  for (const double percent : {0.0, -1.0, 100.5, 0.001, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_THROW(static_cast<void>(labelled_vertices(1000, percent, 1)), UsageError) << percent;
  }
  try {
    static_cast<void>(labelled_vertices(1000, 0.001, 1));
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("1000 vertices"), std::string::npos);
  }
}

TEST(EpochOrder, has_every_labelled_vertex_once_in_another_order_each_epoch) {
  const std::vector<Vertex> labelled = labelled_vertices(5000, 10, 1);
  const std::vector<Vertex> first = epoch_order(labelled, 1, 0);
  const std::vector<Vertex> second = epoch_order(labelled, 1, 1);
  EXPECT_NE(first, second);
  EXPECT_NE(first, labelled);
  EXPECT_TRUE(std::is_permutation(first.begin(), first.end(), labelled.begin(), labelled.end()));
  EXPECT_TRUE(std::is_permutation(second.begin(), second.end(), labelled.begin(), labelled.end()));
}

class Run : public testing::Test {
 protected:
  graph::Csr graph_ = graph::make_graph(graph::parse_graph_spec("kron:12"), false);
  std::vector<Vertex> labelled_ = labelled_vertices(graph_.vertices(), 10, 1);
  RunRequest request_{{{3, 3}, 1}, 100, 0, 2, 0};
};

TEST_F(Run, visits_every_labelled_vertex_once_an_epoch) {
  std::vector<Vertex> seeds;
  const std::uint64_t batches = for_each_batch(graph_, labelled_, request_, [&](const MiniBatch& batch) {
    EXPECT_LE(batch.nodes_upto[0], 100U);
    seeds.insert(seeds.end(), batch.nodes.begin(), batch.nodes.begin() + batch.nodes_upto[0]);
  });
  EXPECT_EQ(batches, 2 * ((labelled_.size() + 99) / 100));
  ASSERT_EQ(seeds.size(), 2 * labelled_.size());
  std::sort(seeds.begin(), seeds.end());
  for (std::size_t i = 0; i < labelled_.size(); ++i) {
    ASSERT_EQ(seeds[2 * i], labelled_[i]);
    ASSERT_EQ(seeds[2 * i + 1], labelled_[i]);
  }
}

TEST_F(Run, goes_on_where_an_earlier_one_ended) {
  const Trace both = sampled_trace(graph_, labelled_, request_);
  request_.epochs = 1;
  Trace parts = sampled_trace(graph_, labelled_, request_);
  request_.first_epoch = 1;
  const Trace second = sampled_trace(graph_, labelled_, request_);
  for (std::size_t b = 0; b < second.batches(); ++b) {
    parts.add(second.batch(b));
  }
  EXPECT_EQ(parts, both);
}

TEST_F(Run, draws_something_else_in_each_epoch) {
  request_.batch = labelled_.size();
  const Trace trace = sampled_trace(graph_, labelled_, request_);
  ASSERT_EQ(trace.batches(), 2);
  const auto rows = [&](std::size_t batch) {
    std::vector<std::uint32_t> sorted(trace.batch(batch).begin(), trace.batch(batch).end());
    std::sort(sorted.begin(), sorted.end());
    return sorted;
  };
  EXPECT_NE(rows(0), rows(1));
}

TEST_F(Run, does_not_depend_on_the_number_of_threads) {
  const Trace expected = sampled_trace(graph_, labelled_, request_);
  for (const int count : {1, 3}) {
    const graph::Threads threads(count);
    EXPECT_EQ(sampled_trace(graph_, labelled_, request_), expected);
  }
}

TEST_F(Run, ends_after_as_many_batches_as_asked_and_rows_of_one_differ) {
  request_.most_batches = 3;
  const Trace trace = sampled_trace(graph_, labelled_, request_);
  ASSERT_EQ(trace.batches(), 3);
  for (std::size_t b = 0; b < trace.batches(); ++b) {
    std::vector<std::uint32_t> rows(trace.batch(b).begin(), trace.batch(b).end());
    std::sort(rows.begin(), rows.end());
    EXPECT_EQ(std::adjacent_find(rows.begin(), rows.end()), rows.end());
  }
}

TEST_F(Run, of_nothing_is_refused) {
  const auto visit = [](const MiniBatch&) {};
  EXPECT_THROW(for_each_batch(graph_, {}, request_, visit), UsageError);
  request_.batch = 0;
  EXPECT_THROW(for_each_batch(graph_, labelled_, request_, visit), UsageError);
}

}  // namespace
}  // namespace grainscope::gnn
