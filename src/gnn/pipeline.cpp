// Which pipelines there are, and what they take.

#include "grainscope/gnn/pipeline.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "grainscope/core/error.hpp"
#include "grainscope/gnn/pipeline_sides.hpp"
#include "grainscope/gnn/table.hpp"
#include "pipelines.hpp"

namespace grainscope::gnn {

void require_possible(const PipelineRequest& request) {
  const auto refuse = [](const std::string& why) { throw UsageError("a training pipeline: " + why); };
  if (!can_read(request.mode, request.store) || request.mode == Mode::row_dma ||
      request.mode == Mode::graphbolt || request.mode == Mode::vector || request.store == Store::managed ||
      request.store == Store::multi_gpu) {
    refuse(std::string(name(request.mode)) + " from a table that is " + name(request.store) +
           " is not among its modes");
  }
  if (request.window < 1 || (request.window > 1 && request.mode != Mode::address_ordered)) {
    refuse(std::string(name(request.mode)) + " gathers one mini-batch at a time, not " +
           std::to_string(request.window));
  }
  if (!(request.hot_percent >= 0 && request.hot_percent <= 100)) {
    refuse(std::to_string(request.hot_percent) + " percent of the rows on a GPU");
  }
  if (request.gpus.empty() || request.gpus.size() > kMostGpus || request.threads < 1 ||
      request.gather_sms < 0) {
    refuse("1 to " + std::to_string(kMostGpus) +
           " GPUs, at least one thread, and no negative number of blocks");
  }
}

std::uint32_t hot_rows(std::uint32_t rows, Store store, double hot_percent) {
  switch (store) {
    case Store::device:
      return rows;
    case Store::tiered:
      return static_cast<std::uint32_t>(std::llround(static_cast<double>(rows) * hot_percent / 100));
    default:
      return 0;
  }
}

void require_plan(const TrainingPlan& plan, const FeatureTable* table, const PipelineRequest& request) {
  if (table != nullptr &&
      (table->vertices() != plan.neighbours.vertices() || table->columns() != plan.request.shape.features)) {
    throw UsageError("a feature table of " + std::to_string(table->vertices()) + " rows of " +
                     std::to_string(table->columns()) + " columns for a graph of " +
                     std::to_string(plan.neighbours.vertices()) + " vertices and a model of " +
                     std::to_string(plan.request.shape.features) + " features");
  }
  const std::uint64_t a_window = request.gpus.size() * static_cast<std::uint64_t>(request.window);
  if (plan.seeds.size() < 3 * a_window) {
    throw UsageError("a pipeline of three stages needs three times " + std::to_string(a_window) +
                     " mini-batches at least, not " + std::to_string(plan.seeds.size()));
  }
}

void require_processes(const PipelineRequest& request) {
  require_possible(request);
  if (!is_kernel(request.mode) || request.window != 1 || request.gpus.size() != 1) {
    throw UsageError(
        std::string("a training pipeline of two processes: a kernel gathers a mini-batch at a ") +
        "time on one GPU, not " + name(request.mode) + " " + std::to_string(request.window) + " on " +
        std::to_string(request.gpus.size()));
  }
}

std::unique_ptr<Pipeline> make_pipeline(const TrainingPlan& plan, const FeatureTable& table,
                                        const PipelineRequest& request) {
  require_possible(request);
  require_plan(plan, &table, request);
  return request.mode == Mode::cpu_gather ? make_host_pipeline(plan, table)
                                          : make_gpu_pipeline(plan, table, request);
}

std::uint64_t pipeline_gpu_bytes(const TrainingRequest& request, graph::Vertex vertices,
                                 std::uint64_t entries, int window) {
  const MostOf most = most_of(request.sample.fanouts, request.batch, vertices);
  const std::uint64_t width = std::max(request.shape.features, request.shape.hidden);
  std::uint64_t edges = 0;
  for (const std::uint64_t hop : most.edges) {
    edges += std::min(hop, entries);
  }
  const std::uint64_t windows = static_cast<std::uint64_t>(window);
  const std::uint64_t graph_bytes = std::uint64_t{vertices} * 16 + entries * sizeof(graph::Vertex);
  const std::uint64_t sampled_bytes = 3 * windows * (edges * 4 + most.nodes.back() * 4);
  const std::uint64_t rows_bytes = 2 * windows * most.nodes.back() * request.shape.features * sizeof(float);
  const std::uint64_t lists_bytes = windows * most.nodes.back() * 24;
  const std::uint64_t step_bytes = most.nodes[most.nodes.size() - 2] * width * 8 * sizeof(float);
  constexpr std::uint64_t kOther = std::uint64_t{64} << 20;
  return graph_bytes + sampled_bytes + rows_bytes + lists_bytes + step_bytes + kOther;
}

}  // namespace grainscope::gnn
