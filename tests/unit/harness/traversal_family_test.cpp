// traversal: what it lists, of whose graphs, and in which order.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "fakes.hpp"
#include "families.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/core/units.hpp"
#include "harness/selection.hpp"
#include "traversal/lean_runs.hpp"

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
    // But for searches by pull, which take hours over a graph of many levels.
    const std::regex pulled("traversal/bfs/.*direction:pull");
    return std::count_if(all.begin(), all.end(), [&](const auto& name) {
      return is_of(graph, name) && !std::regex_search(name, pulled);
    });
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
  left_out.clear();
  EXPECT_TRUE(
      listed(Preset::quick, {{"placement", "device,mapped"}, {"hint", "none"}}, {}, &left_out).empty());
  EXPECT_TRUE(left_out.contains("hints are of managed memory: placement is managed"));
}

// Read-mostly is what managed edges are where nothing is said.
TEST(Traversal, tells_a_hint_by_the_name_unless_it_is_the_usual_one) {
  std::set<std::string> hints;
  for (const Benchmark& benchmark : listed(Preset::quick, {{"placement", "managed"},
                                                           {"access", "merged_aligned"},
                                                           {"hint", "none,read_mostly,accessed_by"}})) {
    hints.insert(test::text_if_any(benchmark, "hint"));
    const std::string hint = test::text_if_any(benchmark, "hint");
    EXPECT_EQ(benchmark.explanation.measures.find("read-mostly") != std::string::npos, hint.empty())
        << benchmark.id.name();
  }
  EXPECT_EQ(hints, (std::set<std::string>{"", "none", "accessed_by"}));
}

std::map<std::string, std::string> skips_of(const Machine& machine,
                                            const std::vector<std::pair<std::string, std::string>>& axes,
                                            std::set<std::string>* left_out = nullptr) {
  Scope scope = make_scope(Preset::smoke, gpu_targets(machine, {0}), false, node_targets(machine, {}));
  scope.axes = axes;
  std::map<std::string, std::string> skips;
  for (const Benchmark& benchmark : list_all({traversal()}, machine, scope, left_out)) {
    EXPECT_TRUE(skips.emplace(benchmark.id.name(), benchmark.skip).second) << benchmark.id.name();
    const bool several = benchmark.id.name().find("/gpus:") != std::string::npos ||
                         benchmark.id.name().find("/over:") != std::string::npos ||
                         benchmark.id.name().find("/peer/") != std::string::npos;
    if (several && benchmark.skip.empty()) {
      EXPECT_FALSE(benchmark.other_gpus.empty()) << benchmark.id.name();
      EXPECT_EQ(std::count(benchmark.other_gpus.begin(), benchmark.other_gpus.end(), 0), 0);
    }
  }
  return skips;
}

TEST(Traversal, of_several_gpus_names_them_and_says_where_they_are_missing) {
  const std::vector<std::pair<std::string, std::string>> mapped{
      {"algorithm", "bfs"}, {"access", "merged_aligned"}, {"placement", "mapped"}, {"gpus", "1,2,all"}};
  const std::string two = "traversal/bfs/merged_aligned/mapped/numa:0/gpu:0/graph:power/edge:8/gpus:2";
  const std::string four = "traversal/bfs/merged_aligned/mapped/numa:0/gpu:0/graph:power/edge:8/gpus:4";
  const auto of_one = skips_of(test::machine_with_gpus(1), mapped);
  EXPECT_EQ(of_one.at(two), "needs two GPUs; this machine has one");
  const Machine machine = test::machine_with_gpus(4);
  const auto of_four = skips_of(machine, mapped);
  EXPECT_EQ(of_four.at(two), "");
  EXPECT_EQ(of_four.at(four), "");
  const auto of_eight = skips_of(machine, {{"algorithm", "bfs"}, {"placement", "mapped"}, {"gpus", "8"}});
  ASSERT_FALSE(of_eight.empty());
  EXPECT_NE(of_eight.begin()->second.find("needs 8 GPUs that reach each other"), std::string::npos)
      << of_eight.begin()->second;
}

