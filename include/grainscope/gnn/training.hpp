#ifndef GRAINSCOPE_GNN_TRAINING_HPP
#define GRAINSCOPE_GNN_TRAINING_HPP

// What a training run consists of, decided before its first mini-batch and the same for every way to feed
// it.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "grainscope/core/host_array.hpp"
#include "grainscope/cuda/mapped.hpp"
#include "grainscope/gnn/features.hpp"
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
  Features features;                              // of each row of the table
  std::uint64_t epoch_batches = 0;                // whole mini-batches of an epoch; the run may be shorter
  double prepare_s = 0;                           // presampling, ranking and renumbering

  // Rows that a mini-batch asks for in the mean, beyond the first `hot` of the table.
  [[nodiscard]] double rows_beyond(std::uint64_t hot) const;
  // The same where each of `ranks` that take turns gathers `window` of its mini-batches together, and a row
  // that several of them ask for once. Samples the run again where there is more than one.
  [[nodiscard]] double rows_beyond(std::uint64_t hot, std::uint64_t window, std::uint64_t ranks) const;
};

// `in_edges`: of each vertex those that feed it. Presamples epoch 0 and trains from epoch 1 on; whole
// mini-batches only, of all labelled vertices where they are fewer than `batch`. Features are a closed form
// of the new numbers, or those of `own`, a row for each vertex by its number in `in_edges`: labels then
// follow from them, the first weights are divided by their scale, and the rate by its square where that is
// above 1. Seeds come from `trained_on`, or where that is empty from labelled_vertices. Throws UsageError for
// impossible requests, where nothing is labelled, and for a file that is not of float32, has other columns
// than the model has features, or other rows than the graph has vertices.
[[nodiscard]] TrainingPlan plan_training(const graph::Csr& in_edges, const TrainingRequest& request,
                                         const std::shared_ptr<const NpyFile>& own = nullptr,
                                         std::span<const graph::Vertex> trained_on = {});

// A table of features that the host reads.
class FeatureTable {
 public:
  virtual ~FeatureTable() = default;
  FeatureTable(const FeatureTable&) = delete;
  FeatureTable& operator=(const FeatureTable&) = delete;
  // Row after row: [vertices][row_bytes], host; null where rows stand in a mapped file's own order.
  [[nodiscard]] virtual std::byte* bytes() const = 0;
  // One row, host.
  [[nodiscard]] virtual const std::byte* row(graph::Vertex row) const { return bytes() + row * row_bytes(); }
  // The same as GPUs address it; null: none can.
  [[nodiscard]] virtual const std::byte* device_bytes() const { return nullptr; }
  // Throws FailedError where rows have left the host.
  virtual void expect_on_host() const {}
  [[nodiscard]] graph::Vertex vertices() const { return vertices_; }
  [[nodiscard]] std::uint32_t columns() const { return columns_; }
  [[nodiscard]] std::uint64_t row_bytes() const { return row_bytes_; }

 protected:
  FeatureTable(graph::Vertex vertices, const Features& features)
      : vertices_(vertices), columns_(features.columns()), row_bytes_(features.row_bytes()) {}

 private:
  graph::Vertex vertices_;
  std::uint32_t columns_;
  std::uint64_t row_bytes_;
};

// In ordinary memory; of a file its mapping, in which nothing is moved or copied. Throws EnvironmentError
// where there is not so much.
[[nodiscard]] std::unique_ptr<FeatureTable> make_pageable_table(graph::Vertex vertices,
                                                                const Features& features);
// In host memory that GPUs read in place; a file's rows are copied there. Throws SkipError, with the numbers,
// where the host has not so much memory, and as MappedMemory; in a build without CUDA always.
[[nodiscard]] std::unique_ptr<FeatureTable> make_mapped_table(graph::Vertex vertices,
                                                              const Features& features,
                                                              const cuda::MappedRequest& memory = {},
                                                              const cuda::Surroundings& surroundings = {});

// Losses of the run's first `batches` mini-batches in double precision, `together` of them a step (as many
// GPUs): what every mode is held against.
[[nodiscard]] std::vector<double> reference_losses(const TrainingPlan& plan, std::uint64_t batches,
                                                   std::uint64_t together);

// A plan in memory that processes share, so that those which train together need not make it again.
// What it takes.
[[nodiscard]] std::uint64_t shared_plan_bytes(const TrainingPlan& plan);
// Lays it down in shared_plan_bytes() of memory at a boundary of 64 bytes.
void write_plan(const TrainingPlan& plan, std::byte* to);
// From `offset` of a file (or shared memory opened as one): neighbours stay there, mapped; the rest is
// copied. Without what only the plan's maker asks for: accesses, rows, prepare_s. Throws UsageError where no
// plan lies there, EnvironmentError as HostBytes::map_file.
[[nodiscard]] TrainingPlan read_plan(const std::string& path, std::uint64_t offset);

}  // namespace grainscope::gnn

#endif
