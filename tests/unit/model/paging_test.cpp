#include "grainscope/model/paging.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <list>
#include <random>
#include <set>

#include "grainscope/core/error.hpp"
#include "random_graph.hpp"

namespace grainscope::model {
namespace {

// The obvious LRU: a list that is searched.
struct SlowLru {
  std::size_t capacity;
  std::list<std::uint64_t> pages{};  // newest first
  std::set<std::uint64_t> ever{};
  std::uint64_t misses = 0;
  std::uint64_t evictions = 0;

  void touch(std::uint64_t page) {
    ever.insert(page);
    const auto found = std::find(pages.begin(), pages.end(), page);
    if (found != pages.end()) {
      pages.erase(found);
    } else {
      ++misses;
      if (pages.size() == capacity) {
        pages.pop_back();
        ++evictions;
      }
    }
    pages.push_front(page);
  }
};

// Every element of every list, one by one.
void walk_slowly(SlowLru& lru, const graph::Csr& graph, const Layout& layout, std::uint64_t page,
                 std::span<const graph::Vertex> active) {
  const std::uint64_t weights_from = std::uint64_t{1} << 40;
  for (const graph::Vertex v : active) {
    for (graph::Edge e = graph.offsets[v]; e < graph.offsets[v + 1]; ++e) {
      const std::uint64_t first = layout.edges_at % page + e * static_cast<unsigned>(layout.edge_bytes);
      lru.touch(first / page);
      lru.touch((first + static_cast<unsigned>(layout.edge_bytes) - 1) / page);
    }
    for (graph::Edge e = graph.offsets[v]; layout.weights && e < graph.offsets[v + 1]; ++e) {
      lru.touch(weights_from + (layout.weights_at % page + e * 4) / page);
    }
  }
}

void expect_paged(const graph::Csr& graph, const Layout& layout, std::uint64_t page, std::uint64_t capacity) {
  SCOPED_TRACE(testing::Message() << page << " B pages, " << capacity << " held, weights " << layout.weights);
  Pager pager(graph, layout, {capacity * page + page / 2, page, 12.3});
  SlowLru slow{capacity};
  for (const int percent : {100, 5, 60, 100}) {
    const auto frontier = random_frontier(graph.vertices(), percent, 3U + static_cast<unsigned>(percent));
    pager.level(frontier);
    walk_slowly(slow, graph, layout, page, frontier);
    EXPECT_EQ(pager.result().moved_pages, slow.misses);
    EXPECT_EQ(pager.result().evicted_pages, slow.evictions);
    EXPECT_EQ(pager.result().touched_bytes, slow.ever.size() * page);
    EXPECT_EQ(pager.result().moved_bytes, slow.misses * page);
  }
}

TEST(Paging, equals_a_slow_lru) {
  const graph::Csr graph = random_graph(400, 21);
  for (const bool weights : {false, true}) {
    for (const std::uint64_t page : {256U, 4096U}) {
      for (const std::uint64_t capacity : {1U, 2U, 3U, 10U, 100U, 100000U}) {
        expect_paged(graph, {8, weights, 0, 0}, page, capacity);
        expect_paged(graph, {4, weights, 64, 12}, page, capacity);
      }
    }
  }
}

TEST(Lru, equals_a_slow_one_on_random_touches) {
  std::mt19937 random(5);
  for (const std::uint64_t capacity : {1U, 2U, 7U, 50U}) {
    Lru lru(50, capacity);
    SlowLru slow{capacity};
    for (int i = 0; i < 5000; ++i) {
      const auto page = static_cast<std::uint32_t>(random() % 50);
      lru.touch(page);
      slow.touch(page);
      ASSERT_EQ(lru.misses(), slow.misses);
    }
    EXPECT_EQ(lru.evictions(), slow.evictions);
    EXPECT_EQ(lru.different(), slow.ever.size());
  }
}

TEST(Paging, a_card_that_holds_all_moves_each_page_once) {
  const graph::Csr graph = graph_of(std::vector<graph::Edge>(1000, 512));  // each list is a page of 4 KiB
  Pager pager(graph, {}, {1000 * 4096, 4096, 10});
  for (int level = 0; level < 3; ++level) {
    pager.level(all_vertices(graph));
  }
  EXPECT_EQ(pager.result().moved_pages, 1000U);
  EXPECT_EQ(pager.result().evicted_pages, 0U);
  EXPECT_EQ(pager.result().touched_bytes, 1000U * 4096);
}

TEST(Paging, a_cycle_that_is_a_page_too_long_keeps_nothing) {
  const graph::Csr graph = graph_of(std::vector<graph::Edge>(1000, 512));
  Pager pager(graph, {}, {999 * 4096, 4096, 10});
  for (int level = 0; level < 3; ++level) {
    pager.level(all_vertices(graph));
  }
  EXPECT_EQ(pager.result().moved_pages, 3000U);
  EXPECT_EQ(pager.result().evicted_pages, 3000U - 999U);
}

TEST(Paging, time_is_moving_and_faulting) {
  const PagingOptions options{1 << 20, 65536, 10, 20e-6, 5};
  EXPECT_DOUBLE_EQ(paging_seconds(options, 100), 100 * (65536 / 10e9 + 4e-6));
}

TEST(Paging, faults_cost_what_the_papers_machines_and_an_h100_show) {
  const auto gb_s = [](const char* name, double copies_gb_s) {
    Link link = link_named(name);
    link.gb_s = copies_gb_s;
    const PagingOptions options{1 << 20, 65536, link.gb_s, fault_cost(link).seconds, 1};
    return 65536 / paging_seconds(options, 1) / 1e9;
  };
  EXPECT_NEAR(gb_s("pcie3x16", 12.3), 9.0, 0.1);
  EXPECT_NEAR(gb_s("pcie4x16", 24.0) / gb_s("pcie3x16", 12.3), 1.53, 0.03);
  EXPECT_NEAR(gb_s("pcie5x16", 55.2), 10.8, 0.3);
}

TEST(Paging, refuses_a_card_that_holds_no_page) {
  const graph::Csr graph = random_graph(10, 1);
  EXPECT_THROW(Pager(graph, {}, {4095, 4096, 10}), FailedError);
  EXPECT_THROW(Pager(graph, {}, {4095, 0, 10}), FailedError);
  EXPECT_THROW(Lru(std::uint64_t{1} << 32, 4), FailedError);
}

TEST(TranslationWalk, misses_nothing_within_reach_and_each_granule_beyond) {
  const graph::Csr graph = graph_of(std::vector<graph::Edge>(1000, 512));
  TranslationWalk within(graph, {}, 1000 * 4096, 4096);
  TranslationWalk beyond(graph, {}, 999 * 4096, 4096);
  for (int level = 0; level < 2; ++level) {
    within.level(all_vertices(graph));
    beyond.level(all_vertices(graph));
  }
  EXPECT_EQ(within.misses(), 0U);
  EXPECT_EQ(beyond.misses(), 2000U);
}

}  // namespace
}  // namespace grainscope::model
