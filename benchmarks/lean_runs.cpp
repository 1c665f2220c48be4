#include "lean_runs.hpp"

#include <algorithm>
#include <cmath>

#include "grainscope/core/error.hpp"
#include "grainscope/lean/lean_cc.hpp"
#include "grainscope/lean/lean_pr.hpp"
#include "grainscope/lean/lean_sssp.hpp"
#include "grainscope/model/lean_cc.hpp"
#include "grainscope/model/lean_hybrid.hpp"
#include "grainscope/model/lean_pr.hpp"
#include "grainscope/model/lean_sssp.hpp"

namespace grainscope::harness {
namespace {

using graph::Algorithm;
using graph::Vertex;
using lean::LinkReads;

constexpr const char* kEqual = "what the first read over the link is, step by step, what its model reads";

void require_equal(const LinkReads& read, const model::Requests& link, std::uint64_t hot,
                   const std::string& what) {
  if (read.sectors * model::kSectorBytes != link.bytes() || read.elements != link.elements ||
      read.hot != hot) {
    throw FailedError(what + " did not read what its model does: one of them is wrong");
  }
}

// What a hybrid run goes by: this machine's own rates over the lists as they are placed.
struct Hybrid {
  explicit Hybrid(const lean::LeanLists& lists)
      : rates(lean::measure_segment_rates(lists)),
        costs(model::costs_of(model::link_measured(rates.copied_gb_s), rates)) {}
  [[nodiscard]] std::map<std::string, double> counters() const {
    return {{"segments_copied_gb_s", rates.copied_gb_s}, {"segments_read_gb_s", rates.read_gb_s}};
  }
  lean::SegmentRates rates;
  lean::LinkCosts costs;
};

class BfsRun final : public LeanRun {
 public:
  BfsRun(const lean::LeanLists& lists, const LeanLayout& layout)
      : turning_(model::turning_for(layout.pushed(), layout.pulled())),
        search_(lean::make_lean_bfs(lists, turning_)) {}
  double run(Vertex source) override { return search_->run(source); }
  Verdict verify(const LoadedGraph& graph, Vertex source) const override {
    return certify(graph, Algorithm::bfs, source, search_->depths());
  }
  std::vector<LevelResult> levels() const override { return search_->levels(); }
  std::map<std::string, double> counters() const override {
    const std::vector<bool> pulled = search_->pulled();
    return {{"pulls", static_cast<double>(std::count(pulled.begin(), pulled.end(), true))}};
  }
  std::vector<LinkReads> count(Vertex source) override { return search_->count(source); }
  LeanModel model(const LeanLayout& layout, Vertex source,
                  const std::vector<LinkReads>& reads) const override {
    const model::LeanBfs search = model::replay_bfs(layout.pushed(), layout.pulled(), source, turning_);
    if (reads.size() != search.levels.size()) {
      throw FailedError("a search did not have as many levels as its model");
    }
    LeanModel result{{}, 0, {}, kEqual, {}};
    for (std::size_t i = 0; i < reads.size(); ++i) {
      const model::LeanLevel& level = search.levels[i];
      require_equal(reads[i], level.link, level.hot_reads, "level " + std::to_string(i) + " of a search");
      result.steps.push_back(level.link);
    }
    return result;
  }
  std::uint64_t gpu_bytes() const override { return search_->gpu_bytes(); }

