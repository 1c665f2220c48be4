#include "staged_copy.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>

#include "grainscope/cuda/check.hpp"
#include "staged_rows.hpp"

namespace grainscope::gnn {

class StagedCopy::Engine final : public Outbox {
 public:
  Engine(StagedCopy& of, std::byte* out, const cuda::Stream& stream) : of_(of), out_(out), stream_(stream) {}

  [[nodiscard]] std::size_t buffers() const override { return of_.buffers_.size(); }
  [[nodiscard]] std::byte* buffer(std::size_t which) override {
    return static_cast<std::byte*>(of_.buffers_[which].memory.data());
  }
  [[nodiscard]] bool is_free(std::size_t which) override { return of_.buffers_[which].free.done(); }
  void send(std::size_t which, std::uint64_t first, std::uint64_t count) override {
    const std::uint64_t row_bytes = of_.view_.shape.row_bytes;
    cuda::check(cudaMemcpyAsync(out_ + first * row_bytes, buffer(which), count * row_bytes,
                                cudaMemcpyHostToDevice, stream_.get()),
                "copy gathered rows to the GPU");
    of_.buffers_[which].free.record(stream_);
  }

 private:
  StagedCopy& of_;
  std::byte* out_;
  const cuda::Stream& stream_;
};

StagedCopy::StagedCopy(const TableView& view, int threads, const std::vector<int>& cpus)
    : view_(view),
      rows_of_piece_(std::max<std::uint64_t>(1, kPieceBytes / view.shape.row_bytes)),
      team_(threads, cpus) {
  for (std::size_t i = 0; i < kBuffers; ++i) {
    buffers_.emplace_back(rows_of_piece_ * view.shape.row_bytes);
  }
}

void StagedCopy::enqueue(std::span<const std::uint32_t> rows, std::byte* out, const cuda::Stream& stream) {
  Engine engine(*this, out, stream);
  stage_rows(team_, view_, rows, rows_of_piece_, engine);
}

}  // namespace grainscope::gnn
