// GraphSAGE on the host: shapes, first parameters, features and labels, each from its number alone, and
// the step in any precision. Products of matrices are row by row or tile by tile, by all threads. Every sum
// has one order, whatever the number of threads: the gradient of a mean goes back to its sources by one
// thread for each column block.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>

#include "grainscope/core/error.hpp"
#include "grainscope/gnn/graphsage.hpp"
#include "grainscope/gnn/sampling.hpp"

namespace grainscope::gnn {

inline constexpr std::uint64_t kWorthThreads = 1 << 15;  // multiplications, below which none are woken
inline constexpr std::uint64_t kRowsTogether = 4;        // that share each load of the right matrix

// c[rows][columns] = a[rows][inner] · b[inner][columns].
template <class Real>
void multiply(const Real* a, const Real* b, std::uint64_t rows, std::uint64_t inner, std::uint64_t columns,
              Real* c) {
  const std::uint64_t groups = (rows + kRowsTogether - 1) / kRowsTogether;
#pragma omp parallel for schedule(static) if (rows * inner * columns > kWorthThreads)
  for (std::uint64_t group = 0; group < groups; ++group) {
    const std::uint64_t first = group * kRowsTogether;
    const std::uint64_t last = std::min(rows, first + kRowsTogether);
    std::fill(c + first * columns, c + last * columns, Real{0});
    for (std::uint64_t k = 0; k < inner; ++k) {
      for (std::uint64_t i = first; i < last; ++i) {
        const Real factor = a[i * inner + k];
        for (std::uint64_t j = 0; j < columns; ++j) {
          c[i * columns + j] += factor * b[k * columns + j];
        }
      }
    }
  }
}

// c[inner][columns] += a[rows][inner]ᵀ · d[rows][columns]; each thread owns rows of c.
template <class Real>
void add_transposed_product(const Real* a, const Real* d, std::uint64_t rows, std::uint64_t inner,
                            std::uint64_t columns, Real* c) {
  constexpr std::uint64_t kBlock = 16;  // rows of c that stay in the first-level cache
#pragma omp parallel for schedule(static) if (rows * inner * columns > kWorthThreads)
  for (std::uint64_t block = 0; block < (inner + kBlock - 1) / kBlock; ++block) {
    const std::uint64_t first = block * kBlock;
    const std::uint64_t last = std::min(inner, first + kBlock);
    for (std::uint64_t i = 0; i < rows; ++i) {
      for (std::uint64_t k = first; k < last; ++k) {
        const Real factor = a[i * inner + k];
        for (std::uint64_t j = 0; j < columns; ++j) {
          c[k * columns + j] += factor * d[i * columns + j];
        }
      }
    }
  }
}

// c[rows][columns] += a · b, where element (i, k) of a is a[i * a_row + k * a_inner], and b is
// [inner][columns].
template <class Real>
struct TiledProduct {
  const Real* a;
  std::uint64_t a_row;
  std::uint64_t a_inner;
  const Real* b;
  std::uint64_t inner;
  std::uint64_t columns;
  Real* c;
};

inline constexpr std::uint64_t kTileRows = 6;      // with two vectors each: sums in 12 registers of 16
inline constexpr std::uint64_t kInnerBlock = 256;  // of which b's columns stay in the first-level cache
inline constexpr std::uint64_t kTilesOfTask = 16;  // that share them

template <class Real, int kBytes>
struct VectorOf {
  using Type [[gnu::vector_size(kBytes)]] = Real;
  static constexpr std::uint64_t kWidth = kBytes / sizeof(Real);
};

// Adds [first, last) of the inner sum to a tile of kRows rows and kVectors vectors.
template <class Real, int kBytes, int kRows, int kVectors>
[[gnu::always_inline]] inline void add_tile(const TiledProduct<Real>& p, std::uint64_t row,
                                            std::uint64_t column, std::uint64_t first, std::uint64_t last) {
  using Vector = typename VectorOf<Real, kBytes>::Type;
  Vector sums[kRows][kVectors] = {};
  for (std::uint64_t k = first; k < last; ++k) {
    Vector of_b[kVectors];
    std::memcpy(of_b, p.b + k * p.columns + column, sizeof(of_b));
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) {
      const Real factor = p.a[(row + static_cast<std::uint64_t>(i)) * p.a_row + k * p.a_inner];
#pragma GCC unroll 2
      for (int j = 0; j < kVectors; ++j) {
        sums[i][j] += factor * of_b[j];
      }
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i) {
    Real* const to = p.c + (row + static_cast<std::uint64_t>(i)) * p.columns + column;
    Vector of_c[kVectors];
    std::memcpy(of_c, to, sizeof(of_c));
#pragma GCC unroll 2
    for (int j = 0; j < kVectors; ++j) {
      of_c[j] += sums[i][j];
    }
    std::memcpy(to, of_c, sizeof(of_c));
  }
}

// The same of columns that fill no vector.
template <class Real>
[[gnu::always_inline]] inline void add_rest(const TiledProduct<Real>& p, std::uint64_t row,
                                            std::uint64_t column, std::uint64_t first, std::uint64_t last) {
  for (std::uint64_t k = first; k < last; ++k) {
    const Real factor = p.a[row * p.a_row + k * p.a_inner];
    for (std::uint64_t j = column; j < p.columns; ++j) {
      p.c[row * p.columns + j] += factor * p.b[k * p.columns + j];
    }
  }
}

// Rows [row, end), by tiles of kVectors vectors from `column` on.
template <class Real, int kBytes, int kVectors>
[[gnu::always_inline]] inline void add_column(const TiledProduct<Real>& p, std::uint64_t row,
                                              std::uint64_t end, std::uint64_t column, std::uint64_t first,
                                              std::uint64_t last) {
  for (; row + kTileRows <= end; row += kTileRows) {
    add_tile<Real, kBytes, kTileRows, kVectors>(p, row, column, first, last);
  }
  for (; row < end; ++row) {
    add_tile<Real, kBytes, 1, kVectors>(p, row, column, first, last);
  }
}

template <class Real, int kBytes>
[[gnu::always_inline]] inline void add_rows(const TiledProduct<Real>& p, std::uint64_t row,
                                            std::uint64_t end) {
  constexpr std::uint64_t kWidth = VectorOf<Real, kBytes>::kWidth;
  for (std::uint64_t first = 0; first < p.inner; first += kInnerBlock) {
    const std::uint64_t last = std::min(p.inner, first + kInnerBlock);
    std::uint64_t column = 0;
    for (; column + 2 * kWidth <= p.columns; column += 2 * kWidth) {
      add_column<Real, kBytes, 2>(p, row, end, column, first, last);
    }
    for (; column + kWidth <= p.columns; column += kWidth) {
      add_column<Real, kBytes, 1>(p, row, end, column, first, last);
    }
    for (std::uint64_t i = row; column < p.columns && i < end; ++i) {
      add_rest(p, i, column, first, last);
    }
  }
}

// By vectors of each width that a CPU may have.
template <class Real>
void add_rows_by_16(const TiledProduct<Real>& p, std::uint64_t row, std::uint64_t end) {
  add_rows<Real, 16>(p, row, end);
}
#if defined(__x86_64__)
template <class Real>
[[gnu::target("avx2,fma")]] void add_rows_by_32(const TiledProduct<Real>& p, std::uint64_t row,
                                                std::uint64_t end) {
  add_rows<Real, 32>(p, row, end);
}
template <class Real>
[[gnu::target("avx512f")]] void add_rows_by_64(const TiledProduct<Real>& p, std::uint64_t row,
                                               std::uint64_t end) {
  add_rows<Real, 64>(p, row, end);
}
#endif

template <class Real>
using AddRows = void (*)(const TiledProduct<Real>&, std::uint64_t, std::uint64_t);
template <class Real>
AddRows<Real> widest() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) {
    return add_rows_by_64<Real>;
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    return add_rows_by_32<Real>;
  }
