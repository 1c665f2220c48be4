#include "grainscope/graph/describe.hpp"

#include "grainscope/graph/generate.hpp"
#include "graph_files.hpp"

namespace grainscope::graph {
namespace {

class Describe : public GraphFiles {};

TEST_F(Describe, counts_a_star_by_hand) {
  std::string edges;
  for (int leaf = 1; leaf <= 20; ++leaf) {
    edges += "0 " + std::to_string(leaf) + "\n";
  }
  const Description star = describe(read("star.el", edges + "24 24\n"));
  EXPECT_EQ(star.degrees.least, 0);
  EXPECT_EQ(star.degrees.median, 1);
  EXPECT_EQ(star.degrees.p99, 20);
  EXPECT_EQ(star.degrees.most, 20);
  EXPECT_EQ(star.degrees.zero, 4);
  EXPECT_DOUBLE_EQ(star.degrees.mean, 40.0 / 25);
  EXPECT_EQ(star.entries_up_to, (std::vector<Edge>{20, 20, 20, 20, 20, 40}));
  // The hub's 20 entries fill a line of 16 entries of 8 bytes, not one of 32 entries of 4.
  EXPECT_EQ(star.entries_below_line_4, 40);
  EXPECT_EQ(star.entries_below_line_8, 20);
  EXPECT_DOUBLE_EQ(star.mean_distance, 210.0 / 20);
  EXPECT_EQ(star.components, 5);
}

TEST_F(Describe, tells_the_99th_of_a_hundred) {
  std::string edges = "99 99\n";
  for (int v = 0; v < 98; ++v) {
    edges += std::to_string(v) + " 98\n";
  }
  const Degrees degrees = describe(read("d.el", edges, {.directed = true})).degrees;
  EXPECT_EQ(degrees.median, 1);
  EXPECT_EQ(degrees.p99, 1);
  EXPECT_EQ(degrees.zero, 2);
}

TEST_F(Describe, a_list_of_a_power_of_two_belongs_to_it) {
  const Description path = describe(read("p.el", "0 1\n0 2\n1 2\n0 3\n0 4\n", {.directed = true}));
  EXPECT_EQ(path.entries_up_to, (std::vector<Edge>{1, 1, 5}));
  EXPECT_FALSE(path.components.has_value());
}

TEST_F(Describe, a_graph_without_edges_has_nothing_to_share) {
  EdgeList none;
  none.vertices = 3;
  const Description empty = describe(build_csr(std::move(none), {}));
  EXPECT_EQ(empty.degrees.zero, 3);
  EXPECT_EQ(empty.entries_up_to, std::vector<Edge>{0});
  EXPECT_EQ(empty.mean_distance, 0);
  EXPECT_EQ(empty.components, 3);
}

TEST_F(Describe, random_ends_lie_a_third_of_the_vertices_apart) {
  const Description urand = describe(make_graph(parse_graph_spec("urand:14"), false));
  EXPECT_NEAR(urand.mean_distance / 16384, 1.0 / 3, 0.005);
}

}  // namespace
}  // namespace grainscope::graph
