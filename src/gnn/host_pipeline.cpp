// Training on a CPU alone: sampling, gathering and the step one after another, each by all threads.

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "grainscope/core/error.hpp"
#include "grainscope/core/sampler.hpp"
#include "pipelines.hpp"

namespace grainscope::gnn {
namespace {

class PageableTable final : public FeatureTable {
 public:
  PageableTable(graph::Vertex vertices, const Features& features)
      : FeatureTable(vertices, features), rows_(std::uint64_t{vertices} * features.row_bytes()) {
    features.fill(vertices, rows_.data());
  }
  [[nodiscard]] std::byte* bytes() const override { return rows_.data(); }
  [[nodiscard]] bool page_locked() const override { return false; }

 private:
  HostArray<std::byte> rows_;
};

class MappedTable final : public FeatureTable {
 public:
  MappedTable(graph::Vertex vertices, Features features)
      : FeatureTable(vertices, features), features_(std::move(features)) {}
  [[nodiscard]] std::byte* bytes() const override { return nullptr; }
  [[nodiscard]] const std::byte* row(graph::Vertex row) const override { return features_.in_file(row); }
  [[nodiscard]] bool page_locked() const override { return false; }

 private:
  Features features_;
};

class HostPipeline final : public Pipeline {
 public:
  HostPipeline(const TrainingPlan& plan, const FeatureTable& table)
      : plan_(plan), table_(table), sampler_(plan.neighbours, plan.request.sample) {}

  PipelineRun run() override {
    PipelineRun result;
    result.cpu_s = -process_cpu_s();
    double checking_cpu_s = 0;
    StageTimes times = train([&](const MiniBatch& sampled) {
      checking_cpu_s -= process_cpu_s();
      require_right(sampled);
      checking_cpu_s += process_cpu_s();
    });
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
  template <class Check>
  StageTimes train(const Check& check) {
    HostSage<float> model(plan_.request.shape, plan_.parameters);
    StageTimes times;
    MiniBatch sampled;
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
      times.train_s.push_back(steady_now_s() - checked_s);
      times.sample_s.push_back(sampled_s - start_s);
      times.gather_s.push_back(gathered_s - sampled_s);
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
  CpuSampler sampler_;
  std::vector<float> rows_;
  std::optional<StageTimes> last_;  // of a run whose stages nobody asked for yet
};

}  // namespace

std::unique_ptr<Pipeline> make_host_pipeline(const TrainingPlan& plan, const FeatureTable& table) {
  return std::make_unique<HostPipeline>(plan, table);
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
