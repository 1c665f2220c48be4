// Many small copies as a lane: timed by the host's clock, since submitting them is half of their price.

#include <utility>

#include "grainscope/core/error.hpp"
#include "grainscope/cuda/device.hpp"
#include "grainscope/system/numa.hpp"
#include "grainscope/transfer/batch_copy.hpp"
#include "grainscope/transfer/lane.hpp"
#include "peer_reach.hpp"

namespace grainscope::transfer {
namespace {

class BatchLane final : public Lane {
 public:
  BatchLane(const BatchCopy& copy, const Topology& topology)
      : Lane(copy.gpu(), copy.node(), copy.batch.bytes()),
        method_(copy.method),
        reach_(copy.source, copy.destination),
        ends_(copy, topology),
        copier_(make_piece_copier(copy.method, ends_.pieces(copy.method == BatchMethod::kernel))) {
    // Once untimed, so that nothing is loaded or set up in the first sample; then the ends are filled.
    const cuda::Stream stream;
    copier_->issue(stream);
    stream.synchronize();
    ends_.fill();
  }

  void issue(const cuda::Stream& stream) override { copier_->issue(stream); }

  std::string verify() override {
    ends_.expect_moved();
    return "every byte of every piece at the destination, which held other data before, and that every byte "
           "between and around the pieces still does";
  }

  [[nodiscard]] Conduct conduct() const override { return Conduct::hosted; }

  [[nodiscard]] std::string action() const override {
    switch (method_) {
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
  BatchMethod method_;
  PeerReach reach_;
  BatchEnds ends_;
  std::unique_ptr<PieceCopier> copier_;
};

std::unique_ptr<Lane> make_batch_lane(const BatchCopy& copy, const Topology& topology) {
  const NodeBinding binding(topology, copy.node());
  const cuda::DeviceGuard guard(copy.gpu());
  return std::make_unique<BatchLane>(copy, topology);
}

}  // namespace

std::unique_ptr<Mover> make_batch_mover(const BatchCopy& copy, const Surroundings& surroundings) {
  require_possible(copy.batch);
  if (copy.source.on_host() && copy.destination.on_host()) {
    throw UsageError("pieces are copied to or from a GPU, not from host to host");
  }
  std::vector<MoverLane> lanes;
  lanes.push_back({make_batch_lane(copy, *surroundings.topology)});
  return std::make_unique<Mover>(std::move(lanes), surroundings);
}

}  // namespace grainscope::transfer
