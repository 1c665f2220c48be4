// Sampling on a GPU gives, bit for bit, what the serial oracle gives.

#include <cuda_runtime_api.h>

#include <algorithm>
#include <numeric>

#include "../unit/graph/sample_graphs.hpp"
#include "gpu_fixture.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/cuda/check.hpp"
#include "grainscope/cuda/device.hpp"
#include "grainscope/gnn/gpu_sampling.hpp"
#include "grainscope/gnn/sampling.hpp"
#include "grainscope/graph/generate.hpp"

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
  static void expect_equal(const Csr& graph, const ListRequest& lists, const std::vector<int>& fanouts,
                           std::uint64_t most_seeds) {
    SCOPED_TRACE(testing::Message() << graph.name << ", " << name(lists.placement) << ", "
                                    << fanout_text(fanouts));
    const auto placed = place_lists(graph, lists);
    const SampleRequest request{fanouts, 7};
    const auto sampler = make_gpu_sampler(*placed, request, most_seeds);
    const auto memory = sampler->make_batch();
    // The same memory again and again, for fewer seeds than there is room for as well.
    for (const std::uint64_t batch : {0, 1, 2}) {
      const auto seeds = some_seeds(graph, batch == 1 ? 1 : most_seeds, batch);
      EXPECT_GT(sampler->run(seeds, batch, *memory), 0);
      const MiniBatch expected = serial_sample(graph, request, seeds, batch);
      ASSERT_EQ(memory->copy(), expected);
      EXPECT_EQ(memory->nodes_upto(), expected.nodes_upto);
    }
  }
};

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
}  // namespace grainscope::gnn
