// Graphs as families load them, of files that are not as one would wish.

#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "../../testing/oracles.hpp"
#include "../../testing/says.hpp"
#include "fakes.hpp"
#include "families.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/graph/answers.hpp"
#include "harness/selection.hpp"
#include "traversal/loaded_graph.hpp"
#include "traversal/trials.hpp"

namespace grainscope::harness {
namespace {

using nlohmann::json;
using test::says;

// As LFAT5 of the SuiteSparse collection has them.
constexpr const char* kFractions =
    "%%MatrixMarket matrix coordinate real symmetric\n4 4 3\n2 1 1.5708\n3 2 -94.25\n4 3 0.5\n";

class LoadedFile : public testing::Test {
 protected:
  [[nodiscard]] std::string put(const std::string& name, const std::string& text) const {
    test::write_text(directory_ / name, text);
    return "file:" + (directory_ / name).string();
  }

  test::TemporaryDirectory directory_;
};

TEST_F(LoadedFile, whose_weights_are_fractions_is_a_graph_without_them) {
  const LoadedGraph loaded(graph::parse_graph_spec(put("real.mtx", kFractions)), graph::Order::original, "");
  EXPECT_EQ(loaded.csr().edges(), 6U);
  EXPECT_TRUE(says(test::refusal<SkipError>([&] { loaded.require_weights(); }), "1.5708"));
}

TEST_F(LoadedFile, whose_weights_are_whole_keeps_them) {
  const LoadedGraph loaded(graph::parse_graph_spec(put("whole.wel", "0 1 7\n1 2 300\n")),
                           graph::Order::original, "");
  EXPECT_NO_THROW(loaded.require_weights());
  EXPECT_EQ(loaded.csr().weights[0], 7U);
}

TEST_F(LoadedFile, has_weights_of_the_range_asked_for_only_where_it_has_none) {
  const graph::GraphSpec spec = graph::parse_graph_spec("kron:10");
  const auto range = [](const graph::Csr& csr) {
    const auto [least, most] = std::minmax_element(csr.weights.data(), csr.weights.data() + csr.edges());
    return std::pair(*least, *most);
  };
  const LoadedGraph usual(spec, graph::Order::degree, "");
  EXPECT_EQ(range(usual.csr()), std::pair(8U, 72U));
  EXPECT_EQ(range(LoadedGraph(spec, graph::Order::degree, "", {1, 255}).csr()), std::pair(1U, 255U));
  const LoadedGraph own(graph::parse_graph_spec(put("own.wel", "0 1 7\n1 2 300\n")), graph::Order::original,
                        "", {1, 2});
  EXPECT_EQ(own.csr().weights[0], 7U);
  EXPECT_TRUE(own.old_of_new().empty());
  // The order that tells whose each vertex was.
  const LoadedGraph original(spec, graph::Order::original, "");
  ASSERT_EQ(usual.old_of_new().size(), usual.csr().vertices());
  for (graph::Vertex v = 0; v < usual.csr().vertices(); ++v) {
    ASSERT_EQ(usual.csr().degree(v), original.csr().degree(usual.old_of_new()[v]));
  }
  const std::vector<graph::Vertex> before{0, 5, 900, 5};
  EXPECT_EQ(original.renumbered(before), before);
  const std::vector<graph::Vertex> now = usual.renumbered(before);
  ASSERT_EQ(now.size(), before.size());
  for (std::size_t i = 0; i < before.size(); ++i) {
    EXPECT_EQ(usual.old_of_new()[now[i]], before[i]);
  }
}

TEST_F(LoadedFile, without_an_edge_is_refused) {
  const graph::GraphSpec spec = graph::parse_graph_spec(put("empty.graph", "3 0\n\n\n\n"));
  const std::string why =
      test::refusal<InputError>([&] { static_cast<void>(graph_of_run(spec, false, "")); });
  EXPECT_TRUE(says(why, "empty.graph has no edge")) << why;
}

TEST_F(LoadedFile, that_is_named_without_a_word_before_is_said_how_to_write) {
  const std::string path = put("own.el", "0 1\n").substr(std::string("file:").size());
  const std::string why =
      test::refusal<UsageError>([&] { static_cast<void>(graph::parse_graph_spec(path)); });
  EXPECT_TRUE(says(why, "write file:" + path)) << why;
}

TEST_F(LoadedFile, that_is_no_graph_is_refused_as_before) {
  EXPECT_THROW(
      LoadedGraph(graph::parse_graph_spec(put("bad.wel", "0 1 7\nnothing\n")), graph::Order::original, ""),
      UsageError);
}

TEST_F(LoadedFile, whose_weights_are_fractions_is_walked_by_all_but_sssp) {
  const auto folder = directory_ / "run";
  const test::Ended ended =
      test::run_program({"--preset=smoke", "--benchmark_filter=^model/(bfs|cc|pr|sssp)/.*pcie3x16",
                         "--graph=" + put("real.mtx", kFractions), "--out=" + folder.string()});
  EXPECT_EQ(ended.status, 0) << ended.err;
  const json result = test::read_result(folder);
  std::set<std::string> families;
  for (const json& row : result["benchmarks"]) {
    const std::string family = row["case"]["family"];
    families.insert(family);
    EXPECT_EQ(row["status"], family == "model/sssp" ? "skipped" : "ok") << row["name"];
    EXPECT_TRUE(family != "model/sssp" || says(row["reason"], "1.5708"));
  }
  EXPECT_EQ(families, (std::set<std::string>{"model/bfs", "model/cc", "model/pr", "model/sssp"}));
}

TEST_F(LoadedFile, whose_name_is_not_text_is_refused_before_anything_is_begun) {
  const std::string graph = put("gr\xfc\xdf.el", "0 1\n1 2\n");
  const auto folder = directory_ / "run";
  const test::Ended ended = test::run_program(
      {"--preset=smoke", "--benchmark_filter=^model/bfs", "--graph=" + graph, "--out=" + folder.string()});
  EXPECT_EQ(ended.status, 2) << ended.err;
  EXPECT_TRUE(says(ended.err, "is not UTF-8 text")) << ended.err;
  EXPECT_TRUE(says(ended.err, "rename the file"));
  EXPECT_FALSE(std::filesystem::exists(folder));
}

TEST_F(LoadedFile, of_a_cache_whose_disk_is_full_is_used_and_not_kept) {
  const auto folder = directory_ / "run";
  const auto cache = directory_ / "cache";
  const test::Ended ended = [&] {
    const test::FullDisk full(20'000);  // kron:12 takes more, the journal less
    return test::run_program({"--preset=smoke", "--benchmark_filter=^model/bfs/merged/.*pcie3x16",
                              "--graph=kron:12", "--graph-cache=" + cache.string(),
                              "--out=" + folder.string()});
  }();
  EXPECT_EQ(ended.status, 0) << ended.err;
  EXPECT_TRUE(says(ended.err, "the graph kron12 is not kept")) << ended.err;
  const json result = test::read_result(folder);
  ASSERT_FALSE(result["benchmarks"].empty());
  for (const json& row : result["benchmarks"]) {
    EXPECT_EQ(row["status"], "ok") << row["name"];
  }
  EXPECT_FALSE(std::filesystem::exists(cache / "kron12.sg"));
}

}  // namespace
namespace {

// What cases that load a graph say they need of host memory, against what loading it takes.

// Of this process, in bytes: "VmRSS" or "VmHWM", its most.
std::uint64_t resident(const std::string& what) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind(what + ":", 0) == 0) {
      return std::stoull(line.substr(what.size() + 1)) * kKiB;
    }
  }
  return 0;
}

