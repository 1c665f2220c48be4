#ifndef GRAINSCOPE_BENCHMARKS_TRANSFER_GRAIN_HPP
#define GRAINSCOPE_BENCHMARKS_TRANSFER_GRAIN_HPP

// The ways in which pieces cross the link.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "grainscope/core/units.hpp"
#include "grainscope/transfer/shape.hpp"
#include "grainscope/transfer/transfer.hpp"
#include "harness/benchmark.hpp"

namespace grainscope::harness {

struct GrainMethod {
  const char* name = "";
  transfer::Engine engine = transfer::Engine::copy_engine;
  bool to_gpu = true;
  std::optional<transfer::PageMethod> batch;  // copies that are submitted all at once
  bool pageable = false;                      // the host's memory; else page-locked, mapped or managed
  transfer::PageCall page_call = transfer::PageCall::prefetch;  // of Engine::prefetch

  [[nodiscard]] const char* path() const { return to_gpu ? "host_to_gpu" : "gpu_to_host"; }
};

[[nodiscard]] const std::vector<GrainMethod>& grain_methods();

inline constexpr std::uint64_t kLargestGrain = 64 * kMiB;

// Why no piece of the method is of that grain; empty where it can be.
[[nodiscard]] std::string why_no_grain(const GrainMethod& method, std::uint64_t grain);

// The transfer of all pieces of a grain, its bytes those of the pieces.
[[nodiscard]] transfer::Transfer grain_transfer(const GrainMethod& method, int node, int gpu,
                                                std::uint64_t grain);

// Why the method cannot be used here; empty where it can.
[[nodiscard]] std::string why_not(const Machine& machine, int gpu, const GrainMethod& method);

[[nodiscard]] Explanation explain(const GrainMethod& method,
                                  cuda::MemoryKind memory = cuda::MemoryKind::host_alloc);

}  // namespace grainscope::harness

#endif
