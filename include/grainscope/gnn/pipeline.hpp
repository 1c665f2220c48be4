#ifndef GRAINSCOPE_GNN_PIPELINE_HPP
#define GRAINSCOPE_GNN_PIPELINE_HPP

// Training as a pipeline of three stages: a sampler draws mini-batch i + 2, a producer gathers the rows of
// mini-batch i + 1 into one of two buffers, and the consumer trains on mini-batch i. Source: dissertation
// 3.2.2 and 3.4.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "grainscope/core/error.hpp"
#include "grainscope/core/operation.hpp"
#include "grainscope/gnn/gpu_sampling.hpp"
#include "grainscope/gnn/graphsage.hpp"
#include "grainscope/gnn/sampling.hpp"
#include "grainscope/gnn/table.hpp"
#include "grainscope/gnn/training.hpp"

namespace grainscope::gnn {

struct PipelineRequest {
  // cpu_gather: all on the CPU, one stage after another; cpu_gather_dma, naive, circular_shift, masked,
  // address_ordered: on GPUs.
  Mode mode = Mode::masked;
  // pageable or pinned of the CPU's gathers; mapped, device, tiered, multi_gpu.
  Store store = Store::mapped;
  // Of the rows: tiered, in each GPU's memory; multi_gpu, interleaved over the memories of `gpus`.
  double hot_percent = 0;
  int window = 1;               // mini-batches gathered together: address_ordered
  std::vector<int> gpus = {0};  // each trains on a mini-batch in a step; gradients are averaged
  int threads = 1;              // that gather, of cpu_gather_dma
  // That gather kernels have to themselves, the other stages on the rest, where the driver can part a GPU;
  // 0: all stages share all. Gather kernels that cross the link have few blocks in any case, so that the
  // other stages find room beside them, and their launches on the link.
  int gather_sms = 0;
  // Gather kernels that cross the link have no bound either, but as many blocks as there is room for: the
  // dissertation's (3.3).
  bool unbounded = false;
  // Where the lists lie that each GPU samples from; interleaved ones over `gpus`, once. Absent: the CPU
  // samples, from the plan's.
  std::optional<ListPlacement> lists = ListPlacement::device;
  int node = 0;                         // where mapped lists lie
  Products products = Products::plain;  // of cpu_gather, which trains on the CPU too
};
// Rows of a table that are in GPUs' memory, the first ones: of multi_gpu in all of them together.
[[nodiscard]] std::uint32_t hot_rows(std::uint32_t rows, Store store, double hot_percent);
// Throws UsageError for a request that no machine can honour.
void require_possible(const PipelineRequest& request);

struct PipelineRun {
  std::vector<double> step_s;    // from one step's end to the next's; the first steps fill the pipeline and
                                 // are left out; of a window its mean, once a window
  std::vector<double> single_s;  // the same of every single step, windows or not
  std::vector<double> losses;    // of every mini-batch
  double cpu_s = 0;              // of the process, a step
  // Of each GPU its stages: training step by step, sampling and gathering window by window.
  std::vector<TimelineLane> timeline;
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
                                                      const PipelineRequest& request,
                                                      const cuda::Surroundings& surroundings = {});

// Bytes of a GPU's memory that it takes, about, without what of the table is there.
[[nodiscard]] std::uint64_t pipeline_gpu_bytes(const TrainingRequest& training,
                                               const PipelineRequest& request, graph::Vertex vertices,
                                               std::uint64_t entries);

// Bytes of host memory that its sampling takes, about, of all GPUs together: lists that they read there, or
// what the CPU draws with and sends.
[[nodiscard]] std::uint64_t pipeline_host_bytes(const TrainingRequest& training,
                                                const PipelineRequest& request, graph::Vertex vertices,
                                                std::uint64_t entries);

// How a process that samples and gathers and a process that trains take turns over three sets of sampled
// lists and two buffers of rows: two counters in host memory that both map. Source: dissertation 3.3.3.
//
// Counters and not interprocess events: such an event stands for its last record only, so a counter would
// have to say when it was recorded all the same; the host must learn the sizes of each mini-batch before it
// can launch the step; and a host that waits can give up when the other process is gone, a GPU cannot.
inline constexpr std::uint64_t kListSets = 3;
inline constexpr std::uint64_t kRowBuffers = 2;
// After so long without a turn of the other process it is given up.
inline constexpr double kPatience_s = 10;

// Lies in shared memory, zeroed.
struct Exchange {
  // What the training process must know of a mini-batch: nodes_upto [hops + 1], then edges of each hop.
  using Sizes = std::array<std::uint64_t, 2 * kMostHops + 1>;

  alignas(64) std::atomic<std::uint64_t> gathered;  // mini-batches whose lists, sizes and rows are there
  alignas(64) std::atomic<std::uint64_t> trained;   // mini-batches that nobody looks at any more
  alignas(64) std::atomic<std::uint32_t> given_up;  // a process has failed: the other need not wait
  std::array<Sizes, kListSets> sizes;
  std::array<std::byte, 64> memory;  // the name of the GPU memory that they share (cuda::IpcHandle)

