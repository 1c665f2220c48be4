#ifndef GRAINSCOPE_BENCHMARKS_GNN_PIPELINE_WORKER_HPP
#define GRAINSCOPE_BENCHMARKS_GNN_PIPELINE_WORKER_HPP

// A training pipeline in two processes, each a client of MPS with a share of the GPU: this program twice
// more, as `grainscope worker pipeline`, and the end that the family holds. The plan and whose turn it is lie
// in memory without a name that all three map, lists and rows in the GPU's (CUDA IPC).

#include <cstdint>
#include <string>
#include <vector>

#include "grainscope/gnn/pipeline.hpp"
#include "grainscope/gnn/training.hpp"
#include "grainscope/system/child_process.hpp"
#include "worker_process.hpp"

namespace grainscope::harness {

inline constexpr const char* kPipelineKind = "pipeline";

// What a worker does.
struct PipelineJob {
  bool gathers = true;  // else it trains
  gnn::Mode mode = gnn::Mode::masked;
  gnn::Store store = gnn::Store::mapped;
  double hot = 0;       // percent, tiered
  int node = 0;         // of its CPUs, and of the table
  int descriptor = -1;  // of the memory that is shared, and its size
  std::uint64_t bytes = 0;
  friend bool operator==(const PipelineJob&, const PipelineJob&) = default;
};
// As words of a command line, and back; throws UsageError for others.
[[nodiscard]] std::vector<std::string> to_words(const PipelineJob& job);
[[nodiscard]] PipelineJob parse_pipeline_job(const std::vector<std::string>& words);

// The memory that the processes share: an Exchange, and behind it the plan; likewise a RankExchange of
// processes that have a GPU each.
inline constexpr std::uint64_t kPlanAt = 16384;
static_assert(sizeof(gnn::Exchange) <= kPlanAt && sizeof(gnn::RankExchange) <= kPlanAt);

// Percents of the GPU's threads.
struct Percents {
  double gather = 10;
  double train = 90;
};

// Both processes. Each call throws as WorkerProcess, of the process whose fault it was.
class PipelineProcesses {
 public:
  // Starts them and waits until they are ready. Of `job` mode, store, hot and node count.
  PipelineProcesses(const gnn::TrainingPlan& plan, const PipelineJob& job, const Percents& percents,
                    const Variables& client, const std::string& program = kOwnProgram);
  // Whoever still waits for the other need not.
  ~PipelineProcesses();
  PipelineProcesses(const PipelineProcesses&) = delete;
  PipelineProcesses& operator=(const PipelineProcesses&) = delete;

  // Multiprocessors of a process: as the driver tells them, and on which its blocks were seen.
  struct Given {
    int told = 0;
    int seen = 0;
    std::uint64_t gpu_bytes = 0;
  };
  [[nodiscard]] const Given& gathering() const noexcept { return gathering_; }
  [[nodiscard]] const Given& training() const noexcept { return training_; }
  // Of both.
  [[nodiscard]] std::uint64_t gpu_bytes() const { return gathering_.gpu_bytes + training_.gpu_bytes; }

  // As of gnn::Pipeline.
  [[nodiscard]] gnn::StageTimes stages();
  struct Run {
    gnn::PipelineRun steps;
    std::vector<double> gather_s;  // of each mini-batch, the other process beside it
    std::vector<double> train_s;
  };
  [[nodiscard]] Run run();

  [[nodiscard]] pid_t gathering_pid() const noexcept { return gatherer_.pid(); }
  [[nodiscard]] pid_t training_pid() const noexcept { return trainer_.pid(); }

 private:
  // Written before any process starts.
  struct Shared {
    explicit Shared(const gnn::TrainingPlan& plan);
    [[nodiscard]] gnn::Exchange& exchange() const { return *reinterpret_cast<gnn::Exchange*>(memory.data()); }
    SharedMemory memory;
  };

  [[nodiscard]] std::vector<double> losses();

  std::uint64_t batches_;
  Shared shared_;
  // The one that trains goes first: it has the other's memory open.
  WorkerProcess gatherer_;
  WorkerProcess trainer_;
  Given gathering_;
  Given training_;
};

// The worker's body, by the words of its job.
[[nodiscard]] std::function<void()> pipeline_worker(const std::vector<std::string>& job);

}  // namespace grainscope::harness

#endif
