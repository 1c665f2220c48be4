// Sampling on a GPU gives, bit for bit, what the serial oracle gives; the training step is held against
// the reference in double precision.

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <vector>

#include "../testing/oracles.hpp"
#include "../testing/sample_graphs.hpp"
#include "gpu_fixture.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/cuda/check.hpp"
#include "grainscope/cuda/device.hpp"
#include "grainscope/cuda/memory.hpp"
#include "grainscope/gnn/cuda_sage.hpp"
#include "grainscope/gnn/gpu_sampling.hpp"
#include "grainscope/gnn/sampling.hpp"
#include "grainscope/graph/generate.hpp"
#include "grainscope/system/topology.hpp"

namespace grainscope::gnn {
namespace {

using graph::Csr;
using graph::Vertex;

Csr made(const char* spec) {
  return graph::make_graph(graph::parse_graph_spec(spec), false);
}

// `count` different vertices in no order.
std::vector<Vertex> some_seeds(const Csr& graph, std::uint64_t count, std::uint64_t key = 1) {
  const Permutation places(graph.vertices(), key);
  std::vector<Vertex> seeds(std::min<std::uint64_t>(count, graph.vertices()));
  for (std::size_t i = 0; i < seeds.size(); ++i) {
    seeds[i] = static_cast<Vertex>(places(i));
  }
  return seeds;
}

class GpuSampling : public GpuTest {
 protected:
  void expect_equal(const Csr& graph, const ListRequest& lists, const std::vector<int>& fanouts,
                    std::uint64_t most_seeds) {
    SCOPED_TRACE(testing::Message() << graph.name << ", " << name(lists.placement) << ", "
                                    << fanout_text(fanouts));
    const auto placed = place_lists(graph, lists, {&topology_, &budget_});
    expect_equal(graph, *make_gpu_sampler(*placed, {fanouts, 7}, most_seeds), fanouts, most_seeds);
    EXPECT_NO_THROW(placed->expect_on_host());
  }

  static void expect_equal(const Csr& graph, GpuSampler& sampler, const std::vector<int>& fanouts,
                           std::uint64_t most_seeds) {
    const SampleRequest request{fanouts, 7};
    const auto memory = sampler.make_batch();
    // The same memory again and again, for fewer seeds than there is room for as well.
    for (const std::uint64_t batch : {0, 1, 2}) {
      const auto seeds = some_seeds(graph, batch == 1 ? 1 : most_seeds, batch);
      EXPECT_GT(sampler.run(seeds, batch, *memory), 0);
      const MiniBatch expected = serial_sample(graph, request, seeds, batch);
      ASSERT_EQ(memory->copy(), expected);
      EXPECT_EQ(memory->nodes_upto(), expected.nodes_upto);
    }
  }

