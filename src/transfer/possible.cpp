// Which transfers can be at all.

#include <bit>
#include <string>

#include "grainscope/core/error.hpp"
#include "grainscope/transfer/transfer.hpp"

namespace grainscope::transfer {
namespace {

constexpr int kLine = 128;

void require_possible_walk(const Transfer& transfer) {
  const Walk& walk = transfer.walk;
  const bool width_known = walk.width_bytes == 4 || walk.width_bytes == 8 || walk.width_bytes == 16;
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
}

}  // namespace

void require_possible(const Transfer& transfer) {
  if (transfer.bytes == 0 || transfer.bytes % sizeof(std::uint32_t) != 0) {
    throw UsageError("a transfer moves a multiple of 4 bytes, at least 4; not " +
                     std::to_string(transfer.bytes));
  }
  if (transfer.piece_bytes % sizeof(std::uint32_t) != 0 ||
      (transfer.engine == Engine::sm && transfer.piece_bytes > 0)) {
    throw UsageError("copies and prefetches move pieces of a multiple of 4 bytes; not " +
                     std::to_string(transfer.piece_bytes));
  }
  if (transfer.source.on_host() && transfer.destination.on_host()) {
    throw UsageError("a transfer has a GPU at one end at least");
  }
  const auto ends_are = [&](Placement placement) {
    return (transfer.source.placement == placement ? 1 : 0) +
           (transfer.destination.placement == placement ? 1 : 0);
  };
  const bool migrates = transfer.engine == Engine::fault || transfer.engine == Engine::prefetch;
  if (migrates != (ends_are(Placement::managed) == 2) || (!migrates && ends_are(Placement::managed) != 0)) {
    throw UsageError("managed memory moves by faults or prefetch, and both its ends are managed");
  }
  if (migrates && transfer.within_gpu()) {
    throw UsageError("managed memory that lives on GPU " + std::to_string(transfer.source.id) +
                     " has nowhere to go there: nothing would move");
  }
  if (migrates && transfer.by_source) {
    throw UsageError("managed pages come to the GPU that touches them: the source cannot send them");
  }
  if (!transfer.peer_access && transfer.engine != Engine::copy_engine) {
    throw UsageError("without peer access only copies go between GPUs");
  }
  if (transfer.stride_bytes > 0 || (transfer.engine == Engine::fault && transfer.piece_bytes > 0)) {
    require_possible_pieces(transfer);
  }
  const int registers = ends_are(Placement::registers);
  if (registers > 1 || (registers == 1 && transfer.engine != Engine::sm)) {
    throw UsageError("only a kernel moves bytes to or from registers, and memory is at its other end");
  }
  if (registers == 1) {
    require_possible_walk(transfer);
  }
}

}  // namespace grainscope::transfer
