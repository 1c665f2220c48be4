// Gathers that cannot be are refused before anything is launched: no GPU is needed to find out.

#include <gtest/gtest.h>

#include <limits>

#include "grainscope/core/error.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/gnn/gather.hpp"

namespace grainscope::gnn {
namespace {

// A shape without memory: who reads it would crash.
class NoMemory final : public FeatureStore {
 public:
  explicit NoMemory(const StoreRequest& request) : FeatureStore(request) {
    view_.shape = table_shape(request, kMiB);
  }
};

NoMemory store_of(Store store, std::uint32_t row_bytes) {
  StoreRequest request;
  request.store = store;
  request.row_bytes = row_bytes;
  request.span_bytes = kMiB;
  request.hot_percent = store == Store::tiered ? 10 : 0;
  return NoMemory(request);
}

std::string refusal(FeatureStore& store, const RowLists& lists, const GatherRequest& request) {
  try {
    static_cast<void>(make_gather(store, lists, request));
  } catch (const UsageError& error) {
    return error.what();
  } catch (const SkipError&) {
    return "";  // of a build without CUDA: it got as far as a GPU
  }
  return "";
}

TEST(RefusedGathers, of_rows_that_are_no_multiple_of_the_element_name_both_sizes) {
  for (const Store kind : {Store::mapped, Store::managed, Store::device, Store::tiered}) {
    NoMemory store = store_of(kind, 1030);
    for (const Mode mode : {Mode::naive, Mode::circular_shift, Mode::masked, Mode::vector}) {
      const std::uint32_t width = mode == Mode::masked ? 8 : 4;  // a masked walk may straddle by 4
      EXPECT_EQ(refusal(store, {{0}}, {mode, width, 0, 1}), std::string(name(mode)) + " cannot load " +
                                                                std::to_string(width) +
                                                                " bytes at once from rows of 1030");
    }
    for (const Mode mode : {Mode::address_ordered, Mode::graphbolt}) {
      EXPECT_NE(refusal(store, {{0}}, {mode, 16, 0, 1}), "") << name(mode);
    }
  }
}

TEST(RefusedGathers, of_an_index_out_of_range_name_it) {
  for (const Store kind : {Store::mapped, Store::managed, Store::device, Store::tiered}) {
    NoMemory store = store_of(kind, 1024);
    for (const Mode mode : {Mode::naive, Mode::masked, Mode::address_ordered, Mode::graphbolt}) {
      const std::uint32_t width = mode == Mode::naive ? 4 : 16;
      EXPECT_EQ(refusal(store, {{0, 1023}, {5, 1024}}, {mode, width, 0, 1}),
                "index 1 of a gather asks for row 1024 of a table of 1024 rows")
          << name(mode);
    }
  }
  NoMemory pinned = store_of(Store::pinned, 1024);
  for (const Mode mode : {Mode::row_dma, Mode::cpu_gather_dma}) {
    EXPECT_NE(refusal(pinned, {{UINT32_MAX}}, {mode, 4, 0, 1}).find("row 4294967295"), std::string::npos);
  }
}

TEST(RefusedTables, have_more_than_all_or_fewer_than_no_rows_on_gpus) {
  for (const Store kind : {Store::tiered, Store::multi_gpu}) {
    for (const double percent :
         {-1.0, 100.5, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
      StoreRequest request;
      request.store = kind;
      request.span_bytes = kMiB;
      request.gpus = {0};
      request.hot_percent = percent;
      try {
        static_cast<void>(table_shape(request, kMiB));
        ADD_FAILURE() << percent;
      } catch (const UsageError& error) {
        EXPECT_NE(std::string(error.what()).find("0 to 100 percent"), std::string::npos) << error.what();
      }
    }
  }
  StoreRequest both;
  both.store = Store::multi_gpu;
  both.span_bytes = kMiB;
  both.gpus = {0};
  both.hot_percent = 60;
  both.replicated_percent = 41;
  EXPECT_THROW(static_cast<void>(table_shape(both, kMiB)), UsageError);
}

}  // namespace
}  // namespace grainscope::gnn
