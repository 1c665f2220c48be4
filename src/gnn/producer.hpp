#ifndef GRAINSCOPE_SRC_GNN_PRODUCER_HPP
#define GRAINSCOPE_SRC_GNN_PRODUCER_HPP

// The second stage of a pipeline on a GPU: rows of a window of mini-batches into a buffer.

#include <cstdint>
#include <memory>

#include "grainscope/cuda/device.hpp"
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

}  // namespace grainscope::gnn

#endif
