#include "grainscope/core/error.hpp"
#include "grainscope/cuda/device.hpp"
#include "grainscope/system/numa.hpp"
#include "lanes.hpp"

namespace grainscope::transfer {

void expect_payload(std::optional<std::uint64_t> mismatch, const char* where) {
  if (mismatch) {
    throw FailedError("wrong result: word " + std::to_string(*mismatch) + " " + where +
                      " does not hold what was sent; the transfer did not move everything");
  }
}

std::unique_ptr<Lane> make_lane(const Transfer& transfer, const Surroundings& surroundings) {
  require_possible(transfer);
  const NodeBinding binding(*surroundings.topology, transfer.node());
  const cuda::DeviceGuard guard(transfer.gpu());
  switch (transfer.engine) {
    case Engine::copy_engine:
      return make_copy_lane(transfer, surroundings);
    case Engine::sm:
      return transfer.walks() ? make_walk_lane(transfer, surroundings)
                              : make_kernel_copy_lane(transfer, surroundings);
    case Engine::fault:
    case Engine::prefetch:
      return make_managed_lane(transfer, surroundings);
  }
  throw UsageError("a transfer names an engine that does not exist");
}

}  // namespace grainscope::transfer
