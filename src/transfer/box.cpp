// Where the bytes of a box lie, and whether they are what they must be: all that needs no GPU.

#include "grainscope/transfer/box.hpp"

#include <algorithm>
#include <cstring>

#include "grainscope/core/error.hpp"
#include "grainscope/transfer/seeds.hpp"
#include "pattern_bytes.hpp"

namespace grainscope::transfer {
namespace {

constexpr std::uint64_t kTooMany = std::uint64_t{1} << 31;
constexpr std::uint64_t kTooLarge = std::uint64_t{1} << 61;
constexpr std::int64_t kParallelRows = 4096;

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

}  // namespace grainscope::transfer
