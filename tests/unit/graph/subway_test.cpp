// The host's half of traversals by compaction: partitions, work items and gathering.

#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include "../../testing/sample_graphs.hpp"
#include "grainscope/core/error.hpp"
#include "subway_plan.hpp"

namespace grainscope::graph {
namespace {

using Lengths = std::vector<std::uint64_t>;

// Where lists of such lengths begin when laid end to end, and where the last ends.
std::vector<Edge> positions_of(const Lengths& lengths) {
  std::vector<Edge> positions(lengths.size() + 1, 0);
  std::partial_sum(lengths.begin(), lengths.end(), positions.begin() + 1);
  return positions;
}

// Some of every kind: short, of a block, of several, about a boundary.
std::vector<Lengths> sequences() {
  std::vector<Lengths> all = {{1},
                              {256},
                              {255, 1, 256},
                              {257, 1},
                              {70000},
                              {1, 70000, 1},
                              {512, 512, 1, 511, 33},
                              Lengths(3000, 1),
                              {31, 1, 64},
                              Lengths(64, 256),
                              {5, 100000, 3, 251, 256, 1000}};
  std::mt19937 random(7);
  for (int i = 0; i < 20; ++i) {
    Lengths lengths(1 + random() % 400);
    for (std::uint64_t& length : lengths) {
      length = 1 + random() % (random() % 4 == 0 ? 2000 : 40);
    }
    all.push_back(lengths);
  }
  return all;
}

// All partitions of a sequence, `length` elements each.
std::vector<Partition> partitions_of(const std::vector<Edge>& positions, Edge length) {
  std::vector<Partition> partitions;
  for (Edge begin = 0; begin < positions.back(); begin += length) {
    partitions.push_back(cut_partition(positions, begin, std::min(positions.back(), begin + length)));
  }
  return partitions;
}

// The partition's items as its tasks write them, checked that each place is written once.
std::vector<WorkItem> items_of(const Partition& partition, const std::vector<Edge>& positions,
                               const std::vector<Vertex>& vertices, int edge_bytes) {
  std::vector<WorkItem> items(partition.items());
  std::vector<int> written(partition.items(), 0);
  for (std::uint64_t task = 0; task < partition.items(); ++task) {
    const PlacedItem placed = place_item(partition, positions.data(), vertices.data(), edge_bytes, task);
    EXPECT_LT(placed.place, items.size());
    if (placed.place < items.size()) {
      items[placed.place] = placed.item;
      ++written[placed.place];
    }
  }
  EXPECT_EQ(std::ranges::count(written, 1), static_cast<std::ptrdiff_t>(written.size()));
  return items;
}

// Walks a partition's items as warps do: whose list each element of the partition is.
void walk(const Partition& partition, const std::vector<WorkItem>& items, std::vector<Vertex>& owners) {
  for (const WorkItem& item : items) {
    for (int step = 0; step < kPieceSteps; ++step) {
      for (int lane = 0; lane < kWarpLanes; ++lane) {
        const std::uint64_t element = MergedAligned::index(item, step, lane);
        if (element != kNoElement) {
          ASSERT_LT(element, partition.elements());
          ASSERT_EQ(owners[partition.begin + element], UINT32_MAX) << "walked twice";
          owners[partition.begin + element] = item.vertex;
        }
      }
    }
  }
}

TEST(SubwayPlan, every_element_is_walked_once_whatever_the_partitions) {
  for (const Lengths& lengths : sequences()) {
    const std::vector<Edge> positions = positions_of(lengths);
    std::vector<Vertex> vertices(lengths.size());
    std::iota(vertices.begin(), vertices.end(), 1000);
    for (const Edge length : {Edge{32}, Edge{160}, Edge{256}, Edge{1024}, Edge{65536}, Edge{1} << 30}) {
      for (const int edge_bytes : {4, 8}) {
        std::vector<Vertex> owners(positions.back(), UINT32_MAX);
        for (const Partition& partition : partitions_of(positions, length)) {
          const auto items = items_of(partition, positions, vertices, edge_bytes);
          ASSERT_NO_FATAL_FAILURE(walk(partition, items, owners));
        }
        for (std::size_t list = 0; list < lengths.size(); ++list) {
          const auto begin = owners.begin() + static_cast<std::ptrdiff_t>(positions[list]);
          ASSERT_EQ(std::count(begin, begin + static_cast<std::ptrdiff_t>(lengths[list]), vertices[list]),
                    static_cast<std::ptrdiff_t>(lengths[list]));
        }
      }
    }
  }
}

TEST(SubwayPlan, an_item_is_whole_only_where_no_cut_parts_its_list) {
  for (const Lengths& lengths : sequences()) {
    const std::vector<Edge> positions = positions_of(lengths);
    std::vector<Vertex> vertices(lengths.size());
    std::iota(vertices.begin(), vertices.end(), 0);
    for (const Edge length : {Edge{32}, Edge{160}, Edge{1024}, Edge{1} << 30}) {
      for (const Partition& partition : partitions_of(positions, length)) {
        for (const WorkItem& item : items_of(partition, positions, vertices, 8)) {
          const std::uint64_t elements = item.length - item.skip;
          EXPECT_EQ(item.whole, elements == lengths[item.vertex] ? 1 : 0);
          EXPECT_EQ(item.first % (kLineBytes / 8), 0);
          EXPECT_LE(item.length, kBlockElements);
        }
      }
    }
  }
}

TEST(SubwayPlan, a_partition_needs_only_the_lists_up_to_its_end) {
  const std::vector<Edge> positions = positions_of({10, 20, 300, 5, 1});
  const Partition partition = cut_partition(std::span(positions).first(4), 15, 320);
  EXPECT_EQ(partition.first, 1);
  EXPECT_EQ(partition.lists, 2);
  EXPECT_EQ(cut_partition(positions, 30, 336).first, 2);
  EXPECT_EQ(cut_partition(positions, 30, 336).lists, 3);
  EXPECT_EQ(cut_partition(positions, 5, 5).items(), 0);
}

TEST(SubwayPlan, two_buffers_stay_within_the_cap) {
  for (const std::uint64_t element_bytes : {4, 8, 12}) {
    for (const std::uint64_t cap : {4096UL, 5000UL, 1UL << 20, 1UL << 40}) {
      const Edge capacity = partition_capacity(cap, element_bytes, 1UL << 40);
      EXPECT_GT(capacity, 0);
      EXPECT_LE(2 * capacity * element_bytes, cap);
      EXPECT_EQ(capacity % kWarpLanes, 0);
    }
    EXPECT_THROW((void)partition_capacity(63 * element_bytes, element_bytes, 1000), UsageError);
    EXPECT_EQ(partition_capacity(64 * element_bytes, element_bytes, 1000), 32);
    EXPECT_EQ(partition_capacity(1UL << 40, element_bytes, 33), 64) << "no more than the graph has";
    EXPECT_EQ(partition_capacity(1UL << 40, element_bytes, 0), 32);
  }
}

TEST(SubwayPlan, large_levels_have_several_partitions_and_small_ones_one) {
  const Edge capacity = partition_capacity(1UL << 40, 8, 1UL << 40);
  EXPECT_GE(partition_length(100, capacity, 8), 100);
  EXPECT_LE(partition_length(capacity, capacity, 8), capacity / 8 + 32);
  EXPECT_EQ(partition_length(1UL << 40, capacity, 8), capacity);
  EXPECT_EQ(partition_length(1UL << 40, 32, 8), 32) << "never more than a buffer holds";
}

// Gathers the lists of some vertices of a graph by partitions and compares with the lists themselves.
template <class Target>
void expect_gathered(const Csr& graph, const std::vector<Vertex>& active, Edge length, bool weighted) {
  std::vector<Edge> begins;
  Lengths lengths;
  std::vector<Vertex> targets;
  std::vector<Weight> weights;
  for (const Vertex vertex : active) {
    if (graph.degree(vertex) == 0) {
      continue;
    }
    begins.push_back(graph.offsets[vertex]);
    lengths.push_back(graph.degree(vertex));
    targets.insert(targets.end(), graph.neighbours(vertex).begin(), graph.neighbours(vertex).end());
    weights.insert(weights.end(), graph.weights_of(vertex).begin(), graph.weights_of(vertex).end());
  }
  const std::vector<Edge> positions = positions_of(lengths);
  for (const Partition& partition : partitions_of(positions, length)) {
    std::vector<Target> to(partition.elements() + 1, 77);
    std::vector<Weight> to_weights(partition.elements() + 1, 77);
    ASSERT_EQ(gather_lists(graph, {begins.data(), positions.data()}, partition,
                           {to.data(), weighted ? to_weights.data() : nullptr, sizeof(Target)}),
              partition.elements());
    ASSERT_TRUE(std::equal(to.begin(), to.end() - 1, targets.begin() + static_cast<long>(partition.begin)));
    ASSERT_EQ(to.back(), 77) << "wrote beyond the partition";
    if (weighted) {
      ASSERT_TRUE(std::equal(to_weights.begin(), to_weights.end() - 1,
                             weights.begin() + static_cast<long>(partition.begin)));
      ASSERT_EQ(to_weights.back(), 77) << "wrote beyond the partition";
    }
  }
}

TEST(SubwayGather, equals_the_lists_end_to_end) {
  constexpr Vertex kVertices = 20000;
  const Csr graph = build_csr(edge_list(kVertices, random_edges(kVertices, 150000, 3, true), true), {});
  std::mt19937 random(11);
  const int before = omp_get_max_threads();
  for (const int threads : {1, 5}) {
    omp_set_num_threads(threads);
    for (const unsigned every : {1U, 2U, 50U}) {
      std::vector<Vertex> active;
      for (Vertex vertex = 0; vertex < kVertices; ++vertex) {
        if (random() % every == 0) {
          active.push_back(vertex);
        }
      }
      for (const Edge length : {Edge{160}, Edge{40000}, Edge{1} << 30}) {
        ASSERT_NO_FATAL_FAILURE(expect_gathered<std::uint32_t>(graph, active, length, true));
        ASSERT_NO_FATAL_FAILURE(expect_gathered<std::uint64_t>(graph, active, length, true));
        ASSERT_NO_FATAL_FAILURE(expect_gathered<std::uint64_t>(graph, active, length, false));
      }
    }
  }
  omp_set_num_threads(before);
}

}  // namespace
}  // namespace grainscope::graph
