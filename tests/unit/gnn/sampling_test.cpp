// Neighbour sampling: what may be asked, where it starts, what it draws, and what a mini-batch must be.

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

#include "../../testing/sample_graphs.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/gnn/sampling.hpp"
#include "grainscope/gnn/scores.hpp"
#include "grainscope/gnn/share_work.hpp"
#include "grainscope/graph/generate.hpp"
#include "list_view.hpp"
#include "lists_layout.hpp"

namespace grainscope::gnn {
namespace {

using graph::BothWays;
using graph::Csr;
using graph::Threads;
using graph::Vertex;

// `count` different vertices, all over the graph, not ascending.
std::vector<Vertex> spread_seeds(const Csr& graph, Vertex count) {
  std::vector<Vertex> seeds;
  const Vertex vertices = graph.vertices();
  Vertex step = vertices / 2 + 1;
  while (std::gcd(step, vertices) != 1) {
    ++step;
  }
  for (Vertex i = 0; i < std::min(count, vertices); ++i) {
    seeds.push_back(static_cast<Vertex>((std::uint64_t{i} * step + 3) % vertices));
  }
  return seeds;
}

std::vector<std::vector<int>> some_fanouts() {
  return {{1}, {3}, {2, 3}, {10, 25}, {3, 1, 4}, {2, 2, 2, 2, 2}, {1024}};
}

void expect_equal_to_the_oracle(const Csr& graph) {
  for (const std::vector<int>& fanouts : some_fanouts()) {
    const SampleRequest request{fanouts, 7};
    CpuSampler sampler(graph, request);
    for (const std::uint64_t batch : {0, 1, 2}) {
      SCOPED_TRACE(graph.name + ", " + fanout_text(fanouts) + ", batch " + std::to_string(batch));
      const auto seeds = spread_seeds(graph, batch == 0 ? 1 : 12);
      const MiniBatch sampled = sampler.sample(seeds, batch);
      EXPECT_EQ(sampled, serial_sample(graph, request, seeds, batch));
      EXPECT_NO_THROW(certify_sample(graph, fanouts, seeds, sampled));
    }
  }
}

TEST(CpuSampler, equals_the_serial_oracle_on_graphs_of_every_shape) {
  for (const BothWays& both : graph::all_sample_graphs()) {
    expect_equal_to_the_oracle(both.in_edges());
  }
}

TEST(CpuSampler, equals_the_serial_oracle_on_larger_graphs_with_any_number_of_threads) {
  for (const char* const spec : {"kron:14", "urand:14", "power"}) {
    const Csr graph = graph::make_graph(graph::parse_graph_spec(spec), false);
    const SampleRequest request{{10, 25, 3}, 3};
    const auto seeds = spread_seeds(graph, 3000);
    const MiniBatch expected = serial_sample(graph, request, seeds, 5);
    for (const int count : {1, 2, 7}) {
      const Threads threads(count);
      CpuSampler sampler(graph, request);
      EXPECT_EQ(sampler.sample(seeds, 5), expected) << spec << ", " << count << " threads";
    }
  }
}

TEST(CpuSampler, leaves_nothing_of_a_mini_batch_to_the_next) {
  const Csr graph = graph::make_graph(graph::parse_graph_spec("kron:12"), false);
  const SampleRequest request{{5, 5}, 1};
  CpuSampler sampler(graph, request);
  MiniBatch batch;
  for (const Vertex count : {2000, 3, 500}) {
    const auto seeds = spread_seeds(graph, count);
    sampler.sample(seeds, count, batch);
    EXPECT_EQ(batch, serial_sample(graph, request, seeds, count));
  }
  // Nor does one that cannot be.
  const Vertex last = graph.vertices();
  EXPECT_THROW(sampler.sample(std::vector<Vertex>{4, 5, last}, 0, batch), UsageError);
  EXPECT_THROW(sampler.sample(std::vector<Vertex>{4, 5, 4}, 0, batch), UsageError);
  EXPECT_THROW(sampler.sample(std::vector<Vertex>{}, 0, batch), UsageError);
  const std::vector<Vertex> seeds{5, 4};
  sampler.sample(seeds, 9, batch);
  EXPECT_EQ(batch, serial_sample(graph, request, seeds, 9));
}

TEST(CpuSampler, draws_something_else_for_another_seed_batch_and_hop) {
  const Csr graph = graph::make_graph(graph::parse_graph_spec("urand:12:32"), false);
  const auto seeds = spread_seeds(graph, 50);
  const auto nodes = [&](std::uint64_t seed, std::uint64_t batch) {
    CpuSampler sampler(graph, {{4, 4}, seed});
    return sampler.sample(seeds, batch);
  };
  const MiniBatch one = nodes(1, 1);
  EXPECT_NE(one, nodes(2, 1));
  EXPECT_NE(one, nodes(1, 2));
  EXPECT_EQ(one, nodes(1, 1));
  // The seeds are destinations of both layers: they draw anew.
  const auto drawn = [&](std::size_t hop) {
    return std::vector(one.layers[hop].sources.begin(), one.layers[hop].sources.begin() + 200);
  };
  EXPECT_NE(drawn(0), drawn(1));
}

TEST(CpuSampler, refuses_impossible_fan_outs) {
  const Csr graph = graph::make_graph(graph::parse_graph_spec("power"), false);
  EXPECT_THROW(CpuSampler(graph, {{}, 1}), UsageError);
  EXPECT_THROW(CpuSampler(graph, {{10, 0}, 1}), UsageError);
  EXPECT_THROW(static_cast<void>(serial_sample(graph, {{-1}, 1}, std::vector<Vertex>{1}, 0)), UsageError);
}

// Each set of `count` places below `degree` should come up equally often.
TEST(DrawPlaces, gives_every_set_the_same_chance) {
  constexpr std::uint32_t kDegree = 6;
  constexpr std::uint32_t kCount = 3;
  constexpr int kDraws = 200000;
  std::vector<int> times(1U << kDegree);
  for (int i = 0; i < kDraws; ++i) {
    std::uint32_t places[kCount];
    draw_places(random_number(11, static_cast<std::uint64_t>(i)), kDegree, kCount, places);
    unsigned set = 0;
    for (const std::uint32_t place : places) {
      ASSERT_LT(place, kDegree);
      set |= 1U << place;
    }
    ++times[set];
  }
  double chi_squared = 0;
  for (unsigned set = 0; set < times.size(); ++set) {
    if (std::popcount(set) != kCount) {
      EXPECT_EQ(times[set], 0);
      continue;
    }
    const double expected = kDraws / 20.0;
    chi_squared += (times[set] - expected) * (times[set] - expected) / expected;
  }
  EXPECT_LT(chi_squared, 43.8);  // 19 degrees of freedom: one in a thousand lies above
}

TEST(DrawPlaces, takes_all_but_one_of_a_list_that_is_one_too_long) {
  std::uint32_t places[1023];
  draw_places(5, 1024, 1023, places);
  std::sort(std::begin(places), std::end(places));
  EXPECT_EQ(std::adjacent_find(std::begin(places), std::end(places)), std::end(places));
  EXPECT_LT(places[1022], 1024U);
}

}  // namespace
namespace {

TEST(Fanouts, are_read_and_written) {
  EXPECT_EQ(parse_fanouts("10x25"), (std::vector{10, 25}));
  EXPECT_EQ(parse_fanouts("1024"), (std::vector{1024}));
  for (const char* const text : {"5", "10x25", "10x10x10x10x10"}) {
    EXPECT_EQ(fanout_text(parse_fanouts(text)), text);
  }
}

TEST(Fanouts, that_cannot_be_are_refused_by_name) {
  for (const char* const text : {"", "0", "10x0", "x", "10x", "x10", "10,25", "10x-1", "1025", "10 x 25",
                                 "1x1x1x1x1x1x1x1x1", "10x25y"}) {
    try {
      static_cast<void>(parse_fanouts(text));
      ADD_FAILURE() << "'" << text << "' was taken";
    } catch (const UsageError& error) {
      EXPECT_NE(std::string(error.what()).find("fan-out"), std::string::npos) << error.what();
    }
  }
  EXPECT_THROW(require_fanouts(std::vector<int>{}), UsageError);
  EXPECT_THROW(require_fanouts(std::vector{3, 0}), UsageError);
}

TEST(Seeds, that_cannot_be_are_refused_by_name) {
  const auto message = [](const std::vector<graph::Vertex>& seeds) -> std::string {
    try {
      require_seeds(seeds, 10);
    } catch (const UsageError& error) {
      return error.what();
    }
    return {};
  };
  EXPECT_EQ(message({3, 9, 0}), "");
  EXPECT_NE(message({}), "");
  EXPECT_NE(message({3, 10}).find("seed 1 of a mini-batch, 10,"), std::string::npos);
  EXPECT_NE(message({3, 9, 3}).find("vertex 3 is twice"), std::string::npos);
}

TEST(MostOf, bounds_a_mini_batch_by_fan_outs_and_by_the_graph) {
  const MostOf most = most_of(std::vector{2, 3}, 5, 40);
  EXPECT_EQ(most.nodes, (std::vector<std::uint64_t>{5, 15, 40}));
  EXPECT_EQ(most.edges, (std::vector<std::uint64_t>{10, 45}));
}

}  // namespace
namespace {

using graph::Vertex;

TEST(Permutation, sends_every_number_somewhere_else_below_the_size) {
  for (const std::uint64_t size : {1, 2, 3, 4, 5, 31, 64, 1000, 65537}) {
    for (const std::uint64_t key : {0, 1}) {
      const Permutation places(size, key);
      std::vector<std::uint64_t> values(size);
      for (std::uint64_t i = 0; i < size; ++i) {
        values[i] = places(i);
      }
      std::sort(values.begin(), values.end());
      for (std::uint64_t i = 0; i < size; ++i) {
        ASSERT_EQ(values[i], i) << size;
      }
    }
  }
  EXPECT_LT(Permutation(std::uint64_t{1} << 32, 3)(12345), std::uint64_t{1} << 32);
}

TEST(Permutation, depends_on_its_key) {
  const Permutation one(1000, 1);
  const Permutation two(1000, 2);
  int same = 0;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    same += one(i) == two(i) ? 1 : 0;
  }
  EXPECT_LT(same, 10);
}

TEST(LabelledVertices, are_a_share_ascending_and_spread_over_the_graph) {
  const std::vector<Vertex> labelled = labelled_vertices(10000, 12.5, 1);
  ASSERT_EQ(labelled.size(), 1250);
  EXPECT_TRUE(std::is_sorted(labelled.begin(), labelled.end()));
  EXPECT_EQ(std::adjacent_find(labelled.begin(), labelled.end()), labelled.end());
  EXPECT_LT(labelled.back(), 10000U);
  const auto lower = std::count_if(labelled.begin(), labelled.end(), [](Vertex v) { return v < 5000; });
  EXPECT_NEAR(static_cast<double>(lower), 625, 75);  // about four standard deviations
  EXPECT_NE(labelled, labelled_vertices(10000, 12.5, 2));
  std::vector<Vertex> all(50);
  std::iota(all.begin(), all.end(), 0U);
  EXPECT_EQ(labelled_vertices(50, 100, 1), all);
}

TEST(LabelledVertices, of_an_empty_or_impossible_share_are_refused_with_the_numbers) {
  for (const double percent : {0.0, -1.0, 100.5, 0.001, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_THROW(static_cast<void>(labelled_vertices(1000, percent, 1)), UsageError) << percent;
  }
  try {
    static_cast<void>(labelled_vertices(1000, 0.001, 1));
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("1000 vertices"), std::string::npos);
  }
}

TEST(EpochOrder, has_every_labelled_vertex_once_in_another_order_each_epoch) {
  const std::vector<Vertex> labelled = labelled_vertices(5000, 10, 1);
  const std::vector<Vertex> first = epoch_order(labelled, 1, 0);
  const std::vector<Vertex> second = epoch_order(labelled, 1, 1);
  EXPECT_NE(first, second);
  EXPECT_NE(first, labelled);
  EXPECT_TRUE(std::is_permutation(first.begin(), first.end(), labelled.begin(), labelled.end()));
  EXPECT_TRUE(std::is_permutation(second.begin(), second.end(), labelled.begin(), labelled.end()));
}

class Run : public testing::Test {
 protected:
  graph::Csr graph_ = graph::make_graph(graph::parse_graph_spec("kron:12"), false);
  std::vector<Vertex> labelled_ = labelled_vertices(graph_.vertices(), 10, 1);
  RunRequest request_{{{3, 3}, 1}, 100, 0, 2, 0};
};

TEST_F(Run, visits_every_labelled_vertex_once_an_epoch) {
  std::vector<Vertex> seeds;
  const std::uint64_t batches = for_each_batch(graph_, labelled_, request_, [&](const MiniBatch& batch) {
    EXPECT_LE(batch.nodes_upto[0], 100U);
    seeds.insert(seeds.end(), batch.nodes.begin(), batch.nodes.begin() + batch.nodes_upto[0]);
  });
  EXPECT_EQ(batches, 2 * ((labelled_.size() + 99) / 100));
  ASSERT_EQ(seeds.size(), 2 * labelled_.size());
  std::sort(seeds.begin(), seeds.end());
  for (std::size_t i = 0; i < labelled_.size(); ++i) {
    ASSERT_EQ(seeds[2 * i], labelled_[i]);
    ASSERT_EQ(seeds[2 * i + 1], labelled_[i]);
  }
}

TEST_F(Run, goes_on_where_an_earlier_one_ended) {
  const Trace both = sampled_trace(graph_, labelled_, request_);
  request_.epochs = 1;
  Trace parts = sampled_trace(graph_, labelled_, request_);
  request_.first_epoch = 1;
  const Trace second = sampled_trace(graph_, labelled_, request_);
  for (std::size_t b = 0; b < second.batches(); ++b) {
    parts.add(second.batch(b));
  }
  EXPECT_EQ(parts, both);
}

TEST_F(Run, draws_something_else_in_each_epoch) {
  request_.batch = labelled_.size();
  const Trace trace = sampled_trace(graph_, labelled_, request_);
  ASSERT_EQ(trace.batches(), 2);
  const auto rows = [&](std::size_t batch) {
    std::vector<std::uint32_t> sorted(trace.batch(batch).begin(), trace.batch(batch).end());
    std::sort(sorted.begin(), sorted.end());
    return sorted;
  };
  EXPECT_NE(rows(0), rows(1));
}

TEST_F(Run, does_not_depend_on_the_number_of_threads) {
  const Trace expected = sampled_trace(graph_, labelled_, request_);
  for (const int count : {1, 3}) {
    const graph::Threads threads(count);
    EXPECT_EQ(sampled_trace(graph_, labelled_, request_), expected);
  }
}

TEST_F(Run, ends_after_as_many_batches_as_asked_and_rows_of_one_differ) {
  request_.most_batches = 3;
  const Trace trace = sampled_trace(graph_, labelled_, request_);
  ASSERT_EQ(trace.batches(), 3);
  for (std::size_t b = 0; b < trace.batches(); ++b) {
    std::vector<std::uint32_t> rows(trace.batch(b).begin(), trace.batch(b).end());
    std::sort(rows.begin(), rows.end());
    EXPECT_EQ(std::adjacent_find(rows.begin(), rows.end()), rows.end());
  }
}

TEST_F(Run, of_nothing_is_refused) {
  const auto visit = [](const MiniBatch&) {};
  EXPECT_THROW(for_each_batch(graph_, {}, request_, visit), UsageError);
  request_.batch = 0;
  EXPECT_THROW(for_each_batch(graph_, labelled_, request_, visit), UsageError);
}

}  // namespace
namespace {

using graph::Csr;
using graph::Vertex;

class CertifySample : public testing::Test {
 protected:
  CertifySample() : graph_(graph::make_graph(graph::parse_graph_spec("kron:9"), false)) {
    for (Vertex v = 0; v < graph_.vertices() && seeds_.size() < 20; ++v) {
      if (graph_.degree(v) > 5) {
        seeds_.push_back(v);
      }
    }
    right_ = serial_sample(graph_, {fanouts_, 1}, seeds_, 0);
  }
  // Whether a mini-batch in which something was changed is found out.
  [[nodiscard]] bool refused(const std::function<void(MiniBatch&)>& change) const {
    MiniBatch wrong = right_;
    change(wrong);
    try {
      certify_sample(graph_, fanouts_, seeds_, wrong);
      return false;
    } catch (const FailedError&) {
      return true;
    }
  }

