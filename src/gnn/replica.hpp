#ifndef GRAINSCOPE_SRC_GNN_REPLICA_HPP
#define GRAINSCOPE_SRC_GNN_REPLICA_HPP

// One GPU of a pipeline, and its second stage: the producer, which gathers rows of a window of mini-
// batches into a buffer.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "gpu_tables.hpp"
#include "grainscope/cuda/device.hpp"
#include "grainscope/cuda/memory.hpp"
#include "grainscope/cuda/sm_partition.hpp"
#include "grainscope/gnn/cuda_sage.hpp"
#include "grainscope/gnn/gpu_sampling.hpp"
#include "grainscope/gnn/pipeline.hpp"
#include "grainscope/gnn/table.hpp"

namespace grainscope::gnn {

class Producer {
 public:
  virtual ~Producer() = default;
  Producer(const Producer&) = delete;
  Producer& operator=(const Producer&) = delete;
  // Puts on the stream what brings `count` rows, named in u32[count] `rows` (device), to `out` (device). What
  // threads of the host do for it they do before it returns; for them `rows` is there already when it is
  // called: whoever calls has waited for how many there are, and windows of several are for kernels alone.
  virtual void enqueue(const std::uint32_t* rows, std::uint64_t count, std::byte* out,
                       const cuda::Stream& stream) = 0;
  // Where the thread that enqueues belongs beside threads of the host's; −1: anywhere.
  [[nodiscard]] virtual int callers_cpu() const { return -1; }
  [[nodiscard]] virtual std::uint64_t gpu_bytes() const = 0;

 protected:
  Producer() = default;
};

// Whether a producer of this mode has threads of the host gather, and so returns when they have.
[[nodiscard]] inline bool gathers_on_host(Mode mode) {
  return mode == Mode::cpu_gather_dma;
}

// On `gpu`, which is current and one of the request's, with `sms` multiprocessors to itself (0: none); for up
// to `most` rows at once. Of several GPUs each has its part of the request's threads, on its part of the
// CPUs. The view is copied.
[[nodiscard]] std::unique_ptr<Producer> make_producer(const TableView& view, const PipelineRequest& request,
                                                      int gpu, int sms, std::uint64_t most);

// What a step needs of a GPU that trains along, in this process or in another.
struct Fellow {
  const float* gradient = nullptr;
  const cuda::Event* ready = nullptr;    // behind its gradient
  const cuda::Event* updated = nullptr;  // behind its update
};

// Of a replica whose fellows are in other processes: what it writes where they read, and their parts of a
// table.
struct Shared {
  float* gradient = nullptr;
  cuda::Event ready;
  cuda::Event updated;
  std::array<const std::byte*, kMostGpus> parts{};
};

// One GPU of a pipeline: its graph, table, buffers, model, and a stream for each stage. Windows of
// mini-batches take turns with three sets of sampled lists (one drawn, one gathered, one trained on) and two
// buffers of rows.
class Replica {
 public:
  static constexpr std::uint64_t kRowBuffers = 2;

  // Replica number `rank` of those that the request's GPUs make; trains on every mini-batch whose number is
  // `rank` modulo their count. What lies on all GPUs together the first of them has placed, and the others
  // share; it outlives them. With `shared` it is the only one of this process, has all of its threads, and
  // `first` is null.
  Replica(const TrainingPlan& plan, const FeatureTable& table, const PipelineRequest& request,
          std::size_t rank, const Replica* first, const cuda::Surroundings& surroundings,
          Shared* shared = nullptr);

  // All of these enqueue, on the stream of their stage, behind what they need; but for `wait_sizes` and what
  // a producer's threads do they do not wait. One thread may call the first three while another calls those
  // of training, once the gather of a window is enqueued before its gradient, and the gradients of a window
  // before the gather of the next but one and the sampling of the next but two.
  void sample(std::uint64_t window);
  void wait_sizes(std::uint64_t window);  // until the host knows how many rows a sampled window has
  void gather(std::uint64_t window);
  // Where the thread that calls it belongs: Producer::callers_cpu.
  [[nodiscard]] int gatherers_cpu() const { return producer_->callers_cpu(); }
  void gradient(std::uint64_t step);  // of mini-batch `step` of this replica
  // Descends by the mean of all gradients, added up in their order.
  void update(std::uint64_t step, const std::vector<Fellow>& all);
  // Lets no later gradient be written before all have read this one's.
  void follow(const std::vector<Fellow>& all);
  [[nodiscard]] Fellow fellow() const { return {model_->gradient(), &ready_, &updated_}; }

