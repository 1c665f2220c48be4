#ifndef GRAINSCOPE_BENCHMARKS_GNN_PIPELINE_CASE_HPP
#define GRAINSCOPE_BENCHMARKS_GNN_PIPELINE_CASE_HPP

// A training run as a case: what it is asked for, what cases share, and its measurement.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "case.hpp"
#include "grainscope/gnn/pipeline.hpp"
#include "grainscope/system/mps.hpp"

namespace grainscope::harness {

// What is trained; the same for all modes that are to be compared.
struct TrainingPoint {
  std::string graph;  // name of the spec
  std::vector<int> fanouts;
  std::uint64_t batch = 1000;
  std::uint64_t batches = 24;
  std::uint32_t row_bytes = 512;
  std::uint32_t hidden = 128;

  // Throws UsageError for rows that are no whole number of features.
  [[nodiscard]] gnn::TrainingRequest request() const;
  friend bool operator==(const TrainingPoint&, const TrainingPoint&) = default;
};

struct PipelinePoint {
  TrainingPoint training;
  gnn::Mode mode = gnn::Mode::masked;
  gnn::Store store = gnn::Store::mapped;
  cuda::MemoryKind memory = cuda::MemoryKind::host_alloc;  // of the rows on the host
  int hot = 0;                                             // percent, tiered and multi_gpu
  int window = 1;                                          // address_ordered
  int gpus = 1;
  bool per_gpu = false;  // a process for each of them
  // Of the GPU, for a process that samples and gathers; one that trains has the rest (MPS). 0: both are
  // streams of this process.
  double percent = 0;
  // Of the lists that are sampled; absent: the CPU samples.
  std::optional<gnn::ListPlacement> placement = gnn::ListPlacement::device;
  bool bounded = true;                            // gathers by a kernel over the link
  gnn::Products products = gnn::Products::plain;  // of training on the CPU alone

  // Without the site's part. Throws UsageError for what no machine can honour.
  [[nodiscard]] gnn::PipelineRequest request() const;

  // In case names cpu_gather is what it means here.
  [[nodiscard]] std::string mode_name() const {
    return mode == gnn::Mode::cpu_gather ? "cpu_only" : gnn::name(mode);
  }
  friend bool operator==(const PipelinePoint&, const PipelinePoint&) = default;
};

// Stages on the whole GPU, nothing beside them: what two processes are held against.
struct WholeStages {
  gnn::Mode mode = gnn::Mode::masked;
  gnn::Store store = gnn::Store::mapped;
  int hot = 0;
  int gpu = 0;
  double gather_s = 0;
  double train_s = 0;
};

// A plan, and what the losses of its runs are held against.
struct TrainingWork {
  gnn::TrainingPlan plan;
  std::map<std::size_t, std::vector<double>> reference;  // by GPUs, in double precision
  // The first run's on each device: by GPU (-1: the CPU), and how many GPUs train together.
  std::map<std::pair<int, std::size_t>, std::vector<double>> on;
  std::vector<WholeStages> whole;
};
using TrainingCache = ClaimCache<TrainingPoint, TrainingWork>;

struct TableKey {
  std::string graph;
  std::uint32_t columns = 0;
  std::optional<TrainingPoint> ordered_by = {};    // of a file: whose plan puts its rows in order
  std::optional<cuda::MappedRequest> mapped = {};  // absent: ordinary memory
  int node = 0;
  friend bool operator==(const TableKey&, const TableKey&) = default;
};
using TableCache = ClaimCache<TableKey, gnn::FeatureTable>;

// Where it is measured.
struct PipelineSite {
  int node = 0;
  std::optional<GpuTarget> gpu;  // absent: the CPU alone
  std::vector<int> gpus;         // that train together, the first among them
};

// `table` is null where processes fill their own.
[[nodiscard]] Measurement measure_pipeline(Session& session, const PipelinePoint& point,
                                           const PipelineSite& site, TrainingWork& work,
                                           const gnn::FeatureTable* table);

// Threads that gather for a process that has so many CPUs: more than some do not help a link, and one CPU is
// left to the thread that enqueues the training.
[[nodiscard]] int threads_that_gather(std::size_t cpus);

// The same by two processes, clients of a daemon that shows that GPU alone.
[[nodiscard]] Measurement measure_processes(Session& session, const PipelinePoint& point,
                                            const PipelineSite& site, TrainingWork& work,
                                            const MpsDaemon& daemon);

// What the rows of training runs say, however they are fed, and what their losses are held against.

// That a GPU trains with.
enum class Multiprocessors : std::uint8_t { some, all };

// Throws FailedError where losses differ from those stage by stage (`apart`), from the reference in double
// precision, or from those of the run that came first on that GPU, or more than rounding makes of it from
// those of the run that came first on another device, or do not fall. Says what was checked. With
// `some` of the multiprocessors a GPU rounds as another device does.
[[nodiscard]] std::string verify_losses(const std::vector<double>& losses, const std::vector<double>& apart,
                                        TrainingWork& work, const PipelineSite& site,
                                        Multiprocessors sms = Multiprocessors::all);

// A run that took `wall_s`, its steps being its trials.
[[nodiscard]] Measurement measure_steps(const Session& session, const gnn::PipelineRun& run, double wall_s,
                                        const Timing& timing, const std::function<std::string()>& verify);

// Stages alone, single steps, losses, CPU time.
void add_stages(const gnn::PipelineRun& run, const gnn::StageTimes& stages, Measurement& measurement);
// (sum of the stages − pipelined) / (sum − slowest), 1 where only the slowest shows; nothing where the
// intervals of the slowest and of the pipeline leave it unknown by more than a quarter: beside one stage that
// takes nearly all there is little to hide. Nor where the pipeline is faster than the slowest stage alone by
// more than is known.
void add_overlap(const gnn::StageTimes& stages, Measurement& measurement);
// Rows asked for and those that crossed the link.
void add_bytes(const PipelinePoint& point, const gnn::TrainingPlan& plan, Measurement& measurement);
// The physical limit of a step, by where those rows come from.
void add_limit(const Session& session, const PipelinePoint& point, const PipelineSite& site,
               Measurement& measurement);

}  // namespace grainscope::harness

#endif
