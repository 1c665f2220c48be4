// What a GPU reads of tables other than the closed form's rows: a file of one's own, held against the file
// in every way to gather it and to train on it, and embedding bags.

#include <cuda_runtime_api.h>

#include <algorithm>
#include <bit>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "child.hpp"
#include "family_fixture.hpp"
#include "gpu_fixture.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/gnn/gather.hpp"
#include "grainscope/gnn/pipeline.hpp"
#include "grainscope/graph/generate.hpp"
#include "grainscope/reach/span_memory.hpp"
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
    const auto table = make_mapped_table(kRows, features);
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
  const auto table = make_mapped_table(2000, features);
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
  const auto table = make_mapped_table(100, Features(own));
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
  const auto table = make_mapped_table(graph.vertices(), plan.features);
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
namespace {

class Bags : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (!IsSkipped()) {
      reach::SpanRequest request;
      request.memory.home = topology_.usable_nodes().front();
      request.chunk_bytes = kMiB;
      memory_ = std::make_unique<reach::SpanMemory>(cuda::Surroundings{&topology_}, request);
      memory_->grow(4 * kMiB);
    }
  }

  [[nodiscard]] std::unique_ptr<FeatureStore> store_of(Store store, std::uint32_t row_bytes) {
    StoreRequest request;
    request.store = store;
    request.row_bytes = row_bytes;
    request.span_bytes = 4 * kMiB;
    request.hot_percent = store == Store::tiered ? 25 : 0;
    return make_feature_store(request, memory_.get(), &budget_);
  }

  // In double precision, row by row, from the table's closed form.
  static void expect_right(const std::vector<float>& found, const std::vector<std::uint32_t>& rows,
                           const BagRequest& request, const TableShape& table) {
    const std::uint64_t elements = table.row_bytes / 4;
    ASSERT_EQ(found.size(), request.outputs() * elements);
    for (std::uint64_t bag = 0; bag < request.outputs(); ++bag) {
      for (std::uint64_t i = 0; i < elements; ++i) {
        double sum = 0;
        for (std::uint64_t k = 0; k < request.pooling; ++k) {
          const TableShape::Contents contents = table.contents(rows[bag * request.pooling + k]);
          const std::uint32_t word = pattern_word(contents.first_byte / 4 + i, contents.seed);
          sum += static_cast<double>(std::bit_cast<float>(bag_element_bits(word)));
        }
        ASSERT_EQ(static_cast<double>(found[bag * elements + i]), sum) << bag << ' ' << i;
      }
    }
  }

  const Topology topology_ = Topology::read();
  cuda::ManagedBudget budget_;
  std::unique_ptr<reach::SpanMemory> memory_;
};

TEST_F(Bags, of_every_shape_and_store_are_the_sums_of_their_rows) {
  for (const Store kind : {Store::mapped, Store::device, Store::tiered, Store::managed}) {
    for (const std::uint32_t row_bytes : {16U, 48U, 64U, 256U, 512U, 1040U}) {
      const auto store = store_of(kind, row_bytes);
      for (const BagRequest& request :
           {BagRequest{1, 1, 1}, BagRequest{3, 17, 7}, BagRequest{2, 5, 8}, BagRequest{4, 33, 20}}) {
        SCOPED_TRACE(std::string(name(kind)) + " " + std::to_string(row_bytes) + " " +
                     std::to_string(request.pooling));
        const RowLists lists{draw_bags(request, Indices::zipf, store->shape().rows, 1, 0)};
        const auto lookup = make_bag_lookup(*store, lists, request);
        for (int turn = 0; turn < 2; ++turn) {
          EXPECT_GT(sample(*lookup), 0);
        }
        EXPECT_FALSE(lookup->verify().empty());
        expect_right(lookup->output(), lists.front(), request, store->shape());
      }
    }
  }
}

TEST_F(Bags, that_are_wrong_or_never_pooled_are_caught) {
  const auto store = store_of(Store::mapped, 256);
  const BagRequest request{1, 2, 2};
  const RowLists lists{{3, 5, 7, 9}};
  const auto lookup = make_bag_lookup(*store, lists, request);
  EXPECT_THROW(static_cast<void>(lookup->verify()), FailedError);
  const TableShape::Location place = store->shape().locate(9);
  auto* byte = static_cast<std::uint8_t*>(memory_->host_chunks().at(place.part)) + place.row * 256 + 255;
  *byte ^= 1;  // of the upper eight bits of the last word
  const auto wrong = make_bag_lookup(*store, lists, request);
  static_cast<void>(sample(*wrong));
  *byte ^= 1;
  try {
    static_cast<void>(wrong->verify());
    FAIL() << "a wrong byte was not found";
  } catch (const FailedError& error) {
    EXPECT_NE(std::string(error.what()).find("element 63 of bag 1"), std::string::npos) << error.what();
  }
}

TEST_F(Bags, that_cannot_be_are_refused) {
  const auto store = store_of(Store::mapped, 256);
  EXPECT_THROW(static_cast<void>(make_bag_lookup(*store, {{1, 2, 3}}, {1, 2, 2})), UsageError);
  EXPECT_THROW(static_cast<void>(make_bag_lookup(*store, {{store->shape().rows}}, {1, 1, 1})), UsageError);
  const auto narrow = store_of(Store::mapped, 1028);
  EXPECT_THROW(static_cast<void>(make_bag_lookup(*narrow, {{1}}, {1, 1, 1})), UsageError);
}

}  // namespace
}  // namespace grainscope::gnn

namespace grainscope::harness {
namespace {

class GatherSessions : public FamilyTest {};

TEST_F(GatherSessions, every_case_of_the_smoke_preset_is_measured) {
  for (const Family& family : {gather(), gather_bag()}) {
    const std::size_t measured =
        measure_all(listed(family, Preset::smoke), [](const Measurement& measurement) {
          EXPECT_LE(measurement.link_bytes_least.value_or(0), measurement.bytes);
          EXPECT_GT(measurement.counters.at("unique_bytes"), 0);
          EXPECT_GT(measurement.counters.at("rows_per_s"), 0);
        });
    EXPECT_GE(measured, 1U) << family.name;
  }
}

}  // namespace
}  // namespace grainscope::harness
