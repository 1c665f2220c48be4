// Links, what they need for requests, and pages that move over them.

#include <gtest/gtest.h>

#include <algorithm>
#include <list>
#include <random>
#include <set>
#include <string>

#include "../../testing/oracles.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/model/link.hpp"
#include "grainscope/model/paging.hpp"

namespace grainscope::model {
namespace {

Requests requests(int bytes, std::uint64_t count) {
  Requests result;
  result.by_sectors[static_cast<std::size_t>(bytes / 32 - 1)] = count;
  return result;
}

double gb_s(const Link& link, int bytes) {
  constexpr std::uint64_t kMany = 1'000'000'000;
  return static_cast<double>(bytes) * kMany / bound(link, requests(bytes, kMany), 0).seconds() / 1e9;
}

TEST(Link, each_name_names_a_link_with_a_source) {
  for (const char* name : link_names()) {
    const Link link = link_named(name);
    EXPECT_EQ(link.name, name);
    EXPECT_GT(link.gb_s, 0);
    EXPECT_GT(link.in_flight, 0);
    EXPECT_GT(link.round_trip_s, 0);
    EXPECT_FALSE(link.source.empty());
    EXPECT_EQ(link.misses_per_s > 0, link.granule_bytes > 0);
  }
}

TEST(Link, an_unknown_name_lists_the_known) {
  try {
    static_cast<void>(link_named("pcie7x16"));
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("pcie3x16, pcie4x16"), std::string::npos);
  }
}

TEST(Link, what_nobody_measured_is_called_an_estimate) {
  EXPECT_TRUE(link_named("pcie6x16").source.starts_with("estimate"));
  EXPECT_TRUE(link_named("nvlink-c2c").source.starts_with("estimate"));
  EXPECT_FALSE(link_named("pcie5x16").source.starts_with("estimate"));
}

TEST(Link, a_measured_one_is_like_the_named_one_that_is_nearest) {
  const Link link = link_measured(49.0);
  EXPECT_EQ(link.name, "measured");
  EXPECT_EQ(link.gb_s, 49.0);
  EXPECT_EQ(link.in_flight, link_named("pcie5x16").in_flight);
  EXPECT_NE(link.source.find("pcie5x16"), std::string::npos);
  EXPECT_EQ(link_measured(9.0).in_flight, link_named("pcie3x16").in_flight);
  EXPECT_EQ(link_measured(400.0).header_bytes, link_named("nvlink-c2c").header_bytes);
}

TEST(Bound, whole_lines_reach_what_copies_reach) {
  for (const char* name : link_names()) {
    EXPECT_NEAR(gb_s(link_named(name), 128) / link_named(name).gb_s, 1, 0.01) << name;
  }
}

TEST(Bound, is_not_beaten_by_what_was_measured) {
  // EMOGI, V100: 12.23 GB/s of whole lines, 4.7 of sectors; H100: 51.2 of whole lines, 39.7 of halves (32 and
  // 96 bytes), 12.5 of sectors.
  EXPECT_GE(gb_s(link_named("pcie3x16"), 128), 12.23);
  EXPECT_GE(gb_s(link_named("pcie3x16"), 32), 4.7);
  EXPECT_GE(gb_s(link_named("pcie5x16"), 128), 51.2);
  EXPECT_GE(gb_s(link_named("pcie5x16"), 64), 39.7);
  EXPECT_GE(gb_s(link_named("pcie5x16"), 32), 12.5);
  EXPECT_LE(gb_s(link_named("pcie5x16"), 64), 40.5);
}

TEST(Bound, the_largest_of_three_says_what_holds_it_up) {
  Link link{"toy", 1, 0, 1e-6, 1000, 1e6, 0, 0, ""};
  const TimeBound bytes = bound(link, requests(128, 1'000'000), 10);
  EXPECT_DOUBLE_EQ(bytes.bytes_s, 0.128);
  EXPECT_DOUBLE_EQ(bytes.requests_s, 0.001);
  EXPECT_DOUBLE_EQ(bytes.translations_s, 1e-5);
  EXPECT_STREQ(bytes.cause(), "bytes");
  link.in_flight = 1;
  EXPECT_STREQ(bound(link, requests(128, 1'000'000), 10).cause(), "requests");
  EXPECT_DOUBLE_EQ(bound(link, requests(128, 1'000'000), 10).seconds(), 1);
  EXPECT_STREQ(bound(link, requests(128, 1'000'000), 2'000'000).cause(), "translations");
  link.misses_per_s = 0;
  EXPECT_EQ(bound(link, requests(128, 1'000'000), 2'000'000).translations_s, 0);
}

TEST(Bound, headers_cost_small_requests_more) {
  const Link link{"toy", 12.3, 18, 0, 1, 0, 0, 0, ""};
  EXPECT_DOUBLE_EQ(gb_s(link, 128), 12.3);
  EXPECT_DOUBLE_EQ(gb_s(link, 32), 12.3 * (146.0 / 128) * 32 / 50);
}

TEST(Bound, a_level_takes_a_round_trip_and_an_empty_one_nothing) {
  const Link link = link_named("pcie5x16");
  EXPECT_DOUBLE_EQ(bound(link, requests(32, 1), 0).seconds(), link.round_trip_s);
  EXPECT_EQ(bound(link, {}, 0).seconds(), 0);
}

}  // namespace
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
