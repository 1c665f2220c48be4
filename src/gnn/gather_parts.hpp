#ifndef GRAINSCOPE_SRC_GNN_GATHER_PARTS_HPP
#define GRAINSCOPE_SRC_GNN_GATHER_PARTS_HPP

// What the ways to gather share on the host.

#include <algorithm>
#include <cstring>
#include <span>

#include "grainscope/gnn/gather.hpp"

namespace grainscope::gnn {

// Throws as make_gather for what cannot be on any machine.
void require_possible(const FeatureStore& store, const RowLists& lists, const GatherRequest& request);

[[nodiscard]] std::unique_ptr<Operation> make_host_gather(FeatureStore& store, RowLists lists,
                                                          const GatherRequest& request);
// Of all other modes; SkipError without CUDA.
[[nodiscard]] std::unique_ptr<Operation> make_gpu_gather(FeatureStore& store, RowLists lists,
                                                         const GatherRequest& request);

// Copies rows of a table that the host reads, one after another, to `out`. Rows that are to come are
// prefetched, or each would wait for memory by itself.
inline void copy_rows(const TableView& view, std::span<const std::uint32_t> rows, std::byte* out) {
  constexpr std::size_t kAhead = 8;
  constexpr std::size_t kHostLine = 64;
  constexpr std::size_t kMostPrefetched = 256;  // bytes of a row: the CPU goes on by itself
  const std::size_t row_bytes = view.shape.row_bytes;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (i + kAhead < rows.size()) {
      const std::byte* ahead = view.row(rows[i + kAhead]);
      for (std::size_t at = 0; at < std::min(row_bytes, kMostPrefetched); at += kHostLine) {
        __builtin_prefetch(ahead + at);
      }
    }
    std::memcpy(out + i * row_bytes, view.row(rows[i]), row_bytes);
  }
}

}  // namespace grainscope::gnn

#endif
