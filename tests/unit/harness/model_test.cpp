#include <gtest/gtest.h>
#include <omp.h>

#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

#include "fakes.hpp"
#include "families.hpp"
#include "grainscope/core/error.hpp"
#include "harness/selection.hpp"
#include "model/case.hpp"
#include "model/runs.hpp"

namespace grainscope::harness {
namespace {

using graph::Access;
using graph::Algorithm;

LoadedGraph graph_of(const char* spec) {
  return {graph::parse_graph_spec(spec), graph::Order::original, {}};
}

constexpr WalkRequest kWalk{Access::merged_aligned, 8};
constexpr CardRequest kHalf{8, 50, 4096};
constexpr CardRequest kAll{8, 100, 4096};

TraversalModel model_of(const char* spec, Algorithm algorithm, int sources = 3) {
  ModelRequests requests;
  for (const Access access : graph::kAllAccess) {
    requests.walks.insert({access, 8});
    requests.walks.insert({access, 4});
  }
  requests.reaches.insert({8, 16384, 4096});
  requests.cards = {kHalf, kAll, {8, 50, 2 << 20}};
  return model_traversal_of(graph_of(spec), algorithm, sources, requests);
}

TEST(WalkRow, says_what_is_asked_of_the_link_level_by_level) {
  const TraversalModel model = model_of("kron:10", Algorithm::bfs);
  const Measurement row = walk_row(model, kWalk, model::link_named("pcie3x16"));
  EXPECT_TRUE(row.modelled);
  EXPECT_EQ(why_impossible(row), "");
  ASSERT_EQ(row.trials.size(), 3U);
  EXPECT_TRUE(row.trials[0].label.starts_with("source:"));
  EXPECT_EQ(row.samples.seconds[1], row.trials[1].samples_s.front());
  ASSERT_EQ(row.levels.size(), model.trials[0].active.size());
  double seconds = 0;
  std::uint64_t requests = 0;
  std::uint64_t bytes = 0;
  for (const LevelResult& level : row.levels) {
    seconds += level.seconds;
    requests += level.requests;
    bytes += level.link_bytes;
  }
  EXPECT_DOUBLE_EQ(seconds, row.samples.seconds[0]);
  const model::Requests& total = model.trials[0].walks.at(kWalk).total;
  EXPECT_EQ(requests, total.count());
  EXPECT_EQ(bytes, total.bytes());
}

TEST(WalkRow, traffic_is_the_mean_of_the_trials_and_adds_up) {
  const TraversalModel model = model_of("kron:10", Algorithm::sssp);
  const Measurement row = walk_row(model, kWalk, model::link_named("pcie3x16"));
  std::uint64_t requests = 0;
  std::uint64_t bytes = 0;
  for (const auto& [size, count] : row.traffic->requests_by_size) {
    requests += count;
    bytes += static_cast<std::uint64_t>(size) * count;
  }
  EXPECT_EQ(row.traffic->requests, requests);
  EXPECT_EQ(row.traffic->bytes, bytes);
  EXPECT_FALSE(row.traffic->counted);
  double asked = 0;
  for (const TrialModel& trial : model.trials) {
    asked += static_cast<double>(trial.edges_read()) * 12 / 3;
  }
  EXPECT_NEAR(static_cast<double>(row.bytes), asked, 1);
  EXPECT_GE(row.traffic->amplification, 1);
  EXPECT_LE(row.counters.at("cached_amplification"), row.traffic->amplification);
}

TEST(WalkRow, a_faster_link_is_never_slower_and_causes_bound_the_time) {
  for (const Algorithm algorithm : {Algorithm::bfs, Algorithm::sssp, Algorithm::cc, Algorithm::pr}) {
    const TraversalModel model = model_of("urand:9", algorithm);
    double before = 1e9;
    for (const char* name : {"pcie3x16", "pcie4x16", "pcie5x16", "pcie6x16"}) {
      const Measurement row = walk_row(model, kWalk, model::link_named(name));
      const double mean = std::accumulate(row.samples.seconds.begin(), row.samples.seconds.end(), 0.0) /
                          static_cast<double>(row.samples.seconds.size());
      EXPECT_LE(mean, before);
      EXPECT_GE(mean * 1.0000001, row.counters.at("bytes_s"));
      EXPECT_GE(mean * 1.0000001, row.counters.at("requests_s"));
      before = mean;
    }
  }
}

TEST(WalkRow, misses_of_translation_count_where_the_link_says_its_reach) {
  const TraversalModel model = model_of("kron:10", Algorithm::bfs);
  model::Link link = model::link_named("pcie5x16");
  EXPECT_EQ(walk_row(model, kWalk, link).counters.at("translations_s"), 0);
  link.reach_bytes = 16384;
  link.granule_bytes = 4096;
  link.misses_per_s = 1;
  EXPECT_GE(walk_row(model, kWalk, link).counters.at("translations_s"), 20);
}

TEST(WalkRow, teps_count_undirected_edges_once) {
  const TraversalModel model = model_of("urand:9", Algorithm::cc);
  const Measurement row = walk_row(model, kWalk, model::link_named("pcie3x16"));
  const double entries = row.counters.at("entries");
  EXPECT_DOUBLE_EQ(row.counters.at("teps"), entries / 2 / row.samples.seconds.front());
  EXPECT_EQ(row.trials.front().label, "trial:0");
}

// A row from a model in which something was changed.
template <class Change>
void expect_refused(const Change& change) {
  TraversalModel model = model_of("kron:8", Algorithm::bfs);
  change(model.trials[1]);
  EXPECT_THROW(static_cast<void>(walk_row(model, kWalk, model::link_named("pcie3x16"))), FailedError);
}

TEST(WalkRow, a_count_that_cannot_be_right_fails_the_row) {
  expect_refused([](TrialModel& trial) { ++trial.edges[1]; });
  expect_refused([](TrialModel& trial) { ++trial.active[0]; });
  expect_refused([](TrialModel& trial) { trial.walks.at(kWalk).levels.pop_back(); });
  expect_refused([](TrialModel& trial) { ++trial.walks.at(kWalk).total.by_sectors[3]; });
  expect_refused([](TrialModel& trial) { trial.walks.at(kWalk).cached_bytes = 32; });
  expect_refused([](TrialModel& trial) { trial.walks.at(kWalk).cached_bytes *= 100; });
  expect_refused([](TrialModel& trial) {
    trial.walks.at(kWalk).total.lanes += 1'000'000;
    trial.walks.at(kWalk).levels[0].lanes += 1'000'000;
  });
}

TEST(CardRow, moves_what_the_card_cannot_keep) {
  const TraversalModel model = model_of("kron:12", Algorithm::cc);
  const model::Link link = model::link_named("pcie3x16");
  const Measurement half = card_row(model, kHalf, link);
  const Measurement all = card_row(model, kAll, link);
  EXPECT_EQ(why_impossible(half), "");
  EXPECT_TRUE(half.modelled);
  EXPECT_EQ(all.counters.at("evicted_pages"), 0);
  EXPECT_EQ(all.counters.at("moved_bytes"), all.counters.at("touched_bytes"));
  EXPECT_NEAR(all.counters.at("amplification_data_set"), 1, 0.02);
  EXPECT_GT(half.counters.at("amplification_data_set"), 1.5);
  EXPECT_GT(half.samples.seconds.front(), all.samples.seconds.front());
  EXPECT_NEAR(half.counters.at("moving_s") + half.counters.at("faults_s"), half.samples.seconds.front(),
              1e-9);
}

TEST(CardRow, of_too_few_pages_is_skipped) {
  const TraversalModel model = model_of("kron:8", Algorithm::bfs);
  EXPECT_THROW(static_cast<void>(card_row(model, {8, 50, 2 << 20}, model::link_named("pcie3x16"))),
               SkipError);
}

TEST(CardRow, a_count_that_cannot_be_right_fails_the_row) {
  const auto expect_refused = [](const auto& change) {
    TraversalModel model = model_of("kron:10", Algorithm::bfs);
    change(model.trials[2].cards.at(kHalf));
    EXPECT_THROW(static_cast<void>(card_row(model, kHalf, model::link_named("pcie3x16"))), FailedError);
  };
  expect_refused([](model::Paging& paging) { ++paging.moved_pages; });
  expect_refused([](model::Paging& paging) { ++paging.evicted_pages; });
  expect_refused([](model::Paging& paging) { paging.touched_bytes = 4096; });
  expect_refused([](model::Paging& paging) { paging.moved_pages = paging.evicted_pages = 0; });
}

TEST(ModelTrials, a_directed_graph_has_no_components_to_find) {
  EXPECT_THROW(static_cast<void>(model_of("web:8", Algorithm::cc)), SkipError);
  EXPECT_NO_THROW(static_cast<void>(model_of("web:8", Algorithm::pr)));
}

}  // namespace
namespace {

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
