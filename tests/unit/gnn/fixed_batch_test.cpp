// The mini-batch that training steps beside a gather are repeated on.

#include <gtest/gtest.h>

#include "grainscope/gnn/share_work.hpp"
#include "grainscope/graph/generate.hpp"

namespace grainscope::gnn {
namespace {

TEST(FixedBatches, are_the_first_of_their_plan_with_its_rows_and_losses) {
  TrainingRequest request;
  request.sample = {{5, 3}, 1};
  request.batch = 40;
  request.batches = 9;
  request.labelled_percent = 50;
  request.shape = {12, 8, 4, 2};
  request.rate = 1;
  const graph::Csr graph = graph::make_graph(graph::parse_graph_spec("kron:9"), false);
  const auto batch = make_fixed_batch(graph, request);
  const TrainingPlan& plan = batch->plan;
  EXPECT_EQ(plan.seeds.size(), 1U);
  EXPECT_EQ(batch->sampled, serial_sample(plan.neighbours, request.sample, plan.seeds.front(), 0));
  ASSERT_EQ(batch->rows.size(), batch->sampled.nodes.size() * 12);
  for (std::size_t i = 0; i < batch->rows.size(); ++i) {
    ASSERT_EQ(batch->rows[i],
              feature(kFeatureSeed, batch->sampled.nodes[i / 12], static_cast<std::uint32_t>(i % 12)));
  }
  ASSERT_EQ(batch->losses.size(), 3U);
  EXPECT_DOUBLE_EQ(batch->losses[0], reference_losses(plan, 1, 1).front());
  // Steps on one mini-batch learn it.
  EXPECT_LT(batch->losses[1], batch->losses[0]);
  EXPECT_LT(batch->losses[2], batch->losses[1]);
}

}  // namespace
}  // namespace grainscope::gnn
