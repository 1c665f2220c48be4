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

std::vector<Benchmark> list_local(const Machine& /*machine*/, const Scope& scope) {
  std::vector<Benchmark> benchmarks;
  for (const GpuTarget& gpu : scope.gpus) {
    for (const Engine engine : {Engine::copy_engine, Engine::sm}) {
      for (const std::uint64_t bytes : scope.sizes(64 * kKiB, scope.dense() ? 4 * kGiB : kGiB)) {
        Transfer copy;
        copy.engine = engine;
        copy.source = copy.destination = Endpoint::gpu(Placement::device, gpu.ordinal);
        copy.bytes = bytes;
        copy.staging_node = scope.nearest_node(gpu);
        Benchmark benchmark;
        benchmark.id = {kLocal,
                        {{"method", engine == Engine::sm ? "kernel_copy" : "copy_engine", AxisStyle::bare},
                         {"bytes", static_cast<std::int64_t>(bytes)}},
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
    }
  }
  return benchmarks;
}

std::vector<Benchmark> list_kernel_copy(const Machine& machine, const Scope& scope) {
  std::vector<Benchmark> benchmarks;
  const Explanation text{"how fast a kernel copies between host memory and its GPU's",
                         "one kernel between two events, submitted beforehand behind a closed gate",
                         "bandwidth = bytes / median time",
                         "nvbandwidth, host_to_device_memcpy_sm and device_to_host_memcpy_sm",
                         "one kernel on a full grid; how few multiprocessors do is grain/saturation"};
  for (const GpuTarget& gpu : scope.gpus) {
    for (const int node : scope.nodes_for(gpu)) {
      for (const bool to_gpu : {true, false}) {
        for (const std::uint64_t bytes : scope.sizes(4 * kKiB, 512 * kMiB)) {
          Transfer copy;
          copy.engine = Engine::sm;
          copy.source = Endpoint::host(Placement::pinned, node);
          copy.destination = Endpoint::gpu(Placement::device, gpu.ordinal);
          if (!to_gpu) {
            std::swap(copy.source, copy.destination);
          }
          copy.bytes = bytes;
          copy.flush = true;
          Benchmark benchmark = transfer_benchmark(
              kKernelCopy, {{"path", to_gpu ? "pinned_to_gpu" : "gpu_to_pinned", AxisStyle::bare}}, copy, gpu,
              text);
          benchmark.skip_for(why_no_mapping(machine, gpu.ordinal));
          benchmarks.push_back(std::move(benchmark));
        }
      }
    }
  }
  return benchmarks;
}

}  // namespace

Family transfer_local() {
  return {kLocal, "How fast does a GPU copy within its own memory?", list_local};
}

Family transfer_kernel_copy() {
  return {kKernelCopy, "How fast does a kernel copy between host memory and its GPU's?", list_kernel_copy};
}

}  // namespace grainscope::harness
