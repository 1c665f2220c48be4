#ifndef GRAINSCOPE_GNN_ACCESS_HPP
#define GRAINSCOPE_GNN_ACCESS_HPP

// How warps gather rows of a feature table: the one description that kernels run and the model counts.
//
// A gather asks for rows by number and writes row `position` of its output from row list[position] of the
// table. A row is cut into units of `width` bytes, which is what a lane loads at once. Where `width` does not
// divide the row (masked walks of odd numbers of float16), units are those of the memory that the row lies
// in: the first and the last may stick out, and what sticks out is loaded but not stored. Warps take tiles in
// ascending order; in load k of a tile lane l loads unit element(place(base(tile), k, l), phase) of a row, or
// nothing. Source: dissertation section 3.3.2 and listing 3.2; DGL GraphBolt (index_select_impl.cu).

#include <bit>
#include <cstdint>
#include <numeric>

#include "grainscope/graph/access.hpp"

namespace grainscope::gnn {

using graph::kLineBytes;
using graph::kWarpLanes;

// Division of 32-bit numbers by one that stays the same: a multiplication and a correction.
struct Divider {
  std::uint32_t divisor = 1;
  std::uint32_t inverse = UINT32_MAX;  // ⌊2³² / divisor⌋, of 1 one less: the quotient is 1 too small at most

  constexpr Divider() = default;
  constexpr explicit Divider(std::uint32_t by)
      : divisor(by),
        inverse(by == 1 ? UINT32_MAX : static_cast<std::uint32_t>((std::uint64_t{1} << 32) / by)) {}
  [[nodiscard]] constexpr std::uint32_t quotient(std::uint32_t of) const {
    const auto q = static_cast<std::uint32_t>((std::uint64_t{of} * inverse) >> 32);
    return of - q * divisor >= divisor ? q + 1 : q;
  }
};

// A batch of rows and the units that they are cut into.
struct RowShape {
  std::uint64_t rows = 0;        // of the gather
  std::uint32_t row_bytes = 0;   // an even number
  std::uint32_t width = 4;       // bytes of a unit: 2, 4, 8 or 16
  std::uint32_t width_bits = 2;  // width is 2 to this: GPUs are slow to divide
  std::uint32_t units = 0;       // that a row may lie in

  constexpr RowShape(std::uint64_t count, std::uint32_t bytes, std::uint32_t unit)
      : rows(count),
        row_bytes(bytes),
        width(unit),
        width_bits(static_cast<std::uint32_t>(std::countr_zero(unit))),
        units(bytes % unit == 0 ? bytes / unit : (bytes + unit - std::gcd(bytes, unit) + unit - 1) / unit) {}

  // Units that the walk of a masked row may begin before it, whatever its number; tables begin at a line.
  [[nodiscard]] constexpr std::uint32_t most_skipped() const {
    return static_cast<std::uint32_t>((kLineBytes - std::gcd(std::uint64_t{row_bytes}, kLineBytes)) / width);
  }
  // Where a unit of the row at `address` begins.
  [[nodiscard]] constexpr std::uint64_t begin_of(std::uint64_t address, std::uint32_t unit) const {
    return ((address >> width_bits) + unit) << width_bits;
  }
  // Whether any of the row is in it.
  [[nodiscard]] constexpr bool holds(std::uint64_t address, std::uint32_t unit) const {
    return unit < units && begin_of(address, unit) < address + row_bytes;
  }
};

// Where a tile begins: a position of the list, and how far into it.
struct TileBase {
  std::uint64_t position = 0;
  std::uint32_t rest = 0;
};
// What a lane is to load: a position of the list (beyond its end: nothing), and which of the row's slots.
struct Place {
  std::uint64_t position = 0;
  std::uint32_t slot = 0;
};

// `naive`, and with wider units `vector`: the output is one flat array, a unit a lane. `circular_shift` turns
// each row so that what a lane reads is congruent to the lane, and wraps at the row's end; only rows above
// 128 bytes that are no multiple of them (listing 3.2), of more units than a warp has lanes.
template <bool kShifted>
struct Flat {
  RowShape shape;
  Divider by_units;
  bool shifts = false;

