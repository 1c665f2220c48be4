#ifndef GRAINSCOPE_TRANSFER_SHAPE_HPP
#define GRAINSCOPE_TRANSFER_SHAPE_HPP

// Copies that are not contiguous, as data: a box inside a larger allocation, which is what a halo exchange
// moves, and pages that lie scattered in pools.
// Source of the boxes: Comm|Scope's `Comm_3d_*`, `Comm_chunk_*` and `Comm_stride_*` benchmarks.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "grainscope/transfer/mover.hpp"
#include "grainscope/transfer/transfer.hpp"

namespace grainscope::transfer {

// From where to where such a copy goes, and who makes it.
struct Route {
  Endpoint source;  // pinned on the host, or device memory
  Endpoint destination;
  int staging_node = 0;         // where no end is on the host: whose CPUs submit it
  bool by_destination = false;  // between GPUs: the one that receives carries it out, with a kernel

  // The GPU that carries it out: the source, unless that is the host or `by_destination`.
  [[nodiscard]] int gpu() const { return source.on_host() || by_destination ? destination.id : source.id; }
  // Between GPUs: the other one.
  [[nodiscard]] int peer() const { return by_destination ? source.id : destination.id; }
  // The node whose CPUs submit it: the host end's, where there is one.
  [[nodiscard]] int node() const {
    return source.on_host() ? source.id : destination.on_host() ? destination.id : staging_node;
  }
  [[nodiscard]] bool has_host() const { return source.on_host() || destination.on_host(); }
  [[nodiscard]] bool between_gpus() const { return !has_host() && source.id != destination.id; }
};

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

// Which elements of a box a thread of a kernel copies, and in which order: the same on the host, where it is
// tested, and on a GPU (constexpr functions run there too).

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

// How the pages of one end lie in their pool.
enum class PageOrder {
  drawn,   // anywhere, in any order
  sorted,  // anywhere, in the order of addresses
  runs,    // runs of kPagesOfRun neighbours, anywhere, in any order
  packed,  // one behind another from the pool's beginning
};
[[nodiscard]] const char* name(PageOrder order);
inline constexpr std::uint64_t kPagesOfRun = 16;

// Memory in slots of a page each, side by side, with a guard on either side; pages lie in some of them.
struct PagePool {
  PageOrder order = PageOrder::drawn;
  std::uint64_t slots = 1;
};

// Pages of one size, from slots of one pool to slots of another.
struct Pages {
  std::uint64_t page_bytes = 1;
  std::uint64_t count = 1;
  PagePool source;
  PagePool destination;

  [[nodiscard]] std::uint64_t bytes() const { return page_bytes * count; }
  // Where a slot begins in the memory of its pool, and how much memory a pool takes.
  [[nodiscard]] std::uint64_t slot_offset(std::uint64_t slot) const;
  [[nodiscard]] std::uint64_t memory_bytes(const PagePool& pool) const;
};

// A pool that has as many free slots as `count` pages take; a packed one has none.
[[nodiscard]] PagePool usual_pool(PageOrder order, std::uint64_t count);

// Throws UsageError for pages that are none, that their pools have no room for, or that no memory holds.
void require_possible(const Pages& pages);

// The page tables: which slot holds page i, at the source and at the destination. Drawn from fixed seeds, the
// same on every machine; no slot twice.
[[nodiscard]] std::vector<std::uint64_t> source_table(const Pages& pages);
[[nodiscard]] std::vector<std::uint64_t> destination_table(const Pages& pages);

// What copies of all pages must leave in the destination's `memory` (host) that held the pattern of
// `kPoison`, where the source held that of `kPayload` throughout: the first byte that is otherwise, in a page
// or between them.
[[nodiscard]] std::optional<std::uint64_t> find_page_mismatch(const std::byte* memory, const Pages& pages);

// One copy, with addresses as whoever makes it sees them.
struct PieceCopy {
  std::byte* to = nullptr;
  const std::byte* from = nullptr;
  std::uint64_t bytes = 0;
  friend bool operator==(const PieceCopy&, const PieceCopy&) = default;
};

// The same copies in the same order, those that go on where the one before ends, at both ends, made one with
// it. Into `merged`, whatever that held before.
void merge_runs(const std::vector<PieceCopy>& pieces, std::vector<PieceCopy>& merged);

// How pages are copied.
enum class PageMethod {
  one_by_one,    // cudaMemcpyAsync, one call a page
  batch,         // cudaMemcpyBatchAsync, one call
  batch_merged,  // the same, pages that are neighbours at both ends made one copy
  graph,         // one launch of a graph of independent copies
  kernel,        // one kernel that reads a table of pages in device memory
  bulk,          // the same by bulk copies (TMA)
  staged,        // gathered and scattered by kernels around one contiguous copy
  cpu_gather,    // the same, but gathered or scattered by threads where the pages lie on the host
  relay,         // by the kernel, and by that of other GPUs over their own links to the host
};
[[nodiscard]] const char* name(PageMethod method);
// Whether a kernel reads pages and writes them, with as many blocks as one likes; of `relay` on each GPU.
[[nodiscard]] bool has_blocks(PageMethod method);

// Bulk copies move multiples of so many bytes.
inline constexpr std::uint64_t kBulkBytes = 16;

struct PageCopy : Route {
  Pages pages;
  PageMethod method = PageMethod::one_by_one;
  std::optional<unsigned> blocks = {};  // of a method that has_blocks; empty: what its path usually needs
  Relay relay = {};                     // of PageMethod::relay: whose kernels copy which share of the pages
  bool flush = false;                   // evict pools on the host from the CPU's caches before every sample
};

// Pages of a copy that its relays pass on: as many for each of them, one at least. They are the first ones.
[[nodiscard]] std::uint64_t relayed_pages(const PageCopy& copy);

// Bytes of the contiguous buffers between two pools, beside each of them that is not packed; 0 for a method
// that has none.
[[nodiscard]] std::uint64_t stage_bytes(const PageCopy& copy, const PagePool& pool);

// Throws UsageError, saying why, for a method that does not copy such pages on such a route.
void require_possible(const PageCopy& copy);

// Allocates and initialises. Throws UsageError for what cannot be, SkipError for cudaMemcpyBatchAsync where
// the toolkit or the driver has none and for bulk copies where the GPU has none; otherwise as make_mover
// does.
[[nodiscard]] std::unique_ptr<Mover> make_page_mover(const PageCopy& copy, const Surroundings& surroundings);

}  // namespace grainscope::transfer

#endif