 private:
  lean::Turning turning_;
  std::unique_ptr<lean::LeanBfs> search_;
};

class SsspRun : public LeanRun {
 public:
  SsspRun(const LoadedGraph& graph, std::uint32_t delta, std::unique_ptr<lean::LeanSssp> paths)
      : delta_(delta), packed_(lean::packs_weights(graph.csr())), paths_(std::move(paths)) {}
  double run(Vertex source) override { return paths_->run(source); }
  Verdict verify(const LoadedGraph& graph, Vertex source) const override {
    return certify(graph, Algorithm::sssp, source, paths_->distances());
  }
  std::vector<LevelResult> levels() const override { return paths_->levels(); }
  std::map<std::string, double> counters() const override {
    return {{"delta", delta_}, {"packed", packed_ ? 1 : 0}};
  }
  std::vector<LinkReads> count(Vertex source) override { return paths_->count(source); }
  // What a run reads depends on which warp comes first, and in the model what a step changes shows in the
  // next alone. So the two may differ, and modelled_edges_read tells by how much; further apart than this one
  // of them reads lists that it should not, or leaves some out.
  LeanModel model(const LeanLayout& layout, Vertex source,
                  const std::vector<LinkReads>& reads) const override {
    constexpr double kApart = 0.3;
    constexpr double kFew = 1000;
    LeanModel result;
    double modelled = 0;
    double read = 0;
    const model::LeanSssp paths = model::replay_sssp(
        layout.pushed(), source, delta_,
        [&](std::span<const Vertex> active) { see_step(layout.pushed(), active, result); });
    for (const model::LeanSsspStep& step : paths.steps) {
      modelled += static_cast<double>(step.edges);
      add_step(step.link, result);
    }
    double copied = 0;
    for (const LinkReads& step : reads) {
      read += static_cast<double>(step.elements + step.hot);
      copied += static_cast<double>(step.copied_bytes);
    }
    const auto require_near = [](double done, double expected, double least, const char* what) {
      if (std::abs(done - expected) > kApart * expected + least) {
        throw FailedError("shortest paths " + std::string(what) + " " + std::to_string(done) +
                          " where their model does " + std::to_string(expected) + ": one of them is wrong");
      }
    };
    require_near(read, modelled, kFew, "read edges,");
    // A segment more or less was a choice between equals.
    require_near(copied, result.copied_bytes, lean::kSegmentWords * sizeof(std::uint32_t), "copied bytes,");
    result.counters["modelled_edges_read"] = modelled;
    result.agreement = "the first read the edges that its model reads, within 30 %";
    return result;
  }
  std::uint64_t gpu_bytes() const override { return paths_->gpu_bytes(); }

 protected:
  // Each step's vertices, and what they ask of the link.
  virtual void see_step(const model::TieredLists& /*lists*/, std::span<const Vertex> /*active*/,
                        LeanModel& /*result*/) const {}
  virtual void add_step(const model::Requests& link, LeanModel& result) const {
    result.steps.push_back(link);
  }

 private:
  std::uint32_t delta_;
  bool packed_;
  std::unique_ptr<lean::LeanSssp> paths_;
};

class HybridSsspRun final : public SsspRun {
 public:
  HybridSsspRun(const LoadedGraph& graph, std::uint32_t delta, const lean::LeanLists& lists,
                const Hybrid& hybrid)
      : SsspRun(graph, delta, lean::make_hybrid_sssp(lists, delta, hybrid.costs)), hybrid_(hybrid) {}
  std::map<std::string, double> counters() const override {
    std::map<std::string, double> all = SsspRun::counters();
    all.merge(hybrid_.counters());
    return all;
  }

 protected:
  void see_step(const model::TieredLists& lists, std::span<const Vertex> active,
                LeanModel& result) const override {
    const model::HybridStep step = model::hybrid_step(lists, active, hybrid_.costs);
    result.steps.push_back(step.read);
    result.hybrid_s += step.plan.seconds;
    result.copied_bytes += static_cast<double>(step.plan.copied_words * sizeof(std::uint32_t));
    result.counters["modelled_copied_bytes"] = result.copied_bytes;
  }
  void add_step(const model::Requests& /*link*/, LeanModel& /*result*/) const override {}

 private:
  Hybrid hybrid_;
};

class CcRun final : public LeanRun {
 public:
  explicit CcRun(const lean::LeanLists& lists) : components_(lean::make_lean_cc(lists)) {}
  double run(Vertex /*source*/) override { return components_->run(); }
  Verdict verify(const LoadedGraph& graph, Vertex source) const override {
    return certify(graph, Algorithm::cc, source, components_->labels());
  }
  // Its stages: who is active in each is not counted where it is timed.
  std::vector<LevelResult> levels() const override {
    std::vector<LevelResult> levels;
    for (const double seconds : components_->stage_seconds()) {
      levels.push_back({0, 0, seconds, 0, 0});
    }
    return levels;
  }
  std::vector<LinkReads> count(Vertex /*source*/) override {
    const auto reads = components_->count();
    return {reads.begin(), reads.end()};
  }
  LeanModel model(const LeanLayout& layout, Vertex /*source*/,
                  const std::vector<LinkReads>& reads) const override {
    const model::LeanCc cc = model::replay_cc(layout.pushed());
    static constexpr std::array<const char*, lean::kCcStages> kStages{"early_lists", "sampled", "outside"};
    LeanModel result{{}, 0, {}, kEqual, {}};
    for (std::size_t i = 0; i < cc.stages.size(); ++i) {
      const auto& stage = cc.stages[i];
      require_equal(reads[i], stage.link, stage.hot, std::string("connected components, ") + kStages[i]);
      result.steps.push_back(stage.link);
      result.counters[kStages[i]] = static_cast<double>(stage.vertices);
      result.active.push_back(stage.vertices);
    }
    return result;
  }
  std::uint64_t gpu_bytes() const override { return components_->gpu_bytes(); }

