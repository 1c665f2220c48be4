#include <cuda_runtime_api.h>

#include <bit>
#include <memory>
#include <string>

#include "family_fixture.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/gnn/gather.hpp"
#include "grainscope/reach/span_memory.hpp"

namespace grainscope::gnn {
namespace {

class Bags : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (!IsSkipped()) {
      reach::SpanRequest request;
      request.home = topology_.usable_nodes().front();
      request.chunk_bytes = kMiB;
      memory_ = std::make_unique<reach::SpanMemory>(topology_, request);
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
