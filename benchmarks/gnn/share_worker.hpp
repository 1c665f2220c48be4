#ifndef GRAINSCOPE_BENCHMARKS_GNN_SHARE_WORKER_HPP
#define GRAINSCOPE_BENCHMARKS_GNN_SHARE_WORKER_HPP

// A share of the multiprocessors in a process of its own, as a client of MPS, and what sm_share/split
// computes beside the gather: products of matrices, or real training steps.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "claim_cache.hpp"
#include "grainscope/cuda/sm_partition.hpp"
#include "grainscope/gnn/share_work.hpp"
#include "grainscope/system/child_process.hpp"
#include "worker_process.hpp"

namespace grainscope::harness {

enum class Consumer { products, graphsage };
inline constexpr Consumer kConsumers[] = {Consumer::products, Consumer::graphsage};
// As it stands in case names.
[[nodiscard]] constexpr const char* name(Consumer consumer) {
  return consumer == Consumer::products ? "products" : "graphsage";
}

// As sentences have it.
[[nodiscard]] constexpr const char* spoken(Consumer consumer) {
  return consumer == Consumer::products ? "products of matrices" : "training steps of GraphSAGE";
}

// The mini-batch on which steps are repeated, the same in every process; rows of a KiB, as the gather's.
[[nodiscard]] std::unique_ptr<gnn::FixedBatch> make_share_batch();
// Host memory that it takes, about, and of the GPU's.
inline constexpr std::uint64_t kShareBatchBytes = std::uint64_t{512} << 20;
// One for the cases that train.
using FixedBatchCache = ClaimCache<int, gnn::FixedBatch>;

// As many of them at most in a sample.
[[nodiscard]] int most_of(Consumer consumer);
// So many of them in a sample; `batch` of training steps.
[[nodiscard]] std::unique_ptr<gnn::ShareWork> make_consumer(Consumer consumer, int gpu, int count,
                                                            const gnn::FixedBatch* batch,
                                                            const cuda::SmPartition& part);

// One side of a shared GPU as a process of its own, a client of MPS: this program once more, as
// `grainscope worker share`, and the end of it that the family holds.

inline constexpr const char* kShareKind = "share";

// What a worker does, and with how much of the GPU that its daemon shows it.
struct ShareJob {
  cuda::ShareBy by = cuda::ShareBy::mps_percentage;
  int sms = 0;           // exec_affinity
  double percent = 100;  // mps_percentage
  int node = 0;          // of its CPUs, and of the table
  // It gathers:
  gnn::Mode mode = gnn::Mode::masked;
  std::uint32_t width = 0;  // bytes of a load; 0: it computes
  std::uint32_t row_bytes = 0;
  std::uint64_t rows = 0;
  std::uint64_t span_bytes = 0;
  // It multiplies:
  int products = 0;
  // It trains:
  int steps = 0;

  friend bool operator==(const ShareJob&, const ShareJob&) = default;
};
// As words of a command line, and back; throws UsageError for others.
[[nodiscard]] std::vector<std::string> to_words(const ShareJob& job);
[[nodiscard]] ShareJob parse_share_job(const std::vector<std::string>& words);

// The variables by which a client gets its share, beside those of its daemon.
[[nodiscard]] Variables share_variables(const ShareJob& job);

// A worker that runs. Each call throws as WorkerProcess.
class ShareWorker {
 public:
  // Starts it and waits until it is ready. `program` has the sub-command.
  ShareWorker(const ShareJob& job, const Variables& client, const std::string& program = kOwnProgram);
  // Multiprocessors: as the driver tells them to the worker, and on which its blocks were seen.
  [[nodiscard]] int given_sms() const noexcept { return given_sms_; }
  [[nodiscard]] int seen_sms() const noexcept { return seen_sms_; }

  // Seconds of one sample alone.
  [[nodiscard]] double alone();
  // In steps, so that several workers begin at one moment of the steady clock.
  void ask_to_get_ready() { process_.ask("ready"); }
  void wait_until_ready() { process_.answer("ready"); }
  void ask_to_run_at(double start_s);
  [[nodiscard]] gnn::ShareTimes times();
  [[nodiscard]] std::string verify();

  [[nodiscard]] pid_t pid() const noexcept { return process_.pid(); }

 private:
  WorkerProcess process_;
  int given_sms_ = 0;
  int seen_sms_ = 0;
};

// Both at once: from the first gate's opening to the last one's end, and each side's own times.
struct SidesTimes {
  double seconds = 0;
  gnn::ShareTimes first;
  gnn::ShareTimes second;
};
// Where one began more than 50 us late both run once more. Throws FailedError where that goes on.
[[nodiscard]] SidesTimes run_together(ShareWorker& first, ShareWorker& second);

// The worker's body, by the words of its job.
[[nodiscard]] std::function<void()> share_worker(const std::vector<std::string>& job);

}  // namespace grainscope::harness

#endif