 private:
  std::unique_ptr<lean::LeanCc> components_;
};

class PrRun : public LeanRun {
 public:
  explicit PrRun(std::unique_ptr<lean::LeanPr> ranks) : ranks_(std::move(ranks)) {}
  double run(Vertex /*source*/) override { return ranks_->run(); }
  Verdict verify(const LoadedGraph& graph, Vertex /*source*/) const override {
    return certify_ranks(graph, ranks_->ranks());
  }
  std::vector<LevelResult> levels() const override { return ranks_->levels(); }
  std::vector<LinkReads> count(Vertex /*source*/) override { return ranks_->count(); }
  LeanModel model(const LeanLayout& layout, Vertex /*source*/,
                  const std::vector<LinkReads>& reads) const override {
    const model::LeanPr pr = model::replay_pr(layout.pulled(), *layout.pushed().lists);
    for (const LinkReads& sweep : reads) {
      require_equal(sweep, pr.sweep, pr.hot_reads, "a sweep of PageRank");
    }
    return {std::vector<model::Requests>(pr.sweeps, pr.sweep), 0, sweeps_of(pr), kEqual, {}};
  }
  std::uint64_t gpu_bytes() const override { return ranks_->gpu_bytes(); }

 protected:
  static std::map<std::string, double> sweeps_of(const model::LeanPr& pr) {
    return {{"modelled_sweeps", static_cast<double>(pr.sweeps)}};
  }

 private:
  std::unique_ptr<lean::LeanPr> ranks_;
};

class HybridPrRun final : public PrRun {
 public:
  HybridPrRun(const lean::LeanLists& lists, const Hybrid& hybrid)
      : PrRun(lean::make_hybrid_pr(lists, hybrid.costs)), hybrid_(hybrid) {}
  std::map<std::string, double> counters() const override { return hybrid_.counters(); }
  LeanModel model(const LeanLayout& layout, Vertex /*source*/,
                  const std::vector<LinkReads>& reads) const override {
    const model::TieredLists lists = layout.pulled();
    const model::LeanPr pr = model::replay_pr(lists, *layout.pushed().lists);
    const model::HybridStep sweep = model::hybrid_step(lists, hybrid_.costs);
    for (const LinkReads& read : reads) {
      if (read.sectors != sweep.plan.read.sectors || read.elements != pr.sweep.elements ||
          read.hot != pr.hot_reads || read.copied_bytes != sweep.plan.copied_words * sizeof(std::uint32_t)) {
        throw FailedError(
            "a sweep of PageRank did not read and copy what its model does: one of them is wrong");
      }
    }
    LeanModel result{std::vector<model::Requests>(pr.sweeps, sweep.read),
                     pr.sweeps * sweep.plan.seconds,
                     sweeps_of(pr),
                     kEqual,
                     {}};
    result.counters["modelled_copied_bytes"] =
        static_cast<double>(pr.sweeps * sweep.plan.copied_words * sizeof(std::uint32_t));
    return result;
  }

 private:
  Hybrid hybrid_;
};

}  // namespace

std::unique_ptr<LeanRun> make_lean_run(const LeanPoint& point, const LoadedGraph& graph,
                                       const lean::LeanLists& lists, const LeanLayout& layout) {
  switch (point.algorithm) {
    case Algorithm::bfs:
      return std::make_unique<BfsRun>(lists, layout);
    case Algorithm::sssp: {
      const std::uint32_t delta = lean::usual_delta(graph.csr());
      if (point.hybrid) {
        return std::make_unique<HybridSsspRun>(graph, delta, lists, Hybrid(lists));
      }
      return std::make_unique<SsspRun>(graph, delta, lean::make_lean_sssp(lists, delta));
    }
    case Algorithm::cc:
      return std::make_unique<CcRun>(lists);
    case Algorithm::pr:
      break;
  }
  if (point.hybrid) {
    return std::make_unique<HybridPrRun>(lists, Hybrid(lists));
  }
  return std::make_unique<PrRun>(lean::make_lean_pr(lists));
}

}  // namespace grainscope::harness
