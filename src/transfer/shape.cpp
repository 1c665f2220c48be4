// Where the bytes of boxes and batches lie, and whether they are what they must be: all that needs no GPU.

#include "grainscope/transfer/shape.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <string>

#include "grainscope/core/error.hpp"
#include "grainscope/core/pattern.hpp"
#include "grainscope/transfer/transfer.hpp"

namespace grainscope::transfer {
namespace {

constexpr std::uint64_t kNoMismatch = UINT64_MAX;
constexpr std::uint64_t kWord = sizeof(std::uint32_t);
constexpr std::uint64_t kTooMany = std::uint64_t{1} << 31;
constexpr std::uint64_t kTooLarge = std::uint64_t{1} << 61;
constexpr std::int64_t kParallelRows = 4096;
constexpr std::int64_t kParallelPieces = 256;
constexpr std::uint64_t kSlotAlignment = 64;
constexpr std::uint32_t kSourceSeed = 3;
constexpr std::uint32_t kDestinationSeed = 4;

// The pattern's byte at `index`, as it lies in memory.
std::byte pattern_byte(std::uint64_t index, std::uint32_t seed) {
  const std::uint32_t word = pattern_word(index / kWord, seed);
  std::byte bytes[kWord];
  std::memcpy(bytes, &word, kWord);
  return bytes[index % kWord];
}

std::uint64_t first_wrong_single(const std::byte* memory, std::uint64_t begin, std::uint64_t end,
                                 std::uint64_t pattern_begin, std::uint32_t seed) {
  for (std::uint64_t i = begin; i < end; ++i) {
    if (memory[i] != pattern_byte(pattern_begin + (i - begin), seed)) {
      return i;
    }
  }
  return kNoMismatch;
}

// The first byte of memory[begin, end) (host) that is not that of the pattern's bytes from `pattern_begin`
// on, or kNoMismatch.
std::uint64_t first_wrong_byte(const std::byte* memory, std::uint64_t begin, std::uint64_t end,
                               std::uint64_t pattern_begin, std::uint32_t seed) {
  // Up to the pattern's next word byte by byte, then whole words, then the bytes that are left.
  const std::uint64_t head = std::min(end, begin + (kWord - pattern_begin % kWord) % kWord);
  if (const auto wrong = first_wrong_single(memory, begin, head, pattern_begin, seed); wrong != kNoMismatch) {
    return wrong;
  }
  const std::uint64_t words = (end - head) / kWord;
  const std::uint64_t first_word = (pattern_begin + (head - begin)) / kWord;
  for (std::uint64_t i = 0; i < words; ++i) {
    std::uint32_t word = 0;
    std::memcpy(&word, memory + head + i * kWord, kWord);
    if (word != pattern_word(first_word + i, seed)) {
      const std::uint64_t at = head + i * kWord;
      return first_wrong_single(memory, at, at + kWord, (first_word + i) * kWord, seed);
    }
  }
  const std::uint64_t tail = head + words * kWord;
  return first_wrong_single(memory, tail, end, pattern_begin + (tail - begin), seed);
}

std::string text_of(const Box& box) {
  return std::to_string(box.width_bytes) + " B x " + std::to_string(box.rows) + " rows x " +
         std::to_string(box.planes) + " planes, at " + std::to_string(box.pitch_bytes) + " B and " +
         std::to_string(box.plane_rows) + " rows";
}

}  // namespace

Box packed(const Box& box) {
  return {box.width_bytes, box.rows, box.planes, box.width_bytes, box.rows};
}

int widest_element(const Box& a, const Box& b) {
  const std::uint64_t all = a.width_bytes | a.pitch_bytes | b.width_bytes | b.pitch_bytes | 16;
  return static_cast<int>(all & (~all + 1));
}

void require_possible(const Box& box) {
  const char* why = nullptr;
  if (box.width_bytes == 0 || box.rows == 0 || box.planes == 0) {
    why = "is empty";
  } else if (box.pitch_bytes < box.width_bytes || box.plane_rows < box.rows) {
    why = "overlaps itself";
  } else if (box.pitch_bytes >= kTooMany || box.plane_rows >= kTooMany || box.planes >= kTooMany ||
             box.all_rows() >= kTooMany) {
    why = "has a pitch or rows beyond what CUDA copies";
  } else if (box.planes > kTooLarge / box.plane_bytes()) {
    why = "spans more than any memory";
  }
  if (why != nullptr) {
    throw UsageError("a box of " + text_of(box) + " " + why);
  }
}

std::uint64_t guarded_bytes(const Box& box) {
  // Whole words, so that the pattern fills it.
  return kGuardBytes + (box.span_bytes() + 3) / 4 * 4 + kGuardBytes;
}

std::optional<std::uint64_t> find_box_mismatch(const std::byte* memory, const Box& box) {
  const auto rows = static_cast<std::int64_t>(box.all_rows());
  std::uint64_t first = kNoMismatch;
#pragma omp parallel for schedule(static) reduction(min : first) if (rows > kParallelRows)
  for (std::int64_t i = 0; i < rows; ++i) {
    // What lies between the row before and this one, then the row.
    const auto row = static_cast<std::uint64_t>(i);
    const std::uint64_t gap = row == 0 ? 0 : kGuardBytes + box.row_offset(row - 1) + box.width_bytes;
    const std::uint64_t begin = kGuardBytes + box.row_offset(row);
    const std::uint64_t end = begin + box.width_bytes;
    first = std::min({first, first_wrong_byte(memory, gap, begin, gap, kPoison),
                      first_wrong_byte(memory, begin, end, begin, kPayload)});
  }
  const std::uint64_t rest = kGuardBytes + box.row_offset(box.all_rows() - 1) + box.width_bytes;
  first = std::min(first, first_wrong_byte(memory, rest, guarded_bytes(box), rest, kPoison));
  return first == kNoMismatch ? std::nullopt : std::optional(first);
}

void copy_rows(std::byte* to, const Box& to_box, const std::byte* from, const Box& from_box,
               std::uint64_t first, std::uint64_t last) {
  for (std::uint64_t row = first; row < last; ++row) {
    std::memcpy(to + to_box.row_offset(row), from + from_box.row_offset(row), from_box.width_bytes);
  }
}

const char* name(BoxMethod method) {
  switch (method) {
    case BoxMethod::copy_2d:
      return "copy_2d";
    case BoxMethod::copy_3d:
      return "copy_3d";
    case BoxMethod::kernel_strided:
      return "kernel_strided";
    case BoxMethod::kernel_chunked:
      return "kernel_chunked";
    case BoxMethod::pack:
      return "pack";
    case BoxMethod::row_copies:
      return "row_copies";
  }
  return "copy_3d";
}

bool is_kernel(BoxMethod method) {
  return method == BoxMethod::kernel_strided || method == BoxMethod::kernel_chunked;
}

std::uint64_t end_bytes(const BoxCopy& copy) {
  return guarded_bytes(copy.box) + (copy.method == BoxMethod::pack ? copy.box.bytes() : 0);
}

namespace {

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
