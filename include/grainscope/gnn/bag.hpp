#ifndef GRAINSCOPE_GNN_BAG_HPP
#define GRAINSCOPE_GNN_BAG_HPP

// Embedding bags: what a recommender asks of its tables. A bag of a table is a few of its rows, added up.

#include <cstdint>
#include <memory>
#include <vector>

#include "grainscope/core/operation.hpp"
#include "grainscope/gnn/feature_store.hpp"
#include "grainscope/gnn/gather.hpp"
#include "grainscope/gnn/row_lists.hpp"

namespace grainscope::gnn {

struct BagRequest {
  std::uint32_t tables = 8;
  std::uint32_t bags = 4096;   // of each table in a batch
  std::uint32_t pooling = 20;  // rows of a bag
  [[nodiscard]] constexpr std::uint64_t outputs() const { return std::uint64_t{tables} * bags; }
  [[nodiscard]] constexpr std::uint64_t lookups() const { return outputs() * pooling; }
};

// Elements stand for numbers of 1 to 2 in steps of 1/256, told by the upper eight bits of their 32: sums of
// up to 32,768 of them are exact in float32, in any order.
inline constexpr std::uint32_t kMostPooled = 1 << 15;
[[nodiscard]] constexpr std::uint32_t bag_element_bits(std::uint32_t word) {
  return (word >> 9 & 0x007f8000U) | 0x3f800000U;
}

// Row numbers of a batch, [bags][tables][pooling]: row r of table t is row r × tables + t of the store, so
// that the hot rows of all tables come first. Drawn by `indices` from each table; list number `list`. Throws
// UsageError for no tables, bags or rows of a bag, more than kMostPooled of these, or fewer rows than tables.
[[nodiscard]] std::vector<std::uint32_t> draw_bags(const BagRequest& request, Indices indices,
                                                   std::uint32_t store_rows, std::uint64_t seed, int list);

// Timed and checked as a gather (gather.hpp): the next list in turn.
class BagLookup : public Operation {
 public:
  // For tests: the last output, f32[bags][tables][row_bytes / 4].
  [[nodiscard]] virtual std::vector<float> output() const = 0;
};

// The store, of rows of whole 16 bytes that kernels can read, outlives it. Throws as make_gather; in a build
// without CUDA always SkipError.
[[nodiscard]] std::unique_ptr<BagLookup> make_bag_lookup(FeatureStore& store, const RowLists& lists,
                                                         const BagRequest& request);

}  // namespace grainscope::gnn

#endif
