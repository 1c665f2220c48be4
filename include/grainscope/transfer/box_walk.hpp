#ifndef GRAINSCOPE_TRANSFER_BOX_WALK_HPP
#define GRAINSCOPE_TRANSFER_BOX_WALK_HPP

// Which elements of a box a thread of a kernel copies, and in which order: the same on the host, where it is
// tested, and on a GPU (constexpr functions run there too).

#include <cstdint>

namespace grainscope::transfer {

// A box in elements. `width` and `rows` are below 2³¹.
struct BoxExtent {
  unsigned width = 1;  // elements of a row
  unsigned rows = 1;   // of a plane
  std::uint64_t all_rows = 1;
};

// One thread of a grid.
struct GridThread {
  unsigned block = 0;
  unsigned blocks = 1;
  unsigned thread = 0;
  unsigned threads = 1;  // of a block
};

// A position in the box and how far apart the thread's elements are. Divides once and then counts on like an
// odometer: a division an element would cost more than the copy.
struct BoxWalk {
  unsigned x = 0;             // element of the row
  unsigned y = 0;             // row of the plane
  std::uint64_t z = 0;        // plane
  std::uint64_t element = 0;  // counted over all rows
  std::uint64_t end = 0;
  unsigned stride = 1;
  unsigned step_x = 0, step_y = 0, step_z = 0;

  [[nodiscard]] constexpr bool done() const { return element >= end; }

  constexpr void advance(const BoxExtent& extent) {
    element += stride;
    x += step_x;
    y += step_y;
    z += step_z;
    if (x >= extent.width) {
      x -= extent.width;
      ++y;
    }
    if (y >= extent.rows) {
      y -= extent.rows;
      ++z;
    }
  }
};

// The walk of a thread. Strided: the whole grid side by side over all elements. Chunked: each block over its
// own consecutive rows.
constexpr BoxWalk walk_box(const BoxExtent& extent, const GridThread& at, bool chunked) {
  BoxWalk walk;
  if (chunked) {
    const std::uint64_t first_row = extent.all_rows * at.block / at.blocks;
    const std::uint64_t last_row = extent.all_rows * (std::uint64_t{at.block} + 1) / at.blocks;
    walk.element = first_row * extent.width + at.thread;
    walk.end = last_row * extent.width;
    walk.stride = at.threads;
  } else {
    walk.element = std::uint64_t{at.block} * at.threads + at.thread;
    walk.end = extent.all_rows * extent.width;
    walk.stride = at.blocks * at.threads;
  }
  walk.x = static_cast<unsigned>(walk.element % extent.width);
  walk.y = static_cast<unsigned>(walk.element / extent.width % extent.rows);
  walk.z = walk.element / extent.width / extent.rows;
  walk.step_x = walk.stride % extent.width;
  walk.step_y = walk.stride / extent.width % extent.rows;
  walk.step_z = walk.stride / extent.width / extent.rows;
  return walk;
}

}  // namespace grainscope::transfer

#endif
