// What is trained: shapes, first parameters, features and labels, each from its number alone.

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "grainscope/core/error.hpp"
#include "grainscope/gnn/graphsage.hpp"
#include "grainscope/gnn/random.hpp"

namespace grainscope::gnn {
namespace {

using graph::Vertex;

// No two purposes share a stream.
constexpr std::uint64_t kWeights = 0x77656967;
constexpr std::uint64_t kDirections = 0x64697265;

// What the directions of labels are held against: f64[columns].
class FeatureSums {
 public:
  FeatureSums(const Features& features, std::span<const double> means)
      : features_(features), means_(means), row_(features.columns()), sums_(features.columns()) {}

  void add(Vertex vertex, double weight) {
    features_.read(vertex, row_.data());
    for (std::size_t column = 0; column < sums_.size(); ++column) {
      const double mean = means_.empty() ? 0 : means_[column];
      sums_[column] += weight * (static_cast<double>(row_[column]) - mean);
    }
  }
  [[nodiscard]] const std::vector<double>& sums() const { return sums_; }

 private:
  const Features& features_;
  std::span<const double> means_;
  std::vector<float> row_;
  std::vector<double> sums_;
};

}  // namespace

void require_shape(const SageShape& shape) {
  if (shape.features == 0 || shape.hidden == 0 || shape.classes < 2 || shape.classes > kMostClasses ||
      shape.layers == 0 || shape.layers > kMostHops) {
    throw UsageError("a GraphSAGE model of " + std::to_string(shape.features) + " features, width " +
                     std::to_string(shape.hidden) + ", " + std::to_string(shape.classes) + " classes and " +
                     std::to_string(shape.layers) + " layers: it has features and a width, 2 to " +
                     std::to_string(kMostClasses) + " classes and 1 to " + std::to_string(kMostHops) +
                     " layers");
  }
}

std::vector<float> initial_parameters(const SageShape& shape, std::uint64_t seed) {
  require_shape(shape);
  std::vector<float> parameters(shape.parameters());
  for (std::uint32_t layer = 0; layer < shape.layers; ++layer) {
    const std::uint64_t key = random_number(random_number(kWeights, seed), layer);
    const float bound = std::sqrt(6.0F / static_cast<float>(2 * shape.in(layer) + shape.out(layer)));
    const std::uint64_t first = shape.weights_at(layer);
    for (std::uint64_t i = first; i < shape.bias_at(layer); ++i) {
      parameters[i] = bound * uniform_number(key, i - first);
    }
  }
  return parameters;
}

void fill_features(std::uint64_t seed, Vertex vertices, std::uint32_t columns, float* rows) {
#pragma omp parallel for schedule(static)
  for (Vertex vertex = 0; vertex < vertices; ++vertex) {
    const std::uint64_t key = feature_key(seed, vertex);
    float* const row = rows + std::uint64_t{vertex} * columns;
    for (std::uint32_t column = 0; column < columns; ++column) {
      row[column] = uniform_number(key, column);
    }
  }
}

std::vector<std::uint16_t> learnable_labels(const graph::Csr& neighbours, std::span<const Vertex> labelled,
                                            const SageShape& shape, const Features& features,
                                            std::span<const double> means) {
  require_shape(shape);
  constexpr double kOfNeighbours = 0.5;
  std::vector<float> directions(std::uint64_t{shape.classes} * shape.features);
  for (std::size_t i = 0; i < directions.size(); ++i) {
    directions[i] = uniform_number(random_number(kDirections, features.seed()), i);
  }
  std::vector<std::uint16_t> labels(neighbours.vertices());
#pragma omp parallel for schedule(dynamic, 64)
  for (std::size_t i = 0; i < labelled.size(); ++i) {
    FeatureSums seen(features, means);
    seen.add(labelled[i], 1);
    const auto list = neighbours.neighbours(labelled[i]);
    const std::uint64_t taken = std::min<std::uint64_t>(list.size(), kLabelNeighbours);
    for (const Vertex neighbour : list.first(taken)) {
      seen.add(neighbour, kOfNeighbours / static_cast<double>(taken));
    }
    double best = -std::numeric_limits<double>::infinity();
    for (std::uint32_t c = 0; c < shape.classes; ++c) {
      double along = 0;
      for (std::uint32_t column = 0; column < shape.features; ++column) {
        along +=
            seen.sums()[column] * static_cast<double>(directions[std::uint64_t{c} * shape.features + column]);
      }
      if (along > best) {
        best = along;
        labels[labelled[i]] = static_cast<std::uint16_t>(c);
      }
    }
  }
  return labels;
}

}  // namespace grainscope::gnn
