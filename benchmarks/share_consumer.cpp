#include "share_consumer.hpp"

#include "grainscope/graph/generate.hpp"

namespace grainscope::harness {

std::unique_ptr<gnn::FixedBatch> make_share_batch() {
  gnn::TrainingRequest request;
  request.sample = {{10, 25}, 1};
  request.batch = 1000;
  request.shape = {256, 128, 8, 2};
  request.rate = 1;
  return gnn::make_fixed_batch(graph::make_graph(graph::parse_graph_spec("kron:16"), false), request);
}

int most_of(Consumer consumer) {
  constexpr int kMostProducts = 4096;
  return consumer == Consumer::products ? kMostProducts : gnn::kMostSteps;
}

std::unique_ptr<gnn::ShareWork> make_consumer(Consumer consumer, int gpu, int count,
                                              const gnn::FixedBatch* batch, const cuda::SmPartition& part) {
  return consumer == Consumer::products ? gnn::make_product_work(gpu, count, part)
                                        : gnn::make_step_work(gpu, *batch, count, part);
}

}  // namespace grainscope::harness