// Makes the most that is resident what is resident now; false where the kernel does not let us.
bool forget_most_resident() {
  std::ofstream clear("/proc/self/clear_refs");
  clear << "5" << std::flush;
  return clear.good() && resident("VmHWM") <= resident("VmRSS") + kMiB;
}

TEST(GraphNeeds, are_the_most_that_loading_takes) {
  // Each thread has places of its own, which count in graphs as small as these alone.
  const int threads = omp_get_max_threads();
  omp_set_num_threads(2);
  for (const auto& [text, order] : {std::pair{"kron:19", graph::Order::original},
                                    {"kron:19", graph::Order::degree},
                                    {"urand:19", graph::Order::degree},
                                    {"web:19", graph::Order::original}}) {
    const graph::GraphSpec spec = graph::parse_graph_spec(text);
    if (!forget_most_resident()) {
      GTEST_SKIP() << "/proc/self/clear_refs cannot be written: the most that was resident is not known";
    }
    const std::uint64_t before = resident("VmRSS");
    const LoadedGraph graph(spec, order, "");
    const auto taken = static_cast<double>(resident("VmHWM") - before);
    const auto said = static_cast<double>(host_bytes(spec, order, 0));
    EXPECT_LT(taken, 1.02 * said) << text;
    EXPECT_GT(taken, 0.6 * said) << text << ": cases would be skipped that there is room for";
  }
  omp_set_num_threads(threads);
}

