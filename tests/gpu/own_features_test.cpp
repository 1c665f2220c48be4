// A feature table of one's own on a GPU: every way to gather it and to train on it, held against the file.

#include <algorithm>
#include <memory>
#include <numeric>
#include <vector>

#include "child.hpp"
#include "gpu_fixture.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/gnn/gather.hpp"
#include "grainscope/gnn/pipeline.hpp"
#include "grainscope/graph/generate.hpp"
#include "npy_files.hpp"

namespace grainscope::gnn {
namespace {

class OwnFeaturesOnGpu : public GpuTest {
 protected:
  [[nodiscard]] std::shared_ptr<const NpyFile> file(std::uint32_t rows, std::uint32_t columns,
                                                    std::uint32_t element) const {
    const auto path = folder_ / "own.npy";
    test::write_text(path, test::npy_table(rows, columns, element));
    return std::make_shared<NpyFile>(path.string());
  }
  // Features of the file's rows from the last to the first.
  [[nodiscard]] static Features turned_round(const std::shared_ptr<const NpyFile>& own) {
    std::vector<graph::Vertex> order(own->rows());
    std::iota(order.rbegin(), order.rend(), 0U);
    return Features(own, order);
  }
  [[nodiscard]] static StoreRequest request_of(const FeatureTable& table, Store store, double hot) {
    StoreRequest request;
    request.store = store;
    request.row_bytes = static_cast<std::uint32_t>(table.row_bytes());
    request.span_bytes = table.vertices() * table.row_bytes();
    request.hot_percent = hot;
    return request;
  }
  [[nodiscard]] static RowLists lists(std::uint32_t rows) {
    return {draw_rows(Indices::uniform, 3000, rows, 1, 0), draw_rows(Indices::zipf, 3000, rows, 1, 1)};
  }