  Csr graph_;
  std::vector<int> fanouts_{4, 3};
  std::vector<Vertex> seeds_;
  MiniBatch right_;
};

TEST_F(CertifySample, accepts_what_was_sampled) {
  EXPECT_FALSE(refused([](MiniBatch&) {}));
}

TEST_F(CertifySample, refuses_a_source_that_is_no_neighbour_or_is_repeated) {
  EXPECT_TRUE(refused([](MiniBatch& batch) { batch.layers[1].sources[7] = 0; }));
  EXPECT_TRUE(refused([](MiniBatch& batch) { batch.layers[0].sources[1] = batch.layers[0].sources[0]; }));
  EXPECT_TRUE(refused(
      [](MiniBatch& batch) { batch.layers[0].sources[1] = static_cast<std::uint32_t>(batch.nodes.size()); }));
}

TEST_F(CertifySample, refuses_a_source_too_many_or_too_few) {
  EXPECT_TRUE(refused([](MiniBatch& batch) { ++batch.layers[1].offsets[3]; }));
  EXPECT_TRUE(refused([](MiniBatch& batch) { batch.layers[1].sources.pop_back(); }));
  EXPECT_TRUE(refused([](MiniBatch& batch) {
    batch.layers[1].sources.pop_back();
    --batch.layers[1].offsets.back();
    --batch.sampled_edges;
  }));
  EXPECT_TRUE(refused([](MiniBatch& batch) { ++batch.sampled_edges; }));
}

TEST_F(CertifySample, refuses_nodes_in_another_order_repeated_or_unreached) {
  const std::uint32_t first = right_.nodes_upto[1];
  EXPECT_TRUE(refused([&](MiniBatch& batch) { std::swap(batch.nodes[first], batch.nodes[first + 1]); }));
  EXPECT_TRUE(refused([&](MiniBatch& batch) { std::swap(batch.nodes[0], batch.nodes[1]); }));
  EXPECT_TRUE(refused([&](MiniBatch& batch) { batch.nodes.back() = batch.nodes[batch.nodes.size() - 2]; }));
  EXPECT_TRUE(refused([&](MiniBatch& batch) {
    batch.nodes.push_back(graph_.vertices() - 1);
    ++batch.nodes_upto.back();
  }));
  EXPECT_TRUE(refused([&](MiniBatch& batch) { ++batch.nodes_upto[1]; }));
}

TEST_F(CertifySample, refuses_a_missing_hop) {
  EXPECT_TRUE(refused([](MiniBatch& batch) { batch.layers.pop_back(); }));
}

}  // namespace
// The mini-batch that training steps beside a gather are repeated on.

