// Which transfers can be at all.

#include <bit>
#include <string>

#include "grainscope/core/error.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/transfer/lane.hpp"
#include "grainscope/transfer/transfer.hpp"

namespace grainscope::transfer {
namespace {

constexpr int kLine = 128;
constexpr int kWarp = 32;
constexpr int kMostThreads = 1024;  // of a block

int ends_that_are(Placement placement, const Transfer& transfer) {
  return (transfer.source.placement == placement ? 1 : 0) +
         (transfer.destination.placement == placement ? 1 : 0);
}

// Between GPUs the driver takes a copy through the host where neither may reach the other's memory.
bool is_staged(const Transfer& transfer) {
  return transfer.between_gpus() && !transfer.within_gpu() && !transfer.peer_access;
}

void require_memory_of_its_side(const Endpoint& end) {
  const bool of_gpu = end.placement == Placement::device || end.placement == Placement::registers;
  if (end.on_host() && of_gpu) {
    throw UsageError(std::string(name(end.placement)) +
                     (end.placement == Placement::device ? " memory is" : " are") +
                     " on a GPU; memory of the host is pageable, pinned, registered, write_combined, mapped "
                     "or managed");
  }
  if (!end.on_host() && !of_gpu && end.placement != Placement::managed) {
    throw UsageError(std::string(name(end.placement)) +
                     " memory is on the host; a GPU has device memory, managed memory and registers");
  }
}

void require_engine_that_reaches(const Transfer& transfer) {
  const int registers = ends_that_are(Placement::registers, transfer);
  const int managed = ends_that_are(Placement::managed, transfer);
  if (registers > 1 || (registers == 1 && transfer.engine != Engine::sm)) {
    throw UsageError("only a kernel (sm) moves bytes to or from registers, and memory is at its other end");
  }
  if (transfer.migrates() && managed != 2) {
    throw UsageError("a fault or a prefetch moves pages of managed memory: both ends must be managed");
  }
  if (!transfer.migrates() && managed > 0) {
    throw UsageError(
        "managed memory moves by fault or prefetch: for a copy or a kernel its pages lie wherever they were "
        "used last");
  }
  if (transfer.engine == Engine::sm && ends_that_are(Placement::pageable, transfer) > 0) {
    throw UsageError(
        "a kernel cannot address pageable memory: page-lock it (pinned, registered) or map it (mapped)");
  }
  if (transfer.allocation != Allocation::host_alloc &&
      (registers == 0 || ends_that_are(Placement::mapped, transfer) == 0)) {
    throw UsageError(
        "only mapped memory that a kernel reads into registers, or writes from them, is made in several "
        "ways");
  }
}

void require_issuer(const Transfer& transfer) {
  if (transfer.migrates() && transfer.within_gpu()) {
    throw UsageError("managed memory that lives on GPU " + std::to_string(transfer.source.id) +
                     " has nowhere to go there: nothing would move");
  }
  if (transfer.migrates() && transfer.by_source) {
    throw UsageError("managed pages come to the GPU that touches them: the source cannot send them");
  }
  if (!transfer.peer_access && !is_staged(transfer)) {
    throw UsageError("peer access is between two GPUs: this transfer has no use for it");
  }
  if (!transfer.peer_access && transfer.engine != Engine::copy_engine) {
    throw UsageError("without peer access only copies go between GPUs: write copy_engine");
  }
  const bool from_registers = transfer.source.placement == Placement::registers;
  if (transfer.between_gpus() && !transfer.within_gpu() && transfer.walks() &&
      from_registers != transfer.by_source) {
    throw UsageError("the GPU that has the registers runs the kernel: the other cannot issue it");
  }
}

// What stands at a closed gate is only work that the GPU does without the CPU, and no more than a stream
// takes.
void require_place_at_gate(const Transfer& transfer) {
  const bool alone =
      !transfer.migrates() && !is_staged(transfer) && ends_that_are(Placement::pageable, transfer) == 0;
  if (transfer.submission_only && !alone) {
    throw UsageError(
        "submission is timed while the work waits at a closed gate: only kernels and copies without pageable "
        "memory can, which the GPU carries out alone");
  }
  if (alone && transfer.piece_bytes > 0 && (transfer.bytes - 1) / transfer.piece_bytes >= kMostBehindGate) {
    throw UsageError("a stream takes " + std::to_string(kMostBehindGate) +
                     " copies that wait at a closed gate; " + format_bytes(transfer.bytes) +
                     " in pieces of " + format_bytes(transfer.piece_bytes) + " are more");
  }
}

void require_possible_walk(const Transfer& transfer) {
  const Walk& walk = transfer.walk;
  const bool width_known = walk.width_bytes == 4 || walk.width_bytes == 8 || walk.width_bytes == 16;
  if (walk.blocks < 0 || walk.threads < kWarp || walk.threads > kMostThreads || walk.threads % kWarp != 0) {
    throw UsageError("a block has whole warps of 32 threads, 1024 threads at most; not " +
                     std::to_string(walk.threads));
  }
  if (!width_known) {
    throw UsageError("an access is 4, 8 or 16 bytes wide, not " + std::to_string(walk.width_bytes));
  }
  if (walk.offset_bytes < 0 || walk.offset_bytes >= kLine || walk.offset_bytes % walk.width_bytes != 0 ||
      transfer.bytes % kLine != 0) {
    throw UsageError(
        "a walk begins at a multiple of its width below 128 bytes and covers whole 128-byte chunks; not "
        "offset " +
        std::to_string(walk.offset_bytes) + ", width " + std::to_string(walk.width_bytes) + ", " +
        std::to_string(transfer.bytes) + " bytes");
  }
  if (walk.pattern == Walk::Pattern::scattered &&
      (!std::has_single_bit(walk.piece_bytes) || !std::has_single_bit(transfer.bytes) ||
       walk.piece_bytes < static_cast<std::uint64_t>(walk.width_bytes) || walk.piece_bytes > transfer.bytes ||
       walk.offset_bytes != 0)) {
    throw UsageError("a scattered walk covers a power of two of bytes in pieces that are a smaller one, at " +
                     std::to_string(walk.width_bytes) + " bytes least; not " +
                     std::to_string(transfer.bytes) + " in pieces of " + std::to_string(walk.piece_bytes));
  }
}

// A warp reads 16 bytes a lane, and pages are the host's before.
void require_possible_pieces(const Transfer& transfer) {
  constexpr std::uint64_t kLoad = 16;
  if (transfer.engine != Engine::fault) {
    throw UsageError("only pieces that the GPU reads on demand lie apart");
  }
  if (!transfer.source.on_host() || !transfer.to_gpu()) {
    throw UsageError("pieces on demand come from the host to a GPU");
  }
  if (transfer.piece_bytes == 0 || transfer.piece_bytes % kLoad != 0 ||
      transfer.bytes % transfer.piece_bytes != 0 || transfer.stride_bytes % kLoad != 0 ||
      transfer.stride_bytes < transfer.piece_bytes) {
    throw UsageError("pieces on demand are multiples of 16 bytes, whole, and do not overlap; not " +
                     std::to_string(transfer.bytes) + " in pieces of " +
                     std::to_string(transfer.piece_bytes) + " that begin " +
                     std::to_string(transfer.stride_bytes) + " apart");
  }
  if (transfer.bytes / transfer.piece_bytes > kMostBytes / transfer.stride_bytes) {
    throw UsageError("pieces that far apart lie in more than 1 PiB, which no machine has");
  }
}

}  // namespace

void require_possible(const Transfer& transfer) {
  require_memory_of_its_side(transfer.source);
  require_memory_of_its_side(transfer.destination);
  if (transfer.source.on_host() && transfer.destination.on_host()) {
    throw UsageError(
        "a transfer has a GPU at one end at least: bytes that stay on the host cross no link, and its CPUs "
        "move them");
  }
  require_engine_that_reaches(transfer);
  require_issuer(transfer);
  if (transfer.bytes == 0 || transfer.bytes % sizeof(std::uint32_t) != 0 || transfer.bytes > kMostBytes) {
    throw UsageError("a transfer moves a multiple of 4 bytes, from 4 to 1 PiB; not " +
                     std::to_string(transfer.bytes));
  }
  if (transfer.piece_bytes % sizeof(std::uint32_t) != 0 || transfer.piece_bytes > transfer.bytes ||
      (transfer.engine == Engine::sm && transfer.piece_bytes > 0)) {
    throw UsageError(
        "copies and prefetches move pieces of a multiple of 4 bytes, no larger than the whole; not " +
        std::to_string(transfer.piece_bytes));
  }
  require_place_at_gate(transfer);
  if (transfer.stride_bytes > 0 || (transfer.engine == Engine::fault && transfer.piece_bytes > 0)) {
    require_possible_pieces(transfer);
  }
  if (transfer.walks()) {
    require_possible_walk(transfer);
  }
}

}  // namespace grainscope::transfer
