#include "transfer_case.hpp"

#include <algorithm>
#include <bit>

#include "grainscope/system/limits.hpp"

namespace grainscope::harness {
namespace {

bool uses_placement(const transfer::Transfer& transfer, transfer::Placement placement) {
  return transfer.source.placement == placement || transfer.destination.placement == placement;
}

bool is_managed(const transfer::Transfer& transfer) {
  return uses_placement(transfer, transfer::Placement::managed) ||
         (transfer.engine == transfer::Engine::sm &&
          transfer.allocation == transfer::Allocation::accessed_by);
}

Needs needs_of(const transfer::Transfer& transfer) {
  if (is_managed(transfer)) {
    return {transfer.bytes, 0, transfer.bytes};
  }
  return {transfer.bytes, transfer.engine == transfer::Engine::sm ? 0 : transfer.bytes, 0};
}

}  // namespace

Benchmark transfer_benchmark(const std::string& family, std::vector<Axis> axes,
                             const transfer::Transfer& transfer, const GpuTarget& gpu,
                             const Explanation& explanation) {
  const int node = transfer.host_end().id;
  axes.push_back({"locality", gpu.locality(node), AxisStyle::hidden});
  axes.push_back({"bytes", static_cast<std::int64_t>(transfer.bytes)});
  Benchmark benchmark;
  benchmark.id = {family, std::move(axes), {{"numa", node}, {"gpu", gpu.ordinal}}};
  benchmark.skip = gpu.unavailable;
  benchmark.needs = needs_of(transfer);
  benchmark.explanation = explanation;
  benchmark.run = [transfer](Session& session) { return measure_transfer(session, transfer); };
  return benchmark;
}

Measurement measure_transfer(Session& session, const transfer::Transfer& transfer) {
  const int gpu = transfer.gpu_end().id;
  Measurement measurement;
  const auto mover = transfer::make_mover(transfer, session.surroundings());
  const auto one_sample = [&] {
    mover->prepare();
    return mover->run();
  };
  measurement.samples = session.sample(one_sample, gpu, measurement);
  measurement.verification = mover->verify();
  measurement.timing = mover->timing();
  mover->annotate(measurement);
  if (transfer.submission_only) {
    measurement.operations = 1;
    return measurement;
  }
  measurement.bytes = transfer.bytes;
  measurement.limit = host_link_limit(session.machine(), gpu);
  measurement.link_peak_gb_s = session.link_peak_gb_s(gpu, transfer.host_end().id, transfer.to_gpu());
  return measurement;
}

std::string why_no_mapping(const Machine& machine, int gpu) {
  if (machine.environment.driver.confidential_computing.value_or(false)) {
    return "confidential computing is on: the GPU cannot map host memory";
  }
  const GpuReport* report = machine.find_gpu(gpu);
  if (report != nullptr && !report->cuda->can_map_host_memory) {
    return "the GPU cannot map host memory (CUDA attribute canMapHostMemory is 0)";
  }
  return {};
}

std::string why_no_migration(const Machine& machine, int gpu) {
  const GpuReport* report = machine.find_gpu(gpu);
  if (report != nullptr && !report->cuda->concurrent_managed_access) {
    return "managed memory does not migrate on demand here (CUDA attribute concurrentManagedAccess is 0)";
  }
  return {};
}

std::uint64_t largest_buffer(const Machine& machine, int gpu) {
  std::uint64_t most =
      machine.environment.memory.available.bytes().value_or(8 * (std::uint64_t{1} << 30)) / 2;
  if (const GpuReport* report = machine.find_gpu(gpu)) {
    most = std::min(most, report->cuda->total_memory_bytes / 2);
  }
  return std::bit_floor(most);
}

}  // namespace grainscope::harness
