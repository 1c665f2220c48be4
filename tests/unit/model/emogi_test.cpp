// What the model must say of GAP's graphs: worked out by hand for scale 24, where whole sweeps give 40.6 and
// 72.8 % (kron), 38.9 and 48.9 % (urand) of requests of 128 bytes, and EMOGI's FPGA counted ratios of 1.86
// and 1.25. urand is alike at every scale; kron's hubs grow with it.

#include <gtest/gtest.h>

#include <string>

#include "../../testing/oracles.hpp"
#include "grainscope/graph/generate.hpp"
#include "grainscope/model/replay.hpp"

namespace grainscope::model {
namespace {

using graph::Access;

struct Shares {
  double merged = 0;
  double aligned = 0;
};

// Shares of requests of 128 bytes where every list is read once.
Shares shares_of(const graph::Csr& graph, int edge_bytes) {
  const auto share = [&](Access access) {
    Replayer replayer(graph, access, {edge_bytes, false, 0, 0});
    replayer.level(all_vertices(graph));
    const Requests& total = replayer.result().total;
    return static_cast<double>(total.by_sectors[3]) / static_cast<double>(total.count());
  };
  return {share(Access::merged), share(Access::merged_aligned)};
}

TEST(Emogi, urand_asks_for_lines_as_worked_out) {
  const graph::Csr graph = graph::make_graph(graph::parse_graph_spec("urand:16"), false);
  const Shares wide = shares_of(graph, 8);
  EXPECT_NEAR(wide.merged, 0.389, 0.003);
  EXPECT_NEAR(wide.aligned, 0.489, 0.003);
  EXPECT_NEAR(wide.aligned / wide.merged, 1.259, 0.01);
  EXPECT_NEAR(shares_of(graph, 4).aligned, 0.238, 0.003);
}

TEST(Emogi, kron_comes_near_what_was_worked_out_for_a_larger_one) {
  const graph::Csr small = graph::make_graph(graph::parse_graph_spec("kron:14"), false);
  const graph::Csr large = graph::make_graph(graph::parse_graph_spec("kron:17"), false);
  const Shares before = shares_of(small, 8);
  const Shares after = shares_of(large, 8);
  EXPECT_GT(after.merged, before.merged);
  EXPECT_GT(after.aligned, before.aligned);
  EXPECT_NEAR(after.merged, 0.406, 0.04);
  EXPECT_NEAR(after.aligned, 0.728, 0.10);
  EXPECT_NEAR(after.aligned / after.merged, 1.79, 0.12);
  EXPECT_NEAR(shares_of(large, 4).aligned, 0.571, 0.12);
}

TEST(Emogi, naive_walks_ask_for_sectors_and_merging_saves_five_of_six_requests) {
  const graph::Csr graph = graph::make_graph(graph::parse_graph_spec("kron:16"), false);
  const auto requests = [&](Access access) {
    Replayer replayer(graph, access, {});
    replayer.level(all_vertices(graph));
    return replayer.result().total;
  };
  const Requests naive = requests(Access::naive);
  EXPECT_GT(static_cast<double>(naive.by_sectors[0]) / static_cast<double>(naive.count()), 0.95);
  // EMOGI: up to 83.3 % fewer, and aligned up to another 28.8 %; without a cache a naive walk asks for more.
  const auto merged = static_cast<double>(requests(Access::merged).count());
  EXPECT_LT(merged / static_cast<double>(naive.count()), 1 - 0.833);
  const auto aligned = static_cast<double>(requests(Access::merged_aligned).count());
  EXPECT_NEAR(1 - aligned / merged, 0.24, 0.05);
}

TEST(Emogi, a_bfs_reads_the_lists_of_what_it_reaches_once) {
  const graph::Csr graph = graph::make_graph(graph::parse_graph_spec("kron:13"), false);
  const graph::Vertex source = graph::gap_sources(graph, 1).front();
  const Replay replay = model::replay(graph, graph::Algorithm::bfs, source, Access::merged_aligned, {});
  EXPECT_EQ(replay.total.elements, graph::entries_reached(graph, graph::serial_bfs(graph, source)));
  EXPECT_LT(replay.amplification(), 1.31);  // the papers' worst
  EXPECT_GE(replay.amplification(), replay.cached_amplification());
}

// What the counters of an H100 counted of one bfs from GAP's first source
// (results/reference/h100-quick.json): within 3.5 % of requests and of bytes if lists that lie side by side
// ask for a sector once; a naive walk between that and no cache. Of kron:20 with 4 bytes merged and naive are
// of that file as of commit 2d1c085.
TEST(Emogi, counters_of_a_bfs_are_the_model_s) {
  struct Counted {
    const char* spec;
    int edge_bytes;
    Access access;
    double requests;
    double bytes;
  };
  std::string made;
  graph::Csr graph;
  for (const Counted& counted : {Counted{"kron:20", 8, Access::merged, 3057041, 259664416},
                                 Counted{"kron:20", 8, Access::merged_aligned, 2436478, 258934528},
                                 Counted{"kron:20", 8, Access::edge_gather, 2395576, 257946976},
                                 Counted{"kron:20", 8, Access::naive, 8724583, 286359232},
                                 Counted{"kron:20", 4, Access::merged, 2025410, 134646784},
                                 Counted{"kron:20", 4, Access::naive, 4667548, 156220544},
                                 Counted{"kron:20", 4, Access::merged_aligned, 1413092, 133760640},
                                 Counted{"kron:20", 4, Access::edge_gather, 1397834, 133365920},
                                 Counted{"urand:20", 8, Access::merged, 3269420, 285206016},
                                 Counted{"urand:20", 8, Access::merged_aligned, 3014086, 285186176},
                                 Counted{"urand:20", 8, Access::edge_gather, 2980142, 283107744},
                                 Counted{"urand:20", 8, Access::naive, 24995389, 799864128},
                                 Counted{"urand:20", 4, Access::merged_aligned, 1985889, 153670048},
                                 Counted{"urand:20", 4, Access::edge_gather, 1961255, 151428704}}) {
    if (made != counted.spec) {
      graph = graph::make_graph(graph::parse_graph_spec(counted.spec), false);
      made = counted.spec;
    }
    const graph::Vertex source = graph::gap_sources(graph, 1).front();
    const Replay replay = model::replay(graph, graph::Algorithm::bfs, source, counted.access,
                                        {counted.edge_bytes, false, 0, 0});
    SCOPED_TRACE(std::string(counted.spec) + ", " + std::to_string(counted.edge_bytes) + ", " +
                 name(counted.access));
    const auto requests = static_cast<double>(replay.cached_requests());
    const auto bytes = static_cast<double>(replay.least_bytes(0));
    if (counted.access == Access::naive) {
      EXPECT_LT(requests, counted.requests);
      EXPECT_LT(counted.requests, static_cast<double>(replay.total.count()));
      EXPECT_LT(bytes, counted.bytes);
      EXPECT_LT(counted.bytes, static_cast<double>(replay.total.bytes()));
    } else {
      EXPECT_NEAR(counted.requests / requests, 1, 0.035);
      EXPECT_NEAR(counted.bytes / bytes, 1, 0.035);
    }
  }
}

}  // namespace
}  // namespace grainscope::model
