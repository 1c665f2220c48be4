#include "grainscope/gnn/sampling.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "../../testing/sample_graphs.hpp"
#include "floyd.hpp"
#include "grainscope/graph/generate.hpp"

namespace grainscope::gnn {
namespace {

using graph::BothWays;
using graph::Csr;
using graph::Threads;
using graph::Vertex;

// `count` different vertices, all over the graph, not ascending.
std::vector<Vertex> spread_seeds(const Csr& graph, Vertex count) {
  std::vector<Vertex> seeds;
  const Vertex vertices = graph.vertices();
  Vertex step = vertices / 2 + 1;
  while (std::gcd(step, vertices) != 1) {
    ++step;
  }
  for (Vertex i = 0; i < std::min(count, vertices); ++i) {
    seeds.push_back(static_cast<Vertex>((std::uint64_t{i} * step + 3) % vertices));
  }
  return seeds;
}

std::vector<std::vector<int>> some_fanouts() {
  return {{1}, {3}, {2, 3}, {10, 25}, {3, 1, 4}, {2, 2, 2, 2, 2}, {1024}};
}

void expect_equal_to_the_oracle(const Csr& graph) {
  for (const std::vector<int>& fanouts : some_fanouts()) {
    const SampleRequest request{fanouts, 7};
    CpuSampler sampler(graph, request);
    for (const std::uint64_t batch : {0, 1, 2}) {
      SCOPED_TRACE(graph.name + ", " + fanout_text(fanouts) + ", batch " + std::to_string(batch));
      const auto seeds = spread_seeds(graph, batch == 0 ? 1 : 12);
      const MiniBatch sampled = sampler.sample(seeds, batch);
      EXPECT_EQ(sampled, serial_sample(graph, request, seeds, batch));
      EXPECT_NO_THROW(certify_sample(graph, fanouts, seeds, sampled));
    }
  }
}

TEST(CpuSampler, equals_the_serial_oracle_on_graphs_of_every_shape) {
  for (const BothWays& both : graph::all_sample_graphs()) {
    expect_equal_to_the_oracle(both.in_edges());
  }
}

TEST(CpuSampler, equals_the_serial_oracle_on_larger_graphs_with_any_number_of_threads) {
  for (const char* const spec : {"kron:14", "urand:14", "power"}) {
    const Csr graph = graph::make_graph(graph::parse_graph_spec(spec), false);
    const SampleRequest request{{10, 25, 3}, 3};
    const auto seeds = spread_seeds(graph, 3000);
    const MiniBatch expected = serial_sample(graph, request, seeds, 5);
    for (const int count : {1, 2, 7}) {
      const Threads threads(count);
      CpuSampler sampler(graph, request);
      EXPECT_EQ(sampler.sample(seeds, 5), expected) << spec << ", " << count << " threads";
    }
  }
}

TEST(CpuSampler, leaves_nothing_of_a_mini_batch_to_the_next) {
  const Csr graph = graph::make_graph(graph::parse_graph_spec("kron:12"), false);
  const SampleRequest request{{5, 5}, 1};
  CpuSampler sampler(graph, request);
  MiniBatch batch;
  for (const Vertex count : {2000, 3, 500}) {
    const auto seeds = spread_seeds(graph, count);
    sampler.sample(seeds, count, batch);
    EXPECT_EQ(batch, serial_sample(graph, request, seeds, count));
  }
  // Nor does one that cannot be.
  const Vertex last = graph.vertices();
  EXPECT_THROW(sampler.sample(std::vector<Vertex>{4, 5, last}, 0, batch), UsageError);
  EXPECT_THROW(sampler.sample(std::vector<Vertex>{4, 5, 4}, 0, batch), UsageError);
  EXPECT_THROW(sampler.sample(std::vector<Vertex>{}, 0, batch), UsageError);
  const std::vector<Vertex> seeds{5, 4};
  sampler.sample(seeds, 9, batch);
  EXPECT_EQ(batch, serial_sample(graph, request, seeds, 9));
}

TEST(CpuSampler, draws_something_else_for_another_seed_batch_and_hop) {
  const Csr graph = graph::make_graph(graph::parse_graph_spec("urand:12:32"), false);
  const auto seeds = spread_seeds(graph, 50);
  const auto nodes = [&](std::uint64_t seed, std::uint64_t batch) {
    CpuSampler sampler(graph, {{4, 4}, seed});
    return sampler.sample(seeds, batch);
  };
  const MiniBatch one = nodes(1, 1);
  EXPECT_NE(one, nodes(2, 1));
  EXPECT_NE(one, nodes(1, 2));
  EXPECT_EQ(one, nodes(1, 1));
  // The seeds are destinations of both layers: they draw anew.
  const auto drawn = [&](std::size_t hop) {
    return std::vector(one.layers[hop].sources.begin(), one.layers[hop].sources.begin() + 200);
  };
  EXPECT_NE(drawn(0), drawn(1));
}

TEST(CpuSampler, refuses_impossible_fan_outs) {
  const Csr graph = graph::make_graph(graph::parse_graph_spec("power"), false);
  EXPECT_THROW(CpuSampler(graph, {{}, 1}), UsageError);
  EXPECT_THROW(CpuSampler(graph, {{10, 0}, 1}), UsageError);
  EXPECT_THROW(static_cast<void>(serial_sample(graph, {{-1}, 1}, std::vector<Vertex>{1}, 0)), UsageError);
}

// Each set of `count` places below `degree` should come up equally often.
TEST(DrawPlaces, gives_every_set_the_same_chance) {
  constexpr std::uint32_t kDegree = 6;
  constexpr std::uint32_t kCount = 3;
  constexpr int kDraws = 200000;
  std::vector<int> times(1U << kDegree);
  for (int i = 0; i < kDraws; ++i) {
    std::uint32_t places[kCount];
    draw_places(random_number(11, static_cast<std::uint64_t>(i)), kDegree, kCount, places);
    unsigned set = 0;
    for (const std::uint32_t place : places) {
      ASSERT_LT(place, kDegree);
      set |= 1U << place;
    }
    ++times[set];
  }
  double chi_squared = 0;
  for (unsigned set = 0; set < times.size(); ++set) {
    if (std::popcount(set) != kCount) {
      EXPECT_EQ(times[set], 0);
      continue;
    }
    const double expected = kDraws / 20.0;
    chi_squared += (times[set] - expected) * (times[set] - expected) / expected;
  }
  EXPECT_LT(chi_squared, 43.8);  // 19 degrees of freedom: one in a thousand lies above
}

TEST(DrawPlaces, takes_all_but_one_of_a_list_that_is_one_too_long) {
  std::uint32_t places[1023];
  draw_places(5, 1024, 1023, places);
  std::sort(std::begin(places), std::end(places));
  EXPECT_EQ(std::adjacent_find(std::begin(places), std::end(places)), std::end(places));
  EXPECT_LT(places[1022], 1024U);
}

}  // namespace
}  // namespace grainscope::gnn
