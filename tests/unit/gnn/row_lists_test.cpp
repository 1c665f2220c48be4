#include "grainscope/gnn/gather.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "grainscope/core/error.hpp"
#include "grainscope/core/units.hpp"

namespace grainscope::gnn {
namespace {

TEST(DrawRows, come_out_the_same_each_time_and_differ_by_list_and_seed) {
  for (const Indices indices : {Indices::uniform, Indices::zipf}) {
    const auto rows = draw_rows(indices, 1000, 1 << 20, 1, 0);
    EXPECT_EQ(draw_rows(indices, 1000, 1 << 20, 1, 0), rows);
    EXPECT_NE(draw_rows(indices, 1000, 1 << 20, 1, 1), rows);
    EXPECT_NE(draw_rows(indices, 1000, 1 << 20, 2, 0), rows);
    EXPECT_TRUE(std::all_of(rows.begin(), rows.end(), [](std::uint32_t row) { return row < 1U << 20; }));
  }
}

TEST(DrawRows, of_a_table_of_one_row_are_that_row) {
  for (const Indices indices : {Indices::uniform, Indices::zipf}) {
    EXPECT_EQ(draw_rows(indices, 5, 1, 1, 0), std::vector<std::uint32_t>(5, 0));
  }
}

TEST(DrawRows, are_refused_where_there_is_nothing_to_draw_from) {
  EXPECT_THROW(static_cast<void>(draw_rows(Indices::uniform, 5, 0, 1, 0)), UsageError);
  EXPECT_THROW(static_cast<void>(draw_rows(Indices::sampled, 5, 10, 1, 0)), UsageError);
}

// Of a table of 2^20 rows the first 2^10 take half of all accesses, and row 0 ln 2 / ln 2^20 of them.
TEST(DrawRows, zipf_takes_as_many_hot_rows_as_its_law_says) {
  const auto rows = draw_rows(Indices::zipf, 1 << 18, 1 << 20, 1, 0);
  const auto share = [&](std::uint32_t below) {
    return static_cast<double>(
               std::count_if(rows.begin(), rows.end(), [=](std::uint32_t row) { return row < below; })) /
           static_cast<double>(rows.size());
  };
  EXPECT_NEAR(share(1), 0.05, 0.005);
  EXPECT_NEAR(share(1023), 0.5, 0.01);
  EXPECT_NEAR(share(1 << 20), 1, 0);
}

TEST(RequireInTable, names_the_index_and_the_row) {
  const std::vector<std::uint32_t> rows{3, 0, 99, 100};
  EXPECT_NO_THROW(require_in_table(rows, 101));
  try {
    require_in_table(rows, 100);
    FAIL() << "row 100 of 100 was taken";
  } catch (const UsageError& error) {
    EXPECT_STREQ(error.what(), "index 3 of a gather asks for row 100 of a table of 100 rows");
  }
}

TEST(CountUnique, tells_host_rows_from_the_others) {
  TableShape table;
  table.rows = 10;
  table.local_rows = 2;
  table.spread_rows = 3;
  const UniqueRows unique = unique_rows(std::vector<std::uint32_t>{9, 0, 0, 4, 5, 9, 9, 6}, table);
  EXPECT_EQ(unique.all, 5U);
  EXPECT_EQ(unique.on_host, 3U);
}

TEST(RowsThatFit, leave_the_rest_of_a_chunk_unused) {
  EXPECT_EQ(rows_that_fit(kMiB, 128, kMiB), 8192U);
  EXPECT_EQ(rows_that_fit(2 * kMiB, 1028, kMiB), 2 * (kMiB / 1028));
  EXPECT_EQ(rows_that_fit(2 * kMiB + 2056, 1028, kMiB), 2 * (kMiB / 1028) + 2);
  EXPECT_THROW(static_cast<void>(rows_that_fit(kMiB, 0, kMiB)), UsageError);
  EXPECT_THROW(static_cast<void>(rows_that_fit(kMiB, 2 * kMiB, kMiB)), UsageError);
  EXPECT_THROW(static_cast<void>(rows_that_fit(16 * kGiB, 4, kGiB)), UsageError);
}

}  // namespace
}  // namespace grainscope::gnn
