// Which pipelines there are and what they take, how two processes take turns, and training on a CPU alone.

#include "grainscope/gnn/pipeline.hpp"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "grainscope/core/error.hpp"
#include "grainscope/core/sampler.hpp"
#include "grainscope/gnn/table.hpp"
#include "pipelines.hpp"

namespace grainscope::gnn {

void require_possible(const PipelineRequest& request) {
  const auto refuse = [](const std::string& why) { throw UsageError("a training pipeline: " + why); };
  if (!can_read(request.mode, request.store) || request.mode == Mode::row_dma ||
      request.mode == Mode::graphbolt || request.mode == Mode::vector || request.mode == Mode::bulk ||
      request.store == Store::managed) {
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
  const bool one_gpu = request.gpus.size() < 2;
  if (one_gpu && request.store == Store::multi_gpu) {
    refuse("rows are spread over GPUs that train together, two or more");
  }
  if (one_gpu && request.lists == ListPlacement::interleaved) {
    refuse("lists are interleaved over GPUs that train together, two or more");
  }
  if (request.unbounded &&
      (request.gather_sms > 0 || !is_kernel(request.mode) || !crosses_link(request.store))) {
    refuse("only a kernel's gathers over the link are bounded, or not; without a bound they share all " +
           std::string("multiprocessors"));
  }
  if (request.mode == Mode::cpu_gather && request.lists != ListPlacement::device) {
    refuse("on the CPU alone the lists are where it samples");
  }
  if (request.mode != Mode::cpu_gather && request.products != Products::plain) {
    refuse("products are chosen for training on the CPU alone: GPUs multiply by cuBLAS");
  }
}

std::uint32_t hot_rows(std::uint32_t rows, Store store, double hot_percent) {
  switch (store) {
    case Store::device:
      return rows;
    case Store::tiered:
    case Store::multi_gpu:
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
  if (request.lists != ListPlacement::device || request.unbounded) {
    throw UsageError(
        "a training pipeline of two processes: lists are in the GPU's memory, and gathers bounded");
  }
}

void require_ranks(const PipelineRequest& request) {
  require_possible(request);
  if (request.gpus.size() < 2 || request.mode == Mode::cpu_gather ||
      request.lists == ListPlacement::interleaved) {
    throw UsageError(
        "a training pipeline of a process for each GPU: two GPUs or more train, and lists are not "
        "interleaved over them");
  }
}

std::unique_ptr<Pipeline> make_pipeline(const TrainingPlan& plan, const FeatureTable& table,
                                        const PipelineRequest& request,
                                        const cuda::Surroundings& surroundings) {
  require_possible(request);
  require_plan(plan, &table, request);
  return request.mode == Mode::cpu_gather ? make_host_pipeline(plan, table, request.products)
                                          : make_gpu_pipeline(plan, table, request, surroundings);
}

namespace {

// Of the graph and of what samples it, in one GPU's memory.
std::uint64_t sampler_gpu_bytes(const PipelineRequest& request, graph::Vertex vertices,
                                std::uint64_t entries) {
  if (!request.lists) {
    return 0;
  }
  const std::uint64_t of_vertices = std::uint64_t{vertices} * 16;
  const std::uint64_t of_lists = entries * sizeof(graph::Vertex);
  switch (*request.lists) {
    case ListPlacement::device:
      return of_vertices + of_lists;
    case ListPlacement::interleaved:
      return of_vertices + of_lists / request.gpus.size() + kPieceEntries * sizeof(graph::Vertex);
    case ListPlacement::mapped:
      return of_vertices;
  }
  return 0;
}

}  // namespace

std::uint64_t pipeline_gpu_bytes(const TrainingRequest& training, const PipelineRequest& request,
                                 graph::Vertex vertices, std::uint64_t entries) {
  const MostOf most = most_of(training.sample.fanouts, training.batch, vertices);
  const std::uint64_t width = std::max(training.shape.features, training.shape.hidden);
  std::uint64_t edges = 0;
  for (const std::uint64_t hop : most.edges) {
    edges += std::min(hop, entries);
  }
  const auto windows = static_cast<std::uint64_t>(request.window);
  const std::uint64_t sampled_bytes = 3 * windows * (edges * 4 + most.nodes.back() * 4);
  const std::uint64_t rows_bytes = 2 * windows * most.nodes.back() * training.shape.features * sizeof(float);
  const std::uint64_t lists_bytes = windows * most.nodes.back() * 24;
  const std::uint64_t step_bytes = most.nodes[most.nodes.size() - 2] * width * 8 * sizeof(float);
  constexpr std::uint64_t kOther = std::uint64_t{64} << 20;
  return sampler_gpu_bytes(request, vertices, entries) + sampled_bytes + rows_bytes + lists_bytes +
         step_bytes + kOther;
}

std::uint64_t pipeline_host_bytes(const TrainingRequest& training, const PipelineRequest& request,
                                  graph::Vertex vertices, std::uint64_t entries) {
  const std::uint64_t gpus = request.gpus.size();
  if (request.lists) {
    return *request.lists == ListPlacement::mapped ? gpus * entries * sizeof(graph::Vertex) : 0;
  }
  const MostOf most = most_of(training.sample.fanouts, training.batch, vertices);
  std::uint64_t of_batch = most.nodes.back() * sizeof(graph::Vertex);
  for (std::size_t hop = 0; hop < most.edges.size(); ++hop) {
    of_batch += std::min(most.edges[hop], entries) * sizeof(std::uint32_t);
    of_batch += most.nodes[hop] * sizeof(std::uint64_t);
  }
  constexpr std::uint64_t kSets = 3;  // that are drawn, gathered and trained on
  const std::uint64_t of_sampler = std::uint64_t{vertices} * 17 / 4;
  return gpus * (of_sampler + kSets * static_cast<std::uint64_t>(request.window) * of_batch);
}

namespace {

// Calls `step`, which says whether it got anything done, until `over`.
void take_turns(Exchange& exchange, double patience_s, const char* other, const std::function<bool()>& over,
                const std::function<bool()>& step) {
  try {
    double deadline_s = steady_now_s() + patience_s;
    while (!over()) {
      if (step()) {
        deadline_s = steady_now_s() + patience_s;
        continue;
      }
      if (exchange.given_up.load(std::memory_order_acquire) != 0) {
        throw TurnError(std::string(other) + " has given up");
      }
      if (steady_now_s() >= deadline_s) {
        throw TurnError("nothing has come of " + std::string(other) + " for " +
                        std::to_string(static_cast<int>(patience_s)) + " s");
      }
      // Few cores may be all there are: the other process needs one.
      sched_yield();
    }
  } catch (...) {
    exchange.given_up.store(1, std::memory_order_release);
    throw;
  }
}

}  // namespace

void Exchange::begin() {
  gathered.store(0, std::memory_order_relaxed);
  trained.store(0, std::memory_order_relaxed);
  given_up.store(0, std::memory_order_release);
}

void gather_in_turn(Exchange& exchange, std::uint64_t batches, GatheringSteps& steps, double patience_s) {
  std::uint64_t sampling = 0;   // mini-batches whose sampling has begun
  std::uint64_t gathering = 0;  // likewise
  std::uint64_t gathered = 0;
  take_turns(
      exchange, patience_s, "the process that trains", [&] { return gathered == batches; },
      [&] {
        bool moved = false;
        const std::uint64_t trained = exchange.trained.load(std::memory_order_acquire);
        if (gathered < gathering && steps.gathered(gathered)) {
          exchange.gathered.store(++gathered, std::memory_order_release);
          moved = true;
        }
        // Before the sampling of a later one: it is what the other process waits for.
        if (gathering < sampling && gathering < trained + kRowBuffers && steps.sampled(gathering)) {
          steps.gather(gathering++);
          moved = true;
        }
        if (sampling < std::min(batches, trained + kListSets)) {
          steps.sample(sampling++);
          moved = true;
        }
        return moved;
      });
}

void train_in_turn(Exchange& exchange, std::uint64_t batches, TrainingSteps& steps, double patience_s) {
  std::uint64_t training = 0;  // mini-batches whose step has begun
  std::uint64_t trained = 0;
  take_turns(
      exchange, patience_s, "the process that gathers", [&] { return trained == batches; },
      [&] {
        bool moved = false;
        if (trained < training && steps.trained(trained)) {
          exchange.trained.store(++trained, std::memory_order_release);
          moved = true;
        }
        const std::uint64_t gathered = exchange.gathered.load(std::memory_order_acquire);
        if (training < std::min(batches, gathered)) {
          steps.train(training++);
          moved = true;
        }
        return moved;
      });
}

void RankTurns::advance(Count count) {
  const auto of = [&](std::size_t rank) -> std::atomic<std::uint64_t>& {
    return exchange_.ranks[rank].*count;
  };
  const std::uint64_t own = of(rank_).load(std::memory_order_relaxed) + 1;
  of(rank_).store(own, std::memory_order_release);
  const double deadline_s = steady_now_s() + patience_s_;
  for (std::size_t rank = 0; rank < ranks_; ++rank) {
    while (of(rank).load(std::memory_order_acquire) < own) {
      if (exchange_.given_up.load(std::memory_order_acquire) != 0) {
        throw TurnError("another process of the training has given up");
      }
      if (steady_now_s() >= deadline_s) {
        throw TurnError("nothing has come of the process of rank " + std::to_string(rank) + " for " +
                        std::to_string(static_cast<int>(patience_s_)) + " s");
      }
      sched_yield();
    }
  }
}

// Training on a CPU alone: sampling, gathering and the step one after another, each by all threads.

namespace {

class PageableTable final : public FeatureTable {
 public:
  PageableTable(graph::Vertex vertices, const Features& features)
      : FeatureTable(vertices, features), rows_(std::uint64_t{vertices} * features.row_bytes()) {
    features.fill(vertices, rows_.data());
  }
  [[nodiscard]] std::byte* bytes() const override { return rows_.data(); }

 private:
  HostArray<std::byte> rows_;
};

class MappedTable final : public FeatureTable {
 public:
  MappedTable(graph::Vertex vertices, Features features)
      : FeatureTable(vertices, features), features_(std::move(features)) {}
  [[nodiscard]] std::byte* bytes() const override { return nullptr; }
  [[nodiscard]] const std::byte* row(graph::Vertex row) const override { return features_.in_file(row); }

 private:
  Features features_;
};

class HostPipeline final : public Pipeline {
 public:
  HostPipeline(const TrainingPlan& plan, const FeatureTable& table, Products products)
      : plan_(plan), table_(table), products_(products), sampler_(plan.neighbours, plan.request.sample) {}

  PipelineRun run() override {
    PipelineRun result;
    result.cpu_s = -process_cpu_s();
    double checking_cpu_s = 0;
    result.timeline = {{"sampling", -1, {}, {}}, {"gathering", -1, {}, {}}, {"training", -1, {}, {}}};
    StageTimes times = train(
        [&](const MiniBatch& sampled) {
          checking_cpu_s -= process_cpu_s();
          require_right(sampled);
          checking_cpu_s += process_cpu_s();
        },
        &result.timeline);
    result.cpu_s = (result.cpu_s + process_cpu_s() - checking_cpu_s) / static_cast<double>(batches());
    result.losses = times.losses;
    for (std::size_t i = kFillingSteps; i < times.train_s.size(); ++i) {
      result.step_s.push_back(times.sample_s[i] + times.gather_s[i] + times.train_s[i]);
    }
    result.single_s = result.step_s;
    last_ = std::move(times);
    return result;
  }

  // Nothing overlaps here: a run that was made is its stages.
  StageTimes stages() override {
    if (last_) {
      return *std::exchange(last_, std::nullopt);
    }
    return train([&](const MiniBatch& sampled) { require_right(sampled); });
  }

  [[nodiscard]] std::uint64_t gpu_bytes() const override { return 0; }
  [[nodiscard]] std::uint64_t batches() const override { return plan_.seeds.size(); }

 private:
  // `timeline`: lanes of sampling, gathering and training, of which it notes when; null: it does not.
  template <class Check>
  StageTimes train(const Check& check, std::vector<TimelineLane>* timeline = nullptr) {
    HostSage<float> model(plan_.request.shape, plan_.parameters, products_);
    StageTimes times;
    MiniBatch sampled;
    const double begun_s = steady_now_s();
    const auto note = [&](std::size_t lane, double from_s, double to_s) {
      if (timeline != nullptr) {
        (*timeline)[lane].begin_s.push_back(from_s - begun_s);
        (*timeline)[lane].end_s.push_back(to_s - begun_s);
      }
    };
    for (std::uint64_t b = 0; b < batches(); ++b) {
      const double start_s = steady_now_s();
      sampler_.sample(plan_.seeds[b], b, sampled);
      const double sampled_s = steady_now_s();
      gather(sampled.nodes);
      const double gathered_s = steady_now_s();
      check(sampled);
      const double checked_s = steady_now_s();
      times.losses.push_back(model.add_gradient(sampled, rows_.data(), plan_.labels));
      model.update(plan_.request.rate);
      const double trained_s = steady_now_s();
      times.train_s.push_back(trained_s - checked_s);
      times.sample_s.push_back(sampled_s - start_s);
      times.gather_s.push_back(gathered_s - sampled_s);
      note(0, start_s, sampled_s);
      note(1, sampled_s, gathered_s);
      note(2, checked_s, trained_s);
    }
    return times;
  }

  void gather(const std::vector<graph::Vertex>& nodes) {
    constexpr std::size_t kAhead = 8;
    const std::uint64_t columns = table_.columns();
    rows_.resize(std::max(rows_.size(), nodes.size() * columns));
#pragma omp parallel for schedule(static)
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      __builtin_prefetch(table_.row(nodes[std::min(i + kAhead, nodes.size() - 1)]));
      std::memcpy(rows_.data() + i * columns, table_.row(nodes[i]), table_.row_bytes());
    }
  }

  void require_right(const MiniBatch& sampled) const {
    refuse_wrong(plan_.features.count_wrong(reinterpret_cast<const std::byte*>(rows_.data()), sampled.nodes));
  }

  const TrainingPlan& plan_;
  const FeatureTable& table_;
  Products products_;
  CpuSampler sampler_;
  std::vector<float> rows_;
  std::optional<StageTimes> last_;  // of a run whose stages nobody asked for yet
};

}  // namespace

std::unique_ptr<Pipeline> make_host_pipeline(const TrainingPlan& plan, const FeatureTable& table,
                                             Products products) {
  return std::make_unique<HostPipeline>(plan, table, products);
}

void refuse_wrong(std::uint64_t wrong) {
  if (wrong > 0) {
    throw FailedError("wrong result: " + std::to_string(wrong) +
                      " elements of gathered rows do not hold what the table has there");
  }
}

std::unique_ptr<FeatureTable> make_pageable_table(graph::Vertex vertices, const Features& features) {
  if (features.file() != nullptr) {
    return std::make_unique<MappedTable>(vertices, features);
  }
  return std::make_unique<PageableTable>(vertices, features);
}

}  // namespace grainscope::gnn
