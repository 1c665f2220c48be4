// Gathers by the copy engine: of rows that threads have put side by side before, and of each row by itself.

#include <cuda_runtime_api.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "gpu_gather.hpp"
#include "grainscope/core/sampler.hpp"
#include "grainscope/core/thread_team.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/cuda/check.hpp"
#include "grainscope/system/numa.hpp"

namespace grainscope::gnn {
namespace {

constexpr std::uint64_t kPieceBytes = 4 * kMiB;  // of a buffer: a copy of it runs at the link's rate
constexpr std::uint64_t kMostBehindAGate = 512;  // copies: a stream holds about a thousand

// Threads fill one page-locked buffer while the copy engine empties the other.
class StagedGather final : public GpuGather {
 public:
  StagedGather(FeatureStore& store, RowLists lists, const GatherRequest& request)
      : GpuGather(store, std::move(lists)),
        rows_of_piece_(std::max<std::uint64_t>(1, kPieceBytes / row_bytes())),
        team_(request.threads, current_affinity()) {
    for (std::size_t i = 0; i < kBuffers; ++i) {
      buffers_.push_back(std::make_unique<Staging>(rows_of_piece_ * row_bytes()));
    }
  }

  [[nodiscard]] Timing timing() const override {
    return {Clock::steady, false, "threads that gather into two buffers in turn, and their copies"};
  }

 protected:
  double move(std::size_t list) override {
    stream().synchronize();
    const std::vector<std::uint32_t>& rows = on_host(list);
    const double start_s = steady_now_s();
    std::size_t piece = 0;
    for (std::uint64_t first = 0; first < rows.size(); first += rows_of_piece_, ++piece) {
      const std::uint64_t count = std::min<std::uint64_t>(rows_of_piece_, rows.size() - first);
      Staging& staging = *buffers_[piece % kBuffers];
      if (piece >= kBuffers) {
        staging.free.synchronize();
      }
      auto* filled = static_cast<std::byte*>(staging.memory.data());
      const std::span<const std::uint32_t> asked(rows.data() + first, count);
      team_.run([&](int worker) {
        const Share share = share_of(asked.size(), worker, team_.size());
        copy_rows(store().view(), asked.subspan(share.first, share.last - share.first),
                  filled + share.first * row_bytes());
      });
      cuda::check(cudaMemcpyAsync(out() + first * row_bytes(), filled, count * row_bytes(),
                                  cudaMemcpyHostToDevice, stream().get()),
                  "copy gathered rows to the GPU");
      staging.free.record(stream());
    }
    stream().synchronize();
    return steady_now_s() - start_s;
  }

 private:
  static constexpr std::size_t kBuffers = 2;
  struct Staging {
    explicit Staging(std::uint64_t bytes) : memory(bytes, cuda::PinnedBuffer::Kind::cached) {}
    cuda::PinnedBuffer memory;
    cuda::Event free;  // when its copy has ended
  };

  std::uint64_t rows_of_piece_;
  ThreadTeam team_;
  std::vector<std::unique_ptr<Staging>> buffers_;
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

std::unique_ptr<Gather> make_staged_gather(FeatureStore& store, RowLists lists,
                                           const GatherRequest& request) {
  return std::make_unique<StagedGather>(store, std::move(lists), request);
}

std::unique_ptr<Gather> make_row_dma(FeatureStore& store, RowLists lists) {
  return std::make_unique<RowDma>(store, std::move(lists));
}

}  // namespace grainscope::gnn
