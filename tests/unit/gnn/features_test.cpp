// Features of a file: in any order, widened, held against the file, and trained on.

#include "grainscope/gnn/features.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <set>

#include "child.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/gnn/pipeline.hpp"
#include "grainscope/graph/generate.hpp"
#include "npy_files.hpp"

namespace grainscope::gnn {
namespace {

class OwnFeatures : public testing::Test {
 protected:
  [[nodiscard]] std::shared_ptr<const NpyFile> file(const std::string& content) const {
    test::write_text(folder_ / "own.npy", content);
    return std::make_shared<NpyFile>((folder_ / "own.npy").string());
  }
  // Rows of float32 around `mean`, of the given scale.
  [[nodiscard]] std::shared_ptr<const NpyFile> drawn(std::uint32_t rows, std::uint32_t columns, float mean,
                                                     float scale) const {
    const std::string shape = "(" + std::to_string(rows) + ", " + std::to_string(columns) + ")";
    std::string content = test::npy_header(test::npy_dictionary("<f4", shape));
    for (std::uint32_t row = 0; row < rows; ++row) {
      for (std::uint32_t column = 0; column < columns; ++column) {
        content += test::bytes_of(mean + scale * feature(7, row, column));
      }
    }
    return file(content);
  }

  const test::TemporaryDirectory folder_;
};

TEST_F(OwnFeatures, stand_in_the_order_asked_for) {
  const auto own = file(test::npy_table(4, 3));
  const Features features(own, {2, 0, 3, 1});
  EXPECT_EQ(features.columns(), 3U);
  EXPECT_EQ(features.row_bytes(), 12U);
  std::vector<float> row(3);
  features.read(0, row.data());
  EXPECT_EQ(row, (std::vector<float>{6 * 0x1p-10F, 7 * 0x1p-10F, 8 * 0x1p-10F}));
  std::vector<std::byte> all(48);
  features.fill(4, all.data());
  EXPECT_EQ(std::memcmp(all.data(), own->row(2), 12), 0);
  EXPECT_EQ(std::memcmp(all.data() + 36, own->row(1), 12), 0);
  const std::vector<graph::Vertex> rows{0, 1, 2, 3};
  EXPECT_EQ(features.count_wrong(all.data(), rows), 0U);
  all[13] ^= std::byte{1};
  all[47] ^= std::byte{1};
  EXPECT_EQ(features.count_wrong(all.data(), rows), 2U);
}

TEST_F(OwnFeatures, of_float16_are_widened) {
  std::string content = test::npy_header(test::npy_dictionary("<f2", "(1, 7)"));
  for (const int bits : {0x3c00, 0xc000, 0x0001, 0x7bff, 0x8000, 0x7c00, 0x7e00}) {
    content += test::bytes_of(static_cast<std::uint16_t>(bits));
  }
  std::vector<float> row(7);
  Features(file(content)).read(0, row.data());
  EXPECT_EQ(row[0], 1);
  EXPECT_EQ(row[1], -2);
  EXPECT_EQ(row[2], 0x1p-24F);
  EXPECT_EQ(row[3], 65504);
  EXPECT_TRUE(row[4] == 0 && std::signbit(row[4]));
  EXPECT_EQ(row[5], std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(row[6]));
}

TEST_F(OwnFeatures, of_an_order_of_other_rows_are_refused) {
  const auto own = file(test::npy_table(4, 3));
  EXPECT_THROW(Features(own, {0, 1, 2}), UsageError);
  EXPECT_THROW(Features(own, {0, 1, 2, 4}), UsageError);
}

TEST_F(OwnFeatures, have_a_mean_and_a_scale) {
  std::vector<graph::Vertex> rows(5000);
  std::iota(rows.begin(), rows.end(), 0U);
  const FeatureSpread spread = spread_of(Features(drawn(5000, 2, 0, 3)), rows);
  EXPECT_NEAR(spread.scale, 3, 0.1);
  EXPECT_NEAR(spread.means[1], 0, 0.1);
  EXPECT_NEAR(spread_of(Features(drawn(5000, 2, 5, 1)), rows).means[0], 5, 0.1);
}

TEST_F(OwnFeatures, that_nothing_can_be_trained_on_are_refused_with_their_place) {
  std::string content = test::npy_table(4, 3);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  content.replace(content.size() - 4 * sizeof(float), sizeof(float), test::bytes_of(nan));
  try {
    static_cast<void>(spread_of(Features(file(content), {3, 2, 1, 0}), std::vector<graph::Vertex>{0, 1}));
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("own.npy: column 2 of row 2 is nan"), std::string::npos)
        << error.what();
  }
  const auto zeros = file(test::npy_header(test::npy_dictionary("<f4", "(2, 3)")) + std::string(24, '\0'));
  EXPECT_THROW(static_cast<void>(spread_of(Features(zeros), std::vector<graph::Vertex>{0, 1})), UsageError);
}

TEST(RequireLockable, tells_both_numbers) {
  EXPECT_NO_THROW(require_lockable(700 * kMiB, {kGiB, {}}));
  EXPECT_NO_THROW(require_lockable(700 * kMiB, {}));
  try {
    require_lockable(3 * kGiB, {8 * kGiB, 2 * kGiB});
    FAIL();
  } catch (const SkipError& error) {
    EXPECT_STREQ(error.what(), "needs 3 GiB of page-locked host memory; 2 GiB are available");
  }
}

class OwnTraining : public OwnFeatures {
 protected:
  static constexpr std::uint32_t kColumns = 24;