  void reset();  // to the first parameters; waits
  // Before a run: its lanes begin here.
  void begin();
  // Of the run that has ended, which had so many windows.
  [[nodiscard]] std::vector<TimelineLane> lanes(std::uint64_t windows) const;
  // Enqueues a check of a gathered window, of a file's rows waits for it; wrong_elements() has the count of
  // all checks so far, and waits.
  void check_rows(std::uint64_t window);
  [[nodiscard]] std::uint64_t wrong_elements() const;
  [[nodiscard]] std::vector<float> losses(std::uint64_t steps) const { return model_->losses(steps); }

  [[nodiscard]] int gpu() const { return gpu_; }
  [[nodiscard]] const cuda::Stream& sampling() const { return sampling_; }
  [[nodiscard]] const cuda::Stream& gathering() const { return gathering_; }
  [[nodiscard]] const cuda::Stream& training() const { return training_; }
  void synchronize() const;
  [[nodiscard]] std::uint64_t gpu_bytes() const;
  [[nodiscard]] double fill_s() const { return table_.fill_s(); }
  [[nodiscard]] int gather_sms() const { return gather_sms_; }

 private:
  struct Slot {
    std::vector<std::unique_ptr<GpuMiniBatch>> sampled;  // [window]
    cuda::Event trained;                                 // no stage looks at it any more
  };
  struct Rows {
    explicit Rows(int gpu, std::uint64_t bytes) : memory(gpu, bytes) {}
    cuda::DeviceBuffer memory;
    cuda::Event trained;
  };
  // Of a stage's work.
  struct Span {
    cuda::Event begin;
    cuda::Event end;
  };

  [[nodiscard]] Slot& slot(std::uint64_t window) { return slots_[window % slots_.size()]; }
  [[nodiscard]] Rows& rows(std::uint64_t window) { return *rows_[window % rows_.size()]; }
  // Of mini-batch `at` of a window: nodes_upto [hops + 1], edges [hops].
  [[nodiscard]] std::uint64_t* sizes(std::uint64_t window, std::uint64_t at) const;
  [[nodiscard]] std::uint64_t nodes_of(std::uint64_t window, std::uint64_t at) const {
    return sizes(window, at)[hops_];
  }
  [[nodiscard]] std::uint64_t rows_before(std::uint64_t window, std::uint64_t at) const;

  const TrainingPlan& plan_;
  std::size_t rank_;
  std::size_t ranks_;
  int gpu_;
  std::uint64_t window_;
  std::size_t hops_;
  cuda::DeviceGuard guard_;  // for the members below; the constructor's caller restores what was before
  cuda::SmSplit split_;      // the gather's multiprocessors, and the other stages'
  int gather_sms_;           // 0: they share all
  MostOf most_;
  PlacedTable table_;
  std::unique_ptr<PlacedLists> lists_;  // null where the CPU samples
  std::unique_ptr<GpuSampler> sampler_;
  std::unique_ptr<CudaSage> model_;
  std::unique_ptr<Producer> producer_;
  cuda::DeviceBuffer labels_;
  cuda::DeviceBuffer window_list_;  // u32[window × most nodes], of windows of several
  cuda::DeviceBuffer wrong_;        // u64
  std::uint64_t unlike_file_ = 0;   // elements
  cuda::PinnedBuffer sizes_;        // u64[slots][window][2 hops + 1]
  std::array<Slot, 3> slots_;
  std::vector<std::unique_ptr<Rows>> rows_;
  cuda::Stream sampling_ = split_.rest->stream();
  cuda::Stream gathering_ = split_.part->stream();
  cuda::Stream training_ = split_.rest->stream();
  cuda::Event ready_;
  cuda::Event updated_;
  cuda::Event begun_;
  std::vector<Span> sampled_;   // [windows]
  std::vector<Span> gathered_;  // [windows]
  std::vector<Span> trained_;   // [steps]
};

}  // namespace grainscope::gnn

#endif
