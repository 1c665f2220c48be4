// What is written is read again as it was, and is there whole or not at all.

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>

#include "golden.hpp"
#include "graph_files.hpp"
#include "run_folder.hpp"

namespace grainscope::graph {
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
}  // namespace grainscope::graph