#endif
  return add_rows_by_16<Real>;
}

// All rows, `together` of them by one thread at a time; `anew`: they are 0 before.
template <class Real>
void add_tiled(const TiledProduct<Real>& p, std::uint64_t rows, std::uint64_t together, bool anew) {
  static const AddRows<Real> add = widest<Real>();
#pragma omp parallel for schedule(static) if (rows * p.inner * p.columns > kWorthThreads)
  for (std::uint64_t task = 0; task < (rows + together - 1) / together; ++task) {
    const std::uint64_t first = task * together;
    const std::uint64_t last = std::min(rows, first + together);
    if (anew) {
      std::fill(p.c + first * p.columns, p.c + last * p.columns, Real{0});
    }
    add(p, first, last);
  }
}

template <class Real>
void multiply_by(Products products, const Real* a, const Real* b, std::uint64_t rows, std::uint64_t inner,
                 std::uint64_t columns, Real* c) {
  if (products == Products::plain) {
    multiply(a, b, rows, inner, columns, c);
  } else {
    add_tiled<Real>({a, inner, 1, b, inner, columns, c}, rows, kTilesOfTask * kTileRows, true);
  }
}

template <class Real>
void add_transposed_product_by(Products products, const Real* a, const Real* d, std::uint64_t rows,
                               std::uint64_t inner, std::uint64_t columns, Real* c) {
  if (products == Products::plain) {
    add_transposed_product(a, d, rows, inner, columns, c);
  } else {
    add_tiled<Real>({a, 1, inner, d, rows, columns, c}, inner, kTileRows, false);
  }
}

