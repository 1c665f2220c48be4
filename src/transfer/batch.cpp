// Where the pieces of a batch lie, and whether they are what they must be: all that needs no GPU.

#include "grainscope/transfer/batch.hpp"

#include <algorithm>
#include <numeric>
#include <string>

#include "grainscope/core/error.hpp"
#include "grainscope/core/pattern.hpp"
#include "grainscope/transfer/seeds.hpp"
#include "pattern_bytes.hpp"

namespace grainscope::transfer {
namespace {

constexpr std::uint64_t kGuardBytes = 256;
constexpr std::uint64_t kSlotAlignment = 64;
constexpr std::uint64_t kTooMany = std::uint64_t{1} << 31;
constexpr std::uint64_t kTooLarge = std::uint64_t{1} << 61;
constexpr std::int64_t kParallelPieces = 256;
constexpr std::uint32_t kSourceSeed = 3;
constexpr std::uint32_t kDestinationSeed = 4;

// All numbers below `count` in an order drawn from `seed`: Fisher and Yates's shuffle.
std::vector<std::uint64_t> shuffled(std::uint64_t count, std::uint32_t seed) {
  std::vector<std::uint64_t> order(count);
  std::iota(order.begin(), order.end(), std::uint64_t{0});
  for (std::uint64_t i = count; i > 1; --i) {
    std::swap(order[i - 1], order[pattern_word(i, seed) % i]);
  }
  return order;
}

}  // namespace

std::uint64_t Batch::memory_bytes() const {
  // Whole words, so that the pattern fills it.
  return (slot_offset(pieces) + kGuardBytes + 3) / 4 * 4;
}

std::uint64_t Batch::slot_offset(std::uint64_t slot) const {
  return kGuardBytes + slot * slot_bytes;
}

Batch scattered(std::uint64_t piece_bytes, std::uint64_t pieces) {
  const std::uint64_t gap = std::max(piece_bytes, kSlotAlignment);
  return {piece_bytes, pieces, (piece_bytes + gap + kSlotAlignment - 1) / kSlotAlignment * kSlotAlignment};
}

void require_possible(const Batch& batch) {
  if (batch.piece_bytes == 0 || batch.pieces == 0 || batch.slot_bytes < batch.piece_bytes ||
      batch.pieces >= kTooMany || batch.slot_bytes > kTooLarge / batch.pieces) {
    throw UsageError("a batch of " + std::to_string(batch.pieces) + " pieces of " +
                     std::to_string(batch.piece_bytes) + " B in slots of " +
                     std::to_string(batch.slot_bytes) +
                     " B cannot be: it is empty, overlaps itself, or is larger than any memory");
  }
}

std::vector<std::uint64_t> source_slots(std::uint64_t pieces) {
  return shuffled(pieces, kSourceSeed);
}

std::vector<std::uint64_t> destination_slots(std::uint64_t pieces) {
  return shuffled(pieces, kDestinationSeed);
}

std::optional<std::uint64_t> find_batch_mismatch(const std::byte* memory, const Batch& batch) {
  const std::vector<std::uint64_t> from = source_slots(batch.pieces);
  const std::vector<std::uint64_t> to = destination_slots(batch.pieces);
  const auto pieces = static_cast<std::int64_t>(batch.pieces);
  std::uint64_t first = first_wrong_byte(memory, 0, batch.slot_offset(0), 0, kPoison);
#pragma omp parallel for schedule(static) reduction(min : first) if (pieces > kParallelPieces)
  for (std::int64_t i = 0; i < pieces; ++i) {
    // The piece, then the gap behind it.
    const auto piece = static_cast<std::size_t>(i);
    const std::uint64_t begin = batch.slot_offset(to[piece]);
    const std::uint64_t end = begin + batch.piece_bytes;
    first = std::min({first, first_wrong_byte(memory, begin, end, batch.slot_offset(from[piece]), kPayload),
                      first_wrong_byte(memory, end, batch.slot_offset(to[piece] + 1), end, kPoison)});
  }
  const std::uint64_t rest = batch.slot_offset(batch.pieces);
  first = std::min(first, first_wrong_byte(memory, rest, batch.memory_bytes(), rest, kPoison));
  return first == kNoMismatch ? std::nullopt : std::optional(first);
}

const char* name(BatchMethod method) {
  switch (method) {
    case BatchMethod::one_by_one:
      return "one_by_one";
    case BatchMethod::batch:
      return "batch";
    case BatchMethod::graph:
      return "graph";
    case BatchMethod::kernel:
      return "kernel";
  }
  return "one_by_one";
}

}  // namespace grainscope::transfer
