// What the text formats say when they are as they should be.

#include "graph_files.hpp"

namespace grainscope::graph {
namespace {

class ReadText : public GraphFiles {};
using Entries = std::vector<std::array<std::uint32_t, 3>>;

const ReadOptions kDirected{.directed = true, .weights = false};
const ReadOptions kDirectedWeights{.directed = true, .weights = true};

TEST_F(ReadText, an_edge_list_runs_both_ways_unless_it_is_directed) {
  const Csr graph = read("small.el", "0 2\n2 1\n");
  EXPECT_EQ(graph.name, "small");
  EXPECT_FALSE(graph.directed);
  EXPECT_EQ(graph.vertices(), 3);
  EXPECT_EQ(entries(graph), (Entries{{0, 2, 0}, {1, 2, 0}, {2, 0, 0}, {2, 1, 0}}));
  const Csr directed = read("small.el", "0 2\n2 1\n", kDirected);
  EXPECT_TRUE(directed.directed);
  EXPECT_EQ(entries(directed), (Entries{{0, 2, 0}, {2, 1, 0}}));
}

TEST_F(ReadText, repeats_and_self_loops_go_and_a_loop_counts_for_the_vertices) {
  EXPECT_EQ(entries(read("g.el", "1 0\n0 1\n1 1\n", kDirected)), (Entries{{0, 1, 0}, {1, 0, 0}}));
  EXPECT_EQ(read("g.el", "0 1\n7 7\n").vertices(), 8);
}

TEST_F(ReadText, blanks_tabs_comments_and_windows_line_ends_are_fine_and_the_last_line_may_lack_its_end) {
  const Entries expected{{0, 1, 0}, {1, 2, 0}};
  for (const char* content : {"0 1\r\n1 2\r\n", "# one\n% two\n\n  0\t1 \n\n1\t\t2", "0 1\r\n\r\n1 2\r",
                              "\n#\n0 1\n   # a comment\n1 2\n\n"}) {
    EXPECT_EQ(entries(read("g.el", content, kDirected)), expected) << content;
    EXPECT_EQ(entries(read("g.txt", content, kDirected)), expected) << content;
  }
}

TEST_F(ReadText, weights_are_read_where_asked_for) {
  const std::string content = "0 1 7\n1 2 0\n0 1 3\n2 0 4294967295\n";
  const Entries expected{{0, 1, 3}, {1, 2, 0}, {2, 0, 4294967295}};
  EXPECT_EQ(entries(read("g.wel", content, kDirectedWeights)), expected);
  EXPECT_EQ(entries(read("g.snap", content, kDirectedWeights)), expected);
  EXPECT_FALSE(read("g.wel", content).weighted());
  EXPECT_FALSE(read("g.snap", content).weighted());
  // What is not read need not be a weight.
  EXPECT_EQ(read("g.snap", "0 1 -1\n1 2 0.5\n").edges(), 4);
}

TEST_F(ReadText, symmetrised_edges_carry_the_lowest_weight_both_ways) {
  EXPECT_EQ(entries(read("g.wel", "0 1 7\n1 0 5\n", kWeights)), (Entries{{0, 1, 5}, {1, 0, 5}}));
}

TEST_F(ReadText, a_matrix_market_file_counts_from_one) {
  const std::string body = "% a comment\n%\n3 3 2\n1 2 5\n3 1 6\n";
  const Csr directed =
      read("m.mtx", "%%MatrixMarket matrix coordinate integer general\n" + body, kDirectedWeights);
  EXPECT_EQ(entries(directed), (Entries{{0, 1, 5}, {2, 0, 6}}));
  // Symmetric files say that edges run both ways, whatever is asked for.
  const Csr symmetric =
      read("m.mtx", "%%MatrixMarket matrix coordinate integer symmetric\n" + body, kDirectedWeights);
  EXPECT_FALSE(symmetric.directed);
  EXPECT_EQ(entries(symmetric), (Entries{{0, 1, 5}, {0, 2, 6}, {1, 0, 5}, {2, 0, 6}}));
}

TEST_F(ReadText, a_matrix_market_file_may_be_of_patterns_or_real_numbers_in_any_case) {
  EXPECT_EQ(read("m.mtx", "%%MATRIXMARKET Matrix COORDINATE Pattern General\r\n2 2 1\r\n1 2\r\n").edges(), 2);
  const std::string real = "%%MatrixMarket matrix coordinate real general\n3 3 3\n1 2 2.0\n1 3 1e3\n2 3 0\n";
  EXPECT_EQ(entries(read("m.mtx", real, kDirectedWeights)), (Entries{{0, 1, 2}, {0, 2, 1000}, {1, 2, 0}}));
  EXPECT_EQ(read("m.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 2 -0.5\n").edges(), 2);
}

TEST_F(ReadText, a_matrix_without_entries_is_a_graph_without_edges) {
  const Csr graph = read("m.mtx", "%%MatrixMarket matrix coordinate pattern general\n4 4 0\n");
  EXPECT_EQ(graph.vertices(), 4);
  EXPECT_EQ(graph.edges(), 0);
}

TEST_F(ReadText, a_metis_file_has_a_line_for_each_vertex) {
  const Csr graph = read("m.graph", "% comment\n4 2\n 3 2\n1\n%\n1\n\n");
  EXPECT_EQ(graph.vertices(), 4);
  EXPECT_FALSE(graph.directed);
  EXPECT_EQ(entries(graph), (Entries{{0, 1, 0}, {0, 2, 0}, {1, 0, 0}, {2, 0, 0}}));
  EXPECT_EQ(read("m.graph", "4 2 0\r\n3 2\r\n1\r\n1\r\n\r\n").edges(), 4);
}

TEST_F(ReadText, a_metis_file_may_weigh_edges_and_vertices) {
  const Entries expected{{0, 1, 5}, {1, 0, 5}};
  for (const char* content :
       {"2 1 1\n2 5\n1 5\n", "2 1 001\n2 5\n1 5\n", "2 1 011\n9 2 5\n9 1 5\n",
        "2 1 011 3\n9 8 7 2 5\n1 1 1 1 5\n", "2 1 111\n4 9 2 5\n4 9 1 5\n", "2 1 101\n4 2 5\n4 1 5\n"}) {
    EXPECT_EQ(entries(read("m.graph", content, kWeights)), expected) << content;
    EXPECT_FALSE(read("m.graph", content).weighted()) << content;
  }
  EXPECT_EQ(read("m.graph", "2 1 10\n9 2\n9 1\n").edges(), 2);
}

TEST_F(ReadText, the_formats_with_weights_are_known) {
  EXPECT_FALSE(holds_weights(put("g.el", "0 1\n")));
  EXPECT_TRUE(holds_weights(put("g.wel", "0 1 2\n")));
  EXPECT_FALSE(holds_weights(put("g.txt", "# x y z\n0 1\n")));
  EXPECT_TRUE(holds_weights(put("g.txt", "# x\n0 1 2\n")));
  EXPECT_TRUE(holds_weights(put("g.graph", "2 1 1\n2 5\n1 5\n")));
  EXPECT_FALSE(holds_weights(put("g.graph", "2 1\n2\n1\n")));
  EXPECT_TRUE(holds_weights(put("g.mtx", "%%MatrixMarket matrix coordinate real general\n1 1 0\n")));
  EXPECT_FALSE(holds_weights(put("g.mtx", "%%MatrixMarket matrix coordinate pattern general\n1 1 0\n")));
}

TEST(GraphNames, tell_the_format_and_the_stem) {
  EXPECT_EQ(format_of("a/b.sg"), Format::sg);
  EXPECT_EQ(format_of("b.el.wsg"), Format::wsg);
  for (const char* name : {"x/web.bel", "x/web.bel.col", "x/web.bel.dst", "x/web.bel.val"}) {
    EXPECT_EQ(format_of(name), Format::bel) << name;
    EXPECT_EQ(graph_stem(name), "web") << name;
  }
  EXPECT_EQ(graph_stem("/data.d/soc-LiveJournal1.txt"), "soc-LiveJournal1");
  for (const char* name : {"graph", "g.csv", "g.txt.gz", ".el", "a.el/b", "web.col", ""}) {
    EXPECT_TRUE(test::says(test::refusal<UsageError>([&] { static_cast<void>(format_of(name)); }), ".wsg"))
        << name;
  }
}

TEST(BuiltinGraphs, are_those_that_were_published) {
  const Csr power = builtin_graph("power");
  EXPECT_EQ(power.name, "power");
  EXPECT_EQ(power.vertices(), 4941);
  EXPECT_EQ(power.edges(), 2 * 6594);
  const Csr pgp = builtin_graph("pgp");
  EXPECT_EQ(pgp.vertices(), 10680);
  EXPECT_EQ(pgp.edges(), 2 * 24316);
  EXPECT_FALSE(pgp.directed);
  check_csr(power);
  check_csr(pgp);
  EXPECT_TRUE(test::says(test::refusal<UsageError>([] { static_cast<void>(builtin_graph("web")); }),
                         "power and pgp"));
}

}  // namespace
}  // namespace grainscope::graph