  [[nodiscard]] Sizes& sizes_of(std::uint64_t batch) { return sizes[batch % kListSets]; }
  // Before a run, by who has asked both processes for it.
  void begin();
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

// What each process does for a mini-batch. All enqueue and return; questions do not wait.
class GatheringSteps {
 public:
  virtual ~GatheringSteps() = default;
  virtual void sample(std::uint64_t batch) = 0;
  [[nodiscard]] virtual bool sampled(std::uint64_t batch) = 0;
  // Its sizes are in the exchange when this returns.
  virtual void gather(std::uint64_t batch) = 0;
  [[nodiscard]] virtual bool gathered(std::uint64_t batch) = 0;
};
class TrainingSteps {
 public:
  virtual ~TrainingSteps() = default;
  virtual void train(std::uint64_t batch) = 0;
  [[nodiscard]] virtual bool trained(std::uint64_t batch) = 0;
};

// The other process has given up, or takes no turn any more.
class TurnError : public FailedError {
 public:
  using FailedError::FailedError;
};

// The whole run of a process, mini-batches in order; each step begins as soon as what it needs is there and
// what it overwrites is no longer needed. Throws TurnError where the other process has given up, or has
// not taken its turn for `patience_s`; what steps throw is told to the other process and passed on.
void gather_in_turn(Exchange& exchange, std::uint64_t batches, GatheringSteps& steps,
                    double patience_s = kPatience_s);
void train_in_turn(Exchange& exchange, std::uint64_t batches, TrainingSteps& steps,
                   double patience_s = kPatience_s);

// The training pipeline in two processes, as the dissertation has it (3.3.2 and 3.3.3): one samples and
// gathers, the other trains. Sampled lists and rows lie in memory of the GPU that the first owns and the
// second opens by CUDA IPC; whose turn it is stands in an Exchange. Each class here is one process's side.
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

// The training pipeline in as many processes as GPUs, as frameworks have it (dissertation 4.2): each samples,
// gathers and trains on its own GPU, reads the others' parts of the table and their gradients by CUDA IPC,
// and descends by the mean of all. Streams wait for each other by events of several processes. Such an event
// stands for what it recorded last, so the host says, too, how far it has enqueued: it is that which another
// process waits for before it lets a stream wait.

// Lies in shared memory, zeroed.
struct RankExchange {
  using Handle = std::array<std::byte, 64>;  // cuda::IpcHandle
  // Of one process. What it has done how often, never fewer than before.
  struct Rank {
    alignas(64) std::atomic<std::uint64_t> met;        // meetings that it has come to
    alignas(64) std::atomic<std::uint64_t> gradients;  // that it has enqueued
    alignas(64) std::atomic<std::uint64_t> updates;    // likewise
    Handle part;                                       // its rows of a table that is spread over GPUs
    Handle gradient;
    Handle ready;    // event: behind a gradient
    Handle updated;  // event: behind an update
  };
  alignas(64) std::atomic<std::uint32_t> given_up;  // a process has failed: the others need not wait
  std::array<Rank, kMostGpus> ranks;
};

// One process's side of it.
class RankTurns {
 public:
  using Count = std::atomic<std::uint64_t> RankExchange::Rank::*;

  RankTurns(RankExchange& exchange, std::size_t rank, std::size_t ranks, double patience_s = kPatience_s)
      : exchange_(exchange), rank_(rank), ranks_(ranks), patience_s_(patience_s) {}

  // Says that this process has come one further in `count`, and waits until all have come as far. Throws
  // TurnError where another has given up, or has not come for `patience_s`; of one that has not it says
  // which.
  void advance(Count count);
  // The others need not wait for this one.
  void give_up() { exchange_.given_up.store(1, std::memory_order_release); }
  [[nodiscard]] std::size_t rank() const { return rank_; }

 private:
  RankExchange& exchange_;
  std::size_t rank_;
  std::size_t ranks_;
  double patience_s_;
};

// One process's pipeline: its losses and its mini-batches are those of its own GPU.
class TrainingRank : public Pipeline {
 public:
  // Opens what the others share, once all of them are made; before anything runs. Throws SkipError where it
  // cannot.
  virtual void open() = 0;
};

// Throws UsageError but for two GPUs or more, lists that each GPU or the CPU has, and rows that GPUs gather
// or get.
void require_ranks(const PipelineRequest& request);

// On GPU number `rank` of the request's, with all threads and CPUs that the process has, from a table of its
// own. Plan and exchange outlive it; what it shares is named in the exchange when this returns. Throws
// UsageError as require_ranks and where the plan has not three windows; SkipError where the GPU has no room
// or shares no memory; in a build without CUDA always SkipError.
[[nodiscard]] std::unique_ptr<TrainingRank> make_training_rank(const TrainingPlan& plan,
                                                               const PipelineRequest& request,
                                                               std::size_t rank, RankExchange& exchange);

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