TEST(GraphNeeds, leave_room_for_scale_27_on_a_host_of_128_gib) {
  Machine machine = test::machine_with_gpus(1);
  machine.environment.memory.available.meminfo_bytes = 125 * kGiB;
  machine.environment.memory.available.cgroup_bytes.reset();
  Scope scope =
      make_scope(Preset::paper, gpu_targets(machine, {}), false, {machine.topology.usable_nodes().front()});
  scope.graphs = {graph::parse_graph_spec("kron:27")};
  std::set<std::string> algorithms;
  for (const Benchmark& benchmark : list_all({lean_traversal(), traversal()}, machine, scope)) {
    EXPECT_EQ(benchmark.skip.find("of host memory"), std::string::npos)
        << benchmark.id.name() << ": " << benchmark.skip;
    EXPECT_GT(benchmark.needs.host_bytes, std::uint64_t{8} << 32) << benchmark.id.name();
    algorithms.insert(benchmark.id.family);
  }
  EXPECT_EQ(algorithms.size(), 8U);
}

TEST(GraphNeeds, of_managed_edges_count_where_the_host_keeps_them) {
  const Machine machine = test::machine_with_gpus(1);
  Scope scope =
      make_scope(Preset::paper, gpu_targets(machine, {}), false, {machine.topology.usable_nodes().front()});
  scope.graphs = {graph::parse_graph_spec("kron:26")};
  std::map<std::string, std::uint64_t> needs;
  for (const Benchmark& benchmark : list_all({traversal()}, machine, scope)) {
    if (benchmark.id.family == "traversal/sssp" && to_string(benchmark.id.axis("edge")) == "8" &&
        test::text_if_any(benchmark, "gpus").empty()) {
      needs[to_string(benchmark.id.axis("placement"))] = benchmark.needs.host_bytes;
    }
  }
  EXPECT_EQ(needs["managed"], needs["mapped"]);
  EXPECT_LT(needs["device"], needs["managed"]);
}

