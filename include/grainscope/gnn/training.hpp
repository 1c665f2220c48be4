#ifndef GRAINSCOPE_GNN_TRAINING_HPP
#define GRAINSCOPE_GNN_TRAINING_HPP

// What a training run consists of, decided before its first mini-batch and the same for every way to feed it.

#include <cstdint>
#include <memory>
#include <vector>

#include "grainscope/core/host_array.hpp"
#include "grainscope/gnn/graphsage.hpp"
#include "grainscope/graph/csr.hpp"

namespace grainscope::gnn {

struct TrainingRequest {
  SampleRequest sample;          // as many fan-outs as the model has layers
  std::uint64_t batch = 1000;    // seeds of a mini-batch
  std::uint64_t batches = 32;    // of the run, at least 1
  double labelled_percent = 10;  // of the vertices: seeds come from them
  SageShape shape;
  double rate = 0.5;  // of SGD
};

struct TrainingPlan {
  TrainingRequest request;
  // Who feeds each vertex, numbered by how often the mini-batches of an earlier epoch ask for a vertex: row v
  // of the feature table is vertex v's, and the first rows are the ones worth keeping near.
  graph::Csr neighbours;
  std::vector<std::vector<graph::Vertex>> seeds;  // [batches]
  std::vector<std::uint16_t> labels;              // [V]
  std::vector<float> parameters;                  // before the first step
  HostArray<std::uint32_t> accesses;              // [V]: how many of the run's mini-batches ask for a row
  std::vector<std::uint32_t> rows;                // [batches]: that each mini-batch asks for
  double prepare_s = 0;                           // presampling, ranking and renumbering

  // Rows that a mini-batch asks for in the mean, beyond the first `hot` of the table.
  [[nodiscard]] double rows_beyond(std::uint64_t hot) const;
};

// `in_edges`: of each vertex those that feed it. Presamples epoch 0 and trains from epoch 1 on; whole
// mini-batches only, of all labelled vertices where they are fewer than `batch`. Throws UsageError for
// impossible requests and where nothing is labelled.
[[nodiscard]] TrainingPlan plan_training(const graph::Csr& in_edges, const TrainingRequest& request);

// A table of features in host memory: row v holds feature(kFeatureSeed, v, ·).
inline constexpr std::uint64_t kFeatureSeed = 1;

class FeatureTable {
 public:
  virtual ~FeatureTable() = default;
  FeatureTable(const FeatureTable&) = delete;
  FeatureTable& operator=(const FeatureTable&) = delete;
  [[nodiscard]] virtual float* data() const = 0;  // f32[vertices][columns], host
  [[nodiscard]] virtual bool page_locked() const = 0;
  [[nodiscard]] graph::Vertex vertices() const { return vertices_; }
  [[nodiscard]] std::uint32_t columns() const { return columns_; }
  [[nodiscard]] std::uint64_t row_bytes() const { return columns_ * sizeof(float); }

 protected:
  FeatureTable(graph::Vertex vertices, std::uint32_t columns) : vertices_(vertices), columns_(columns) {}

 private:
  graph::Vertex vertices_;
  std::uint32_t columns_;
};

// In ordinary memory. Throws EnvironmentError where there is not so much.
[[nodiscard]] std::unique_ptr<FeatureTable> make_pageable_table(graph::Vertex vertices,
                                                                std::uint32_t columns);
// Page-locked, on the node that the calling thread is bound to, for every GPU to read. In a build without
// CUDA always SkipError.
[[nodiscard]] std::unique_ptr<FeatureTable> make_pinned_table(graph::Vertex vertices, std::uint32_t columns);

// Losses of the run's first `batches` mini-batches in double precision, `together` of them a step (as many
// GPUs): what every mode is held against.
[[nodiscard]] std::vector<double> reference_losses(const TrainingPlan& plan, std::uint64_t batches,
                                                   std::uint64_t together);

}  // namespace grainscope::gnn

#endif