namespace {

TEST(FixedBatches, are_the_first_of_their_plan_with_its_rows_and_losses) {
  TrainingRequest request;
  request.sample = {{5, 3}, 1};
  request.batch = 40;
  request.batches = 9;
  request.labelled_percent = 50;
  request.shape = {12, 8, 4, 2};
  request.rate = 1;
  const graph::Csr graph = graph::make_graph(graph::parse_graph_spec("kron:9"), false);
  const auto batch = make_fixed_batch(graph, request);
  const TrainingPlan& plan = batch->plan;
  EXPECT_EQ(plan.seeds.size(), 1U);
  EXPECT_EQ(batch->sampled, serial_sample(plan.neighbours, request.sample, plan.seeds.front(), 0));
  ASSERT_EQ(batch->rows.size(), batch->sampled.nodes.size() * 12);
  for (std::size_t i = 0; i < batch->rows.size(); ++i) {
    ASSERT_EQ(batch->rows[i],
              feature(kFeatureSeed, batch->sampled.nodes[i / 12], static_cast<std::uint32_t>(i % 12)));
  }
  ASSERT_EQ(batch->losses.size(), 3U);
  EXPECT_DOUBLE_EQ(batch->losses[0], reference_losses(plan, 1, 1).front());
  // Steps on one mini-batch learn it.
  EXPECT_LT(batch->losses[1], batch->losses[0]);
  EXPECT_LT(batch->losses[2], batch->losses[1]);
}

// Where a GPU finds adjacency lists, and where it puts sampled ones.

using Piece = std::pair<std::uintptr_t, std::uint64_t>;  // where it begins, and its bytes

Piece piece(const void* begin, std::uint64_t bytes) {
  return {reinterpret_cast<std::uintptr_t>(begin), bytes};
}

void add_lists(const ListsLayout& layout, std::byte* memory, std::vector<Piece>& pieces) {
  const DeviceMiniBatch view = layout.view(memory);
  pieces.push_back(piece(view.nodes, view.most_nodes * sizeof(graph::Vertex)));
  pieces.push_back(piece(view.nodes_upto, (view.layers.size() + 1) * sizeof(std::uint32_t)));
  for (const DeviceLayer& layer : view.layers) {
    pieces.push_back(piece(layer.offsets, (layer.most_destinations + 1) * sizeof(std::uint64_t)));
    pieces.push_back(piece(layer.sources, layer.most_edges * sizeof(std::uint32_t)));
  }
}

void expect_apart(std::vector<Piece> pieces, const std::byte* memory, std::uint64_t bytes) {
  std::sort(pieces.begin(), pieces.end());
  std::uintptr_t free = reinterpret_cast<std::uintptr_t>(memory);
  for (const auto& [begin, size] : pieces) {
    EXPECT_GE(begin, free);
    EXPECT_EQ((begin - reinterpret_cast<std::uintptr_t>(memory)) % ListsLayout::kBoundary, 0U);
    free = begin + size;
  }
  EXPECT_LE(free, reinterpret_cast<std::uintptr_t>(memory) + bytes);
}

// Only its address counts.
std::byte* somewhere() {
  return reinterpret_cast<std::byte*>(std::uintptr_t{1} << 32);
}

TEST(ListsLayouts, keep_arrays_apart) {
  for (const MostOf& most : {MostOf{{1, 1}, {0}}, MostOf{{7, 77, 1000}, {70, 12345}}}) {
    const ListsLayout layout(most);
    std::vector<Piece> pieces;
    add_lists(layout, somewhere(), pieces);
    expect_apart(pieces, somewhere(), layout.bytes());
  }
}

TEST(SharedLayouts, keep_all_sets_and_buffers_apart_and_use_each_in_turn) {
  TrainingRequest request;
  request.sample = {{5, 3}, 1};
  request.batch = 20;
  request.batches = 3;
  request.labelled_percent = 50;
  request.shape = {13, 4, 3, 2};
  const TrainingPlan plan =
      plan_training(graph::make_graph(graph::parse_graph_spec("kron:9"), false), request);
  const SharedLayout layout(plan);
  std::vector<Piece> pieces;
  for (std::uint64_t batch = 0; batch < kListSets; ++batch) {
    add_lists(layout.lists(), layout.lists_of(somewhere(), batch), pieces);
  }
  const std::uint64_t rows = layout.lists().most().nodes.back() * 13 * sizeof(float);
  for (std::uint64_t batch = 0; batch < kRowBuffers; ++batch) {
    pieces.push_back(piece(layout.rows_of(somewhere(), batch), rows));
  }
  expect_apart(pieces, somewhere(), layout.bytes());
  EXPECT_EQ(layout.lists_of(somewhere(), 4), layout.lists_of(somewhere(), 1));
  EXPECT_EQ(layout.rows_of(somewhere(), 4), layout.rows_of(somewhere(), 0));
  // Every mini-batch of the plan has room.
  for (const std::uint32_t nodes : plan.rows) {
    EXPECT_LE(nodes, layout.lists().most().nodes.back());
  }
  for (const std::uint64_t edges : layout.lists().most().edges) {
    EXPECT_LE(edges, plan.neighbours.edges());
  }
}

}  // namespace
namespace {

// Lists that are interleaved over GPUs: every entry has a place of its own, within what its part has.
TEST(PlaceOf, gives_every_entry_a_place_of_its_own_within_its_part) {
  for (const std::uint32_t parts : {1U, 2U, 3U, 8U}) {
    for (const std::uint64_t edges :
         {std::uint64_t{1}, kPieceEntries - 1, kPieceEntries, 5 * kPieceEntries + 7, 6 * kPieceEntries}) {
      std::set<std::pair<std::uint32_t, std::uint64_t>> places;
      for (std::uint64_t entry = 0; entry < edges; entry += 97) {
        const EntryPlace place = place_of(entry, parts);
        ASSERT_LT(place.part, parts);
        ASSERT_LT(place.entry, pieces_of(edges, place.part, parts) * kPieceEntries);
        ASSERT_TRUE(places.emplace(place.part, place.entry).second);
      }
      std::uint64_t pieces = 0;
      for (std::uint32_t part = 0; part < parts; ++part) {
        pieces += pieces_of(edges, part, parts);
      }
      EXPECT_EQ(pieces, (edges + kPieceEntries - 1) / kPieceEntries);
    }
  }
}

TEST(PlaceOf, keeps_pieces_whole_and_takes_parts_in_turn) {
  EXPECT_EQ(place_of(0, 3).part, 0U);
  EXPECT_EQ(place_of(kPieceEntries - 1, 3).part, 0U);
  EXPECT_EQ(place_of(kPieceEntries, 3).part, 1U);
  EXPECT_EQ(place_of(3 * kPieceEntries + 5, 3).part, 0U);
  EXPECT_EQ(place_of(3 * kPieceEntries + 5, 3).entry, kPieceEntries + 5);
}

}  // namespace
}  // namespace grainscope::gnn
