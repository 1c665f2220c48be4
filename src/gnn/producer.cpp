#include "producer.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>

#include "gathers.hpp"
#include "grainscope/core/thread_team.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/cuda/check.hpp"
#include "grainscope/cuda/memory.hpp"
#include "grainscope/gnn/gather_kernel.hpp"
#include "grainscope/system/numa.hpp"

namespace grainscope::gnn {
namespace {

// One kernel, with a sort before it where the mode has one.
class KernelProducer final : public Producer {
 public:
  KernelProducer(const TableView& view, const PipelineRequest& request, int gpu, int sms, std::uint64_t most)
      : kernel_(view, request.mode, width_of(request.mode, view.shape.row_bytes), gpu,
                blocks_of(request, gpu, sms), sms) {
    if (sorts(request.mode)) {
      order_ = std::make_unique<AddressOrder>(gpu, most, view.shape.rows);
      constexpr std::uint64_t kListsOfASort = 5;
      gpu_bytes_ = kListsOfASort * most * sizeof(std::uint32_t);
    }
  }

  void enqueue(const std::uint32_t* rows, std::uint64_t count, std::byte* out,
               const cuda::Stream& stream) override {
    kernel_.launch(
        order_ != nullptr ? order_->sort(rows, count, out, stream) : GatherLists{rows, nullptr, count, out},
        stream);
  }
  [[nodiscard]] std::uint64_t gpu_bytes() const override { return gpu_bytes_; }

 private:
  // naive and circular_shift load an element; the others what is widest.
  static std::uint32_t width_of(Mode mode, std::uint32_t row_bytes) {
    return mode == Mode::naive || mode == Mode::circular_shift ? sizeof(float) : widest_load(mode, row_bytes);
  }

  // Beside other stages one for two multiprocessors fills the link; 0: as many as there is room for.
  static int blocks_of(const PipelineRequest& request, int gpu, int sms) {
    return sms > 0 || !crosses_link(request.store) ? 0 : std::max(1, cuda::sm_count(gpu) / 2);
  }

  GatherKernel kernel_;
  std::unique_ptr<AddressOrder> order_;
  std::uint64_t gpu_bytes_ = 0;
};

// Threads fill two page-locked buffers in turn, which the copy engine empties.
class StagedProducer final : public Producer {
 public:
  StagedProducer(const TableView& view, int threads, std::uint64_t most)
      : view_(view),
        rows_of_piece_(std::max<std::uint64_t>(1, kPieceBytes / view.shape.row_bytes)),
        list_(most * sizeof(std::uint32_t), cuda::PinnedBuffer::Kind::cached),
        team_(threads, current_affinity()) {}

  void enqueue(const std::uint32_t* rows, std::uint64_t count, std::byte* out,
               const cuda::Stream& stream) override {
    // Not behind the copies of rows that the stream still has.
    cuda::check(cudaMemcpyAsync(list_.data(), rows, count * sizeof(std::uint32_t), cudaMemcpyDeviceToHost,
                                lists_.get()),
                "copy a list of rows to the host");
    lists_.synchronize();
    const std::span<const std::uint32_t> asked(static_cast<const std::uint32_t*>(list_.data()), count);
    const std::uint64_t row_bytes = view_.shape.row_bytes;
    for (std::uint64_t first = 0; first < count; first += rows_of_piece_) {
      Staging& staging = staging_[piece_++ % staging_.size()];
      staging.free.synchronize();
      const auto piece = asked.subspan(first, std::min<std::uint64_t>(rows_of_piece_, count - first));
      auto* const filled = static_cast<std::byte*>(staging.memory.data());
      team_.run([&](int worker) {
        const Share share = share_of(piece.size(), worker, team_.size());
        copy_rows(view_, piece.subspan(share.first, share.last - share.first),
                  filled + share.first * row_bytes);
      });
      cuda::check(cudaMemcpyAsync(out + first * row_bytes, filled, piece.size() * row_bytes,
                                  cudaMemcpyHostToDevice, stream.get()),
                  "copy gathered rows to the GPU");
      staging.free.record(stream);
    }
  }
  [[nodiscard]] std::uint64_t gpu_bytes() const override { return 0; }

 private:
  static constexpr std::uint64_t kPieceBytes = 4 * kMiB;  // a copy of it runs at the link's rate
  struct Staging {
    explicit Staging(std::uint64_t bytes) : memory(bytes, cuda::PinnedBuffer::Kind::cached) {}
    cuda::PinnedBuffer memory;
    cuda::Event free;  // when its copy has ended
  };

  TableView view_;
  std::uint64_t rows_of_piece_;
  cuda::PinnedBuffer list_;
  cuda::Stream lists_;
  ThreadTeam team_;
  std::array<Staging, 2> staging_{Staging(rows_of_piece_ * view_.shape.row_bytes),
                                  Staging(rows_of_piece_* view_.shape.row_bytes)};
  std::uint64_t piece_ = 0;
};

}  // namespace

std::unique_ptr<Producer> make_producer(const TableView& view, const PipelineRequest& request, int gpu,
                                        int sms, std::uint64_t most) {
  if (request.mode == Mode::cpu_gather_dma) {
    return std::make_unique<StagedProducer>(view, request.threads, most);
  }
  return std::make_unique<KernelProducer>(view, request, gpu, sms, most);
}

}  // namespace grainscope::gnn
