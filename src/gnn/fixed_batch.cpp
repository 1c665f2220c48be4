// A mini-batch for steps that are repeated on it.

#include <algorithm>

#include "grainscope/gnn/share_work.hpp"

namespace grainscope::gnn {

std::unique_ptr<FixedBatch> make_fixed_batch(const graph::Csr& in_edges, TrainingRequest request) {
  constexpr int kReferenceSteps = 3;
  request.batches = 1;
  auto batch = std::make_unique<FixedBatch>();
  batch->plan = plan_training(in_edges, request);
  const TrainingPlan& plan = batch->plan;
  CpuSampler(plan.neighbours, request.sample).sample(plan.seeds.front(), 0, batch->sampled);
  const std::vector<graph::Vertex>& nodes = batch->sampled.nodes;
  const std::uint32_t columns = request.shape.features;
  batch->rows.resize(nodes.size() * columns);
#pragma omp parallel for schedule(static)
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    for (std::uint32_t column = 0; column < columns; ++column) {
      batch->rows[i * columns + column] = feature(kFeatureSeed, nodes[i], column);
    }
  }
  HostSage<double> model(request.shape, plan.parameters);
  for (int step = 0; step < kReferenceSteps; ++step) {
    batch->losses.push_back(model.add_gradient(batch->sampled, batch->rows.data(), plan.labels));
    model.update(request.rate);
  }
  return batch;
}

}  // namespace grainscope::gnn
