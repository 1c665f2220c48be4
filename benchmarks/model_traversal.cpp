// model/bfs, sssp, cc, pr: what does a traversal of an edge list in host memory ask of the link, and how long
// does that take at least?
//
// Nothing is timed: the walk of each access over the real sequence of frontiers is replayed on the CPU, its
// requests of 32 to 128 bytes are counted exactly, and a level's time is bound by the link's bytes, its
// requests in flight and its address translations, whichever takes longest. A row's time is the sum over
// levels, since each ends before the next begins.
// Source: EMOGI (VLDB 2020) 3.3, 4 and 5.3, figures 5, 7, 10 and 12; edge_gather after GraphPEG (TACO 2021).
// Limits: docs/model.md. No cache between the walk and the link but in cached_amplification; no kernel
// launches, no work on the GPU.

#include <memory>
#include <utility>

#include "families.hpp"
#include "model_case.hpp"
#include "model_rows.hpp"

namespace grainscope::harness {
namespace {

using graph::Access;

Measurement measure(const Session& session, ModelRuns& runs, ModelRuns::Claim& claim, const ModelPoint& point,
                    const WalkRequest& walk) {
  const auto model = runs.get(claim);
  return walk_row(*model, walk, point.link.get(session));
}

Explanation explain(const ModelPoint& point) {
  const std::string where = point.link.gpu ? "this run's copy peak; the rest of the named link nearest to it"
                                           : model::link_named(point.link.name).source;
  return {
      std::string("what ") + name(point.algorithm) +
          " asks of the link, by an access, and an estimate of the time that the link needs",
      "nothing: the walk is replayed on the CPU. A level takes the longest of its bytes, its requests (a "
      "round "
      "trip at least) and its translation misses; the time of a trial is the sum over levels",
      "a request for each 128-byte line of a warp's load, of 32 bytes times the sectors that it touches; "
      "bytes "
      "= (data + header * requests) / wire rate, at which whole lines reach what copies reach; requests = "
      "requests * round trip / in flight; translations = misses / misses a second",
      "EMOGI (VLDB 2020) 3.3 and 5.3; the link: " + where,
      "no cache but in cached_amplification (every sector once in the whole run): what a GPU asks for lies "
      "between; no launches and no work on the GPU; frontiers are level by level, where a GPU's sssp and cc "
      "see changes at once and need fewer levels"};
}

class Lister {
 public:
  Lister(const Scope& scope, std::shared_ptr<ModelRuns> runs) : scope_(scope), runs_(std::move(runs)) {}

  std::vector<Benchmark> list(const Grids& grids) {
    for (const auto& [point, values] : model_points(scope_, grids)) {
      add(point,
          enumerator(values.word("access"), graph::kAllAccess, [](Access each) { return name(each); }));
    }
    return std::move(benchmarks_);
  }

 private:
  void add(const ModelPoint& point, Access access) {
    Benchmark benchmark = model_benchmark(std::string("model/") + name(point.algorithm),
                                          {{"access", name(access), AxisStyle::bare}}, point, {});
    benchmark.explanation = explain(point);
    const WalkRequest walk{access, point.edge_bytes};
    const auto claim = benchmark.skip.empty() ? claim_of(point, walk) : nullptr;
    benchmark.run = [point, walk, runs = runs_, claim](Session& session) {
      return measure(session, *runs, *claim, point, walk);
    };
    benchmarks_.push_back(std::move(benchmark));
  }

  std::shared_ptr<ModelRuns::Claim> claim_of(const ModelPoint& point, const WalkRequest& walk) {
    ModelRuns::Claim claim{point.graph, point.algorithm, point.sources, scope_.graph_cache, {}, 0};
    claim.requests.walks.insert(walk);
    // Of a measured link, too: it is like one of the named.
    for (const char* name : model::link_names()) {
      const model::Link link = model::link_named(name);
      if (link.granule_bytes > 0 && (point.link.gpu || point.link.name == name)) {
        claim.requests.reaches.insert({point.edge_bytes, link.reach_bytes, link.granule_bytes});
      }
    }
    return runs_->add(std::move(claim), 1);
  }

  const Scope& scope_;
  std::shared_ptr<ModelRuns> runs_;
  std::vector<Benchmark> benchmarks_;
};

}  // namespace

Family model_traversal(const std::shared_ptr<ModelRuns>& runs) {
  return {"model/traversal",
          "What does a traversal of an edge list in host memory ask of the link, and how long does that take "
          "at least?",
          model_axes({word_axis("access", "how warps walk lists of neighbours",
                                names_of(graph::kAllAccess, [](Access each) { return name(each); }),
                                name(Access::merged_aligned))}),
          [runs](const Machine& /*machine*/, const Scope& scope, const Grids& grids) {
            return Lister(scope, runs).list(grids);
          }};
}

}  // namespace grainscope::harness
