// Many small copies as a lane: timed by the host's clock, since submitting them is half of their price.

#include "grainscope/transfer/batch_copy.hpp"
#include "shape_lane.hpp"

namespace grainscope::transfer {
namespace {

class BatchLane final : public ShapeLane<BatchCopy, BatchEnds> {
 public:
  BatchLane(const BatchCopy& copy, const Surroundings& surroundings)
      : ShapeLane(copy, copy.batch.bytes(), surroundings),
        copier_(make_piece_copier(copy.method, ends().pieces(copy.method == BatchMethod::kernel))) {}

  void issue(const cuda::Stream& stream) override { copier_->issue(stream); }

  [[nodiscard]] Conduct conduct() const override { return Conduct::hosted; }

  [[nodiscard]] bool launches_kernels() const override { return copy().method == BatchMethod::kernel; }

  [[nodiscard]] std::string action() const override {
    switch (copy().method) {
      case BatchMethod::one_by_one:
        return "one cudaMemcpyAsync a piece";
      case BatchMethod::batch:
        return "one cudaMemcpyBatchAsync";
      case BatchMethod::graph:
        return "one launch of a graph of copies";
      case BatchMethod::kernel:
        return "one kernel that copies all pieces";
    }
    return {};
  }

 private:
  std::unique_ptr<PieceCopier> copier_;
};

}  // namespace

std::unique_ptr<Mover> make_batch_mover(const BatchCopy& copy, const Surroundings& surroundings) {
  require_possible(copy.batch);
  return make_shape_mover(copy, surroundings, [](const BatchCopy& batch, const Surroundings& around) {
    return std::make_unique<BatchLane>(batch, around);
  });
}

}  // namespace grainscope::transfer
