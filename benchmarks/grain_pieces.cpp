// grain/pieces: how fast do bytes cross the link when they are asked for in pieces of one size?
//
// Timed: copies, one a piece, in order, all enqueued behind a closed gate; a kernel whose lanes read or write
// whole pieces that lie scattered over as many bytes as are moved, between two events behind a closed gate;
// prefetches, one a piece, between two events on an idle stream.
// Bytes: pieces times their size. Requests in flight by Little's law: rate × latency / request, the request
// of a kernel being a piece, at most 128 bytes, and its latency that of a pointer chase in the same run.
// Source: EMOGI, section 3.3; Hockney's n½ for copies.
// Limits: pieces lie within a span that the GPU's address translation covers; reach/gather goes beyond.

#include <algorithm>
#include <map>
#include <memory>

#include "families.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/cuda/probe.hpp"
#include "transfer_case.hpp"

namespace grainscope::harness {
namespace {

using transfer::Endpoint;
using transfer::Engine;
using transfer::Placement;
using transfer::Transfer;
using transfer::Walk;

constexpr std::uint64_t kSmallestGrain = 32;
constexpr std::uint64_t kLargestGrain = 64 * kMiB;
constexpr std::uint64_t kKernelBytes = 64 * kMiB;  // moved by a kernel in all
constexpr std::uint64_t kMostCopies = 256;         // that a stream takes behind a closed gate
constexpr std::uint64_t kMostPrefetches = 64;
constexpr std::uint64_t kRequestBytes = 128;  // the largest of a kernel
constexpr int kLoadBytes = 16;
constexpr std::uint64_t kChaseBytes = 2 * kMiB;
constexpr int kChases = 9;

const char* const kFamily = "grain/pieces";

struct Method {
  const char* name;
  Engine engine;
  bool to_gpu;
};
constexpr Method kMethods[] = {
    {"copy_engine", Engine::copy_engine, true},   {"copy_engine", Engine::copy_engine, false},
    {"zero_copy_random", Engine::sm, true},       {"kernel_write_random", Engine::sm, false},
    {"managed_prefetch", Engine::prefetch, true}, {"managed_prefetch", Engine::prefetch, false},
};

std::uint64_t smallest_grain(Engine engine) {
  return engine == Engine::prefetch ? 4 * kKiB : kSmallestGrain;
}

Transfer make_transfer(const Method& method, int node, int gpu, std::uint64_t grain) {
  Transfer transfer;
  transfer.engine = method.engine;
  transfer.source = Endpoint::host(Placement::pinned, node);
  transfer.destination = Endpoint::gpu(Placement::device, gpu);
  switch (method.engine) {
    case Engine::sm:
      transfer.source.placement = Placement::mapped;
      transfer.destination.placement = Placement::registers;
      transfer.bytes = std::max(kKernelBytes, grain);
      transfer.walk.pattern = Walk::Pattern::scattered;
      transfer.walk.width_bytes = kLoadBytes;
      transfer.walk.piece_bytes = grain;
      transfer.flush = true;
      break;
    case Engine::prefetch:
      transfer.source.placement = transfer.destination.placement = Placement::managed;
      transfer.piece_bytes = grain;
      transfer.bytes = std::max(grain, std::min(kKernelBytes, grain * kMostPrefetches));
      break;
    default:
      transfer.piece_bytes = grain;
      transfer.bytes = std::max(grain, std::min(kKernelBytes, grain * kMostCopies));
      break;
  }
  if (!method.to_gpu) {
    std::swap(transfer.source, transfer.destination);
  }
  return transfer;
}

// The latency of one load from a node's memory, by GPU and node: measured once a run.
using Latencies = std::map<std::pair<int, int>, double>;

double load_latency_s(const Machine& machine, int gpu, int node) {
  const auto chase = cuda::make_chase({.to = cuda::ChaseSpec::To::host_memory,
                                       .gpu = gpu,
                                       .node = node,
                                       .bytes = kChaseBytes,
                                       .order = Cycle::Order::stride},
                                      machine.topology);
  std::vector<double> seconds;
  seconds.reserve(kChases);
  for (int i = 0; i < kChases; ++i) {
    seconds.push_back(chase->sample() / static_cast<double>(chase->operations()));
  }
  static_cast<void>(chase->verify());
  return summarize(seconds).median;
}

Measurement measure(Session& session, const Transfer& transfer, std::uint64_t grain, Latencies& latencies) {
  Measurement measurement = measure_transfer(session, transfer);
  measurement.operations = transfer.bytes / grain;
  if (transfer.engine == Engine::sm && transfer.to_gpu()) {
    const std::pair path{transfer.gpu(), transfer.node()};
    if (!latencies.contains(path)) {
      latencies[path] = load_latency_s(session.machine(), path.first, path.second);
    }
    const double latency_s = latencies.at(path);
    const double request = static_cast<double>(std::min(grain, kRequestBytes));
    const double rate = static_cast<double>(transfer.bytes) / measurement.samples.summary.median;
    measurement.counters["latency_s"] = latency_s;
    measurement.counters["requests_in_flight"] = rate * latency_s / request;
  }
  return measurement;
}

std::vector<std::uint64_t> grains(const Scope& scope, Engine engine) {
  std::vector<std::uint64_t> chosen;
  const std::uint64_t low = smallest_grain(engine);
  for (std::uint64_t grain = low; grain <= kLargestGrain; grain *= scope.dense() ? 2 : 4) {
    chosen.push_back(grain);
  }
  if (scope.preset == Preset::smoke) {
    return {std::max<std::uint64_t>(low, 128)};
  }
  if (chosen.back() != kLargestGrain) {
    chosen.push_back(kLargestGrain);
  }
  // A kernel's full request has its place on every axis.
  if (engine != Engine::prefetch && std::find(chosen.begin(), chosen.end(), kRequestBytes) == chosen.end()) {
    chosen.push_back(kRequestBytes);
    std::sort(chosen.begin(), chosen.end());
  }
  return chosen;
}

std::vector<Benchmark> list(const Machine& machine, const Scope& scope) {
  std::vector<Benchmark> benchmarks;
  const auto latencies = std::make_shared<Latencies>();
  const Explanation text{
      "how fast bytes cross the link when asked for in pieces of one size",
      "one copy or prefetch a piece, in order, or one kernel over scattered pieces",
      "bandwidth = pieces x grain / median time; requests in flight = rate x latency / request",
      "EMOGI, section 3.3; Little's law; Hockney's half-bandwidth size",
      "the span is small: what address translation does to more is reach/gather"};
  for (const GpuTarget& gpu : scope.gpus) {
    for (const int node : scope.nodes_for(gpu)) {
      for (const Method& method : kMethods) {
        for (const std::uint64_t grain : grains(scope, method.engine)) {
          const Transfer transfer = make_transfer(method, node, gpu.ordinal, grain);
          Benchmark benchmark =
              transfer_benchmark(kFamily,
                                 {{"method", method.name, AxisStyle::bare},
                                  {"path", method.to_gpu ? "host_to_gpu" : "gpu_to_host", AxisStyle::bare},
                                  {"grain", static_cast<std::int64_t>(grain)}},
                                 transfer, gpu, text);
          benchmark.skip_for(method.engine == Engine::sm         ? why_no_mapping(machine, gpu.ordinal)
                             : method.engine == Engine::prefetch ? why_no_migration(machine, gpu.ordinal)
                                                                 : "");
          benchmark.run = [=](Session& session) { return measure(session, transfer, grain, *latencies); };
          benchmarks.push_back(std::move(benchmark));
        }
      }
    }
  }
  return benchmarks;
}

}  // namespace

Family grain_pieces() {
  return {kFamily, "How fast do bytes cross the link when they are asked for in pieces of one size?", list};
}

}  // namespace grainscope::harness
