// Graphs as families load them, of files that are not as one would wish.

#include "traversal/loaded_graph.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "child.hpp"
#include "fakes.hpp"
#include "grainscope/core/error.hpp"
#include "run_folder.hpp"
#include "says.hpp"

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
}  // namespace grainscope::harness
