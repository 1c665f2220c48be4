// transfer/local and transfer/kernel_copy: copies within one GPU's memory, and copies between it and the host
// by a kernel instead of a copy engine.
//
// Timed: one copy, or one kernel, between two events behind a closed gate. Bytes: the copy's size, counted
// once, though a copy within a card both reads and writes its memory.
// Source: nvbandwidth's device_local_copy and *_memcpy_sm; Comm|Scope calls the first GPU 0 to GPU 0.
// Limits: below some times the size of the GPU's last-level cache a local copy tells the cache's speed.

#include "families.hpp"
#include "grainscope/core/units.hpp"
#include "transfer_case.hpp"

namespace grainscope::harness {
namespace {

using transfer::Endpoint;
using transfer::Engine;
using transfer::Placement;
using transfer::Transfer;

const char* const kLocal = "transfer/local";
const char* const kKernelCopy = "transfer/kernel_copy";

std::vector<Benchmark> list_local(const Machine& /*machine*/, const Scope& scope, const Grids& grids) {
  std::vector<Benchmark> benchmarks;
  grids.each_gpu([&](const GpuTarget& gpu, const Grid& grid) {
    for (const Values& values : grid.points()) {
      Transfer copy;
      copy.engine = values.is("method", "kernel_copy") ? Engine::sm : Engine::copy_engine;
      copy.source = copy.destination = Endpoint::gpu(Placement::device, gpu.ordinal);
      copy.bytes = values.number("bytes");
      copy.staging_node = scope.nearest_node(gpu);
      Benchmark benchmark;
      benchmark.id = {kLocal,
                      {{"method", values.at("method"), AxisStyle::bare},
                       {"bytes", static_cast<std::int64_t>(copy.bytes)}},
                      {{"gpu", gpu.ordinal}}};
      benchmark.skip = gpu.unavailable;
      benchmark.explanation = {
          "how fast a GPU copies within its own memory",
          "one copy or kernel between two events, behind a closed gate",
          "bandwidth = bytes / median time: bytes count once, memory reads and writes them",
          "nvbandwidth, device_local_copy; Comm|Scope's copies of GPU 0 to GPU 0",
          "small copies are answered by the GPU's last-level cache"};
      carry_out(benchmark, copy);
      benchmarks.push_back(std::move(benchmark));
    }
  });
  return benchmarks;
}

std::vector<Benchmark> list_kernel_copy(const Machine& machine, const Scope& /*scope*/, const Grids& grids) {
  std::vector<Benchmark> benchmarks;
  const Explanation text{"how fast a kernel copies between host memory and its GPU's",
                         "one kernel between two events, submitted beforehand behind a closed gate",
                         "bandwidth = bytes / median time",
                         "nvbandwidth, host_to_device_memcpy_sm and device_to_host_memcpy_sm",
                         "one kernel on a full grid; how few multiprocessors do is grain/saturation"};
  grids.each_gpu_and_node([&](const GpuTarget& gpu, int node, const Grid& grid) {
    for (const Values& values : grid.points()) {
      Transfer copy;
      copy.engine = Engine::sm;
      copy.source = Endpoint::host(Placement::pinned, node);
      copy.destination = Endpoint::gpu(Placement::device, gpu.ordinal);
      if (values.is("path", "gpu_to_pinned")) {
        std::swap(copy.source, copy.destination);
      }
      copy.bytes = values.number("bytes");
      copy.flush = true;
      Benchmark benchmark =
          transfer_benchmark(kKernelCopy, {{"path", values.at("path"), AxisStyle::bare}}, copy, gpu, text);
      benchmark.skip_for(why_no_mapping(machine, gpu.ordinal));
      benchmarks.push_back(std::move(benchmark));
    }
  });
  return benchmarks;
}

}  // namespace

Family transfer_local() {
  return {kLocal,
          "How fast does a GPU copy within its own memory?",
          {word_axis("method", "what copies", {"copy_engine", "kernel_copy"}),
           size_axis("bytes", "bytes copied", {4, 1024 * kGiB})},
          list_local};
}

Family transfer_kernel_copy() {
  return {kKernelCopy,
          "How fast does a kernel copy between host memory and its GPU's?",
          {word_axis("path", "which way", {"pinned_to_gpu", "gpu_to_pinned"}),
           size_axis("bytes", "bytes copied", {4, 1024 * kGiB})},
          list_kernel_copy};
}

}  // namespace grainscope::harness
