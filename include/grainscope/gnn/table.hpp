#ifndef GRAINSCOPE_GNN_TABLE_HPP
#define GRAINSCOPE_GNN_TABLE_HPP

// A feature table as arithmetic: by which modes its rows are gathered, in which memory a row lies, at
// which place of it, and what is in it. The same on the host, on a GPU and in the model.

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "grainscope/core/pattern.hpp"
#include "grainscope/gnn/access.hpp"

namespace grainscope::gnn {

enum class Mode {
  cpu_gather,       // threads copy rows into host memory; no GPU
  cpu_gather_dma,   // threads copy rows into four page-locked buffers, which copies take to the GPU
  row_dma,          // a copy for each row
  naive,            // a kernel over the flat output, an element a lane
  circular_shift,   // the same, each row turned so that lanes and lines agree
  masked,           // warps walk rows from the line boundary before them
  vector,           // as naive, with loads of more bytes
  address_ordered,  // rows of several mini-batches sorted by address, masked, widest loads; output as asked
  graphbolt,        // GraphBolt's own kernel: a mini-batch sorted, masked, widest loads
  bulk,             // a bulk copy (TMA) of each row into shared memory, and of what is there to the output
};
inline constexpr Mode kAllModes[] = {
    Mode::cpu_gather, Mode::cpu_gather_dma, Mode::row_dma,         Mode::naive,     Mode::circular_shift,
    Mode::masked,     Mode::vector,         Mode::address_ordered, Mode::graphbolt, Mode::bulk};
// As it stands in case names.
[[nodiscard]] constexpr const char* name(Mode mode) {
  switch (mode) {
    case Mode::cpu_gather:
      return "cpu_gather";
    case Mode::cpu_gather_dma:
      return "cpu_gather_dma";
    case Mode::row_dma:
      return "row_dma";
    case Mode::naive:
      return "naive";
    case Mode::circular_shift:
      return "circular_shift";
    case Mode::masked:
      return "masked";
    case Mode::vector:
      return "vector";
    case Mode::address_ordered:
      return "address_ordered";
    case Mode::graphbolt:
      return "graphbolt";
    case Mode::bulk:
      return "bulk";
  }
  return "?";
}
// A kernel reads the rows.
[[nodiscard]] constexpr bool is_kernel(Mode mode) {
  return mode != Mode::cpu_gather && mode != Mode::cpu_gather_dma && mode != Mode::row_dma;
}
// The model counts what it asks of a link: into how many requests a bulk copy is divided, nobody says.
[[nodiscard]] constexpr bool is_modelled(Mode mode) {
  return is_kernel(mode) && mode != Mode::bulk;
}
// Rows are sorted by address first.
[[nodiscard]] constexpr bool sorts(Mode mode) {
  return mode == Mode::address_ordered || mode == Mode::graphbolt;
}
// It walks rows by gnn::Masked.
[[nodiscard]] constexpr bool walks_masked(Mode mode) {
  return mode == Mode::masked || mode == Mode::address_ordered;
}
// The widest load, in bytes, of a kernel of the mode that is not bound to an element.
[[nodiscard]] constexpr std::uint32_t widest_load(Mode mode, std::uint64_t row_bytes) {
  const std::uint32_t widest = widest_load(row_bytes);
  return walks_masked(mode) && widest < kStraddlingLoad ? kStraddlingLoad : widest;
}
// Of Mode::bulk: rows are whole units, which stands for the width of a load, and not the shortest, of which
// each would be a copy of its own.
inline constexpr std::uint32_t kBulkUnitBytes = 16;
inline constexpr std::uint32_t kLeastBulkRow = 64;

// Whether a kernel of the mode may load units of `width` bytes from rows of elements of `element` bytes:
// naive and circular_shift load an element, sorted modes what is widest.
[[nodiscard]] constexpr bool may_load(Mode mode, std::uint64_t row_bytes, std::uint32_t element,
                                      std::uint32_t width) {
  if (!is_kernel(mode) || row_bytes % 2 != 0 || (width != 2 && width != 4 && width != 8 && width != 16) ||
      (row_bytes % width != 0 && width != widest_load(mode, row_bytes))) {
    return false;
  }
  if (mode == Mode::bulk) {
    return width == kBulkUnitBytes && row_bytes % kBulkUnitBytes == 0 && row_bytes >= kLeastBulkRow;
  }
  if (sorts(mode)) {
    return width == widest_load(mode, row_bytes);
  }
  return mode == Mode::naive || mode == Mode::circular_shift ? width == element : width >= element;
}

enum class Store {
  pageable,   // for the CPU's gather
  pinned,     // page-locked, for the CPU's gather and for copies
  mapped,     // page-locked, read by kernels over the link
  managed,    // managed memory whose pages are on the host when a sample starts
  device,     // the GPU's own memory: all of the table
  tiered,     // the first rows on the GPU, the rest mapped
  multi_gpu,  // the first rows on each GPU, the next interleaved over GPUs, the rest mapped
};
inline constexpr Store kAllStores[] = {Store::pageable, Store::pinned, Store::mapped,   Store::managed,
                                       Store::device,   Store::tiered, Store::multi_gpu};
[[nodiscard]] constexpr const char* name(Store store) {
  switch (store) {
    case Store::pageable:
      return "pageable";
    case Store::pinned:
      return "pinned";
    case Store::mapped:
      return "mapped";
    case Store::managed:
      return "managed";
    case Store::device:
      return "device";
    case Store::tiered:
      return "tiered";
    case Store::multi_gpu:
      return "multi_gpu";
  }
  return "?";
}
// Whether a mode can read rows that live there.
[[nodiscard]] constexpr bool can_read(Mode mode, Store store) {
  const bool host_only = store == Store::pageable || store == Store::pinned;
  if (mode == Mode::cpu_gather) {
    return store == Store::pageable;
  }
  if (mode == Mode::row_dma) {
    return store == Store::pinned;
  }
  return mode == Mode::cpu_gather_dma ? host_only : !host_only;
}
// Some rows of it cross a link from the host.
[[nodiscard]] constexpr bool crosses_link(Store store) {
  return store != Store::device;
}

// Rows below `local_rows` are in the reading GPU's own memory, the next `spread_rows` lie interleaved over
// `gpus` GPUs, and the rest on the host: row r of the interleaved part is row ⌊(r − local) / gpus⌋ of GPU
// (r − local) mod gpus. Dissertation listing 4.1, which multiplies before it divides, is wrong there as
// printed. Rows are numbered by falling score, so that the first ones are the ones asked for most.

inline constexpr std::uint32_t kMostGpus = 16;

enum class Tier { local, spread, host };

// Pattern seeds: each tier has its own, so that a row read from the wrong one is found out. The host's is
// that of reach::SpanMemory.
inline constexpr std::uint32_t kHostSeed = 1;
inline constexpr std::uint32_t kLocalSeed = 2;
inline constexpr std::uint32_t kSpreadSeed = 3;

struct TableShape {
  std::uint32_t row_bytes = 128;
  std::uint32_t rows = 0;
  std::uint32_t local_rows = 0;
  std::uint32_t spread_rows = 0;
  Divider by_gpus;        // GPUs that the interleaved part lies on
  Divider by_chunk_rows;  // rows of a chunk of host memory: none crosses from one into the next
  std::uint64_t chunk_bytes = 0;
  std::uint64_t host_begin = 0;  // bytes before the host's first row, from the beginning of its memory on