  const test::TemporaryDirectory folder_;
};

struct GatherWay {
  Mode mode;
  Store store;
  double hot = 0;
};

TEST_F(OwnFeaturesOnGpu, are_gathered_by_every_mode_from_every_store) {
  // Odd numbers of rows, 739 of them hot: rows of 1030 bytes then begin and end within a word.
  constexpr graph::Vertex kRows = 2001;
  constexpr GatherWay kWays[] = {
      {Mode::naive, Store::mapped},          {Mode::circular_shift, Store::mapped},
      {Mode::masked, Store::mapped},         {Mode::vector, Store::mapped},
      {Mode::graphbolt, Store::mapped},      {Mode::address_ordered, Store::mapped},
      {Mode::cpu_gather_dma, Store::pinned}, {Mode::row_dma, Store::pinned},
      {Mode::masked, Store::device},         {Mode::masked, Store::tiered, 0},
      {Mode::masked, Store::tiered, 36.95},  {Mode::address_ordered, Store::tiered, 10},
      {Mode::masked, Store::tiered, 100}};
  struct Shape {
    std::uint32_t columns;
    std::uint32_t element;
  };
  for (const auto& [columns, element] : {Shape{33, 4}, Shape{128, 4}, Shape{515, 2}, Shape{3, 2}}) {
    const auto own = file(kRows, columns, element);
    const Features features = turned_round(own);
    const auto table = make_pinned_table(kRows, features);
    for (const GatherWay& way : kWays) {
      SCOPED_TRACE(testing::Message() << name(way.mode) << " " << name(way.store) << " " << way.hot << ", "
                                      << columns << " columns of " << element);
      const bool narrow = way.mode == Mode::naive || way.mode == Mode::circular_shift;
      const auto store = make_table_store(request_of(*table, way.store, way.hot), *table, features);
      EXPECT_EQ(store->fill_s().has_value(), way.store == Store::tiered && way.hot > 0);
      const auto gather =
          make_gather(*store, lists(kRows),
                      {way.mode, narrow ? element : widest_load(way.mode, features.row_bytes()), 0, 2});
      for (int turn = 0; turn < 3; ++turn) {
        EXPECT_GT(sample(*gather), 0);
      }
      EXPECT_NE(gather->verify().find("the mapped file"), std::string::npos);
    }
  }
}

TEST_F(OwnFeaturesOnGpu, that_differ_from_the_file_are_found) {
  const auto own = file(2000, 33, 4);
  const Features features = turned_round(own);
  const auto table = make_pinned_table(2000, features);
  const auto store = make_table_store(request_of(*table, Store::mapped, 0), *table, features);
  const auto gather = make_gather(*store, {{5, 6, 7}}, {Mode::masked, 4, 0, 1});
  static_cast<void>(sample(*gather));
  EXPECT_NO_THROW(static_cast<void>(gather->verify()));
  table->bytes()[6 * 132 + 131] ^= std::byte{1};
  static_cast<void>(sample(*gather));
  EXPECT_THROW(static_cast<void>(gather->verify()), FailedError);
}

TEST_F(OwnFeaturesOnGpu, are_in_no_store_that_does_not_fit) {
  const auto own = file(100, 8, 4);
  const auto table = make_pinned_table(100, Features(own));
  StoreRequest request = request_of(*table, Store::tiered, 101);
  EXPECT_THROW(static_cast<void>(make_table_store(request, *table, Features(own))), UsageError);
  request = request_of(*table, Store::multi_gpu, 10);
  EXPECT_THROW(static_cast<void>(make_table_store(request, *table, Features(own))), UsageError);
  request = request_of(*table, Store::mapped, 0);
  request.row_bytes = 64;
  EXPECT_THROW(static_cast<void>(make_table_store(request, *table, Features(own))), UsageError);
}

TEST_F(OwnFeaturesOnGpu, train_to_the_same_losses_by_every_way) {
  const graph::Csr graph = graph::make_graph(graph::parse_graph_spec("kron:11"), false);
  TrainingRequest request;
  request.sample = {{5, 10}, 1};
  request.batch = 150;
  request.batches = 16;
  request.labelled_percent = 60;
  request.shape = {24, 32, 8, 2};
  request.rate = 1;
  const TrainingPlan plan = plan_training(graph, request, file(graph.vertices(), 24, 4));
  const auto table = make_pinned_table(graph.vertices(), plan.features);
  const std::vector<double> expected = reference_losses(plan, 16, 1);
  std::vector<double> first;
  struct Way {
    Mode mode;
    Store store;
    double hot = 0;
    int window = 1;
  };
  for (const Way& way : {Way{Mode::masked, Store::device}, Way{Mode::masked, Store::mapped},
                         Way{Mode::address_ordered, Store::mapped, 0, 4},
                         Way{Mode::masked, Store::tiered, 10}, Way{Mode::cpu_gather_dma, Store::pinned}}) {
    SCOPED_TRACE(testing::Message() << name(way.mode) << " " << name(way.store));
    PipelineRequest asked;
    asked.mode = way.mode;
    asked.store = way.store;
    asked.hot_percent = way.hot;
    asked.window = way.window;
    const auto pipeline = make_pipeline(plan, *table, asked);
    const StageTimes stages = pipeline->stages();
    EXPECT_EQ(pipeline->run().losses, stages.losses);
    EXPECT_EQ(pipeline->fill_s() > 0, way.store == Store::tiered || way.store == Store::device);
    for (std::size_t b = 0; b < expected.size(); ++b) {
      EXPECT_NEAR(stages.losses[b], expected[b], 1e-3 * std::max(1.0, expected[b])) << "mini-batch " << b;
    }
    first = first.empty() ? stages.losses : first;
    EXPECT_EQ(stages.losses, first);
  }
  const auto pipeline = make_pipeline(plan, *table, {Mode::masked, Store::mapped});
  table->bytes()[plan.seeds[3][5] * table->row_bytes()] ^= std::byte{1};
  EXPECT_THROW(static_cast<void>(pipeline->stages()), FailedError);
}

}  // namespace
}  // namespace grainscope::gnn
