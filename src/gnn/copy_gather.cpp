// Gathers by the copy engine: of rows that threads have put side by side before, and of each row by itself.

#include <cuda_runtime_api.h>

#include <utility>

#include "gpu_gather.hpp"
#include "grainscope/core/sampler.hpp"
#include "grainscope/cuda/check.hpp"
#include "grainscope/system/numa.hpp"
#include "staged_copy.hpp"

namespace grainscope::gnn {
namespace {

constexpr std::uint64_t kMostBehindAGate = 512;  // copies: a stream holds about a thousand

class StagedGather final : public GpuGather {
 public:
  StagedGather(FeatureStore& store, RowLists lists, const GatherRequest& request)
      : GpuGather(store, std::move(lists)), copy_(store.view(), request.threads, current_affinity()) {}

  [[nodiscard]] Timing timing() const override {
    return {Clock::steady, false, "threads that gather into buffers, and the buffers' copies beside them"};
  }

 protected:
  double move(std::size_t list) override {
    const OnCpu placed(copy_.callers_cpu());
    stream().synchronize();
    const double start_s = steady_now_s();
    copy_.enqueue(on_host(list), out(), stream());
    stream().synchronize();
    return steady_now_s() - start_s;
  }

 private:
  StagedCopy copy_;
};

class RowDma final : public GpuGather {
 public:
  RowDma(FeatureStore& store, RowLists lists) : GpuGather(store, std::move(lists)) {}

  [[nodiscard]] Timing timing() const override {
    return {Clock::event, gated(), "a copy for each row between two events"};
  }

 protected:
  double move(std::size_t list) override {
    if (gated()) {
      return stopwatch().time_s(stream(), [&] { enqueue(list); });
    }
    // Too many for a gate: submitted to an idle stream, each submission about as dear as its copy.
    stream().synchronize();
    start_.record(stream());
    enqueue(list);
    stop_.record(stream());
    stop_.synchronize();
    return cuda::elapsed_s(start_, stop_);
  }

 private:
  [[nodiscard]] bool gated() const { return count() <= kMostBehindAGate; }

  void enqueue(std::size_t list) const {
    std::byte* to = out();
    for (const std::uint32_t row : on_host(list)) {
      cuda::check(
          cudaMemcpyAsync(to, store().view().row(row), row_bytes(), cudaMemcpyHostToDevice, stream().get()),
          "copy a row to the GPU");
      to += row_bytes();
    }
  }

  cuda::Event start_;
  cuda::Event stop_;
};

}  // namespace

std::unique_ptr<Operation> make_staged_gather(FeatureStore& store, RowLists lists,
                                              const GatherRequest& request) {
  return std::make_unique<StagedGather>(store, std::move(lists), request);
}

std::unique_ptr<Operation> make_row_dma(FeatureStore& store, RowLists lists) {
  return std::make_unique<RowDma>(store, std::move(lists));
}

}  // namespace grainscope::gnn