  const Topology topology_ = Topology::read();
  cuda::ManagedBudget budget_;
};

TEST_F(GpuSampling, reads_lists_in_managed_memory_on_the_host) {
  ListRequest lists{
      ListPlacement::mapped, 0, {}, cuda::MemoryKind::managed_host, topology_.usable_nodes().front()};
  try {
    for (const graph::BothWays& both : graph::all_sample_graphs()) {
      expect_equal(both.in_edges(), lists, {2, 3}, 12);
    }
  } catch (const SkipError& error) {
    GTEST_SKIP() << error.what();
  }
}

TEST_F(GpuSampling, equals_the_serial_oracle_on_graphs_of_every_shape) {
  for (const graph::BothWays& both : graph::all_sample_graphs()) {
    for (const std::vector<int>& fanouts :
         std::vector<std::vector<int>>{{1}, {2, 3}, {10, 25}, {2, 2, 2, 2, 2}}) {
      expect_equal(both.in_edges(), {ListPlacement::device, 0, {}}, fanouts, 12);
    }
  }
}

TEST_F(GpuSampling, equals_the_serial_oracle_by_groups_of_8_16_and_32_lanes) {
  const Csr graph = made("kron:13");
  for (const int fanout : {1, 7, 8, 9, 16, 17, 31, 32, 33, 100, 1024}) {
    expect_equal(graph, {ListPlacement::device, 0, {}}, {fanout}, 500);
  }
  const Csr dense = made("dense:10");
  for (const int fanout : {3, 12, 25, 200}) {
    expect_equal(dense, {ListPlacement::device, 0, {}}, {fanout, 2}, 100);
  }
}

TEST_F(GpuSampling, equals_the_serial_oracle_wherever_the_lists_lie) {
  const Csr graph = made("kron:16");
  // A GPU may have several parts, so that the pieces of one are looked for as those of many are.
  for (const ListRequest& lists : std::vector<ListRequest>{{ListPlacement::device, 0, {}},
                                                           {ListPlacement::mapped, 0, {}},
                                                           {ListPlacement::interleaved, 0, {0}},
                                                           {ListPlacement::interleaved, 0, {0, 0, 0}}}) {
    expect_equal(graph, lists, {10, 25}, 1000);
    expect_equal(graph, lists, {12, 12, 12}, 300);
  }
  expect_equal(made("power"), {ListPlacement::interleaved, 0, {0, 0}}, {5, 5}, 100);
}

TEST_F(GpuSampling, equals_the_serial_oracle_from_the_memory_of_a_peer) {
  if (runtime().devices.size() < 2) {
    GTEST_SKIP() << "needs two GPUs";
  }
  const Csr graph = made("kron:16");
  try {
    expect_equal(graph, {ListPlacement::interleaved, 0, {0, 1}}, {10, 25}, 1000);
    expect_equal(graph, {ListPlacement::interleaved, 1, {0, 1, 0}}, {10, 25}, 1000);
    expect_equal(graph, {ListPlacement::device, 1, {}}, {10, 25}, 1000);
  } catch (const SkipError& skip) {
    GTEST_SKIP() << skip.what();
  }
}

TEST_F(GpuSampling, sent_by_the_cpu_equals_the_serial_oracle) {
  for (const graph::BothWays& both : graph::all_sample_graphs()) {
    const Csr& graph = both.in_edges();
    expect_equal(graph, *make_sending_sampler(graph, 0, {{2, 3}, 7}, 12), {2, 3}, 12);
  }
  const Csr graph = made("kron:16");
  const auto sampler = make_sending_sampler(graph, 0, {{10, 25}, 7}, 1000);
  expect_equal(graph, *sampler, {10, 25}, 1000);
  const auto memory = sampler->make_batch();
  EXPECT_EQ(sampler->gpu_bytes(), 0U);
  EXPECT_THROW(sampler->enqueue(some_seeds(graph, 1001), 0, *memory, nullptr), UsageError);
  EXPECT_THROW(sampler->enqueue(std::vector<Vertex>{5, 5}, 0, *memory, nullptr), UsageError);
  expect_equal(graph, *sampler, {10, 25}, 1000);  // nothing is left of what was refused
  EXPECT_THROW(static_cast<void>(make_sending_sampler(graph, 0, {{10}, 1}, 0)), UsageError);
}

TEST_F(GpuSampling, interleaved_lists_serve_samplers_of_several_gpus) {
  const Csr graph = made("kron:14");
  const ListRequest lists{ListPlacement::interleaved, 0, {0, 0}};
  const auto placed = place_lists(graph, lists);
  const auto shared = place_lists(graph, lists, {}, placed.get());
  EXPECT_EQ(shared->gpu_bytes(), placed->gpu_bytes());
  expect_equal(graph, *make_gpu_sampler(*shared, {{10, 25}, 7}, 500), {10, 25}, 500);
  const auto refused = [&](const Csr& of, const ListRequest& request) {
    EXPECT_THROW(static_cast<void>(place_lists(of, request, {}, placed.get())), UsageError);
  };
  refused(graph, {ListPlacement::device, 0, {}});
  refused(graph, {ListPlacement::interleaved, 0, {0}});
  refused(made("kron:12"), lists);
  if (runtime().devices.size() > 1) {
    try {
      const ListRequest of_both{ListPlacement::interleaved, 0, {0, 1}};
      const auto first = place_lists(graph, of_both);
      ListRequest of_second = of_both;
      of_second.gpu = 1;
      const auto second = place_lists(graph, of_second, {}, first.get());
      expect_equal(graph, *make_gpu_sampler(*second, {{10, 25}, 7}, 500), {10, 25}, 500);
    } catch (const SkipError& skip) {
      GTEST_SKIP() << skip.what();
    }
  }
}

TEST_F(GpuSampling, mini_batches_enqueued_on_two_streams_do_not_disturb_each_other) {
  const Csr graph = made("kron:16");
  const auto placed = place_lists(graph, {ListPlacement::device, 0, {}});
  const SampleRequest request{{10, 25}, 3};
  const auto sampler = make_gpu_sampler(*placed, request, 2000);
  const std::unique_ptr<GpuMiniBatch> memory[] = {sampler->make_batch(), sampler->make_batch()};
  const cuda::Stream streams[2];
  for (std::uint64_t round = 0; round < 5; ++round) {
    std::vector<Vertex> seeds[2];
    for (const std::uint64_t which : {0, 1}) {
      seeds[which] = some_seeds(graph, which == 0 ? 2000 : 700, 2 * round + which);
      sampler->enqueue(seeds[which], 2 * round + which, *memory[which], streams[which].get());
    }
    for (const std::uint64_t which : {0, 1}) {
      EXPECT_EQ(memory[which]->copy(), serial_sample(graph, request, seeds[which], 2 * round + which));
    }
  }
}

TEST_F(GpuSampling, puts_its_results_where_its_view_says) {
  const Csr graph = made("pareto:12");
  const auto placed = place_lists(graph, {ListPlacement::device, 0, {}});
  const auto sampler = make_gpu_sampler(*placed, {{4, 3}, 1}, 64);
  const auto memory = sampler->make_batch();
  const auto seeds = some_seeds(graph, 64);
  static_cast<void>(sampler->run(seeds, 0, *memory));
  const MiniBatch expected = memory->copy();
  const DeviceMiniBatch& view = memory->view();
  ASSERT_EQ(view.layers.size(), 2);
  EXPECT_GE(view.most_nodes, expected.nodes.size());
  EXPECT_GE(view.layers[1].most_edges, expected.layers[1].sources.size());
  std::vector<Vertex> nodes(expected.nodes.size());
  cuda::check(cudaMemcpy(nodes.data(), view.nodes, nodes.size() * sizeof(Vertex), cudaMemcpyDefault), "copy");
  EXPECT_EQ(nodes, expected.nodes);
  std::vector<std::uint32_t> sources(expected.layers[1].sources.size());
  cuda::check(cudaMemcpy(sources.data(), view.layers[1].sources, sources.size() * 4, cudaMemcpyDefault),
              "copy");
  EXPECT_EQ(sources, expected.layers[1].sources);
  EXPECT_GT(memory->gpu_bytes() + sampler->gpu_bytes() + placed->gpu_bytes(), graph.targets.bytes());
}

TEST_F(GpuSampling, refuses_what_cannot_be_and_goes_on) {
  const Csr graph = made("power");
  const auto placed = place_lists(graph, {ListPlacement::device, 0, {}});
  EXPECT_THROW(static_cast<void>(make_gpu_sampler(*placed, {{10, 0}, 1}, 10)), UsageError);
  EXPECT_THROW(static_cast<void>(make_gpu_sampler(*placed, {{10}, 1}, 0)), UsageError);
  EXPECT_THROW(static_cast<void>(place_lists(graph, {ListPlacement::interleaved, 0, {}})), UsageError);
  EXPECT_THROW(static_cast<void>(place_lists(Csr{}, {ListPlacement::device, 0, {}})), UsageError);
  const SampleRequest request{{3, 3}, 1};
  const auto sampler = make_gpu_sampler(*placed, request, 10);
  const auto other = make_gpu_sampler(*placed, request, 10);
  const auto memory = sampler->make_batch();
  const auto run = [&](const std::vector<Vertex>& seeds) {
    static_cast<void>(sampler->run(seeds, 0, *memory));
  };
  EXPECT_THROW(run({}), UsageError);
  EXPECT_THROW(run({1, 2, 1}), UsageError);
  EXPECT_THROW(run({1, graph.vertices()}), UsageError);
  EXPECT_THROW(run(some_seeds(graph, 11)), UsageError);
  EXPECT_THROW(static_cast<void>(other->run(std::vector<Vertex>{1}, 0, *memory)), UsageError);
  run({1, 2});
  EXPECT_EQ(memory->copy(), serial_sample(graph, request, std::vector<Vertex>{1, 2}, 0));
}

}  // namespace
// The training step on a GPU against the reference in double precision.

namespace {

using graph::Csr;
using graph::Vertex;

template <class T>
cuda::DeviceBuffer on_gpu(const std::vector<T>& values) {
  cuda::DeviceBuffer memory(0, values.size() * sizeof(T));
  cuda::check(cudaMemcpy(memory.data(), values.data(), memory.bytes(), cudaMemcpyHostToDevice), "copy");
  return memory;
}

// A graph, a model, and mini-batches of it, on both sides.
class GraphSageOnGpu : public GpuTest {
 protected:
  void prepare(const char* spec, const std::vector<int>& fanouts, const SageShape& shape,
               std::uint64_t seeds) {
    graph_ = graph::make_graph(graph::parse_graph_spec(spec), false);
    fanouts_ = fanouts;
    shape_ = shape;
    seeds_ = seeds;
    std::vector<Vertex> all(graph_.vertices());
    std::generate(all.begin(), all.end(), [v = Vertex{0}]() mutable { return v++; });
    labels_ = learnable_labels(graph_, all, shape, Features(shape.features, 1));
    placed_ = place_lists(graph_, {ListPlacement::device, 0, {}});
    sampler_ = make_gpu_sampler(*placed_, {fanouts, 7}, seeds);
    memory_ = sampler_->make_batch();
    labels_on_gpu_ = std::make_unique<cuda::DeviceBuffer>(on_gpu(labels_));
    step_ = std::make_unique<CudaSage>(0, shape, most_of(fanouts, seeds, graph_.vertices()), 64);
  }

