#include "grainscope/transfer/host_copy.hpp"

#include <cuda_runtime_api.h>

#include <string>

#include "grainscope/core/error.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/cuda/check.hpp"
#include "grainscope/cuda/device.hpp"
#include "grainscope/system/numa.hpp"
#include "grainscope/transfer/end_memory.hpp"

namespace grainscope::transfer {
namespace {

class HostCopyLane final : public Lane {
 public:
  HostCopyLane(const HostCopy& copy, const Surroundings& surroundings)
      : Lane(copy.gpu, copy.from_node, copy.bytes),
        flush_(copy.flush),
        ends_(Endpoint::host(Placement::pageable, copy.from_node),
              Endpoint::host(Placement::registered, copy.to_node), copy.bytes, surroundings) {
    ends_.fill();
  }

  void prepare() override {
    if (flush_) {
      ends_.source.flush();
      ends_.destination.flush();
    }
  }

  void issue(const cuda::Stream& stream) override {
    cuda::check(cudaMemcpyAsync(ends_.destination.data(), ends_.source.data(), bytes(), cudaMemcpyHostToHost,
                                stream.get()),
                "copy " + format_bytes(bytes()) + " within the host");
  }

  std::string verify() override {
    ends_.destination.expect_payload();
    return "every word at the destination, which held other data before";
  }

  // Where the CPU copies, the clock is the host's.
  [[nodiscard]] Conduct conduct() const override { return Conduct::hosted; }
  [[nodiscard]] bool launches_kernels() const override { return false; }
  [[nodiscard]] std::string action() const override { return "one cudaMemcpyAsync from host to host"; }

 private:
  bool flush_;
  BothEnds ends_;
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
  lanes.push_back({std::make_unique<HostCopyLane>(copy, surroundings)});
  return std::make_unique<Mover>(std::move(lanes), surroundings);
}

}  // namespace grainscope::transfer
