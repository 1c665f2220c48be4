#ifndef GRAINSCOPE_TRANSFER_BATCH_HPP
#define GRAINSCOPE_TRANSFER_BATCH_HPP

// Many small copies in one go, as data: pieces of one size that lie scattered, with gaps, at both ends.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "grainscope/transfer/mover.hpp"
#include "grainscope/transfer/route.hpp"

namespace grainscope::transfer {

// Memory in slots of equal size, each with one piece at its beginning and a gap behind it.
struct Batch {
  std::uint64_t piece_bytes = 1;
  std::uint64_t pieces = 1;
  std::uint64_t slot_bytes = 1;

  [[nodiscard]] std::uint64_t bytes() const { return piece_bytes * pieces; }
  // Of the slots, with a guard on either side.
  [[nodiscard]] std::uint64_t memory_bytes() const;
  // Where a slot begins in that memory.
  [[nodiscard]] std::uint64_t slot_offset(std::uint64_t slot) const;
};

// A batch whose gaps are as large as its pieces, and 64 bytes at least; slots begin at multiples of 64.
[[nodiscard]] Batch scattered(std::uint64_t piece_bytes, std::uint64_t pieces);

// Throws UsageError for a batch that is empty, whose pieces overlap, or that no memory holds.
void require_possible(const Batch& batch);

// Which slot holds piece i, at the source and at the destination: two orders of all slots, drawn from a fixed
// seed, the same on every machine.
[[nodiscard]] std::vector<std::uint64_t> source_slots(std::uint64_t pieces);
[[nodiscard]] std::vector<std::uint64_t> destination_slots(std::uint64_t pieces);

// What all copies of `batch` must leave in `memory` (host, memory_bytes() long) that held the pattern of
// `kPoison`, where the source held that of `kPayload` throughout: the first byte that is otherwise, in a
// piece or between them.
[[nodiscard]] std::optional<std::uint64_t> find_batch_mismatch(const std::byte* memory, const Batch& batch);

// How the pieces are submitted.
enum class BatchMethod {
  one_by_one,  // cudaMemcpyAsync, one call a piece
  batch,       // cudaMemcpyBatchAsync, one call
  graph,       // one launch of a graph of independent copies
  kernel,      // one kernel that reads a table of pieces in device memory
};
[[nodiscard]] const char* name(BatchMethod method);

struct BatchCopy : Route {
  Batch batch;
  BatchMethod method = BatchMethod::one_by_one;
};

// Allocates and initialises. Throws UsageError for a batch that cannot be, SkipError for
// cudaMemcpyBatchAsync where the toolkit or the driver has none; otherwise as make_mover does.
[[nodiscard]] std::unique_ptr<Mover> make_batch_mover(const BatchCopy& copy,
                                                      const Surroundings& surroundings);

}  // namespace grainscope::transfer

#endif
