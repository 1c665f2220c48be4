// Many small copies as a mover: timed by the host's clock, since submitting them is half of their price.

#include <optional>

#include "grainscope/core/error.hpp"
#include "grainscope/system/numa.hpp"
#include "grainscope/transfer/batch_copy.hpp"
#include "peer_access.hpp"
#include "stopwatches.hpp"

namespace grainscope::transfer {
namespace {

class BatchMover final : public Mover {
 public:
  BatchMover(const BatchCopy& copy, const Topology& topology) : copy_(copy), guard_(copy.gpu()) {
    for (const Endpoint* end : {&copy.source, &copy.destination}) {
      if (end->side == Endpoint::Side::host) {
        binding_.emplace(topology, end->id);
      }
    }
    if (copy.between_gpus()) {
      enable_peer_access(copy.source.id, copy.destination.id);
    }
    ends_.emplace(copy, topology);
    copier_ = make_piece_copier(copy.method, ends_->pieces(copy.method == BatchMethod::kernel));
    // Once untimed, so that nothing is loaded or set up in the first sample; then the ends are filled.
    issue(stream_);
    stream_.synchronize();
    ends_->fill();
  }

  void prepare() override {}

  void issue(const cuda::Stream& stream) { copier_->issue(stream); }

  double run() override {
    return stopwatch_.time_s(stream_, [this] { issue(stream_); });
  }

  std::string verify() override {
    stream_.synchronize();
    ends_->expect_moved();
    return "every byte of every piece at the destination, which held other data before, and that every byte "
           "between and around the pieces still does";
  }

  [[nodiscard]] Timing timing() const override {
    return {Clock::steady, false, "from the first call until an event behind the last copy has completed"};
  }

 private:
  BatchCopy copy_;
  std::optional<NodeBinding> binding_;
  cuda::DeviceGuard guard_;
  cuda::Stream stream_;
  std::optional<BatchEnds> ends_;
  std::unique_ptr<PieceCopier> copier_;
  HostStopwatch stopwatch_;
};

}  // namespace

std::unique_ptr<Mover> make_batch_mover(const BatchCopy& copy, const Surroundings& surroundings) {
  require_possible(copy.batch);
  if (copy.source.side == Endpoint::Side::host && copy.destination.side == Endpoint::Side::host) {
    throw UsageError("pieces are copied to or from a GPU, not from host to host");
  }
  return std::make_unique<BatchMover>(copy, *surroundings.topology);
}

}  // namespace grainscope::transfer
