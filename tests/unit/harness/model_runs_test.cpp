#include "model/runs.hpp"

#include <gtest/gtest.h>
#include <omp.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "fake_run.hpp"
#include "families.hpp"
#include "grainscope/core/error.hpp"
#include "harness/selection.hpp"

namespace grainscope::harness {
namespace {

using graph::Access;
using graph::Algorithm;

// Loads that are counted.
class Models : public testing::Test {
 protected:
  std::shared_ptr<ModelRuns::Claim> claim(const char* graph, Algorithm algorithm, Access access,
                                          int sessions = 1) {
    ModelRuns::Claim claim{graph::parse_graph_spec(graph), algorithm, 2, {}, {}, 0};
    claim.requests.walks.insert({access, 8});
    return runs_.add(std::move(claim), sessions);
  }

  std::vector<std::string> loaded_;
  ModelRuns runs_{[this](const graph::GraphSpec& spec, const std::string& cache_dir) {
    loaded_.push_back(spec.name());
    return std::make_unique<LoadedGraph>(spec, graph::Order::original, cache_dir);
  }};
};

TEST_F(Models, rows_about_one_algorithm_on_one_graph_share_its_levels) {
  const auto one = claim("urand:6", Algorithm::bfs, Access::naive);
  const auto two = claim("urand:6", Algorithm::bfs, Access::merged);
  const auto first = runs_.get(*one);
  EXPECT_EQ(first->trials.front().walks.size(), 2U);
  EXPECT_FALSE(runs_.holds_a_graph());
  EXPECT_EQ(runs_.get(*two), first);
  EXPECT_EQ(runs_.answers(), 0U);
  EXPECT_EQ(loaded_.size(), 1U);
}

TEST_F(Models, a_graph_stays_until_all_its_algorithms_are_done) {
  const auto bfs = claim("urand:6", Algorithm::bfs, Access::merged);
  const auto sssp = claim("urand:6", Algorithm::sssp, Access::merged);
  const auto other = claim("kron:6", Algorithm::bfs, Access::merged);
  static_cast<void>(runs_.get(*bfs));
  EXPECT_TRUE(runs_.holds_a_graph());
  static_cast<void>(runs_.get(*sssp));
  EXPECT_FALSE(runs_.holds_a_graph());
  static_cast<void>(runs_.get(*other));
  EXPECT_EQ(loaded_, (std::vector<std::string>{"urand6", "kron6"}));
}

TEST_F(Models, nothing_is_computed_for_a_case_that_does_not_run) {
  auto one = claim("urand:6", Algorithm::bfs, Access::naive);
  const auto two = claim("urand:6", Algorithm::bfs, Access::merged);
  auto never = claim("urand:6", Algorithm::pr, Access::merged);
  one.reset();
  never.reset();
  EXPECT_EQ(runs_.get(*two)->trials.front().walks.size(), 1U);
  EXPECT_FALSE(runs_.holds_a_graph());
}

TEST_F(Models, sessions_read_what_the_first_computed) {
  const auto twice = claim("urand:6", Algorithm::cc, Access::merged, 2);
  const auto first = runs_.get(*twice);
  EXPECT_EQ(runs_.answers(), 1U);
  EXPECT_EQ(runs_.get(*twice), first);
  EXPECT_EQ(runs_.answers(), 0U);
}

TEST_F(Models, what_is_refused_once_is_refused_again_without_another_load) {
  const auto one = claim("web:6", Algorithm::cc, Access::naive);
  const auto two = claim("web:6", Algorithm::cc, Access::merged);
  EXPECT_THROW(static_cast<void>(runs_.get(*one)), SkipError);
  EXPECT_THROW(static_cast<void>(runs_.get(*two)), SkipError);
  EXPECT_EQ(loaded_.size(), 1U);
  EXPECT_FALSE(runs_.holds_a_graph());
}

// The families themselves.
class ModelFamilies : public testing::Test {
 protected:
  [[nodiscard]] Scope scope_of(Preset preset) const {
    return make_scope(preset, gpu_targets(machine_, {}), false, node_targets(machine_, {}));
  }
  [[nodiscard]] std::vector<Benchmark> list(const Scope& scope) const {
    const auto runs = std::make_shared<ModelRuns>();
    return list_all({model_traversal(runs), model_uvm(runs)}, machine_, scope);
  }
  static std::set<std::string> values_of(const std::vector<Benchmark>& all, const char* axis) {
    std::set<std::string> values;
    for (const Benchmark& benchmark : all) {
      values.insert(to_string(benchmark.id.axis(axis)));
    }
    return values;
  }

