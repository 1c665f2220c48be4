#ifndef GRAINSCOPE_GNN_GRAPHSAGE_HPP
#define GRAINSCOPE_GNN_GRAPHSAGE_HPP

// GraphSAGE with the mean aggregator, as arithmetic: what a training step computes, on the host in any
// precision, and a labelling that it can learn. The GPU's step (cuda_sage.hpp) is held against this one.
//
// Layer l takes rows h of width in(l) for the nodes within L − l hops and gives rows of width out(l) for
// those within L − l − 1: z = [h of itself | mean of its sampled sources' h] · W + b, and but for the last
// layer h = max(z, 0). The loss is the softmax cross entropy over the seeds, in the mean. W is
// [2 in(l)][out(l)], row by row. A destination without sources has a mean of 0.
// Source: Hamilton, Ying and Leskovec, NeurIPS 2017, in the form without concatenated self-loops that DGL's
// SAGEConv("mean") has.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "grainscope/gnn/features.hpp"
#include "grainscope/gnn/sampling.hpp"

namespace grainscope::gnn {

inline constexpr std::uint32_t kMostClasses = 1024;

struct SageShape {
  std::uint32_t features = 128;  // float32 columns of a row of the feature table
  std::uint32_t hidden = 128;    // width of every layer but the last
  std::uint32_t classes = 16;
  std::uint32_t layers = 2;  // one for each hop of a mini-batch

  [[nodiscard]] constexpr std::uint32_t in(std::uint32_t layer) const {
    return layer == 0 ? features : hidden;
  }
  [[nodiscard]] constexpr std::uint32_t out(std::uint32_t layer) const {
    return layer + 1 == layers ? classes : hidden;
  }
  // Of all parameters in one array, layer by layer: where a layer's W begins, and its b behind it.
  [[nodiscard]] constexpr std::uint64_t weights_at(std::uint32_t layer) const {
    std::uint64_t at = 0;
    for (std::uint32_t l = 0; l < layer; ++l) {
      at += (2 * std::uint64_t{in(l)} + 1) * out(l);
    }
    return at;
  }
  [[nodiscard]] constexpr std::uint64_t bias_at(std::uint32_t layer) const {
    return weights_at(layer) + 2 * std::uint64_t{in(layer)} * out(layer);
  }
  [[nodiscard]] constexpr std::uint64_t parameters() const { return weights_at(layers); }
  friend bool operator==(const SageShape&, const SageShape&) = default;
};

// Throws UsageError, naming it, for a width of 0, too many classes, or as many layers as no sample has hops.
void require_shape(const SageShape& shape);

// f32[parameters()]: weights uniform within ±√(6 / (2 in + out)) (Glorot and Bengio, AISTATS 2010), biases 0.
[[nodiscard]] std::vector<float> initial_parameters(const SageShape& shape, std::uint64_t seed);

// Number `counter` of a stream, uniform in [−1, 1): 24 bits, so that every value is exact in float32.
[[nodiscard]] constexpr float uniform_number(std::uint64_t key, std::uint64_t counter) {
  return static_cast<float>(random_number(key, counter) >> 40) * 0x1p-23F - 1.0F;
}
// Where a vertex's features are drawn from; column c is uniform_number(key, c): known without a table.
[[nodiscard]] constexpr std::uint64_t feature_key(std::uint64_t seed, graph::Vertex vertex) {
  constexpr std::uint64_t kFeatures = 0x66656174;  // no two purposes share a stream
  return random_number(random_number(kFeatures, seed), vertex);
}
[[nodiscard]] constexpr float feature(std::uint64_t seed, graph::Vertex vertex, std::uint32_t column) {
  return uniform_number(feature_key(seed, vertex), column);
}
// Fills f32[V][columns] with them, by all threads.
void fill_features(std::uint64_t seed, graph::Vertex vertices, std::uint32_t columns, float* rows);

// A labelling that GraphSAGE can learn: the class whose random direction a vertex's own features and half
// the mean of its first neighbours' (up to kLabelNeighbours) point along most. u16[V]; vertices that are not
// in `labelled` have label 0. `means`: f64[columns] that features are held against; none: 0.
inline constexpr std::uint64_t kLabelNeighbours = 16;
[[nodiscard]] std::vector<std::uint16_t> learnable_labels(const graph::Csr& neighbours,
                                                          std::span<const graph::Vertex> labelled,
                                                          const SageShape& shape, const Features& features,
                                                          std::span<const double> means = {});

// How the host multiplies matrices: row by row, or tile by tile, each of which stays in registers, by the
// widest vectors that the CPU has (after Goto and van de Geijn, TOMS 2008). Either adds in one order,
// whatever the number of threads; the two differ in the last bits, and tiles from CPU to CPU.
enum class Products { plain, tiled };
inline constexpr Products kProducts[] = {Products::plain, Products::tiled};
[[nodiscard]] constexpr const char* name(Products products) {
  return products == Products::plain ? "plain" : "tiled";
}

// The step on the host, its products, means and activations by all of OpenMP's threads; `Real` is double for
// the reference and float for training on a CPU alone. The same with any number of threads.
template <class Real>
class HostSage {
 public:
  // `parameters`: as initial_parameters. Throws as require_shape.
  HostSage(const SageShape& shape, std::span<const float> parameters, Products products = Products::plain);

  // Loss of a mini-batch. `rows`: f32[nodes][features], the features of its nodes in their order; `labels`:
  // by vertex. Throws UsageError where hops and layers differ.
  [[nodiscard]] double loss(const MiniBatch& batch, const float* rows, std::span<const std::uint16_t> labels);
  // The same, and adds the loss's gradient to gradient().
  double add_gradient(const MiniBatch& batch, const float* rows, std::span<const std::uint16_t> labels);
  // Plain SGD: parameters −= rate · gradient / mini-batches added since the last update; clears the gradient.
  void update(double rate);

  [[nodiscard]] std::span<Real> parameters() { return parameters_; }
  [[nodiscard]] std::span<const Real> gradient() const { return gradient_; }

 private:
  void forward(const MiniBatch& batch, const float* rows);
  double softmax(const MiniBatch& batch, std::span<const std::uint16_t> labels);
  void backward(const MiniBatch& batch);
  void back_to_inputs(const MiniBatch& batch, std::uint32_t layer);

  SageShape shape_;
  Products products_;
  std::vector<Real> parameters_;
  std::vector<Real> gradient_;
  int added_ = 0;
  // Kept from one mini-batch to the next, so that pages are touched once.
  std::vector<std::vector<Real>> inputs_;   // of a layer: [destinations][2 in], itself and the mean
  std::vector<std::vector<Real>> outputs_;  // of a layer: [destinations][out], after max(·, 0)
  std::vector<Real> d_output_;              // gradient of what a layer gives
  std::vector<Real> d_input_;               // of its inputs_
  std::vector<Real> turned_;                // W transposed
};

extern template class HostSage<float>;
extern template class HostSage<double>;

}  // namespace grainscope::gnn

#endif