  [[nodiscard]] static TrainingRequest request() {
    TrainingRequest request;
    request.sample = {{5, 5}, 1};
    request.batch = 150;
    request.batches = 24;
    request.labelled_percent = 60;
    request.shape = {kColumns, 32, 8, 2};
    request.rate = 1;
    return request;
  }

  const graph::Csr graph_ = graph::make_graph(graph::parse_graph_spec("kron:11"), false);
};

TEST_F(OwnTraining, loses_less_whatever_the_scale_of_the_features) {
  struct Spread {
    float mean;
    float scale;
  };
  for (const auto& [mean, scale] : {Spread{0, 1}, Spread{0, 100}, Spread{0, 0.01F}, Spread{0.5F, 0.5F}}) {
    SCOPED_TRACE(testing::Message() << mean << " +- " << scale);
    const TrainingPlan plan =
        plan_training(graph_, request(), drawn(graph_.vertices(), kColumns, mean, scale));
    EXPECT_GT(std::set<std::uint16_t>(plan.labels.begin(), plan.labels.end()).size(), 4U);
    EXPECT_EQ(plan.epoch_batches, static_cast<std::uint64_t>(std::llround(0.6 * graph_.vertices())) / 150);
    const auto table = make_pageable_table(graph_.vertices(), plan.features);
    EXPECT_EQ(table->bytes(), nullptr) << "a file is mapped, not copied";
    const auto pipeline = make_pipeline(plan, *table, {Mode::cpu_gather, Store::pageable});
    const PipelineRun run = pipeline->run();
    EXPECT_LT(run.losses.back(), 0.97 * run.losses.front());
    const std::vector<double> expected = reference_losses(plan, 3, 1);
    for (std::size_t b = 0; b < expected.size(); ++b) {
      EXPECT_NEAR(run.losses[b], expected[b], 1e-5 * expected[b]) << "mini-batch " << b;
    }
  }
}

TEST_F(OwnTraining, from_rows_of_other_vertices_is_found) {
  const auto own = drawn(graph_.vertices(), kColumns, 0, 1);
  const TrainingPlan plan = plan_training(graph_, request(), own);
  const auto table = make_pageable_table(graph_.vertices(), Features(own));
  const auto pipeline = make_pipeline(plan, *table, {Mode::cpu_gather, Store::pageable});
  EXPECT_THROW(static_cast<void>(pipeline->run()), FailedError);
}

TEST_F(OwnTraining, on_a_table_that_does_not_fit_is_refused) {
  const auto refused = [&](const std::shared_ptr<const NpyFile>& own, const char* said) {
    try {
      static_cast<void>(plan_training(graph_, request(), own));
      ADD_FAILURE() << said;
    } catch (const UsageError& error) {
      EXPECT_NE(std::string(error.what()).find(said), std::string::npos) << error.what();
    }
  };
  refused(drawn(graph_.vertices() - 1, kColumns, 0, 1), "and each needs one row");
  refused(drawn(graph_.vertices() + 1, kColumns, 0, 1), "and each needs one row");
  refused(drawn(graph_.vertices(), kColumns + 1, 0, 1), "25 columns of 4 bytes: training takes 24");
  refused(file(test::npy_table(graph_.vertices(), kColumns, 2)), "of 2 bytes: training takes 24 of float32");
}

}  // namespace
}  // namespace grainscope::gnn
