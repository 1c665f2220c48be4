// What files say when they are as they should be, that what is written is read again, and what a graph is
// described by.

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>

#include "../../testing/golden.hpp"
#include "fakes.hpp"
#include "grainscope/graph/generate.hpp"
#include "grainscope/graph/io.hpp"
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

TEST_F(ReadText, how_many_vertices_stands_before_the_edges_or_follows_from_them) {
  EXPECT_EQ(vertices_in(put("v.el", "0 6\n")), 7U);
  EXPECT_EQ(vertices_in(put("v.graph", "3 2\n2\n1 3\n2\n")), 3U);
  EXPECT_EQ(vertices_in(put("v.mtx", "%%MatrixMarket matrix coordinate pattern general\n4 4 1\n1 2\n")), 4U);
  // Of these two the edges, which are damaged here, are not read.
  EXPECT_EQ(vertices_in(put("w.graph", "3 2\n2\nnone\n2\n")), 3U);
  EXPECT_EQ(vertices_in(put("w.mtx", "%%MatrixMarket matrix coordinate pattern general\n4 4 1\n")), 4U);
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

// What is written is read again as it was, and is there whole or not at all.
namespace {

class Write : public GraphFiles {
 protected:
  [[nodiscard]] std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& file : std::filesystem::directory_iterator(folder().path())) {
      names.push_back(file.path().filename().string());
    }
    std::sort(names.begin(), names.end());
    return names;
  }
  void expect_round_trip(const Csr& graph) const {
    for (const char* name : {"g.sg", "g.wsg", "g.bel"}) {
      SCOPED_TRACE(graph.name + " as " + name);
      write_graph(graph, path(name));
      const bool weights = std::string(name) != "g.sg";
      const Csr again = read_graph(path(name), {.directed = graph.directed, .weights = weights});
      EXPECT_EQ(again.name, "g");
      if (weights) {
        expect_equal(again, graph);
      } else {
        Csr bare{graph.name, graph.directed, graph.offsets, graph.targets, {}};
        expect_equal(again, bare);
      }
    }
  }
};

TEST_F(Write, golden_graphs_go_into_every_format_and_back) {
  const std::vector<GoldenGraph> graphs = golden_graphs(16);
  ASSERT_EQ(graphs.size(), 6);
  for (const GoldenGraph& golden : graphs) {
    expect_round_trip(make_graph(golden.spec, true));
  }
}

TEST_F(Write, directed_graphs_go_into_every_format_and_back) {
  Csr graph = read_graph(put("d.el", "0 1\n0 2\n3 0\n2 3\n5 4\n"), {.directed = true});
  draw_weights(graph, 8, 72, 1);
  expect_round_trip(graph);
}

TEST_F(Write, a_directed_graph_of_gaps_holds_its_in_edges_too) {
  const Csr graph = read_graph(put("d.el", "0 1\n2 1\n"), {.directed = true});
  write_graph(graph, path("d.sg"));
  Bytes expected;
  expected << std::uint8_t{1} << std::int64_t{2} << std::int64_t{3};
  for (const std::int64_t offset : {0, 1, 1, 2}) {
    expected << offset;
  }
  expected << std::int32_t{1} << std::int32_t{1};
  for (const std::int64_t offset : {0, 0, 2, 2}) {
    expected << offset;
  }
  expected << std::int32_t{0} << std::int32_t{2};
  EXPECT_EQ(test::read_text(path("d.sg")), expected.text());
}

TEST_F(Write, graphs_without_edges_go_into_every_format_and_back) {
  EdgeList none;
  none.vertices = 5;
  expect_round_trip(build_csr(std::move(none), {}));
}

TEST_F(Write, refuses_what_a_format_cannot_hold) {
  const Csr graph = read_graph(put("g.el", "0 1\n"));
  const auto says = [&](const Csr& which, const char* name, const char* words) {
    const auto said = test::refusal<UsageError>([&] { write_graph(which, path(name)); });
    EXPECT_TRUE(test::says(said, words));
  };
  says(graph, "g.wsg", "the graph has no weights");
  says(graph, "h.el", "graphs are written as .sg, .wsg and .bel");
  says(graph, "g", "does not tell a graph's format");
  says(Csr{}, "g.sg", "the graph has no vertices");
  const Csr heavy = read_graph(put("g.wel", "0 1 2147483648\n"), {.weights = true});
  says(heavy, "h.wsg", "the weight 2147483648 is above 2147483647");
  EXPECT_EQ(files(), (std::vector<std::string>{"g.el", "g.wel"}));
}

TEST_F(Write, a_full_disk_leaves_what_was_there) {
  Csr graph = builtin_graph("power");
  draw_weights(graph, 1, 9, 1);
  for (const char* name : {"g.sg", "g.wsg", "g.bel"}) {
    write_graph(graph, path(name));
    const auto before = files();
    const auto content = test::read_text(path(before.front()));
    Csr other = builtin_graph("pgp");
    draw_weights(other, 1, 9, 1);
    for (const rlim_t room : {0, 10, 100000}) {
      const test::FullDisk full(room);
      const auto said = test::refusal<EnvironmentError>([&] { write_graph(other, path(name)); });
      EXPECT_TRUE(test::says(said, "could not write the graph"));
      EXPECT_TRUE(test::says(said, "free space"));
    }
    EXPECT_EQ(files(), before);
    EXPECT_EQ(test::read_text(path(before.front())), content);
    for (const std::string& file : before) {
      std::filesystem::remove(path(file));
    }
  }
}

TEST_F(Write, nothing_is_left_by_a_process_that_is_killed_meanwhile) {
  const int nameless = open(folder().path().c_str(), O_WRONLY | O_TMPFILE, 0600);
  if (nameless < 0) {
    GTEST_SKIP() << "this file system has no files without a name";
  }
  close(nameless);
  const Csr graph = builtin_graph("power");
  const auto killed_at_a_thousand_bytes = [&] {
    const rlimit room{1000, 1000};
    setrlimit(RLIMIT_FSIZE, &room);
    signal(SIGXFSZ, SIG_DFL);
    write_graph(graph, path("g.sg"));
  };
  EXPECT_EXIT(killed_at_a_thousand_bytes(), testing::KilledBySignal(SIGXFSZ), "");
  EXPECT_EQ(files(), std::vector<std::string>{});
}

TEST_F(Write, a_folder_that_cannot_be_written_is_refused) {
  const Csr graph = builtin_graph("power");
  const auto said = test::refusal<EnvironmentError>([&] { write_graph(graph, path("missing/g.sg")); });
  EXPECT_TRUE(test::says(said, "missing/g.sg: No such file or directory"));
  std::filesystem::create_directories(path("g.sg/occupied"));
  EXPECT_THROW(write_graph(graph, path("g.sg")), EnvironmentError);
  EXPECT_EQ(files(), std::vector<std::string>{"g.sg"});
}

TEST_F(Write, weights_of_an_earlier_graph_do_not_stay) {
  Csr graph = builtin_graph("power");
  draw_weights(graph, 1, 9, 1);
  write_graph(graph, path("g.bel.col"));
  EXPECT_EQ(files(), (std::vector<std::string>{"g.bel.col", "g.bel.dst", "g.bel.val"}));
  write_graph(builtin_graph("power"), path("g.bel"));
  EXPECT_EQ(files(), (std::vector<std::string>{"g.bel.col", "g.bel.dst"}));
}

}  // namespace
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
