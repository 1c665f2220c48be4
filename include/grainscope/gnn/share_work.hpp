#ifndef GRAINSCOPE_GNN_SHARE_WORK_HPP
#define GRAINSCOPE_GNN_SHARE_WORK_HPP

// The two sides that share a GPU while a network is trained: a gather that feeds, and training steps, or
// products of matrices that stand for them. Each runs on a part of the multiprocessors, alone or beside the
// other.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "grainscope/core/operation.hpp"
#include "grainscope/cuda/sm_partition.hpp"
#include "grainscope/gnn/gather.hpp"
#include "grainscope/gnn/training.hpp"

namespace grainscope::gnn {

// Work on one part of a GPU: what a sample times lies between prepare and check.
class ShareWork {
 public:
  virtual ~ShareWork() = default;
  ShareWork(const ShareWork&) = delete;
  ShareWork& operator=(const ShareWork&) = delete;

  // Enqueues what comes before a sample, untimed: overwrites output and cache.
  virtual void prepare() = 0;
  // Enqueues the work of the next sample; does not wait.
  virtual void enqueue() = 0;
  // Enqueues the check of that sample's whole result.
  virtual void check() = 0;
  // Waits. Throws FailedError unless every result was right; says what was checked.
  [[nodiscard]] virtual std::string verify() = 0;

  [[nodiscard]] virtual const cuda::Stream& stream() const = 0;
  [[nodiscard]] virtual int gpu() const = 0;
  // Blocks of its largest grid; 0: nobody bounds them.
  [[nodiscard]] virtual int blocks() const = 0;

 protected:
  ShareWork() = default;
};

// A gather of lists of rows in turn, masked or bulk, with loads of `width` bytes. Store and part outlive it.
// Throws as make_gather; in a build without CUDA SkipError, as all that follows.
[[nodiscard]] std::unique_ptr<ShareWork> make_gather_work(FeatureStore& store, RowLists lists, Mode mode,
                                                          std::uint32_t width, const cuda::SmPartition& part);

// `products` products of square matrices of kProductSide float32, one kernel each, one after another: an own
// kernel with tiles in shared memory, not cuBLAS, since its grid must fit any part. The part outlives it.
inline constexpr int kProductSide = 1024;
[[nodiscard]] std::unique_ptr<ShareWork> make_product_work(int gpu, int products,
                                                           const cuda::SmPartition& part);

// A mini-batch that was sampled and gathered once, on the host, for a step that is repeated on it.
struct FixedBatch {
  TrainingPlan plan;  // of which it is mini-batch 0
  MiniBatch sampled;
  std::vector<float> rows;     // f32[nodes][features]
  std::vector<double> losses;  // of the first steps on it, in double precision
};
// By a plan of one mini-batch; the request's number of them does not count. Throws as plan_training.
[[nodiscard]] std::unique_ptr<FixedBatch> make_fixed_batch(const graph::Csr& in_edges,
                                                           TrainingRequest request);

// `steps` steps of GraphSAGE training, forward, backward and SGD, on that mini-batch again and again, from
// the first parameters in each sample. Grids are cuBLAS's and the aggregation's own: of a grid cap nothing
// binds them. More steps than kMostSteps would fill the queue behind a closed gate. Batch and part outlive
// it. Throws FailedError where the losses of its first steps are not the batch's, within 2e-5.
inline constexpr int kMostSteps = 16;
[[nodiscard]] std::unique_ptr<ShareWork> make_step_work(int gpu, const FixedBatch& batch, int steps,
                                                        const cuda::SmPartition& part);

// One sample of a side: seconds between two events around its work; and, on the clock of steady_now_s, which
// all processes of a machine share, when the gate was about to open, when it surely had, and when the work
// had ended.
struct ShareTimes {
  double seconds = 0;
  double begun_s = 0;
  double opened_s = 0;
  double ended_s = 0;
};

// One side alone, or several of a GPU at once, behind one gate: seconds from the first's beginning to the
// last's end. Then each is checked, one after the other, so that no check runs beside another side's.
class SharedRun final : public Operation {
 public:
  // The works outlive it.
  explicit SharedRun(std::vector<ShareWork*> works);
  // Opens the gate if it is still closed.
  ~SharedRun() override;

  void prepare() override;
  double run() override;
  std::string verify() override;
  [[nodiscard]] Timing timing() const override;
  // From the opening of the gate to the end of all.
  [[nodiscard]] std::optional<double> around_s(double run_s) const override;
  // Of each side in the sample before.
  [[nodiscard]] const std::vector<double>& seconds() const;

  // In two steps, for sides that are processes of their own: prepares and enqueues behind a closed gate; then
  // opens it at a moment of the steady clock, or at once where that is past: see `opened_s`.
  void get_ready();
  [[nodiscard]] ShareTimes run_at(double start_s);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace grainscope::gnn

#endif
