// `grainscope graph`, the program itself.

#include <nlohmann/json.hpp>

#include "grainscope/graph/generate.hpp"
#include "graph_files.hpp"

namespace grainscope::graph {
namespace {

using nlohmann::json;
using test::Ended;
using test::run_program;

class GraphCommand : public GraphFiles {
 protected:
  static std::string done(std::vector<std::string> words) {
    words.insert(words.begin(), "graph");
    const Ended ended = run_program(words);
    EXPECT_EQ(ended.status, 0) << ended.err;
    EXPECT_EQ(ended.err, "");
    return ended.out;
  }
  static void expect_refused(std::vector<std::string> words, int status, const std::string& said) {
    words.insert(words.begin(), "graph");
    const Ended ended = run_program(words);
    EXPECT_EQ(ended.status, status) << ended.err;
    EXPECT_EQ(ended.out, "");
    EXPECT_EQ(ended.err.find("grainscope: "), 0U) << ended.err;
    EXPECT_TRUE(test::says(ended.err, said));
  }
};

TEST_F(GraphCommand, describes_a_graph_in_words_and_as_json) {
  const std::string text = done({"describe", "power"});
  for (const char* words : {"power\n", "4,941", "6,594, undirected: 13,188 entries", "mean 2.67", "most 19",
                            "4-byte edges 51.5 KiB"}) {
    EXPECT_TRUE(test::says(text, words));
  }
  const json found = json::parse(done({"describe", put("star.el", "0 1\n0 2\n0 3\n5 4\n"), "--json"}));
  EXPECT_EQ(found.at("graph"), "star");
  EXPECT_EQ(found.at("vertices"), 6);
  EXPECT_EQ(found.at("entries"), 8);
  EXPECT_EQ(found.at("components"), 2);
  EXPECT_EQ(found.at("directed"), false);
  EXPECT_EQ(found.at("bytes").at("edges_8"), 64);
  EXPECT_EQ(found.at("entries_in_lists").back(), (json{{"at_most", 4}, {"entries", 8}}));
}

TEST_F(GraphCommand, says_where_a_text_from_0_looks_as_if_it_counted_from_1) {
  const std::string note = "has no edge at vertex 0: if it counts from 1";
  for (const char* ending : {"el", "txt"}) {
    const std::string from_1 = put(std::string("one.") + ending, "1 2\n2 3\n3 1\n");
    EXPECT_TRUE(test::says(done({"describe", from_1}), note));
    EXPECT_TRUE(test::says(done({"describe", from_1, "--directed"}), note));
    EXPECT_TRUE(test::says(done({"convert", from_1, path("one.sg")}), note));
    const std::string from_0 = put(std::string("zero.") + ending, "1 2\n2 3\n3 0\n");
    EXPECT_EQ(done({"describe", from_0}).find("note:"), std::string::npos);
    EXPECT_EQ(done({"describe", from_0, "--directed"}).find("note:"), std::string::npos);
    const std::string high = put(std::string("high.") + ending, "7 8\n");  // counts from anywhere
    EXPECT_EQ(done({"describe", high}).find("note:"), std::string::npos);
  }
  const std::string matrix = put("one.mtx", "%%MatrixMarket matrix coordinate pattern general\n3 3 1\n2 3\n");
  EXPECT_EQ(done({"describe", matrix}).find("note:"), std::string::npos);
  EXPECT_EQ(done({"describe", "power"}).find("note:"), std::string::npos);
}

TEST_F(GraphCommand, describes_how_far_edges_stay_within_a_label) {
  const std::string file = put("path.el", "0 1\n1 2\n2 3\n3 4\n");
  const std::string labels = put("labels.txt", "7\n7\n-1\n2\n2\n");
  const json found = json::parse(done({"describe", file, "--labels", labels, "--json"})).at("labels");
  EXPECT_EQ(found, json({{"different", 2}, {"vertices", 4}, {"entries", 4}, {"entries_within", 4}}));
  EXPECT_TRUE(test::says(done({"describe", file, "--labels", labels}),
                         "2, of 80.0 % of the vertices; 100.0 % of the entries between these within one"));
  EXPECT_FALSE(json::parse(done({"describe", file, "--json"})).contains("labels"));
  EXPECT_EQ(json::parse(done({"describe", "citation:10", "--json"})).at("labels").at("vertices"), 1024);
  expect_refused({"describe", "power", "--labels", labels}, 2, "5 labels; the graph power has 4941 vertices");
}

TEST_F(GraphCommand, describes_directed_graphs_without_components) {
  const std::string file = put("d.el", "0 1\n0 2\n");
  EXPECT_TRUE(test::says(done({"describe", file, "--directed"}), "not counted: the graph is directed"));
  EXPECT_EQ(json::parse(done({"describe", file, "--directed", "--json"})).at("components"), json());
  expect_refused({"describe", "power", "--directed"}, 2, "edges of power run both ways by its own word");
}

TEST_F(GraphCommand, converts_files_and_names) {
  const std::string wel = put("g.wel", "0 1 5\n1 2 6\n");
  EXPECT_EQ(done({"convert", wel, path("g.sg")}), path("g.sg") + ": 3 vertices, 4 entries\n");
  EXPECT_FALSE(read_graph(path("g.sg")).weighted());
  EXPECT_EQ(done({"convert", wel, path("g.wsg"), "--directed"}),
            path("g.wsg") + ": 3 vertices, 2 entries, directed, with weights\n");
  EXPECT_EQ(entries(read_graph(path("g.wsg"), {.weights = true})),
            (std::vector<Entry>{{0, 1, 5}, {1, 2, 6}}));
  EXPECT_EQ(done({"convert", path("g.wsg"), path("g.bel"), "--symmetrise", "--weights"}),
            path("g.bel") + ": 3 vertices, 4 entries, with weights\n");
  EXPECT_EQ(entries(read_graph(path("g.bel"), {.weights = true})),
            (std::vector<Entry>{{0, 1, 5}, {1, 0, 5}, {1, 2, 6}, {2, 1, 6}}));
  static_cast<void>(done({"convert", "kron:10", path("k.wsg")}));
  expect_equal(read_graph(path("k.wsg"), {.weights = true}), make_graph(parse_graph_spec("kron:10"), true));
}

TEST_F(GraphCommand, draws_weights_and_orders) {
  static_cast<void>(done({"convert", "pgp", path("p.wsg"), "--draw-weights", "8-72", "--order", "degree"}));
  const Csr graph = read_graph(path("p.wsg"), {.weights = true});
  EXPECT_EQ(graph.vertices(), 10680);
  for (Vertex v = 1; v < graph.vertices(); ++v) {
    ASSERT_GE(graph.degree(v - 1), graph.degree(v));
  }
  EXPECT_EQ(*std::min_element(graph.weights.begin(), graph.weights.end()), 8);
  EXPECT_EQ(*std::max_element(graph.weights.begin(), graph.weights.end()), 72);
  EXPECT_TRUE(
      test::says(done({"convert", "power", path("p.sg"), "--order=halo_like"}), "halo_like order in"));
}

TEST_F(GraphCommand, keeps_graphs_and_finds_them_again) {
  const std::string dir = path("kept/graphs");
  EXPECT_TRUE(test::says(done({"cache", "kron:8", "urand:8:4", "--dir", dir}), "made in"));
  EXPECT_TRUE(std::filesystem::exists(path("kept/graphs/kron8.sg")));
  EXPECT_TRUE(std::filesystem::exists(path("kept/graphs/urand8_4.sg")));
  EXPECT_TRUE(test::says(done({"cache", "kron:8", "--dir", dir}), "was there, read in"));
  static_cast<void>(done({"cache", "kron:8", "--weights", "--dir", dir}));
  expect_equal(read_graph(path("kept/graphs/kron8.wsg"), {.weights = true}),
               make_graph(parse_graph_spec("kron:8"), true));
}

// Weights of another graph do not stay beside a new one's edges, so the old ones would go.
TEST_F(GraphCommand, writes_no_graph_over_its_own_weights_without_them) {
  static_cast<void>(done({"convert", put("w.wel", "0 1 5\n1 2 7\n"), path("w.bel"), "--weights"}));
  const std::string weights = test::read_text(path("w.bel.val"));
  for (const std::vector<std::string>& more :
       std::vector<std::vector<std::string>>{{}, {"--symmetrise"}, {"--order=degree"}}) {
    std::vector<std::string> words{"convert", path("w.bel"), path("./w.bel")};
    words.insert(words.end(), more.begin(), more.end());
    expect_refused(words, 2, "would be lost: keep them by --weights");
    EXPECT_EQ(test::read_text(path("w.bel.val")), weights);
  }
  static_cast<void>(done({"convert", path("w.bel"), path("w.bel"), "--weights"}));
  EXPECT_EQ(test::read_text(path("w.bel.val")), weights);
}

TEST_F(GraphCommand, refuses_what_cannot_be_honoured) {
  const std::string el = put("g.el", "0 1\n");
  const std::string out = path("out.sg");
  expect_refused({}, 2, "grainscope graph --help");
  expect_refused({"draw", "power"}, 2, "grainscope graph --help");
  expect_refused({"describe", "krom:3"}, 2, "the kind 'krom' is unknown");
  expect_refused({"describe", path("missing.el")}, 2, "could not open the graph");
  expect_refused({"describe", put("bad.el", "0 1\n2\n")}, 2, "bad.el:2: the line ends");
  expect_refused({"convert", el, path("out.el")}, 2, "graphs are written as .sg, .wsg and .bel");
  expect_refused({"convert", el, path("out.wsg")}, 2, "has no weights; draw them");
  expect_refused({"convert", el, out, "--weights"}, 2, "cannot hold weights: write .wsg or .bel");
  expect_refused({"convert", el, out, "--draw-weights=8-72"}, 2, "cannot hold weights");
  for (const char* range : {"8", "72-8", "8-", "-8", "8-72x", "a-b", "1-4294967296"}) {
    expect_refused({"convert", el, path("out.wsg"), std::string("--draw-weights=") + range}, 2,
                   "is no range: write LOW-HIGH");
  }
  expect_refused({"convert", el, out, "--directed", "--symmetrise"}, 2, "exclude each other");
  expect_refused({"convert", put("w.wel", "0 1 5\n"), path("out.wsg"), "--weights", "--draw-weights=1-2"}, 2,
                 "--weights and --draw-weights exclude each other");
  expect_refused({"convert", el, out, "--order=random"}, 2, "original, degree and halo_like");
  expect_refused({"convert", el, path("missing/out.sg")}, 3, "could not write the graph");
  expect_refused({"cache", "power", "--dir", path("kept")}, 2, "there is nothing to keep of power");
  expect_refused({"cache", "kron:8"}, 2, "--dir");
  expect_refused({"cache", "kron:8", "--dir", el}, 3, "cannot be made");
}

TEST_F(GraphCommand, helps) {
  for (const char* words : {"describe", "convert", "cache", ".mtx", "kron:SCALE", "Exit status"}) {
    EXPECT_TRUE(test::says(done({"--help"}), words));
  }
  EXPECT_TRUE(test::says(done({"convert", "--help"}), "--draw-weights"));
  EXPECT_TRUE(test::says(run_program({"--help"}).out, "grainscope graph --help"));
}

}  // namespace
}  // namespace grainscope::graph
