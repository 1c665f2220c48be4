#include "pipeline_points.hpp"

#include <utility>

#include "grainscope/graph/generate.hpp"

namespace grainscope::harness {
namespace {

using gnn::Mode;
using gnn::Store;

constexpr int kTwo = 2;  // GPUs
constexpr int kDenseWindow = 4;
constexpr std::uint64_t kDenseBatches = 72;

class Points {
 public:
  explicit Points(TrainingPoint training) : training_(std::move(training)) {}

  void add(Mode mode, Store store, int hot = 0, int window = 1, int gpus = 1) {
    points_.push_back({training_, mode, store, hot, window, gpus, 0});
  }
  // The ways of the dissertation, and all rows on the GPU.
  void add_usual(int window) {
    add(Mode::masked, Store::device);
    add(Mode::cpu_gather_dma, Store::pinned);
    add(Mode::naive, Store::mapped);
    if (training_.row_bytes % gnn::kLineBytes != 0) {  // else it is naive
      add(Mode::circular_shift, Store::mapped);
    }
    add(Mode::masked, Store::mapped);
    add(Mode::address_ordered, Store::mapped, 0, window);
    add(Mode::masked, Store::tiered, 10);
  }
  void add_gpus(int gpus) {
    add(Mode::masked, Store::device, 0, 1, gpus);
    add(Mode::cpu_gather_dma, Store::pinned, 0, 1, gpus);
    add(Mode::masked, Store::mapped, 0, 1, gpus);
    add(Mode::masked, Store::tiered, 10, 1, gpus);
  }
  // Two of them, and where there are more, all.
  void add_two_and_all_gpus(int most) {
    add_gpus(kTwo);
    if (most > kTwo) {
      add_gpus(most);
    }
  }
  void add_other_windows() {
    for (const int window : {1, 2, 8}) {
      add(Mode::address_ordered, Store::mapped, 0, window);
    }
  }
  void add_other_tiers() {
    for (const int hot : {1, 5, 25, 50}) {
      add(Mode::masked, Store::tiered, hot);
    }
    add(Mode::address_ordered, Store::tiered, 10, 1);
  }

  // The dissertation's processes: the gather's percent of the GPU, training has the rest.
  void add_processes(const std::vector<double>& percents) {
    for (const double percent : percents) {
      add(Mode::masked, Store::mapped);
      points_.back().percent = percent;
    }
  }

  std::vector<PipelinePoint> take() { return std::move(points_); }

 private:
  TrainingPoint training_;
  std::vector<PipelinePoint> points_;
};

void append(std::vector<PipelinePoint>& all, std::vector<PipelinePoint> more) {
  all.insert(all.end(), more.begin(), more.end());
}

// Of one of two graphs in full, to compare with: the ways alone.
std::vector<PipelinePoint> usual_points(TrainingPoint training) {
  training.batches = kDenseBatches;
  Points points(training);
  points.add(Mode::cpu_gather, Store::pageable);
  points.add_usual(kDenseWindow);
  return points.take();
}

// `percents`: of the dissertation's processes.
std::vector<PipelinePoint> dense_points(TrainingPoint training, const std::vector<std::uint32_t>& other_rows,
                                        const std::vector<double>& percents, int most_gpus) {
  constexpr int kWindow = kDenseWindow;
  training.batches = kDenseBatches;
  std::vector<PipelinePoint> all;
  Points base(training);
  base.add(Mode::cpu_gather, Store::pageable);
  base.add_usual(kWindow);
  base.add_other_windows();
  base.add_other_tiers();
  base.add_two_and_all_gpus(most_gpus);
  base.add_processes(percents);
  append(all, base.take());
  for (const std::uint32_t row : other_rows) {
    TrainingPoint other = training;
    other.row_bytes = row;
    Points points(other);
    points.add_usual(kWindow);
    points.add_two_and_all_gpus(most_gpus);
    append(all, points.take());
  }
  TrainingPoint larger = training;
  larger.batch = 8000;
  larger.batches = 32;
  TrainingPoint deeper = training;
  deeper.fanouts = {10, 10, 10};
  for (const TrainingPoint& other : {larger, deeper}) {
    Points points(other);
    points.add_usual(1);
    append(all, points.take());
  }
  return all;
}

}  // namespace

std::vector<PipelinePoint> pipeline_points(const Scope& scope, const graph::GraphSpec& spec, int most_gpus) {
  const gnn::NpyFile* const own = scope.features.get();
  const auto row_or = [&](std::uint32_t usual) { return own != nullptr ? own->row_bytes() : usual; };
  TrainingPoint training{spec.name(), {10, 25}};
  training.row_bytes = row_or(training.row_bytes);
  const std::vector<std::uint32_t> other_rows =
      own != nullptr ? std::vector<std::uint32_t>{} : std::vector<std::uint32_t>{400, 1260, 2312};
  constexpr int kWindow = 2;
  switch (scope.preset) {
    case Preset::smoke: {
      training = {spec.name(), {5, 5}, 200, 12, row_or(128), 32};
      Points points(training);
      points.add(Mode::cpu_gather, Store::pageable);
      points.add(Mode::masked, Store::device);
      points.add(Mode::cpu_gather_dma, Store::pinned);
      points.add(Mode::masked, Store::mapped);
      return points.take();
    }
    case Preset::quick: {
      Points points(training);
      points.add(Mode::cpu_gather, Store::pageable);
      points.add_usual(kWindow);
      points.add_gpus(kTwo);  // a short run has few steps of more
      points.add_processes({10});
      return points.take();
    }
    case Preset::acceptance: {
      Points points(training);
      points.add(Mode::masked, Store::mapped);
      return points.take();
    }
    case Preset::full:
      if (scope.graphs.empty() && spec.kind == graph::GraphSpec::Kind::kron) {
        return usual_points(training);
      }
      // Two processes take seconds to start.
      return dense_points(training, other_rows, {2.5, 5, 10, 25, 50}, most_gpus);
    case Preset::paper:
      break;
  }
  return dense_points(training, other_rows, {2.5, 5, 7.5, 10, 15, 20, 25, 30, 40, 50}, most_gpus);
}

}  // namespace grainscope::harness
