// traversal: what it lists, of whose graphs, and in which order.

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "fakes.hpp"
#include "families.hpp"
#include "grainscope/core/error.hpp"
#include "harness/selection.hpp"

namespace grainscope::harness {
namespace {

using test::text_of;

std::vector<Benchmark> listed(Preset preset, const std::vector<std::pair<std::string, std::string>>& axes,
                              const std::vector<std::string>& graphs = {},
                              std::set<std::string>* left_out = nullptr) {
  const Machine machine = test::machine_with_gpus(2);
  Scope scope = make_scope(preset, gpu_targets(machine, {}), true, node_targets(machine, {}));
  scope.axes = axes;
  for (const std::string& graph : graphs) {
    scope.graphs.push_back(graph::parse_graph_spec(graph));
  }
  return list_all({traversal()}, machine, scope, left_out);
}

std::set<std::string> names_of(const std::vector<Benchmark>& all) {
  std::set<std::string> names;
  for (const Benchmark& benchmark : all) {
    names.insert(benchmark.id.name());
  }
  return names;
}

TEST(Traversal, walks_a_graph_that_the_user_names_in_every_way) {
  const auto own = names_of(listed(Preset::full, {}, {"urand:21"}));
  const auto as_axis = names_of(listed(Preset::full, {{"graph", "urand:21"}}));
  EXPECT_EQ(own, as_axis) << "--axis graph=… is --graph=…";
  const auto all = names_of(listed(Preset::full, {}));
  const auto is_of = [](const char* graph, const std::string& name) {
    return name.find(std::string("/graph:") + graph + "/") != std::string::npos;
  };
  const auto counted = [&](const char* graph) {
    return std::count_if(all.begin(), all.end(), [&](const auto& name) { return is_of(graph, name); });
  };
  EXPECT_GT(counted("kron21"), counted("urand21"));
  EXPECT_GT(own.size(), static_cast<std::size_t>(counted("kron21")));
  EXPECT_TRUE(std::all_of(own.begin(), own.end(), [&](const auto& name) { return is_of("urand21", name); }));
}

TEST(Traversal, is_of_one_algorithm_where_the_axis_says_so) {
  for (const Benchmark& benchmark : listed(Preset::quick, {{"algorithm", "pr"}, {"access", "naive"}})) {
    EXPECT_TRUE(benchmark.id.name().starts_with("traversal/pr/naive/")) << benchmark.id.name();
  }
  EXPECT_THROW(static_cast<void>(listed(Preset::quick, {{"algorithm", "dfs"}})), UsageError);
  EXPECT_THROW(static_cast<void>(listed(Preset::quick, {{"graph", "torus:9"}})), UsageError);
}

TEST(Traversal, leaves_out_what_cannot_be_and_says_why) {
  std::set<std::string> left_out;
  EXPECT_TRUE(listed(Preset::quick, {{"sources", "emogi"}}, {}, &left_out).empty());
  EXPECT_EQ(
      left_out,
      (std::set<std::string>{"EMOGI's authors name sources of bfs and sssp on kron:24 and urand:24 alone"}));
  EXPECT_FALSE(listed(Preset::quick, {{"sources", "emogi"}}, {"kron:24"}).empty());
  left_out.clear();
  EXPECT_TRUE(listed(Preset::quick, {{"placement", "mapped"}, {"access", "compact"}}, {}, &left_out).empty());
  EXPECT_EQ(left_out.size(), 1U);
}

// Placing a graph, and ordering it, take longer than most traversals: one of each is there at a time.
TEST(Traversal, has_cases_together_that_share_a_graph_as_it_is_placed) {
  for (const Preset preset : {Preset::quick, Preset::full, Preset::paper}) {
    std::string last;
    std::string last_graph;
    std::set<std::string> ended;
    std::set<std::string> ended_graphs;
    for (const Benchmark& benchmark : listed(preset, {})) {
      if (text_of(benchmark, "placement") == "subway") {
        continue;  // nothing is placed
      }
      const std::string graph = text_of(benchmark, "graph") + " " + text_of(benchmark, "order");
      std::string placed = graph + " " + text_of(benchmark, "placement") + " " + text_of(benchmark, "edge");
      placed += (benchmark.id.family == "traversal/sssp" ? " weights " : " ") +
                to_string(benchmark.id.site[1].value);
      EXPECT_TRUE(placed == last || ended.insert(placed).second) << benchmark.id.name();
      EXPECT_TRUE(graph == last_graph || ended_graphs.insert(graph).second) << benchmark.id.name();
      last = placed;
      last_graph = graph;
    }
    EXPECT_GT(ended.size(), 10U);
  }
}

}  // namespace
}  // namespace grainscope::harness
