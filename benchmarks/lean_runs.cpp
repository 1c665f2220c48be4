#include "lean_runs.hpp"

#include <algorithm>
#include <cmath>

#include "grainscope/core/error.hpp"
#include "grainscope/lean/lean_cc.hpp"
#include "grainscope/lean/lean_pr.hpp"
#include "grainscope/lean/lean_sssp.hpp"
#include "grainscope/model/lean_cc.hpp"
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

class BfsRun final : public LeanRun {
 public:
  explicit BfsRun(const lean::LeanLists& lists) : search_(lean::make_lean_bfs(lists, {})) {}
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
    const model::LeanBfs search = model::replay_bfs(layout.pushed(), layout.pulled(), source, {});
    if (reads.size() != search.levels.size()) {
      throw FailedError("a search did not have as many levels as its model");
    }
    LeanModel result{{}, {}, kEqual};
    for (std::size_t i = 0; i < reads.size(); ++i) {
      const model::LeanLevel& level = search.levels[i];
      require_equal(reads[i], level.link, level.hot_reads, "level " + std::to_string(i) + " of a search");
      result.steps.push_back(level.link);
    }
    return result;
  }
  std::uint64_t gpu_bytes() const override { return search_->gpu_bytes(); }

 private:
  std::unique_ptr<lean::LeanBfs> search_;
};

class SsspRun final : public LeanRun {
 public:
  SsspRun(const LoadedGraph& graph, const lean::LeanLists& lists)
      : delta_(lean::usual_delta(graph.csr())),
        packed_(lean::packs_weights(graph.csr())),
        paths_(lean::make_lean_sssp(lists, delta_)) {}
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
    const model::LeanSssp paths = model::replay_sssp(layout.pushed(), source, delta_);
    LeanModel result;
    double modelled = 0;
    double read = 0;
    for (const model::LeanSsspStep& step : paths.steps) {
      modelled += static_cast<double>(step.edges);
      result.steps.push_back(step.link);
    }
    for (const LinkReads& step : reads) {
      read += static_cast<double>(step.elements + step.hot);
    }
    if (std::abs(read - modelled) > kApart * modelled + kFew) {
      throw FailedError("shortest paths read " + std::to_string(read) + " edges where their model reads " +
                        std::to_string(modelled) + ": one of them is wrong");
    }
    result.counters["modelled_edges_read"] = modelled;
    result.agreement = "the first read the edges that its model reads, within 30 %";
    return result;
  }
  std::uint64_t gpu_bytes() const override { return paths_->gpu_bytes(); }

 private:
  std::uint32_t delta_;
  bool packed_;
  std::unique_ptr<lean::LeanSssp> paths_;
};

class CcRun final : public LeanRun {
 public:
  explicit CcRun(const lean::LeanLists& lists) : components_(lean::make_lean_cc(lists)) {}
  double run(Vertex /*source*/) override { return components_->run(); }
  Verdict verify(const LoadedGraph& graph, Vertex source) const override {
    return certify(graph, Algorithm::cc, source, components_->labels());
  }
  std::vector<LevelResult> levels() const override { return {}; }
  std::vector<LinkReads> count(Vertex /*source*/) override {
    const auto reads = components_->count();
    return {reads.begin(), reads.end()};
  }
  LeanModel model(const LeanLayout& layout, Vertex /*source*/,
                  const std::vector<LinkReads>& reads) const override {
    const model::LeanCc cc = model::replay_cc(layout.pushed());
    require_equal(reads[0], cc.sampling, cc.sampling_hot, "the sampling of connected components");
    require_equal(reads[1], cc.rest, cc.rest_hot, "what follows the sampling of connected components");
    return {{cc.sampling, cc.rest}, {{"outside", static_cast<double>(cc.outside)}}, kEqual};
  }
  std::uint64_t gpu_bytes() const override { return components_->gpu_bytes(); }

 private:
  std::unique_ptr<lean::LeanCc> components_;
};

class PrRun final : public LeanRun {
 public:
  explicit PrRun(const lean::LeanLists& lists) : ranks_(lean::make_lean_pr(lists)) {}
  double run(Vertex /*source*/) override { return ranks_->run(); }
  Verdict verify(const LoadedGraph& graph, Vertex /*source*/) const override {
    return certify_ranks(graph, ranks_->ranks());
  }
  std::vector<LevelResult> levels() const override { return ranks_->levels(); }
  std::vector<LinkReads> count(Vertex /*source*/) override { return ranks_->count(); }
  LeanModel model(const LeanLayout& layout, Vertex /*source*/,
                  const std::vector<LinkReads>& reads) const override {
    const model::TieredLists pulled = layout.pulled();
    const model::LeanPr pr = model::replay_pr(pulled, *layout.pushed().lists);
    for (const LinkReads& sweep : reads) {
      require_equal(sweep, pr.sweep, pr.hot_reads, "a sweep of PageRank");
    }
    return {std::vector<model::Requests>(pr.sweeps, pr.sweep),
            {{"modelled_sweeps", static_cast<double>(pr.sweeps)}},
            kEqual};
  }
  std::uint64_t gpu_bytes() const override { return ranks_->gpu_bytes(); }

 private:
  std::unique_ptr<lean::LeanPr> ranks_;
};

}  // namespace

std::unique_ptr<LeanRun> make_lean_run(const LeanPoint& point, const LoadedGraph& graph,
                                       const lean::LeanLists& lists) {
  switch (point.algorithm) {
    case Algorithm::bfs:
      return std::make_unique<BfsRun>(lists);
    case Algorithm::sssp:
      return std::make_unique<SsspRun>(graph, lists);
    case Algorithm::cc:
      return std::make_unique<CcRun>(lists);
    case Algorithm::pr:
      break;
  }
  return std::make_unique<PrRun>(lists);
}

}  // namespace grainscope::harness