  // Samples mini-batch `number` and brings its rows.
  void sample(std::uint64_t number) {
    const Permutation places(graph_.vertices(), 3);
    std::vector<Vertex> seeds(seeds_);
    for (std::size_t i = 0; i < seeds.size(); ++i) {
      seeds[i] = static_cast<Vertex>(places((number * seeds_ + i) % graph_.vertices()));
    }
    static_cast<void>(sampler_->run(seeds, number, *memory_));
    sampled_ = memory_->copy();
    rows_.resize(sampled_.nodes.size() * shape_.features);
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      rows_[i] =
          feature(1, sampled_.nodes[i / shape_.features], static_cast<std::uint32_t>(i % shape_.features));
    }
    rows_on_gpu_ = std::make_unique<cuda::DeviceBuffer>(on_gpu(rows_));
    batch_ = {&memory_->view(),
              sampled_.nodes_upto,
              {},
              static_cast<const float*>(rows_on_gpu_->data()),
              static_cast<const std::uint16_t*>(labels_on_gpu_->data())};
    for (const Layer& layer : sampled_.layers) {
      batch_.edges.push_back(layer.sources.size());
    }
  }

  [[nodiscard]] std::vector<float> gradient() const {
    std::vector<float> values(shape_.parameters());
    cuda::check(
        cudaMemcpy(values.data(), step_->gradient(), values.size() * sizeof(float), cudaMemcpyDeviceToHost),
        "copy");
    return values;
  }