// b[columns][rows] = a[rows][columns]ᵀ.
template <class Real>
void transpose(const Real* a, std::uint64_t rows, std::uint64_t columns, Real* b) {
  for (std::uint64_t i = 0; i < rows; ++i) {
    for (std::uint64_t j = 0; j < columns; ++j) {
      b[j * rows + i] = a[i * columns + j];
    }
  }
}

// What is trained: shapes, first parameters, features and labels, each from its number alone.

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

namespace {

// Which layer of the mini-batch a layer of the model walks, and whom it feeds.
struct Hop {
  const Layer& edges;
  std::uint64_t destinations;
  std::uint64_t nodes;  // that it reads
};
Hop hop_of(const MiniBatch& batch, std::uint32_t layer) {
  const std::size_t hop = batch.layers.size() - 1 - layer;
  return {batch.layers[hop], batch.nodes_upto[hop], batch.nodes_upto[hop + 1]};
}

// x[destinations][2 width] = [own row | mean of the sources' rows].
template <class Real, class Row>
void own_and_mean(const Hop& hop, const Row* rows, std::uint64_t width, Real* x) {
#pragma omp parallel for schedule(static) if (hop.edges.sources.size() * width > kWorthThreads)
  for (std::uint64_t i = 0; i < hop.destinations; ++i) {
    Real* const own = x + i * 2 * width;
    Real* const mean = own + width;
    std::copy(rows + i * width, rows + (i + 1) * width, own);
    std::fill(mean, mean + width, Real{0});
    const std::uint64_t first = hop.edges.offsets[i];
    const std::uint64_t last = hop.edges.offsets[i + 1];
    for (std::uint64_t edge = first; edge < last; ++edge) {
      const Row* const source = rows + std::uint64_t{hop.edges.sources[edge]} * width;
      for (std::uint64_t j = 0; j < width; ++j) {
        mean[j] += static_cast<Real>(source[j]);
      }
    }
    if (last > first) {
      const Real share = Real{1} / static_cast<Real>(last - first);
      std::transform(mean, mean + width, mean, [share](Real sum) { return sum * share; });
    }
  }
}

template <class Real>
void add_bias(const Real* bias, std::uint64_t rows, std::uint64_t columns, bool cut, Real* z) {
#pragma omp parallel for schedule(static) if (rows * columns > kWorthThreads)
  for (std::uint64_t i = 0; i < rows; ++i) {
    for (std::uint64_t j = 0; j < columns; ++j) {
      const Real value = z[i * columns + j] + bias[j];
      z[i * columns + j] = cut ? std::max(value, Real{0}) : value;
    }
  }
}

}  // namespace

template <class Real>
HostSage<Real>::HostSage(const SageShape& shape, std::span<const float> parameters, Products products)
    : shape_(shape),
      products_(products),
      parameters_(parameters.begin(), parameters.end()),
      gradient_(parameters.size()),
      inputs_(shape.layers),
      outputs_(shape.layers) {
  require_shape(shape);
  if (parameters.size() != shape.parameters()) {
    throw UsageError("a GraphSAGE model with " + std::to_string(shape.parameters()) + " parameters, not " +
                     std::to_string(parameters.size()));
  }
}

template <class Real>
void HostSage<Real>::forward(const MiniBatch& batch, const float* rows) {
  if (batch.layers.size() != shape_.layers) {
    throw UsageError("a model of " + std::to_string(shape_.layers) + " layers and a mini-batch of " +
                     std::to_string(batch.layers.size()) + " hops");
  }
  for (std::uint32_t layer = 0; layer < shape_.layers; ++layer) {
    const Hop hop = hop_of(batch, layer);
    const std::uint64_t in = shape_.in(layer);
    const std::uint64_t out = shape_.out(layer);
    inputs_[layer].resize(hop.destinations * 2 * in);
    outputs_[layer].resize(hop.destinations * out);
    if (layer == 0) {
      own_and_mean(hop, rows, in, inputs_[layer].data());
    } else {
      own_and_mean(hop, outputs_[layer - 1].data(), in, inputs_[layer].data());
    }
    multiply_by(products_, inputs_[layer].data(), parameters_.data() + shape_.weights_at(layer),
                hop.destinations, 2 * in, out, outputs_[layer].data());
    add_bias(parameters_.data() + shape_.bias_at(layer), hop.destinations, out, layer + 1 < shape_.layers,
             outputs_[layer].data());
  }
}

