#ifndef GRAINSCOPE_BENCHMARKS_GNN_TRAINING_RANKS_HPP
#define GRAINSCOPE_BENCHMARKS_GNN_TRAINING_RANKS_HPP

// A training pipeline of a process for each GPU: this program as often again, as `grainscope worker rank`,
// and the end that the family holds. The plan and how far each has come lie in memory without a name that all
// of them map, gradients and parts of the table in GPUs' memory (CUDA IPC).

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "grainscope/gnn/pipeline.hpp"
#include "grainscope/gnn/training.hpp"
#include "grainscope/system/child_process.hpp"
#include "worker_process.hpp"

namespace grainscope::harness {

inline constexpr const char* kRankKind = "rank";

// What a worker does.
struct RankJob {
  std::size_t rank = 0;
  gnn::PipelineRequest request;  // but for the threads: each process has its part of the node's CPUs
  int descriptor = -1;           // of the memory that is shared, and its size
  std::uint64_t bytes = 0;
};
// As words of a command line, and back; throws UsageError for others.
[[nodiscard]] std::vector<std::string> to_words(const RankJob& job);
[[nodiscard]] RankJob parse_rank_job(const std::vector<std::string>& words);

// All processes, as one pipeline: stage times and steps are those of the first, losses of all. Each call
// throws as WorkerProcess, of the process whose fault it was.
class TrainingRanks final : public gnn::Pipeline {
 public:
  // Starts them, and waits until they are ready. The plan may go then.
  TrainingRanks(const gnn::TrainingPlan& plan, const gnn::PipelineRequest& request,
                const std::string& program = kOwnProgram);
  // Whoever still waits for another need not.
  ~TrainingRanks() override;

  [[nodiscard]] gnn::PipelineRun run() override;
  [[nodiscard]] gnn::StageTimes stages() override;
  [[nodiscard]] std::uint64_t gpu_bytes() const override { return gpu_bytes_; }  // the most of one
  [[nodiscard]] int gather_sms() const override { return gather_sms_; }
  [[nodiscard]] double fill_s() const override { return fill_s_; }
  [[nodiscard]] std::uint64_t batches() const override { return steps() * ranks_.size(); }
  [[nodiscard]] pid_t pid(std::size_t rank) const { return ranks_[rank]->pid(); }

 private:
  [[nodiscard]] std::uint64_t steps() const { return windows_ * window_; }
  void ask_all(const std::string& word);
  // Of each process, in the order of their ranks.
  [[nodiscard]] std::vector<std::vector<double>> answers_of_all(const std::string& word, std::size_t count,
                                                                double patience_s);
  [[nodiscard]] std::string answer_of(std::size_t rank, const std::string& word, double patience_s);

  std::uint64_t window_;
  std::uint64_t windows_ = 0;
  std::vector<int> gpus_;
  SharedMemory memory_;
  std::vector<std::unique_ptr<WorkerProcess>> ranks_;
  std::uint64_t gpu_bytes_ = 0;
  int gather_sms_ = 0;
  double fill_s_ = 0;
};

// The worker's body, by the words of its job.
[[nodiscard]] std::function<void()> training_rank(const std::vector<std::string>& job);

}  // namespace grainscope::harness

#endif
