// Every kernel from every store against the CPU.

#include "feature_gather_fixture.hpp"

namespace grainscope::gnn {
namespace {

TEST_F(FeatureGather, every_kernel_from_every_store_gives_what_the_cpu_expects) {
  for (const Store store_kind : kKernelStores) {
    for (const std::uint32_t row_bytes : kOddRows) {
      const auto store = store_of(store_kind, row_bytes);
      const auto rows = draw_rows(Indices::uniform, 777, store->shape().rows, 3, 0);
      for (const Mode mode : kKernelModes) {
        for (const std::uint32_t width : widths_of(mode, row_bytes)) {
          expect_kernel_right(*store, mode, width, rows);
        }
      }
    }
  }
}

TEST_F(FeatureGather, without_a_gate_kernels_give_the_same) {
  const auto store = store_of(Store::mapped, 132);
  for (const Mode mode : {Mode::masked, Mode::address_ordered}) {
    const auto gather = make_gather(*store, lists_of(*store, 777), {mode, 4, 0, 1});
    EXPECT_THROW(static_cast<void>(gather->verify()), FailedError) << "nothing was gathered yet";
    gather->run_counted();
    EXPECT_FALSE(gather->verify().empty());
  }
}

TEST_F(FeatureGather, odd_numbers_of_rows_and_few_blocks_are_right_too) {
  for (const std::uint32_t row_bytes : {4U, 6U, 132U, 1028U, 1030U, 4096U}) {
    const auto store = store_of(Store::mapped, row_bytes);
    for (const std::uint64_t count : {1U, 2U, 31U, 33U, 1023U, 20'011U}) {
      const auto rows = draw_rows(Indices::zipf, count, store->shape().rows, 5, 0);
      for (const Mode mode : kKernelModes) {
        const bool narrow = mode == Mode::naive || mode == Mode::circular_shift;
        const std::uint32_t element = row_bytes % 4 == 0 ? 4 : 2;
        const std::uint32_t width = narrow ? element : widest_load(mode, row_bytes);
        expect_kernel_right(*store, mode, width, rows);
        expect_kernel_right(*store, mode, width, rows, 1);
      }
    }
  }
}

TEST_F(FeatureGather, the_first_and_last_rows_of_every_tier_and_chunk_are_where_they_should_be) {
  for (const Store store_kind : {Store::mapped, Store::tiered, Store::multi_gpu}) {
    for (const std::uint32_t row_bytes : {4U, 6U, 188U, 1028U, 1030U}) {
      const auto store = store_of(store_kind, row_bytes);
      const TableShape& table = store->shape();
      std::vector<std::uint32_t> rows{0, table.rows - 1};
      for (std::uint32_t row = 1; row < table.rows; ++row) {
        const TableShape::Location here = table.locate(row);
        const TableShape::Location before = table.locate(row - 1);
        if (here.tier != before.tier || (here.tier == Tier::host && here.part != before.part)) {
          rows.insert(rows.end(), {row - 1, row, row + 1});
        }
      }
      EXPECT_GE(rows.size(), 8U);
      expect_kernel_right(*store, Mode::masked, widest_load(Mode::masked, row_bytes), rows);
      expect_kernel_right(*store, Mode::graphbolt, widest_load(row_bytes), rows);
    }
  }
}

}  // namespace
}  // namespace grainscope::gnn