TEST(Traversal, of_edges_on_other_gpus_names_how_many_and_leaves_out_what_cannot_be) {
  const Machine machine = test::machine_with_gpus(4);
  std::set<std::string> left_out;
  const auto interleaved = skips_of(
      machine, {{"algorithm", "bfs"}, {"placement", "interleaved"}, {"over", "2,all"}, {"gpus", "1,4"}},
      &left_out);
  const std::string all = "traversal/bfs/merged_aligned/interleaved/numa:0/gpu:0/graph:power/edge:8/over:4";
  EXPECT_TRUE(interleaved.contains(all));
  EXPECT_TRUE(interleaved.contains(all + "/gpus:4"));
  EXPECT_FALSE(interleaved.contains(
      "traversal/bfs/merged_aligned/interleaved/numa:0/gpu:0/graph:power/edge:8/over:2/gpus:4"));
  EXPECT_TRUE(
      left_out.contains("a GPU that traverses interleaved edges has some of them: gpus is at most over"));
  left_out.clear();
  EXPECT_TRUE(skips_of(machine, {{"placement", "peer"}, {"gpus", "2"}}, &left_out).empty());
  EXPECT_TRUE(
      left_out.contains("several GPUs traverse edges that are mapped, in their own memory or interleaved"));
  left_out.clear();
  EXPECT_TRUE(skips_of(machine, {{"placement", "mapped"}, {"over", "2"}}, &left_out).empty());
  EXPECT_TRUE(left_out.contains("only interleaved edges lie over several GPUs"));
  left_out.clear();
  EXPECT_TRUE(skips_of(machine, {{"divide", "vertices"}}, &left_out).empty());
  EXPECT_TRUE(left_out.contains("one GPU has all vertices: nothing is divided"));
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
      std::string placed = graph + " " + text_of(benchmark, "placement") +
                           test::text_if_any(benchmark, "memory") + test::text_if_any(benchmark, "hint") +
                           " " + text_of(benchmark, "edge");
      for (const char* key : {"over", "gpus", "divide"}) {
        placed += " " + test::text_if_any(benchmark, key);
      }
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
namespace {

// lean/: GPU memory for edges in bytes.

std::vector<Benchmark> with_budgets(const std::vector<std::uint64_t>& budgets,
                                    Preset preset = Preset::quick) {
  static const Machine machine = test::machine_with_gpus(1);
  Scope scope = make_scope(preset, gpu_targets(machine, {}), false, node_targets(machine, {}));
  scope.graphs = {graph::parse_graph_spec("kron:20")};
  scope.hot_budgets = budgets;
  return list_all({lean_traversal()}, machine, scope);
}

TEST(LeanFamily, has_the_budgets_in_bytes_that_are_asked_for_beside_its_own) {
  const std::size_t own = with_budgets({}).size();
  std::set<std::string> found;
  std::size_t more = 0;
  for (const Benchmark& benchmark : with_budgets({64 * kMiB, kGiB})) {
    const auto& axes = benchmark.id.axes;
    const bool in_bytes = std::any_of(axes.begin(), axes.end(),
                                      [](const Axis& axis) { return std::string(axis.key) == "hot_budget"; });
    if (in_bytes) {
      ++more;
      found.insert(to_string(benchmark.id.axis("hot_budget")));
      EXPECT_EQ(to_string(benchmark.id.axis("tier")), "heads");
      EXPECT_EQ(benchmark.skip, "") << benchmark.id.name();
    }
  }
  EXPECT_EQ(more, 2U * 2U * 4U) << "plain and compressed, of each algorithm";
  EXPECT_EQ(found, (std::set<std::string>{"67108864", "1073741824"}));
  EXPECT_EQ(with_budgets({64 * kMiB, kGiB}).size(), own + more);
}

TEST(LeanFamily, has_a_version_of_its_own_where_one_algorithm_rose) {
  const Family family = lean_traversal();
  ASSERT_GT(family.versions.at("lean/sssp"), family.version);
  const Machine machine = test::machine_with_gpus(1);
  std::map<std::string, int> versions;
  for (const Benchmark& benchmark :
       list_all({family}, machine,
                make_scope(Preset::quick, gpu_targets(machine, {}), false, node_targets(machine, {})))) {
    versions[benchmark.id.family] = benchmark.version;
  }
  EXPECT_EQ(versions.at("lean/sssp"), family.versions.at("lean/sssp"));
  EXPECT_EQ(versions.at("lean/bfs"), family.version);
}

TEST(LeanFamily, skips_a_budget_that_the_gpu_has_not) {
  std::size_t skipped = 0;
  for (const Benchmark& benchmark : with_budgets({512 * kGiB})) {
    if (benchmark.id.name().find("hot_budget") != std::string::npos) {
      EXPECT_NE(benchmark.skip.find("GPU"), std::string::npos) << benchmark.skip;
      EXPECT_NE(benchmark.skip.find("512"), std::string::npos) << benchmark.skip;
      ++skipped;
    }
  }
  EXPECT_GT(skipped, 0U);
}

TEST(LeanFamily, has_the_budgets_of_the_axis_in_place_of_its_own) {
  const Machine machine = test::machine_with_gpus(1);
  Scope scope = make_scope(Preset::full, gpu_targets(machine, {}), false, node_targets(machine, {}));
  scope.axes = {{"hot_budget", "64MiB"}, {"algorithm", "cc"}, {"graph", "kron:20"}};
  std::set<std::string> ways;
  for (const Benchmark& benchmark : list_all({lean_traversal()}, machine, scope)) {
    EXPECT_EQ(to_string(benchmark.id.axis("hot_budget")), "67108864");
    ways.insert(to_string(benchmark.id.axis("tier")) + " " + to_string(benchmark.id.axis("lists")));
  }
  EXPECT_EQ(ways, (std::set<std::string>{"heads plain", "heads compressed", "lists plain"}));
}

TEST(LeanFamily, names_what_gave_a_budget_that_is_too_large_or_too_small) {
  const Machine machine = test::machine_with_gpus(1);
  for (const bool by_axis : {false, true}) {
    const std::string name = by_axis ? "--axis hot_budget" : "--hot-budget";
    Scope scope = make_scope(Preset::full, gpu_targets(machine, {}), false, node_targets(machine, {}));
    scope.axes = {{"tier", "heads"}, {"algorithm", "cc"}, {"graph", "kron:20"}};
    if (by_axis) {
      scope.axes.emplace_back("hot_budget", "512GiB");
    } else {
      scope.axes.emplace_back("hot_budget", "given");
      scope.hot_budgets = {512 * kGiB};
    }
    const std::vector<Benchmark> all = list_all({lean_traversal()}, machine, scope);
    ASSERT_FALSE(all.empty());
    EXPECT_EQ(all.front().skip, name + ": 512 GiB are more than GPU 0 has: 80 GiB");
    Machine smaller = test::machine_with_gpus(1);
    leave_gpu_memory(smaller, 16 * kGiB, {});
    EXPECT_EQ(list_all({lean_traversal()}, smaller, scope).front().skip,
              name + ": 512 GiB are more than GPU 0 has: 16 GiB");

    const HotBudget small{.bytes = 4, .given_by = name.c_str()};
    const graph::Csr graph = graph::make_graph(graph::parse_graph_spec("urand:10"), false);
    try {
      static_cast<void>(hot_elements(graph, small, 1, false));
      ADD_FAILURE() << "edges in 4 bytes";
    } catch (const SkipError& error) {
      EXPECT_TRUE(std::string(error.what()).starts_with(name + ": where the hot part")) << error.what();
    }
  }
}

TEST(LeanFamily, leaves_out_what_cannot_be_and_says_why) {
  const Machine machine = test::machine_with_gpus(1);
  Scope scope = make_scope(Preset::smoke, gpu_targets(machine, {}), false, node_targets(machine, {}));
  using Axes = std::vector<std::pair<std::string, std::string>>;
  const std::vector<std::pair<Axes, std::string>> expected{
      {{{"tier", "none"}, {"hot", "5"}}, "edges are hot in a tier: tier is heads, lists or reuse"},
      {{{"tier", "heads"}, {"hot", "0"}}, "a tier holds some of the edges: hot or hot_budget is above 0"},
      {{{"tier", "reuse"}, {"hot", "5"}, {"algorithm", "cc"}},
       "reuse is learnt from searches: its algorithm is bfs"},
      {{{"segments", "hybrid"}, {"algorithm", "bfs"}}, "segments are copied whole in pr and sssp alone"}};
  for (const auto& [axes, why] : expected) {
    scope.axes = axes;
    std::set<std::string> left_out;
    EXPECT_TRUE(list_all({lean_traversal()}, machine, scope, &left_out).empty()) << why;
    EXPECT_TRUE(left_out.contains(why)) << why;
  }
}

TEST(HotElements, are_what_fits_beside_where_they_begin) {
  const graph::Csr graph = graph::make_graph(graph::parse_graph_spec("urand:10"), false);
  const std::uint64_t places = 4 * (std::uint64_t{1024} + 1);
  EXPECT_EQ(hot_elements(graph, HotBudget{.bytes = places + 400}, 1, false), 100U);
  EXPECT_EQ(hot_elements(graph, HotBudget{.bytes = places + 403}, 1, false), 100U);
  EXPECT_EQ(hot_elements(graph, HotBudget{.bytes = places + 400}, 1, true), 50U);
  EXPECT_EQ(hot_elements(graph, HotBudget{.bytes = kGiB}, 1, false), graph.edges())
      << "no more than there are";
  EXPECT_THROW(static_cast<void>(hot_elements(graph, HotBudget{.bytes = places}, 1, false)), SkipError);
  EXPECT_THROW(static_cast<void>(hot_elements(graph, HotBudget{.bytes = places + 4}, 1, true)), SkipError);
}

TEST(HotElements, of_a_budget_in_bytes_are_placed_in_both_directions_of_a_directed_graph) {
  LeanPoint point;
  point.spec = graph::parse_graph_spec("web:10");
  point.graph = {point.spec.name(), graph::Order::degree};
  point.tier = lean::TierPolicy::heads;
  const LoadedGraph graph(point.spec, point.graph.order, "");
  const std::uint64_t places = 4 * (std::uint64_t{graph.csr().vertices()} + 1);
  point.hot.bytes = 2 * (places + 4000);
  const LeanLayout layout(point, graph);
  EXPECT_EQ(layout.pushed().tier->elements(), 1000U);
  EXPECT_EQ(layout.pulled().tier->elements(), 1000U);
  EXPECT_NEAR(layout.counters().at("hot_percent"), 100.0 * 1000 / static_cast<double>(graph.csr().edges()),
              1e-9);
  EXPECT_EQ(hot_elements(graph.csr(), point.hot, 2, false), 1000U);
}

// Each second that a layout takes is counted once, by what it went into.
TEST(LeanLayouts, count_the_seconds_of_each_of_their_parts) {
  using graph::Algorithm;
  const LoadedGraph graph(graph::parse_graph_spec("kron:10"), graph::Order::degree, "");
  for (const Algorithm algorithm : {Algorithm::bfs, Algorithm::cc, Algorithm::pr}) {
    for (const bool compressed : {false, true}) {
      LeanPoint point;
      point.spec = graph::parse_graph_spec("kron:10");
      point.graph = {point.spec.name(), graph::Order::degree};
      point.algorithm = algorithm;
      point.compressed = compressed;
      const LeanLayout layout(point, graph);
      EXPECT_EQ(layout.counters().count("firsts_s"), algorithm != Algorithm::pr ? 1U : 0U);
      EXPECT_EQ(layout.counters().count("phases_s"), algorithm == Algorithm::cc ? 1U : 0U);
      EXPECT_EQ(layout.counters().count("compress_s"), compressed ? 1U : 0U);
      for (const auto& [counter, value] : layout.counters()) {
        EXPECT_TRUE(!counter.ends_with("_s") || value > 0) << counter;
      }
    }
  }
}

}  // namespace
}  // namespace grainscope::harness