  constexpr explicit Flat(const RowShape& rows)
      : shape(rows),
        by_units(rows.units),
        shifts(kShifted && rows.row_bytes > kLineBytes && rows.row_bytes % kLineBytes != 0 &&
               rows.units > kWarpLanes) {}

  // A tile is `loads` warp-wide loads.
  [[nodiscard]] constexpr std::uint64_t tiles(int loads) const {
    const std::uint64_t tile = std::uint64_t{kWarpLanes} * static_cast<std::uint64_t>(loads);
    return (shape.rows * shape.units + tile - 1) / tile;
  }
  [[nodiscard]] constexpr TileBase base(std::uint64_t tile, int loads) const {
    const std::uint64_t first = tile * kWarpLanes * static_cast<std::uint64_t>(loads);
    return {first / shape.units, static_cast<std::uint32_t>(first % shape.units)};
  }
  [[nodiscard]] constexpr Place place(const TileBase& base, int load, int lane) const {
    const std::uint32_t unit = base.rest + static_cast<std::uint32_t>(load * kWarpLanes + lane);
    const std::uint32_t rows = by_units.quotient(unit);
    return {base.position + rows, unit - rows * shape.units};
  }
  // Positions of the list that a tile may touch, from its base on.
  [[nodiscard]] constexpr std::uint32_t most_rows(int loads) const {
    const auto tile = static_cast<std::uint32_t>(kWarpLanes * loads);
    return (shape.units + tile - 2) / shape.units + 1;
  }
  // Of a row's address: what `element` must know of it.
  [[nodiscard]] constexpr std::uint32_t phase(std::uint64_t address) const {
    return kShifted ? static_cast<std::uint32_t>(address >> shape.width_bits) % kWarpLanes : 0;
  }
  // The unit to load; from `shape.units` on: none.
  [[nodiscard]] constexpr std::uint32_t element(const Place& place, std::uint32_t phase) const {
    if (!kShifted || !shifts) {
      return place.slot;
    }
    const auto written_at = static_cast<std::uint32_t>(place.position * shape.units);
    const std::uint32_t unit = place.slot + (written_at - phase) % kWarpLanes;
    return unit >= shape.units ? unit - shape.units : unit;
  }
};

using Naive = Flat<false>;
using CircularShift = Flat<true>;

// `masked`: lanes walk one row from the 128-byte boundary at or before it, and those before the row load
// nothing; rows of up to 128 bytes from their beginning. As many lanes share a row as leave the fewest idle,
// a line's worth at least; the others of the warp have the next rows.
struct Masked {
  RowShape shape;
  bool aligns = false;       // from a boundary
  std::uint32_t lanes = 32;  // that share a row: a power of two
  std::uint32_t steps = 1;   // that a row takes, wherever it begins
  Divider by_steps;

  constexpr explicit Masked(const RowShape& rows) : shape(rows), aligns(rows.row_bytes > kLineBytes) {
    const std::uint32_t slots = rows.units + (aligns ? rows.most_skipped() : 0);
    const auto line = static_cast<std::uint32_t>(kLineBytes / rows.width);
    const std::uint32_t fewest = aligns ? (line < kWarpLanes ? line : kWarpLanes) : 1;
    for (std::uint32_t tried = kWarpLanes; tried >= fewest; tried /= 2) {
      const std::uint32_t needed = (slots + tried - 1) / tried;
      if ((aligns || needed == 1 || tried == kWarpLanes) &&
          (tried == kWarpLanes || needed * tried < steps * lanes)) {
        lanes = tried;
        steps = needed;
      }
    }
    by_steps = Divider(steps);
  }

