// GraphSAGE's step on the host against a numerical gradient, against a mean taken by hand, and by what
// training does to the loss.

#include "grainscope/gnn/graphsage.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "../../testing/sample_graphs.hpp"
#include "grainscope/gnn/sampling.hpp"
#include "grainscope/graph/generate.hpp"

namespace grainscope::gnn {
namespace {

using graph::Csr;
using graph::Vertex;

std::vector<float> rows_of(const MiniBatch& batch, std::uint32_t columns) {
  std::vector<float> rows;
  for (const Vertex v : batch.nodes) {
    for (std::uint32_t column = 0; column < columns; ++column) {
      rows.push_back(feature(1, v, column));
    }
  }
  return rows;
}

MiniBatch sampled(const Csr& graph, const std::vector<int>& fanouts, Vertex seeds) {
  std::vector<Vertex> chosen(std::min(seeds, graph.vertices()));
  std::iota(chosen.begin(), chosen.end(), 0U);
  return serial_sample(graph, {fanouts, 5}, chosen, 0);
}

// Every parameter's slope by a central difference.
void expect_gradient(const Csr& graph, const std::vector<int>& fanouts, const SageShape& shape) {
  SCOPED_TRACE(graph.name + " of " + std::to_string(graph.vertices()) + ", " + fanout_text(fanouts));
  const MiniBatch batch = sampled(graph, fanouts, 7);
  const std::vector<float> rows = rows_of(batch, shape.features);
  const std::vector<std::uint16_t> labels =
      learnable_labels(graph, batch.nodes, shape, Features(shape.features, 3));
  std::vector<float> start = initial_parameters(shape, 2);
  for (std::size_t i = 0; i < start.size(); ++i) {  // biases are 0 at first: a slope there must show too
    start[i] += 0.01F * static_cast<float>(i % 7);
  }
  HostSage<double> model(shape, start);
  const double loss = model.add_gradient(batch, rows.data(), labels);
  EXPECT_DOUBLE_EQ(loss, model.loss(batch, rows.data(), labels));
  constexpr double kStep = 1e-6;
  for (std::size_t i = 0; i < start.size(); ++i) {
    double& parameter = model.parameters()[i];
    const double before = parameter;
    parameter = before + kStep;
    const double above = model.loss(batch, rows.data(), labels);
    parameter = before - kStep;
    const double below = model.loss(batch, rows.data(), labels);
    parameter = before;
    ASSERT_NEAR(model.gradient()[i], (above - below) / (2 * kStep), 2e-8) << "parameter " << i;
  }
}

TEST(GraphSage, gradient_is_the_numerical_one) {
  for (const graph::BothWays& both : graph::all_sample_graphs()) {
    if (both.graph.vertices() > 0) {
      expect_gradient(both.in_edges(), {3, 2}, {3, 4, 3, 2});
    }
  }
  const Csr graph = graph::make_graph(graph::parse_graph_spec("kron:7"), false);
  expect_gradient(graph, {4}, {5, 1, 4, 1});
  expect_gradient(graph, {4, 3, 2}, {5, 6, 4, 3});
}

TEST(GraphSage, means_are_over_the_sampled_sources_and_0_without) {
  // One layer whose weights are the identity: what it gives is [own | mean].
  const Csr graph = graph::weighted_graph(4, {{0, 1, 1}, {0, 2, 1}}, false);
  const MiniBatch batch = serial_sample(graph, {{5}, 1}, std::vector<Vertex>{0, 3}, 0);
  const SageShape shape{2, 1, 4, 1};
  std::vector<float> identity(shape.parameters());
  for (std::uint32_t i = 0; i < 4; ++i) {
    identity[i * 4 + i] = 1;
  }
  HostSage<double> model(shape, identity);
  const std::vector<float> rows{1, 2, 9, 9, 4, 6, 8, 10};  // of nodes 0, 3, 1, 2
  ASSERT_EQ(batch.nodes, (std::vector<Vertex>{0, 3, 1, 2}));
  const std::vector<std::uint16_t> labels{3, 0, 0, 2};
  const auto entropy = [](const std::vector<double>& scores, std::size_t label) {
    double sum = 0;
    for (const double score : scores) {
      sum += std::exp(score);
    }
    return std::log(sum) - scores[label];
  };
  EXPECT_NEAR(model.loss(batch, rows.data(), labels),
              (entropy({1, 2, 6, 8}, 3) + entropy({9, 9, 0, 0}, 2)) / 2, 1e-12);
}

TEST(GraphSage, is_the_same_with_any_number_of_threads) {
  const Csr graph = graph::make_graph(graph::parse_graph_spec("kron:10"), false);
  const SageShape shape{33, 20, 5, 2};
  const MiniBatch batch = sampled(graph, {5, 5}, 200);
  const std::vector<float> rows = rows_of(batch, shape.features);
  const auto labels = learnable_labels(graph, batch.nodes, shape, Features(shape.features, 3));
  for (const Products products : kProducts) {
    const auto gradient = [&](int threads) {
      const graph::Threads some(threads);
      HostSage<float> model(shape, initial_parameters(shape, 1), products);
      model.add_gradient(batch, rows.data(), labels);
      return std::vector<float>(model.gradient().begin(), model.gradient().end());
    };
    const auto one = gradient(1);
    EXPECT_EQ(one, gradient(3)) << name(products);
    EXPECT_EQ(one, gradient(8)) << name(products);
  }
}

// Widths that are whole vectors of any size, parts of one, and none; inner sums of one block and of several;
// rows of whole tiles and of parts.
TEST(GraphSage, products_by_tiles_are_those_row_by_row) {
  const Csr graph = graph::make_graph(graph::parse_graph_spec("kron:10"), false);
  for (const auto& [features, hidden, classes, seeds] : {std::array<std::uint32_t, 4>{32, 64, 8, 96},
                                                         {33, 20, 5, 200},
                                                         {1, 1, 2, 1},
                                                         {300, 47, 3, 7},
                                                         {7, 130, 33, 50}}) {
    const SageShape shape{features, hidden, classes, 2};
    const MiniBatch batch = sampled(graph, {6, 5}, seeds);
    const std::vector<float> rows = rows_of(batch, features);
    const auto labels = learnable_labels(graph, batch.nodes, shape, Features(features, 3));
    const auto expect_near = [&](auto real, double tolerance) {
      using Real = decltype(real);
      HostSage<Real> plain(shape, initial_parameters(shape, 1));
      HostSage<Real> tiled(shape, initial_parameters(shape, 1), Products::tiled);
      EXPECT_NEAR(plain.add_gradient(batch, rows.data(), labels),
                  tiled.add_gradient(batch, rows.data(), labels), tolerance);
      double most = 0;
      for (const Real each : plain.gradient()) {
        most = std::max(most, std::abs(static_cast<double>(each)));
      }
      for (std::size_t i = 0; i < plain.gradient().size(); ++i) {
        ASSERT_NEAR(plain.gradient()[i], tiled.gradient()[i], tolerance * most)
            << features << " features, " << hidden << " hidden, " << classes << " classes, at " << i;
      }
    };
    expect_near(double{}, 1e-12);
    expect_near(float{}, 2e-5);
  }
}

template <class Real>
std::vector<double> losses(const Csr& graph, const SageShape& shape, int epochs) {
  const auto labelled = labelled_vertices(graph.vertices(), 50, 1);
  const auto labels = learnable_labels(graph, labelled, shape, Features(shape.features, 1));
  HostSage<Real> model(shape, initial_parameters(shape, 1));
  std::vector<double> result;
  for_each_batch(graph, labelled, {{{10, 10}, 1}, 128, 0, static_cast<std::uint64_t>(epochs)},
                 [&](const MiniBatch& batch) {
                   result.push_back(model.add_gradient(batch, rows_of(batch, shape.features).data(), labels));
                   model.update(0.5);
                 });
  return result;
}

TEST(GraphSage, loss_falls_on_the_labelling) {
  const Csr graph = graph::make_graph(graph::parse_graph_spec("kron:12"), false);
  const SageShape shape{32, 32, 8, 2};
  const std::vector<double> fall = losses<double>(graph, shape, 4);
  EXPECT_NEAR(fall.front(), std::log(8), 0.4);  // nothing is known at first
  EXPECT_LT(fall.back(), 0.6 * fall.front());
  const std::vector<double> single = losses<float>(graph, shape, 4);
  ASSERT_EQ(single.size(), fall.size());
  for (std::size_t i = 0; i < fall.size(); ++i) {
    EXPECT_NEAR(single[i], fall[i], 1e-4) << "mini-batch " << i;
  }
}

TEST(GraphSage, an_update_takes_the_mean_of_the_gradients_added) {
  const Csr graph = graph::make_graph(graph::parse_graph_spec("kron:8"), false);
  const SageShape shape{4, 4, 3, 1};
  const MiniBatch batch = sampled(graph, {3}, 20);
  const std::vector<float> rows = rows_of(batch, 4);
  const auto labels = learnable_labels(graph, batch.nodes, shape, Features(shape.features, 3));
  HostSage<double> once(shape, initial_parameters(shape, 1));
  HostSage<double> twice(shape, initial_parameters(shape, 1));
  once.add_gradient(batch, rows.data(), labels);
  twice.add_gradient(batch, rows.data(), labels);
  twice.add_gradient(batch, rows.data(), labels);
  once.update(0.1);
  twice.update(0.1);
  for (std::size_t i = 0; i < once.parameters().size(); ++i) {
    EXPECT_NEAR(once.parameters()[i], twice.parameters()[i], 1e-15);
  }
  EXPECT_EQ(once.gradient()[0], 0);
}

TEST(GraphSage, refuses_impossible_shapes_and_other_depths) {
  EXPECT_THROW(require_shape({0, 1, 2, 1}), UsageError);
  EXPECT_THROW(require_shape({1, 0, 2, 1}), UsageError);
  EXPECT_THROW(require_shape({1, 1, 1, 1}), UsageError);
  EXPECT_THROW(require_shape({1, 1, 2, 0}), UsageError);
  EXPECT_THROW(require_shape({1, 1, 2, 9}), UsageError);
  EXPECT_THROW(HostSage<float>({1, 1, 2, 1}, std::vector<float>(3)), UsageError);
  const Csr graph = graph::make_graph(graph::parse_graph_spec("kron:6"), false);
  const SageShape shape{1, 1, 2, 2};
  HostSage<float> model(shape, initial_parameters(shape, 1));
  const MiniBatch batch = sampled(graph, {3}, 2);
  const std::vector<std::uint16_t> labels(graph.vertices());
  EXPECT_THROW(static_cast<void>(model.loss(batch, rows_of(batch, 1).data(), labels)), UsageError);
}

}  // namespace
}  // namespace grainscope::gnn