TEST(GraphNeeds, of_cases_that_are_too_large_keep_nobody_elses_graph) {
  Machine machine = test::machine_with_gpus(2);
  machine.environment.memory.available.meminfo_bytes = kGiB;
  machine.environment.memory.available.cgroup_bytes.reset();
  Scope scope =
      make_scope(Preset::paper, gpu_targets(machine, {}), false, {machine.topology.usable_nodes().front()});
  scope.graphs = {graph::parse_graph_spec("kron:27")};
  for (const Benchmark& benchmark : list_all({lean_traversal()}, machine, scope)) {
    EXPECT_NE(benchmark.skip, "");
    EXPECT_FALSE(benchmark.run) << benchmark.id.name() << " holds its claim";
  }
}

}  // namespace
namespace {

using graph::Algorithm;

TEST(CertifiedAnswers, a_digest_tells_words_and_their_places) {
  std::vector<std::uint32_t> answer(100'000);
  for (std::uint32_t i = 0; i < answer.size(); ++i) {
    answer[i] = i % 7;
  }
  const graph::Digest digest = graph::digest_of(answer);
  EXPECT_EQ(graph::digest_of(answer), digest);
  std::vector<std::uint32_t> changed = answer;
  changed[777] ^= 1;
  EXPECT_NE(graph::digest_of(changed), digest);
  std::vector<std::uint32_t> swapped = answer;
  std::swap(swapped[3], swapped[4]);
  EXPECT_NE(graph::digest_of(swapped), digest);
  std::vector<std::uint32_t> moved = answer;  // one up, another down
  moved[10] += 1;
  moved[11] -= 1;
  EXPECT_NE(graph::digest_of(moved), digest);
  answer.push_back(0);
  EXPECT_NE(graph::digest_of(answer), digest);
  EXPECT_NE(graph::digest_of({}), digest);
}

TEST(CertifiedAnswers, only_the_same_answer_to_the_same_question_is_known) {
  CertifiedAnswers answers;
  const graph::Digest digest{1, 2};
  EXPECT_EQ(answers.find(Algorithm::bfs, 5, digest), nullptr);
  answers.keep(Algorithm::bfs, 5, digest, {"right", 10, 3});
  ASSERT_NE(answers.find(Algorithm::bfs, 5, digest), nullptr);
  EXPECT_EQ(answers.find(Algorithm::bfs, 5, digest)->reached, 3U);
  EXPECT_EQ(answers.find(Algorithm::bfs, 5, {1, 3}), nullptr);
  EXPECT_EQ(answers.find(Algorithm::bfs, 6, digest), nullptr);
  EXPECT_EQ(answers.find(Algorithm::sssp, 5, digest), nullptr);
}

TEST(CertifiedAnswers, a_wrong_answer_is_refused_after_a_right_one) {
  const LoadedGraph graph(graph::parse_graph_spec("kron:8"), graph::Order::original, "");
  const graph::Vertex source = graph.sources(1).front();
  std::vector<std::uint32_t> depths = graph::serial_bfs(graph.csr(), source);
  const Verdict first = certify(graph, Algorithm::bfs, source, depths);
  const Verdict again = certify(graph, Algorithm::bfs, source, depths);
  EXPECT_EQ(again.sentence, first.sentence);
  EXPECT_EQ(again.reached, first.reached);
  EXPECT_EQ(again.entries, first.entries);
  depths[source] = 1;
  EXPECT_THROW(static_cast<void>(certify(graph, Algorithm::bfs, source, depths)), FailedError);
  EXPECT_THROW(static_cast<void>(certify(graph, Algorithm::bfs, source, depths)), FailedError);
}

// As the suite loads graphs: what it keeps beside the lists is enough for every certificate.
TEST(CertifiedAnswers, of_directed_graphs_are_judged_too) {
  const LoadedGraph graph(graph::parse_graph_spec("web:10"), graph::Order::degree, "");
  ASSERT_TRUE(graph.csr().directed);
  for (const graph::Vertex source : graph.sources(4)) {
    const std::vector<std::uint32_t> depths = graph::serial_bfs(graph.csr(), source);
    EXPECT_GT(certify(graph, Algorithm::bfs, source, depths).reached, 1U);
    std::vector<std::uint32_t> distances = graph::serial_sssp(graph.csr(), source);
    EXPECT_GT(certify(graph, Algorithm::sssp, source, distances).reached, 1U);
    distances[graph.csr().neighbours(source)[0]] += 1;
    EXPECT_THROW(static_cast<void>(certify(graph, Algorithm::sssp, source, distances)), FailedError);
  }
  const std::vector<double> ranks = graph::serial_pr(graph.csr());
  EXPECT_NE(certify_ranks(graph, std::vector<float>(ranks.begin(), ranks.end())).sentence, "");
}

}  // namespace
}  // namespace grainscope::harness