  // Several steps of training; before each the gradients are compared.
  void expect_equal_steps(int steps) {
    const std::vector<float> start = initial_parameters(shape_, 1);
    HostSage<double> reference(shape_, start);
    step_->reset(start);
    const cuda::Stream stream;
    for (int i = 0; i < steps; ++i) {
      SCOPED_TRACE(testing::Message() << "step " << i);
      sample(static_cast<std::uint64_t>(i));
      const double loss = reference.add_gradient(sampled_, rows_.data(), labels_);
      step_->enqueue_gradient(batch_, static_cast<std::uint64_t>(i), stream);
      stream.synchronize();
      EXPECT_NEAR(step_->losses(64)[static_cast<std::size_t>(i)], loss, 1e-4 * loss);
      expect_near(gradient(), reference.gradient());
      const float* const gradients[] = {step_->gradient()};
      step_->enqueue_update(0.3, gradients, stream);
      reference.update(0.3);
    }
    const std::vector<float> after = step_->parameters();
    expect_near(after, reference.parameters());
  }

  // Each within a ten-thousandth of the largest: float32 rounds every one of up to 10^5 terms by 6e-8 of it.
  static void expect_near(const std::vector<float>& found, std::span<const double> expected) {
    double largest = 0;
    double worst = 0;
    std::size_t at = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      largest = std::max(largest, std::abs(expected[i]));
      const double off = std::abs(static_cast<double>(found[i]) - expected[i]);
      if (!(off <= worst)) {
        worst = off;
        at = i;
      }
    }
    EXPECT_LE(worst, 1e-4 * largest) << "parameter " << at << ": " << found[at] << " for " << expected[at];
  }