  Machine machine_ = test::machine_without_gpu();
};

TEST_F(ModelFamilies, quick_has_every_algorithm_access_and_link) {
  const auto all = list(scope_of(Preset::quick));
  std::map<std::string, std::set<std::string>> accesses;
  std::set<std::string> links;
  for (const Benchmark& benchmark : all) {
    links.insert(to_string(benchmark.id.axis("link")));
    if (benchmark.id.family != "model/uvm") {
      accesses[benchmark.id.family].insert(to_string(benchmark.id.axis("access")));
    }
  }
  EXPECT_EQ(accesses.size(), 4U);
  for (const auto& [family, there] : accesses) {
    EXPECT_EQ(there.size(), 5U) << family;
  }
  EXPECT_EQ(links.size(), 6U);
  EXPECT_EQ(values_of(all, "graph"), (std::set<std::string>{"power", "pgp", "kron16"}));
}

TEST_F(ModelFamilies, only_this_machines_own_link_needs_a_gpu) {
  for (const Benchmark& benchmark : list(scope_of(Preset::full))) {
    const bool own = to_string(benchmark.id.axis("link")) == "measured";
    const bool components_of_web =
        benchmark.id.name().find("/cc/") != std::string::npos || benchmark.id.family == "model/cc";
    if (own) {
      EXPECT_FALSE(benchmark.skip.empty()) << benchmark.id.name();
    } else if (!components_of_web) {
      EXPECT_EQ(benchmark.skip, "") << benchmark.id.name();
    }
  }
}

TEST_F(ModelFamilies, graphs_are_the_users_where_there_are_some) {
  Scope scope = scope_of(Preset::quick);
  scope.graphs = {graph::parse_graph_spec("urand:9"), graph::parse_graph_spec("web:9")};
  EXPECT_EQ(values_of(list(scope), "graph"), (std::set<std::string>{"urand9", "web9"}));
}

TEST_F(ModelFamilies, acceptance_asks_nothing_of_a_model) {
  EXPECT_TRUE(list(scope_of(Preset::acceptance)).empty());
}

TEST_F(ModelFamilies, have_the_values_that_axes_are_given) {
  Scope scope = scope_of(Preset::quick);
  scope.axes = {{"algorithm", "bfs"}, {"link", "pcie6x16"}, {"graph", "kron:12,web:9"}};
  const auto all = list(scope);
  EXPECT_EQ(values_of(all, "graph"), (std::set<std::string>{"kron12", "web9"}));
  EXPECT_EQ(values_of(all, "link"), (std::set<std::string>{"pcie6x16"}));
  for (const Benchmark& benchmark : all) {
    EXPECT_NE(benchmark.id.name().find("/bfs/"), std::string::npos) << benchmark.id.name();
  }
}

TEST_F(ModelFamilies, leave_out_what_cannot_be_and_say_why) {
  Scope scope = scope_of(Preset::quick);
  std::set<std::string> left_out;
  static_cast<void>(list_all({model_uvm(std::make_shared<ModelRuns>())}, machine_, scope, &left_out));
  EXPECT_TRUE(left_out.empty()) << "nobody asked for " << *left_out.begin();
  scope.axes = {{"page", "2MiB"}, {"graph", "power"}};
  EXPECT_TRUE(list_all({model_uvm(std::make_shared<ModelRuns>())}, machine_, scope, &left_out).empty());
  EXPECT_EQ(left_out, (std::set<std::string>{"the edges of power are on fewer than 8 pages of 2 MiB"}));
  left_out.clear();
  scope.axes = {{"mode", "naive"}, {"row", "1024"}, {"width", "16"}};
  EXPECT_TRUE(list_all({model_gather()}, machine_, scope, &left_out).empty());
  EXPECT_EQ(
      left_out,
      (std::set<std::string>{"naive of rows of 1024 bytes cannot load 16 bytes at once: width is element"}));
}

// The run is a forked process, where the threads that earlier tests of this one started do not exist: OpenMP
// would wait for them.
class ModelRun : public test::FakeRun {
 protected:
  ModelRun() { omp_set_num_threads(1); }
  ~ModelRun() override { omp_set_num_threads(threads_); }

 private:
  int threads_ = omp_get_max_threads();
};

TEST_F(ModelRun, ends_in_rows_that_are_modelled_and_verified) {
  const Machine machine = test::machine_without_gpu();
  Scope scope = make_scope(Preset::smoke, gpu_targets(machine, {}), false, node_targets(machine, {}));
  scope.graphs = {graph::parse_graph_spec("kron:9")};
  const auto runs = std::make_shared<ModelRuns>();
  std::vector<Benchmark> cases;
  for (Benchmark& benchmark : list_all({model_traversal(runs), model_uvm(runs)}, machine, scope)) {
    if (to_string(benchmark.id.axis("link")) != "measured") {
      cases.push_back(std::move(benchmark));
    }
  }
  EXPECT_EQ(begin(cases).status, 0);
  const nlohmann::json rows = result()["benchmarks"];
  EXPECT_EQ(rows.size(), cases.size());
  for (const nlohmann::json& row : rows) {
    EXPECT_EQ(row["label"], "modelled");
    EXPECT_TRUE(row["status"] == "ok" || row["status"] == "skipped") << row["name"];
    EXPECT_TRUE(row["status"] != "ok" || row["verified"]) << row["name"];
  }
}

}  // namespace
}  // namespace grainscope::harness