  [[nodiscard]] constexpr std::uint32_t groups() const { return kWarpLanes / lanes; }
  [[nodiscard]] constexpr std::uint64_t tiles(int loads) const {
    const std::uint64_t tile = std::uint64_t{groups()} * static_cast<std::uint64_t>(loads);
    return (shape.rows * steps + tile - 1) / tile;
  }
  [[nodiscard]] constexpr TileBase base(std::uint64_t tile, int loads) const {
    const std::uint64_t first = tile * groups() * static_cast<std::uint64_t>(loads);
    return {first / steps, static_cast<std::uint32_t>(first % steps)};
  }
  [[nodiscard]] constexpr Place place(const TileBase& base, int load, int lane) const {
    const std::uint32_t step =
        base.rest + static_cast<std::uint32_t>(load) * groups() + static_cast<std::uint32_t>(lane) / lanes;
    const std::uint32_t rows = by_steps.quotient(step);
    return {base.position + rows, (step - rows * steps) * lanes + static_cast<std::uint32_t>(lane) % lanes};
  }
  [[nodiscard]] constexpr std::uint32_t most_rows(int loads) const {
    return (steps + groups() * static_cast<std::uint32_t>(loads) - 2) / steps + 1;
  }
  [[nodiscard]] constexpr std::uint32_t phase(std::uint64_t address) const {
    return aligns ? static_cast<std::uint32_t>(address % kLineBytes) >> shape.width_bits : 0;
  }
  // Slots before the row wrap to numbers that are beyond its end.
  [[nodiscard]] constexpr std::uint32_t element(const Place& place, std::uint32_t phase) const {
    return place.slot - phase;
  }
};

// GraphBolt's own kernel: blocks of 512 threads, `across` of them for a row, which walk it from the boundary
// before it in steps of `across`. A tile is a warp of the grid.
struct GraphBolt {
  static constexpr std::uint32_t kBlockThreads = 512;

  RowShape shape;
  bool aligns = false;
  std::uint32_t across = kBlockThreads;
  std::uint32_t steps = 1;  // loads of a tile

  constexpr explicit GraphBolt(const RowShape& rows) : shape(rows), aligns(rows.row_bytes > kLineBytes) {
    while (across >= 2 * rows.units) {
      across /= 2;
    }
    steps = (rows.units + (aligns ? rows.most_skipped() : 0) + across - 1) / across;
  }

  [[nodiscard]] constexpr std::uint64_t tiles(int /*loads*/) const {
    return (shape.rows * across + kWarpLanes - 1) / kWarpLanes;
  }
  [[nodiscard]] constexpr TileBase base(std::uint64_t tile, int /*loads*/) const {
    const std::uint64_t thread = tile * kWarpLanes;
    return {thread / across, static_cast<std::uint32_t>(thread % across)};
  }
  [[nodiscard]] constexpr Place place(const TileBase& base, int load, int lane) const {
    const std::uint32_t thread = base.rest + static_cast<std::uint32_t>(lane);
    return {base.position + thread / across, thread % across + static_cast<std::uint32_t>(load) * across};
  }
  [[nodiscard]] constexpr std::uint32_t phase(std::uint64_t address) const {
    return aligns ? static_cast<std::uint32_t>(address % kLineBytes) >> shape.width_bits : 0;
  }
  [[nodiscard]] constexpr std::uint32_t element(const Place& place, std::uint32_t phase) const {
    return place.slot - phase;
  }
};

// Warp-wide loads of a tile that a lane has in flight before it stores the first: 32 to 64 bytes a lane.
[[nodiscard]] constexpr int loads_of_tile(std::uint32_t width) {
  return width == 16 ? 4 : 8;
}

// The widest load, in bytes, that divides rows of `row_bytes`.
[[nodiscard]] constexpr std::uint32_t widest_load(std::uint64_t row_bytes) {
  return static_cast<std::uint32_t>(std::gcd(row_bytes, std::uint64_t{16}));
}

// The only one that a masked walk makes where it does not divide the row: wide enough to fill a link.
inline constexpr std::uint32_t kStraddlingLoad = 4;

}  // namespace grainscope::gnn

#endif
