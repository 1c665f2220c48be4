#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "grainscope/core/error.hpp"
#include "grainscope/graph/generate.hpp"
#include "grainscope/graph/io.hpp"
#include "random_edges.hpp"

namespace grainscope::graph {
namespace {

namespace fs = std::filesystem;

class MakeGraph : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("grainscope-make-graph-" + std::to_string(::getpid()));
    fs::remove_all(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  [[nodiscard]] std::string path(const std::string& name) const { return (folder_ / name).string(); }
  [[nodiscard]] Csr make(const std::string& text, bool weights) const {
    return make_graph(parse_graph_spec(text), weights, folder_.string());
  }

  fs::path folder_;
};

TEST_F(MakeGraph, keeps_generated_graphs_and_finds_them_again) {
  for (const char* const text : {"kron:10", "urand:9:3", "web:10", "dense:6"}) {
    for (const bool weights : {false, true}) {
      const GraphSpec spec = parse_graph_spec(text);
      const std::string file = path(spec.name() + (weights ? ".wsg" : ".sg"));
      const Csr plain = make_graph(spec, weights);
      EXPECT_FALSE(fs::exists(file));
      expect_same(make(text, weights), plain);
      ASSERT_TRUE(fs::exists(file));
      const auto written = fs::last_write_time(file);
      expect_same(make(text, weights), plain);
      EXPECT_EQ(fs::last_write_time(file), written) << file;
    }
  }
}

TEST_F(MakeGraph, makes_again_what_is_another_graph_of_the_same_size) {
  const Csr right = make("kron:10", false);
  const Csr other = make("urand:10", false);
  fs::copy_file(path("urand10.sg"), path("kron10.sg"), fs::copy_options::overwrite_existing);
  expect_same(make("kron:10", false), right);
  // Also where its finger print came with it, or there is none.
  fs::copy_file(path("urand10.sg"), path("kron10.sg"), fs::copy_options::overwrite_existing);
  fs::copy_file(path("urand10.sg.made"), path("kron10.sg.made"), fs::copy_options::overwrite_existing);
  expect_same(make("kron:10", false), right);
  fs::copy_file(path("urand10.sg"), path("kron10.sg"), fs::copy_options::overwrite_existing);
  fs::remove(path("kron10.sg.made"));
  expect_same(make("kron:10", false), right);
  expect_same(make("urand:10", false), other);
}

TEST_F(MakeGraph, makes_again_what_has_one_weight_or_edge_changed) {
  const Csr right = make("kron:8", true);
  const auto file = path("kron8.wsg");
  for (const long back : {8, 4}) {
    std::fstream kept(file, std::ios::in | std::ios::out | std::ios::binary);
    kept.seekp(-back, std::ios::end);
    kept.put(static_cast<char>(kept.peek() ^ 1));
    kept.close();
    expect_same(make("kron:8", true), right);
  }
}

TEST_F(MakeGraph, gives_what_it_cannot_keep_and_says_why) {
  std::ofstream(folder_) << "a file";
  std::string why;
  expect_same(make_graph(parse_graph_spec("kron:8"), false, folder_.string(), why),
              make_graph(parse_graph_spec("kron:8"), false));
  EXPECT_NE(why.find(folder_.string()), std::string::npos) << why;
}

TEST_F(MakeGraph, makes_again_what_is_damaged_or_cannot_be_it) {
  fs::create_directories(folder_);
  const Csr right = make_graph(parse_graph_spec("kron:8"), true);
  std::ofstream(path("kron8.wsg")) << "no graph";
  expect_same(make("kron:8", true), right);
  expect_same(read_graph(path("kron8.wsg"), {.weights = true}), right);
  fs::resize_file(path("kron8.wsg"), fs::file_size(path("kron8.wsg")) - 1);
  expect_same(make("kron:8", true), right);
  for (const char* scale : {"kron:7", "kron:9"}) {
    write_graph(make_graph(parse_graph_spec(scale), true), path("kron8.wsg"));
    expect_same(make("kron:8", true), right);
  }
  write_graph(make_graph(parse_graph_spec("web:8"), true), path("kron8.wsg"));
  expect_same(make("kron:8", true), right);
}

TEST_F(MakeGraph, says_which_folder_it_cannot_make) {
  std::ofstream(folder_) << "a file";
  try {
    (void)make("kron:4", false);
    FAIL() << "kept";
  } catch (const EnvironmentError& error) {
    EXPECT_NE(std::string(error.what()).find(folder_.string()), std::string::npos) << error.what();
  }
}

TEST_F(MakeGraph, draws_weights_for_graphs_that_have_none) {
  const Csr graph = make("pgp", true);
  check_csr(graph);
  const auto [lowest, highest] = std::minmax_element(graph.weights.begin(), graph.weights.end());
  EXPECT_EQ(*lowest, 1);
  EXPECT_EQ(*highest, 255);
  EXPECT_FALSE(make("pgp", false).weighted());
}

TEST_F(MakeGraph, takes_a_files_own_weights) {
  fs::create_directories(folder_);
  std::ofstream(path("own.wel")) << "0 1 7\n1 2 300\n";
  std::ofstream(path("none.el")) << "0 1\n1 2\n";
  const Csr own = make("file:" + path("own.wel"), true);
  EXPECT_EQ(own.name, "own");
  EXPECT_EQ(entries(own), (std::vector<Triple>{{0, 1, 7}, {1, 0, 7}, {1, 2, 300}, {2, 1, 300}}));
  EXPECT_FALSE(make("file:" + path("own.wel"), false).weighted());
  EXPECT_TRUE(make("file:" + path("none.el"), true).weighted());
  EXPECT_THROW((void)make("file:" + path("absent.el"), true), Error);
}

}  // namespace
}  // namespace grainscope::graph
