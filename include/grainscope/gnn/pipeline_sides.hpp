#ifndef GRAINSCOPE_GNN_PIPELINE_SIDES_HPP
#define GRAINSCOPE_GNN_PIPELINE_SIDES_HPP

// The training pipeline in two processes, as the dissertation has it (3.3.2 and 3.3.3): one samples and
// gathers, the other trains. Sampled lists and rows lie in memory of the GPU that the first owns and the
// second opens by CUDA IPC; whose turn it is stands in an Exchange. Each class here is one process's side.

#include <cstdint>
#include <memory>
#include <vector>

#include "grainscope/gnn/exchange.hpp"
#include "grainscope/gnn/pipeline.hpp"
#include "grainscope/gnn/training.hpp"

namespace grainscope::gnn {

class GatheringSide {
 public:
  virtual ~GatheringSide() = default;
  GatheringSide(const GatheringSide&) = delete;
  GatheringSide& operator=(const GatheringSide&) = delete;

  // One mini-batch, each stage alone; waits. Throws FailedError unless every element of its rows is right.
  struct Stage {
    double sample_s = 0;
    double gather_s = 0;
  };
  [[nodiscard]] virtual Stage stage(std::uint64_t batch) = 0;

  // All mini-batches, in turn with the other process; throws as gather_in_turn.
  struct Run {
    std::vector<double> gather_s;  // of each mini-batch, other work beside it
    double cpu_s = 0;              // of the process
  };
  [[nodiscard]] virtual Run run() = 0;
  [[nodiscard]] virtual std::uint64_t gpu_bytes() const = 0;

 protected:
  GatheringSide() = default;
};

class TrainingSide {
 public:
  virtual ~TrainingSide() = default;
  TrainingSide(const TrainingSide&) = delete;
  TrainingSide& operator=(const TrainingSide&) = delete;

  // Opens what the other process shares, once that is there. Throws SkipError where it cannot.
  virtual void open() = 0;
  virtual void reset() = 0;  // to the first parameters; waits
  // Seconds of the step on a mini-batch whose rows are there, nothing beside it; waits.
  [[nodiscard]] virtual double stage(std::uint64_t batch) = 0;

  // All mini-batches, in turn with the other process; throws as train_in_turn.
  struct Run {
    std::vector<double> step_s;   // from one step's end to the next's, but for those that fill the pipeline
    std::vector<double> train_s;  // of each step itself, other work beside it
    double cpu_s = 0;             // of the process
  };
  [[nodiscard]] virtual Run run() = 0;
  [[nodiscard]] virtual std::vector<float> losses() const = 0;  // of all mini-batches
  [[nodiscard]] virtual std::uint64_t gpu_bytes() const = 0;

 protected:
  TrainingSide() = default;
};

// Throws UsageError but for a kernel's gather of one mini-batch at a time on one GPU.
void require_processes(const PipelineRequest& request);

// On the request's GPU; all multiprocessors that the process sees are the gather's. Plan, table and exchange
// outlive it; the exchange names its memory when this returns. Throws UsageError as require_processes, where
// the table does not fit the plan or the plan has not three mini-batches; SkipError where the GPU has no room
// or shares no memory; in a build without CUDA always SkipError, as the next.
[[nodiscard]] std::unique_ptr<GatheringSide> make_gathering_side(const TrainingPlan& plan,
                                                                 const FeatureTable& table,
                                                                 const PipelineRequest& request,
                                                                 Exchange& exchange);
// Likewise; needs no table.
[[nodiscard]] std::unique_ptr<TrainingSide> make_training_side(const TrainingPlan& plan, int gpu,
                                                               Exchange& exchange);

}  // namespace grainscope::gnn

#endif
