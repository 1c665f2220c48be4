// Where a GPU finds adjacency lists, and where it puts sampled ones.

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "grainscope/graph/generate.hpp"
#include "list_view.hpp"
#include "lists_layout.hpp"

namespace grainscope::gnn {
namespace {

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