  struct Location {
    Tier tier = Tier::host;
    std::uint32_t part = 0;  // GPU of the interleaved ones, or chunk
    std::uint32_t row = 0;   // within it
  };
  [[nodiscard]] constexpr Location locate(std::uint32_t row) const {
    if (row < local_rows) {
      return {Tier::local, 0, row};
    }
    row -= local_rows;
    if (row < spread_rows) {
      const std::uint32_t within = by_gpus.quotient(row);
      return {Tier::spread, row - within * by_gpus.divisor, within};
    }
    row -= spread_rows;
    const std::uint32_t chunk = by_chunk_rows.quotient(row);
    return {Tier::host, chunk, row - chunk * by_chunk_rows.divisor};
  }
  [[nodiscard]] constexpr bool on_host(std::uint32_t row) const { return row >= local_rows + spread_rows; }
  [[nodiscard]] constexpr std::uint32_t host_rows() const { return rows - local_rows - spread_rows; }
  // Rows of the interleaved part that GPU `part` has.
  [[nodiscard]] constexpr std::uint32_t spread_rows_of(std::uint32_t part) const {
    return part < spread_rows ? (spread_rows - part - 1) / by_gpus.divisor + 1 : 0;
  }

  // What is in a row: the pattern of a seed from a byte on. Of the host's part that byte is also the row's
  // place in the host's memory, chunk after chunk.
  struct Contents {
    std::uint32_t seed = kHostSeed;
    std::uint64_t first_byte = 0;
  };
  [[nodiscard]] constexpr Contents contents(std::uint32_t row) const {
    if (row < local_rows) {
      return {kLocalSeed, std::uint64_t{row} * row_bytes};
    }
    if (row - local_rows < spread_rows) {
      return {kSpreadSeed, std::uint64_t{row - local_rows} * row_bytes};
    }
    const Location place = locate(row);
    return {kHostSeed, place.part * chunk_bytes + std::uint64_t{place.row} * row_bytes};
  }
  // Where a row of the host's begins, from the beginning of its memory on.
  [[nodiscard]] constexpr std::uint64_t host_byte(std::uint32_t row) const {
    return host_begin + contents(row).first_byte;
  }
};

// Bytes [2 half, 2 half + 2) of the pattern: rows need not be whole words.
[[nodiscard]] constexpr std::uint16_t pattern_half(std::uint64_t half, std::uint32_t seed) {
  return static_cast<std::uint16_t>(pattern_word(half / 2, seed) >> (half % 2 * 16));
}

// Rows of `row_bytes` that fit into `bytes` of memory in chunks. Throws UsageError where a row has no bytes,
// is larger than a chunk, or there are 2³² rows or more.
[[nodiscard]] std::uint32_t rows_that_fit(std::uint64_t bytes, std::uint64_t row_bytes,
                                          std::uint64_t chunk_bytes);

// The host's chunks that a view can name: as many as reach::SpanMemory can have.
inline constexpr std::uint64_t kMostTableChunks = 256;

// Memory for rows: whole lines, since what sticks out of the last row is read as well, and never none.
[[nodiscard]] constexpr std::uint64_t whole_lines(std::uint64_t bytes) {
  return (bytes + kLineBytes - (bytes > 0 ? 1 : 0)) / kLineBytes * kLineBytes;
}

// Where rows lie, as code that reads them addresses it. All of a table in one piece:
struct FlatView {
  const std::byte* first = nullptr;
  std::uint32_t row_bytes = 0;
  [[nodiscard]] constexpr const std::byte* row(std::uint32_t row) const {
    return first + std::uint64_t{row} * row_bytes;
  }
};

// and in general.
struct TableView {
  TableShape shape;
  const std::byte* local = nullptr;
  const std::byte* spread[kMostGpus] = {};
  const std::byte* chunks[kMostTableChunks] = {};
  [[nodiscard]] constexpr const std::byte* row(std::uint32_t row) const {
    const TableShape::Location place = shape.locate(row);
    const std::byte* part = place.tier == Tier::host     ? chunks[place.part]
                            : place.tier == Tier::spread ? spread[place.part]
                                                         : local;
    return part + std::uint64_t{place.row} * shape.row_bytes;
  }
};

}  // namespace grainscope::gnn

#endif
