#include "grainscope/model/link.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "grainscope/core/error.hpp"
#include "grainscope/model/paging.hpp"
#include "warp_walks.hpp"

namespace grainscope::model {
namespace {

using gnn::Mode;
using gnn::RowShape;
using gnn::TableShape;

constexpr std::int64_t kTilesAtOnce = 1024;  // that a thread takes

// The lines that one warp-wide load touches, and which of their sectors.
class LoadLines {
 public:
  void clear() { count_ = 0; }
  void add(std::uint64_t byte) {
    const std::uint64_t line = byte / graph::kLineBytes;
    const auto sector = static_cast<std::uint8_t>(1U << (byte % graph::kLineBytes / kSectorBytes));
    for (std::size_t i = count_; i-- > 0;) {
      if (lines_[i] == line) {
        masks_[i] |= sector;
        return;
      }
    }
    lines_[count_] = line;
    masks_[count_++] = sector;
  }
  void count_into(BySectorMask& masks) const {
    for (std::size_t i = 0; i < count_; ++i) {
      ++masks[masks_[i]];
    }
  }

 private:
  std::array<std::uint64_t, graph::kWarpLanes> lines_{};
  std::array<std::uint8_t, graph::kWarpLanes> masks_{};
  std::size_t count_ = 0;
};

// What a thread has counted.
struct Counts {
  BySectorMask masks{};
  Requests requests;
};

template <class Policy>
void count_load(const Policy& policy, const TableShape& table, std::span<const std::uint32_t> rows,
                const gnn::TileBase& base, int load, LoadLines& lines, Counts& counts) {
  std::uint64_t lanes = 0;
  lines.clear();
  for (int lane = 0; lane < graph::kWarpLanes; ++lane) {
    const gnn::Place place = policy.place(base, load, lane);
    if (place.position >= rows.size() || !table.on_host(rows[place.position])) {
      continue;
    }
    const std::uint64_t row = table.host_byte(rows[place.position]);
    const std::uint32_t element = policy.element(place, policy.phase(row));
    if (policy.shape.holds(row, element)) {
      lines.add(policy.shape.begin_of(row, element));
      ++lanes;
    }
  }
  lines.count_into(counts.masks);
  counts.requests.loads += lanes > 0 ? 1 : 0;
  counts.requests.lanes += lanes;
  counts.requests.elements += lanes;
}

template <class Policy>
Requests replay_gather(const Policy& policy, int loads, const TableShape& table,
                       std::span<const std::uint32_t> rows) {
  const auto tiles = static_cast<std::int64_t>(policy.tiles(loads));
  Requests total;
#pragma omp parallel
  {
    Counts counts;
    LoadLines lines;
#pragma omp for schedule(dynamic, kTilesAtOnce)
    for (std::int64_t tile = 0; tile < tiles; ++tile) {
      const gnn::TileBase base = policy.base(static_cast<std::uint64_t>(tile), loads);
      for (int load = 0; load < loads; ++load) {
        count_load(policy, table, rows, base, load, lines, counts);
      }
    }
    add_masks(counts.requests, counts.masks);
#pragma omp critical
    total += counts.requests;
  }
  return total;
}

std::vector<std::uint32_t> sorted(std::span<const std::uint32_t> rows) {
  std::vector<std::uint32_t> ordered(rows.begin(), rows.end());
  std::sort(ordered.begin(), ordered.end());
  return ordered;
}

}  // namespace

Requests gather_requests(Mode mode, std::uint32_t width, const TableShape& table,
                         std::span<const std::uint32_t> rows) {
  if (!gnn::is_modelled(mode)) {
    throw UsageError(std::string("what ") + name(mode) + " asks of a link is not modelled");
  }
  // An element is no wider than the load, so that this asks for the load alone.
  const bool flat = mode == Mode::naive || mode == Mode::circular_shift;
  if (!gnn::may_load(mode, table.row_bytes, flat ? width : 2, width)) {
    throw UsageError(std::string(name(mode)) + " cannot load " + std::to_string(width) +
                     " bytes at once from rows of " + std::to_string(table.row_bytes));
  }
  const RowShape shape(rows.size(), table.row_bytes, width);
  const int loads = gnn::loads_of_tile(width);
  switch (mode) {
    case Mode::circular_shift:
      return replay_gather(gnn::CircularShift(shape), loads, table, rows);
    case Mode::masked:
      return replay_gather(gnn::Masked(shape), loads, table, rows);
    case Mode::address_ordered:
      return replay_gather(gnn::Masked(shape), loads, table, sorted(rows));
    case Mode::graphbolt: {
      const gnn::GraphBolt policy(shape);
      return replay_gather(policy, static_cast<int>(policy.steps), table, sorted(rows));
    }
    default:
      return replay_gather(gnn::Naive(shape), loads, table, rows);
  }
}

std::uint64_t gather_misses(Mode mode, const Link& link, const TableShape& table,
                            std::span<const std::uint32_t> rows) {
  const std::uint64_t end = table.host_rows() == 0 ? 0 : table.host_byte(table.rows - 1) + table.row_bytes;
  if (link.granule_bytes == 0 || end <= table.host_begin + link.reach_bytes) {
    return 0;
  }
  const std::vector<std::uint32_t> ordered =
      gnn::sorts(mode) ? sorted(rows) : std::vector<std::uint32_t>(rows.begin(), rows.end());
  Lru lru((end + link.granule_bytes - 1) / link.granule_bytes,
          std::max<std::uint64_t>(1, link.reach_bytes / link.granule_bytes));
  for (const std::uint32_t row : ordered) {
    if (!table.on_host(row)) {
      continue;
    }
    const std::uint64_t first = table.host_byte(row);
    const std::uint64_t last = (first + table.row_bytes - 1) / link.granule_bytes;
    for (std::uint64_t granule = first / link.granule_bytes; granule <= last; ++granule) {
      lru.touch(static_cast<std::uint32_t>(granule));
    }
  }
  return lru.misses();
}

}  // namespace grainscope::model
