#ifndef GRAINSCOPE_TRANSFER_BOX_HPP
#define GRAINSCOPE_TRANSFER_BOX_HPP

// A box inside a larger allocation, as data: what a halo exchange moves, and what no single contiguous copy
// can. Both ends of a copy hold the box at the same place in allocations of the same shape.
// After Comm|Scope's `Comm_3d_*`, `Comm_chunk_*` and `Comm_stride_*` benchmarks.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "grainscope/transfer/mover.hpp"
#include "grainscope/transfer/route.hpp"

namespace grainscope::transfer {

// Rows of bytes at equal distances, in planes at equal distances.
struct Box {
  std::uint64_t width_bytes = 1;  // of a row
  std::uint64_t rows = 1;         // of a plane
  std::uint64_t planes = 1;
  std::uint64_t pitch_bytes = 1;  // from one row of the allocation to the next
  std::uint64_t plane_rows = 1;   // rows of the allocation from one plane to the next

  [[nodiscard]] std::uint64_t all_rows() const { return rows * planes; }
  [[nodiscard]] std::uint64_t bytes() const { return width_bytes * all_rows(); }
  [[nodiscard]] std::uint64_t plane_bytes() const { return pitch_bytes * plane_rows; }
  // Of an allocation whose planes and rows begin with those of the box.
  [[nodiscard]] std::uint64_t span_bytes() const { return plane_bytes() * planes; }
  // Where a row begins, counted over all planes, behind the box's first byte.
  [[nodiscard]] std::uint64_t row_offset(std::uint64_t row) const {
    return row / rows * plane_bytes() + row % rows * pitch_bytes;
  }
};

// The same box with nothing between its rows and planes.
[[nodiscard]] Box packed(const Box& box);

// The widest of 16, 8, 4, 2 and 1 bytes that divides the width and the distances of both: what one access of
// a kernel can move where both begin on a 16-byte boundary.
[[nodiscard]] int widest_element(const Box& a, const Box& b);

// Throws UsageError, with the numbers, for a box that is empty, whose rows or planes overlap, or whose
// pitch or number of rows reaches 2³¹, the most that CUDA's copies take.
void require_possible(const Box& box);

// In memory that holds a box, its first byte lies this far behind the start, and as much follows: a copy that
// strays is seen on either side. A multiple of every alignment that matters.
inline constexpr std::uint64_t kGuardBytes = 256;
[[nodiscard]] std::uint64_t guarded_bytes(const Box& box);

// What a copy of `box` must leave in `memory` (host, guarded_bytes(box) long) that held the pattern of
// `kPoison`, where the source held that of `kPayload` throughout: the first byte that is otherwise, in the
// box or outside of it.
[[nodiscard]] std::optional<std::uint64_t> find_box_mismatch(const std::byte* memory, const Box& box);

// Rows [first, last) of the box at `from` to the box at `to`, of the same width; host memory, one thread.
void copy_rows(std::byte* to, const Box& to_box, const std::byte* from, const Box& from_box,
               std::uint64_t first, std::uint64_t last);

// How a box is moved.
enum class BoxMethod {
  copy_2d,         // cudaMemcpy2DAsync, one call a plane
  copy_3d,         // cudaMemcpy3DAsync, between GPUs cudaMemcpy3DPeerAsync; one call
  kernel_strided,  // one kernel from box to box; its threads stride over all elements
  kernel_chunked,  // the same, each block taking consecutive rows
  pack,            // packed at the source, one contiguous copy, unpacked at the destination
  row_copies,      // cudaMemcpyAsync, one call a row
};
[[nodiscard]] const char* name(BoxMethod method);
// Whether it is one kernel from box to box.
[[nodiscard]] bool is_kernel(BoxMethod method);

// More row_copies than this say nothing new and take long.
inline constexpr std::uint64_t kMostRowCopies = 4096;

struct BoxCopy : Route {
  Box box;
  BoxMethod method = BoxMethod::copy_3d;
  bool submission_only = false;  // time the calls that submit, not the copy
};

// Bytes that one end of the copy takes: its box, and for `pack` the packed one.
[[nodiscard]] std::uint64_t end_bytes(const BoxCopy& copy);

// Allocates and initialises. Throws UsageError for a box that cannot be and for more than kMostRowCopies;
// otherwise as make_mover does.
[[nodiscard]] std::unique_ptr<Mover> make_box_mover(const BoxCopy& copy, const Surroundings& surroundings);

}  // namespace grainscope::transfer

#endif