// The mean loss; d_output_ becomes its gradient by the last layer's output.
template <class Real>
double HostSage<Real>::softmax(const MiniBatch& batch, std::span<const std::uint16_t> labels) {
  const std::uint64_t seeds = batch.nodes_upto.front();
  const std::uint64_t classes = shape_.classes;
  const std::vector<Real>& scores = outputs_.back();
  d_output_.assign(seeds * classes, Real{0});
  double sum = 0;
  for (std::uint64_t i = 0; i < seeds; ++i) {
    const Real* const score = scores.data() + i * classes;
    Real* const slope = d_output_.data() + i * classes;
    const std::uint16_t label = labels[batch.nodes[i]];
    const Real highest = *std::max_element(score, score + classes);
    Real total = 0;
    for (std::uint64_t c = 0; c < classes; ++c) {
      slope[c] = std::exp(score[c] - highest);
      total += slope[c];
    }
    sum += static_cast<double>(std::log(total) + highest - score[label]);
    const Real share = Real{1} / (total * static_cast<Real>(seeds));
    for (std::uint64_t c = 0; c < classes; ++c) {
      slope[c] *= share;
    }
    slope[label] -= Real{1} / static_cast<Real>(seeds);
  }
  return sum / static_cast<double>(seeds);
}

template <class Real>
void HostSage<Real>::backward(const MiniBatch& batch) {
  for (std::uint32_t layer = shape_.layers; layer-- > 0;) {
    const Hop hop = hop_of(batch, layer);
    const std::uint64_t in = shape_.in(layer);
    const std::uint64_t out = shape_.out(layer);
    add_transposed_product_by(products_, inputs_[layer].data(), d_output_.data(), hop.destinations, 2 * in,
                              out, gradient_.data() + shape_.weights_at(layer));
    Real* const bias = gradient_.data() + shape_.bias_at(layer);
    for (std::uint64_t i = 0; i < hop.destinations; ++i) {
      for (std::uint64_t j = 0; j < out; ++j) {
        bias[j] += d_output_[i * out + j];
      }
    }
    if (layer > 0) {
      back_to_inputs(batch, layer);
    }
  }
}

// From the gradient of what a layer gives to that of what the layer before it gives, before its max(·, 0).
template <class Real>
void HostSage<Real>::back_to_inputs(const MiniBatch& batch, std::uint32_t layer) {
  const Hop hop = hop_of(batch, layer);
  const std::uint64_t in = shape_.in(layer);
  const std::uint64_t out = shape_.out(layer);
  turned_.resize(2 * in * out);
  transpose(parameters_.data() + shape_.weights_at(layer), 2 * in, out, turned_.data());
  d_input_.resize(hop.destinations * 2 * in);
  multiply_by(products_, d_output_.data(), turned_.data(), hop.destinations, out, 2 * in, d_input_.data());
  d_output_.assign(hop.nodes * in, Real{0});
  constexpr std::uint64_t kColumns = 16;  // that one thread scatters: no two write the same place
#pragma omp parallel for schedule(static) if (hop.edges.sources.size() * in > kWorthThreads)
  for (std::uint64_t block = 0; block < (in + kColumns - 1) / kColumns; ++block) {
    const std::uint64_t first = block * kColumns;
    const std::uint64_t last = std::min(in, first + kColumns);
    for (std::uint64_t i = 0; i < hop.destinations; ++i) {
      const Real* const own = d_input_.data() + i * 2 * in;
      const std::uint64_t begin = hop.edges.offsets[i];
      const std::uint64_t end = hop.edges.offsets[i + 1];
      const Real share = begin < end ? Real{1} / static_cast<Real>(end - begin) : Real{0};
      for (std::uint64_t j = first; j < last; ++j) {
        d_output_[i * in + j] += own[j];
      }
      for (std::uint64_t edge = begin; edge < end; ++edge) {
        Real* const source = d_output_.data() + std::uint64_t{hop.edges.sources[edge]} * in;
        for (std::uint64_t j = first; j < last; ++j) {
          source[j] += share * own[in + j];
        }
      }
    }
  }
  const std::vector<Real>& given = outputs_[layer - 1];
#pragma omp parallel for schedule(static) if (d_output_.size() > kWorthThreads)
  for (std::uint64_t i = 0; i < d_output_.size(); ++i) {
    d_output_[i] = given[i] > 0 ? d_output_[i] : Real{0};
  }
}

template <class Real>
double HostSage<Real>::loss(const MiniBatch& batch, const float* rows,
                            std::span<const std::uint16_t> labels) {
  forward(batch, rows);
  return softmax(batch, labels);
}

template <class Real>
double HostSage<Real>::add_gradient(const MiniBatch& batch, const float* rows,
                                    std::span<const std::uint16_t> labels) {
  const double mean_loss = loss(batch, rows, labels);
  backward(batch);
  ++added_;
  return mean_loss;
}

template <class Real>
void HostSage<Real>::update(double rate) {
  const Real step = static_cast<Real>(rate / std::max(added_, 1));
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    parameters_[i] -= step * gradient_[i];
    gradient_[i] = 0;
  }
  added_ = 0;
}

template class HostSage<float>;
template class HostSage<double>;

}  // namespace grainscope::gnn