  Csr graph_;
  std::vector<int> fanouts_;
  SageShape shape_;
  std::uint64_t seeds_ = 0;
  std::vector<std::uint16_t> labels_;
  std::unique_ptr<PlacedLists> placed_;
  std::unique_ptr<GpuSampler> sampler_;
  std::unique_ptr<GpuMiniBatch> memory_;
  std::unique_ptr<cuda::DeviceBuffer> labels_on_gpu_;
  std::unique_ptr<cuda::DeviceBuffer> rows_on_gpu_;
  std::unique_ptr<CudaSage> step_;
  MiniBatch sampled_;
  std::vector<float> rows_;
  SageBatch batch_;
};

TEST_F(GraphSageOnGpu, steps_equal_the_reference_for_every_depth_and_width) {
  const struct {
    const char* graph;
    std::vector<int> fanouts;
    SageShape shape;
    std::uint64_t seeds;
  } cases[] = {
      {"kron:10", {10, 25}, {128, 64, 16, 2}, 300},   {"kron:12", {10, 10, 10}, {100, 64, 40, 3}, 200},
      {"power", {5, 5}, {33, 17, 3, 2}, 100},         {"kron:9", {4}, {7, 1, 70, 1}, 64},
      {"urand:10", {3, 2, 2, 2}, {32, 20, 5, 4}, 50}, {"pareto:11", {25, 15}, {257, 128, 2, 2}, 1},
      {"dense:8", {1024, 12}, {64, 32, 10, 2}, 40},
  };
  for (const auto& each : cases) {
    SCOPED_TRACE(testing::Message() << each.graph << " " << fanout_text(each.fanouts));
    prepare(each.graph, each.fanouts, each.shape, each.seeds);
    expect_equal_steps(3);
  }
}

TEST_F(GraphSageOnGpu, loss_falls_and_is_the_same_bit_for_bit_when_repeated) {
  prepare("kron:12", {10, 10}, {64, 64, 8, 2}, 256);
  const cuda::Stream stream;
  std::vector<float> first;
  for (int round = 0; round < 2; ++round) {
    step_->reset(initial_parameters(shape_, 1));
    for (std::uint64_t i = 0; i < 40; ++i) {
      sample(i);
      step_->enqueue_gradient(batch_, i, stream);
      const float* const gradients[] = {step_->gradient()};
      step_->enqueue_update(0.5, gradients, stream);
      stream.synchronize();
    }
    const std::vector<float> losses = step_->losses(40);
    EXPECT_LT(losses[39], 0.7F * losses[0]);
    if (round == 0) {
      first = losses;
    }
    EXPECT_EQ(losses, first);
  }
}

TEST_F(GraphSageOnGpu, an_update_takes_the_mean_of_gradients_of_several_gpus) {
  prepare("kron:9", {3}, {8, 4, 3, 1}, 32);
  const std::vector<float> start = initial_parameters(shape_, 1);
  step_->reset(start);
  sample(0);
  const cuda::Stream stream;
  step_->enqueue_gradient(batch_, 0, stream);
  const cuda::DeviceBuffer other = on_gpu(std::vector<float>(shape_.parameters(), 1.0F));
  const float* const gradients[] = {step_->gradient(), static_cast<const float*>(other.data())};
  step_->enqueue_update(0.5, gradients, stream);
  stream.synchronize();
  const std::vector<float> own = gradient();
  const std::vector<float> after = step_->parameters();
  for (std::size_t i = 0; i < start.size(); ++i) {
    EXPECT_NEAR(after[i], start[i] - 0.25F * (own[i] + 1), 1e-6);
  }
}

TEST_F(GraphSageOnGpu, refuses_what_cannot_be) {
  const MostOf most = most_of(std::vector<int>{3}, 8, 100);
  EXPECT_THROW(CudaSage(0, {0, 4, 3, 1}, most, 4), UsageError);
  EXPECT_THROW(CudaSage(0, {8, 4, 3, 2}, most, 4), UsageError);
  CudaSage step(0, {8, 4, 3, 1}, most, 4);
  EXPECT_THROW(step.reset(std::vector<float>(2)), UsageError);
  EXPECT_THROW(step.enqueue_gradient({}, 4, cuda::Stream()), UsageError);
  EXPECT_THROW(step.enqueue_update(1, {}, cuda::Stream()), UsageError);
  EXPECT_GT(step.gpu_bytes(), 0);
}

}  // namespace
}  // namespace grainscope::gnn
