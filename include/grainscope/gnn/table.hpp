#ifndef GRAINSCOPE_GNN_TABLE_HPP
#define GRAINSCOPE_GNN_TABLE_HPP

// A feature table as arithmetic: in which memory a row lies, at which place of it, and what is in it. The
// same on the host, on a GPU and in the model.
//
// Rows below `local_rows` are in the reading GPU's own memory, the next `spread_rows` lie interleaved over
// `gpus` GPUs, and the rest on the host: row r of the interleaved part is row ⌊(r − local) / gpus⌋ of GPU
// (r − local) mod gpus. Dissertation listing 4.1, which multiplies before it divides, is wrong there as
// printed. Rows are numbered by falling score, so that the first ones are the ones asked for most.

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "grainscope/core/pattern.hpp"
#include "grainscope/gnn/access.hpp"

namespace grainscope::gnn {

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
