#include "grainscope/transfer/host_copy.hpp"

#include <cuda_runtime_api.h>

#include <string>

#include "grainscope/core/error.hpp"
#include "grainscope/core/pattern.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/cuda/check.hpp"
#include "grainscope/cuda/device.hpp"
#include "grainscope/cuda/memory.hpp"
#include "grainscope/system/cache_flush.hpp"
#include "grainscope/system/host_memory.hpp"
#include "grainscope/system/numa.hpp"
#include "grainscope/system/placement.hpp"
#include "lanes.hpp"

namespace grainscope::transfer {
namespace {

class HostCopyLane final : public Lane {
 public:
  HostCopyLane(const HostCopy& copy, const Topology& topology)
      : Lane(copy.gpu, copy.from_node, copy.bytes),
        flush_(copy.flush),
        source_(topology, {.bytes = copy.bytes, .node = copy.from_node}),
        destination_(topology, {.bytes = copy.bytes, .node = copy.to_node}),
        locked_(destination_.data(), copy.bytes) {
    // With one node there is nowhere else to be.
    if (topology.nodes().size() > 1) {
      verify_placement(source_.data(), copy.bytes, copy.from_node);
      verify_placement(destination_.data(), copy.bytes, copy.to_node);
    }
    grainscope::fill_pattern(source_.as<std::uint32_t>(), words(), kPayload);
    grainscope::fill_pattern(destination_.as<std::uint32_t>(), words(), kPoison);
  }

  void prepare() override {
    if (flush_) {
      flush_cache(source_.data(), bytes(), 1);
      flush_cache(destination_.data(), bytes(), 1);
    }
  }

  void issue(const cuda::Stream& stream) override {
    cuda::check(
        cudaMemcpyAsync(destination_.data(), source_.data(), bytes(), cudaMemcpyHostToHost, stream.get()),
        "copy " + format_bytes(bytes()) + " within the host");
  }

  std::string verify() override {
    expect_payload(grainscope::find_mismatch(destination_.as<std::uint32_t>(), words(), kPayload),
                   "on the host");
    return "every word at the destination, which held other data before";
  }

  // Where the CPU copies, the clock is the host's.
  [[nodiscard]] Conduct conduct() const override { return Conduct::hosted; }
  [[nodiscard]] std::string action() const override { return "one cudaMemcpyAsync from host to host"; }

 private:
  [[nodiscard]] std::uint64_t words() const { return bytes() / sizeof(std::uint32_t); }

  bool flush_;
  HostMemory source_;
  HostMemory destination_;
  cuda::Registration locked_;  // of the destination, and gone before it
};

}  // namespace

std::unique_ptr<Mover> make_host_copy_mover(const HostCopy& copy, const Surroundings& surroundings) {
  if (copy.bytes == 0 || copy.bytes % sizeof(std::uint32_t) != 0) {
    throw UsageError("a copy within the host moves a multiple of 4 bytes, at least 4; not " +
                     std::to_string(copy.bytes));
  }
  const NodeBinding binding(*surroundings.topology, copy.from_node);
  const cuda::DeviceGuard guard(copy.gpu);
  std::vector<MoverLane> lanes;
  lanes.push_back({std::make_unique<HostCopyLane>(copy, *surroundings.topology)});
  return std::make_unique<Mover>(std::move(lanes), surroundings);
}

}  // namespace grainscope::transfer
