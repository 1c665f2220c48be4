#include "grain_method.hpp"

#include <algorithm>
#include <bit>

#include "grainscope/core/units.hpp"
#include "shape_case.hpp"
#include "transfer_case.hpp"

namespace grainscope::harness {
namespace {

using transfer::BatchMethod;
using transfer::Endpoint;
using transfer::Engine;
using transfer::Placement;
using transfer::Transfer;
using transfer::Walk;

constexpr std::uint64_t kSmallestPrefetch = 4 * kKiB;
constexpr std::uint64_t kBytes = 64 * kMiB;  // moved by a kernel in all
constexpr std::uint64_t kMostCopies = 256;   // that a stream takes behind a closed gate
constexpr std::uint64_t kMostPrefetches = 64;
constexpr int kLoadBytes = 16;
// What the driver keeps together: a piece in a block of its own is not brought along by another.
constexpr std::uint64_t kBlockBytes = 2 * kMiB;
constexpr std::uint64_t kDemandSpan = 64 * kMiB;

// Pieces of a size that makes up to `pieces` of them, and no more than `most` bytes unless one piece is more.
std::uint64_t total(std::uint64_t grain, std::uint64_t pieces, std::uint64_t most) {
  return std::max(grain, std::min(most, grain * pieces));
}

}  // namespace

const std::vector<GrainMethod>& grain_methods() {
  static const std::vector<GrainMethod> all{
      {"copy_engine", Engine::copy_engine, true, {}},
      {"copy_engine", Engine::copy_engine, false, {}},
      {"pageable_copy", Engine::copy_engine, true, {}, true},
      {"pageable_copy", Engine::copy_engine, false, {}, true},
      {"batch", Engine::copy_engine, true, BatchMethod::batch},
      {"batch", Engine::copy_engine, false, BatchMethod::batch},
      {"graph", Engine::copy_engine, true, BatchMethod::graph},
      {"graph", Engine::copy_engine, false, BatchMethod::graph},
      {"zero_copy_random", Engine::sm, true, {}},
      {"kernel_write_random", Engine::sm, false, {}},
      {"managed_prefetch", Engine::prefetch, true, {}},
      {"managed_prefetch", Engine::prefetch, false, {}},
      {"managed_demand", Engine::fault, true, {}},
  };
  return all;
}

std::string why_no_grain(const GrainMethod& method, std::uint64_t grain) {
  if (!std::has_single_bit(grain)) {
    return "a piece is a power of two of bytes, not " + std::to_string(grain);
  }
  if (method.engine == Engine::prefetch && grain < kSmallestPrefetch) {
    return "a prefetch moves pages: a piece of it is " + format_bytes(kSmallestPrefetch) + " or more";
  }
  return {};
}

Transfer grain_transfer(const GrainMethod& method, int node, int gpu, std::uint64_t grain) {
  Transfer transfer;
  transfer.engine = method.engine;
  transfer.source = Endpoint::host(Placement::pinned, node);
  transfer.destination = Endpoint::gpu(Placement::device, gpu);
  transfer.piece_bytes = grain;
  switch (method.engine) {
    case Engine::sm:
      transfer.source.placement = Placement::mapped;
      transfer.destination.placement = Placement::registers;
      transfer.bytes = std::max(kBytes, grain);
      transfer.piece_bytes = 0;
      transfer.walk.pattern = Walk::Pattern::scattered;
      transfer.walk.width_bytes = kLoadBytes;
      transfer.walk.piece_bytes = grain;
      transfer.flush = true;
      break;
    case Engine::prefetch:
      transfer.source.placement = transfer.destination.placement = Placement::managed;
      transfer.bytes = total(grain, kMostPrefetches, kBytes);
      break;
    case Engine::fault:
      transfer.source.placement = transfer.destination.placement = Placement::managed;
      transfer.stride_bytes = std::max(grain, kBlockBytes);
      transfer.bytes = kDemandSpan / transfer.stride_bytes * grain;
      break;
    case Engine::copy_engine:
      transfer.source.placement = method.pageable ? Placement::pageable : Placement::pinned;
      transfer.bytes = total(grain, kMostCopies, kBytes);
      break;
  }
  if (!method.to_gpu) {
    std::swap(transfer.source, transfer.destination);
  }
  return transfer;
}

std::string why_not(const Machine& machine, int gpu, const GrainMethod& method) {
  if (method.batch == BatchMethod::batch) {
    return why_no_batch_copy(machine);
  }
  switch (method.engine) {
    case Engine::sm:
      return why_no_mapping(machine, gpu);
    case Engine::prefetch:
    case Engine::fault:
      return why_no_migration(machine, gpu);
    case Engine::copy_engine:
      break;
  }
  return {};
}

Explanation explain(const GrainMethod& method) {
  Explanation text{"how fast bytes cross the link when asked for in pieces of one size",
                   "one copy a piece, in order, all behind a closed gate, between two events",
                   "bandwidth = pieces x grain / median time",
                   "EMOGI, section 3.3; Little's law; Hockney's half-bandwidth size",
                   "the span is small: what address translation does to more is reach/gather"};
  if (method.pageable) {
    text.timed =
        "one copy a piece of pageable memory, in order, from the first call until an event behind the last "
        "copy has completed";
    text.limits +=
        "; timed on the host's clock: the driver copies within the calls, so that none waits at a gate";
  } else if (method.batch) {
    text.timed = std::string(method.batch == BatchMethod::batch ? "one cudaMemcpyBatchAsync"
                                                                : "one launch of a graph of copies") +
                 " of pieces that lie scattered at both ends, from the call until an event behind the last "
                 "copy has completed; what is made beforehand is not timed";
    text.limits += "; timed on the host's clock, unlike copies one by one";
  } else if (method.engine == Engine::sm) {
    text.timed = "one kernel over scattered pieces, behind a closed gate, between two events";
    text.formula += "; requests in flight = rate x latency / request";
  } else if (method.engine == Engine::prefetch) {
    text.timed = "one prefetch a piece, in order, between two events on an idle stream";
  } else if (method.engine == Engine::fault) {
    text.timed =
        "one kernel that reads every word of each piece, behind a closed gate, between two events; each "
        "piece lies in 2 MiB of its own, which live on the host before";
    text.formula +=
        ": the useful bytes; the pages that moved are counted after each sample, in "
        "link_bytes_least and counters.moved_bytes";
    text.limits += "; pieces begin at a block's beginning, 32 at most are asked for at once";
  }
  return text;
}

}  // namespace grainscope::harness
