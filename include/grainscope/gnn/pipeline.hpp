#ifndef GRAINSCOPE_GNN_PIPELINE_HPP
#define GRAINSCOPE_GNN_PIPELINE_HPP

// Training as a pipeline of three stages: a sampler draws mini-batch i + 2, a producer gathers the rows of
// mini-batch i + 1 into one of two buffers, and the consumer trains on mini-batch i. Source: dissertation
// 3.2.2 and 3.4.

#include <cstdint>
#include <memory>
#include <vector>

#include "grainscope/gnn/modes.hpp"
#include "grainscope/gnn/training.hpp"

namespace grainscope::gnn {

struct PipelineRequest {
  // cpu_gather: all on the CPU, one stage after another; cpu_gather_dma, naive, circular_shift, masked,
  // address_ordered: on GPUs.
  Mode mode = Mode::masked;
  Store store = Store::mapped;  // pageable or pinned of the CPU's gathers; mapped, device, tiered
  double hot_percent = 0;       // tiered: of the rows, in each GPU's memory
  int window = 1;               // mini-batches gathered together: address_ordered
  std::vector<int> gpus = {0};  // each trains on a mini-batch in a step; gradients are averaged
  int threads = 1;              // that gather, of cpu_gather_dma
  // That gather kernels have to themselves, the other stages on the rest, where the driver can part a GPU;
  // 0: all stages share all. Gather kernels that cross the link have few blocks in any case, so that the
  // other stages find room beside them, and their launches on the link.
  int gather_sms = 0;
};
// Rows of a table that are in a GPU's memory, the first ones.
[[nodiscard]] std::uint32_t hot_rows(std::uint32_t rows, Store store, double hot_percent);
// Throws UsageError for a request that no machine can honour.
void require_possible(const PipelineRequest& request);

struct PipelineRun {
  std::vector<double> step_s;    // from one step's end to the next's; the first steps fill the pipeline and
                                 // are left out; of a window its mean, once a window
  std::vector<double> single_s;  // the same of every single step, windows or not
  std::vector<double> losses;    // of every mini-batch
  double cpu_s = 0;              // of the process, a step
};

struct StageTimes {
  std::vector<double> sample_s;  // of each step, the stage alone
  std::vector<double> gather_s;  // of a window its mean
  std::vector<double> train_s;
  std::vector<double> losses;  // of every mini-batch
};

class Pipeline {
 public:
  virtual ~Pipeline() = default;
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  // The whole run from the first parameters, stages overlapping.
  [[nodiscard]] virtual PipelineRun run() = 0;
  // The same run, each stage waited for before the next begins; every element of every gathered row is held
  // against the table's closed form: FailedError where one is wrong.
  [[nodiscard]] virtual StageTimes stages() = 0;
  // Of each GPU's memory; on a CPU alone 0.
  [[nodiscard]] virtual std::uint64_t gpu_bytes() const = 0;
  // Multiprocessors that gather kernels have to themselves; 0: none.
  [[nodiscard]] virtual int gather_sms() const { return 0; }
  // Seconds of copying the table's rows to the GPUs that keep some, one GPU after another; 0: none does.
  [[nodiscard]] virtual double fill_s() const { return 0; }
  // Mini-batches that both train on: whole steps and windows of the plan's.
  [[nodiscard]] virtual std::uint64_t batches() const = 0;

 protected:
  Pipeline() = default;
};

// The plan and the table outlive it. Throws UsageError as require_possible and where the table does not fit
// the plan or the plan has not three windows; SkipError where a GPU has no room; in a build without CUDA
// SkipError but for cpu_gather.
[[nodiscard]] std::unique_ptr<Pipeline> make_pipeline(const TrainingPlan& plan, const FeatureTable& table,
                                                      const PipelineRequest& request);

// Bytes of a GPU's memory that it takes, about, without what of the table is there.
[[nodiscard]] std::uint64_t pipeline_gpu_bytes(const TrainingRequest& request, graph::Vertex vertices,
                                               std::uint64_t entries, int window);

}  // namespace grainscope::gnn

#endif
