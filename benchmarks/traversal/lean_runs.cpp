#include "traversal/lean_runs.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "grainscope/core/error.hpp"
#include "grainscope/core/sampler.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/lean/lists.hpp"
#include "grainscope/lean/run.hpp"
#include "grainscope/model/lean.hpp"

namespace grainscope::harness {
namespace {

constexpr int kSampleSearches = 4;  // that reuse is learnt from, none of them a trial's

// Whether weights lie in an array of their own, beside the neighbours.
bool weights_apart(const LeanPoint& point, const graph::Csr& lists) {
  return point.algorithm == graph::Algorithm::sssp && (!point.packed || !lean::packs_weights(lists));
}

// Of the lists of one direction, which has an equal part of a budget in bytes.
lean::HotTier plan(const LeanPoint& point, const LoadedGraph& loaded, const graph::Csr& lists,
                   lean::TierPolicy policy, std::uint64_t directions) {
  const std::uint64_t elements = point.hot.bytes > 0
                                     ? hot_elements(lists, point.hot, directions, weights_apart(point, lists))
                                     : lists.edges() * static_cast<std::uint64_t>(point.hot.percent) / 100;
  if (policy != lean::TierPolicy::reuse) {
    return lean::plan_tier(lists, policy, elements);
  }
  lean::ReadCounts reads = lean::no_reads(lists);
  const std::vector<graph::Vertex> sources = loaded.sources(kMostSources);
  for (int search = 0; search < kSampleSearches; ++search) {
    static_cast<void>(model::replay_bfs({&loaded.csr()}, {&lists},
                                        sources[sources.size() - 1 - static_cast<std::size_t>(search)], {},
                                        &reads));
  }
  return lean::plan_by_reuse(lists, reads, elements);
}

template <class T>
const T* address(const std::optional<T>& value) {
  return value ? &*value : nullptr;
}

}  // namespace

const char* name(LeanAnswers answers) {
  switch (answers) {
    case LeanAnswers::numbered:
      return "numbered";
    case LeanAnswers::mapped:
      return "mapped";
    case LeanAnswers::parents:
      return "parents";
  }
  return "unknown";
}

std::uint64_t hot_elements(const graph::Csr& lists, const HotBudget& budget, std::uint64_t directions,
                           bool weighted) {
  const std::uint64_t places = (lists.vertices() + std::uint64_t{1}) * sizeof(std::uint32_t);
  const std::uint64_t element = sizeof(graph::Vertex) + (weighted ? sizeof(graph::Weight) : 0);
  if (budget.bytes / directions < places + element) {
    throw SkipError(std::string(budget.given_by) + ": where the hot part of each list begins takes " +
                    format_bytes(directions * places) + " of GPU memory; " + format_bytes(budget.bytes) +
                    " leave nothing for edges");
  }
  return std::min(lists.edges(), (budget.bytes / directions - places) / element);
}

model::TieredLists LeanLayout::Direction::of(const graph::Csr& lists) const {
  return {&lists, address(tier), address(compressed), address(firsts)};
}

LeanLayout::LeanLayout(const LeanPoint& point, const LoadedGraph& graph)
    : point_(point),
      graph_(graph),
      directed_(graph.csr().directed && point.algorithm != graph::Algorithm::sssp) {
  plan_tiers();
  compress();
  place_firsts();
  if (point.algorithm == graph::Algorithm::cc) {
    // As they are found once more where lists are placed.
    const double begun_s = steady_now_s();
    static_cast<void>(lean::list_phases(graph.csr(), address(out_.tier), address(out_.compressed)));
    counters_["phases_s"] = steady_now_s() - begun_s;
  }
}

void LeanLayout::plan_tiers() {
  const double begun_s = steady_now_s();
  const std::uint64_t directions = directed_ ? 2 : 1;
  if (point_.tier) {
    const bool reuse = *point_.tier == lean::TierPolicy::reuse;
    // What reuse tells is of lists that are pulled from.
    out_.tier = plan(point_, graph_, graph_.csr(),
                     directed_ && reuse ? lean::TierPolicy::lists : *point_.tier, directions);
    if (directed_) {
      in_.tier = plan(point_, graph_, graph_.in_edges(), *point_.tier, directions);
    }
  }
  const auto elements = [](const Direction& direction) {
    return direction.tier ? static_cast<double>(direction.tier->elements()) : 0;
  };
  counters_["hot_percent"] =
      100 * (elements(out_) + elements(in_)) /
      static_cast<double>(std::max<std::uint64_t>(1, graph_.csr().edges() * directions));
  counters_["tier_s"] = steady_now_s() - begun_s;
}

void LeanLayout::compress() {
  if (!point_.compressed) {
    return;
  }
  const double begun_s = steady_now_s();
  const bool weights = point_.algorithm == graph::Algorithm::sssp;
  out_.compressed = lean::compress(graph_.csr(), address(out_.tier), weights);
  double bytes = static_cast<double>(out_.compressed->words.bytes());
  double elements = static_cast<double>(out_.compressed->elements);
  if (directed_) {
    in_.compressed = lean::compress(graph_.in_edges(), address(in_.tier), false);
    bytes += static_cast<double>(in_.compressed->words.bytes());
    elements += static_cast<double>(in_.compressed->elements);
  }
  constexpr double kBits = 8;
  counters_["bits_per_edge"] = elements > 0 ? bytes * kBits / elements : 0;
  counters_["compress_s"] = steady_now_s() - begun_s;
}

void LeanLayout::place_firsts() {
  const bool asked = point_.algorithm == graph::Algorithm::bfs || point_.algorithm == graph::Algorithm::cc;
  const graph::Csr& lists = directed_ ? graph_.in_edges() : graph_.csr();
  Direction& pulled = directed_ ? in_ : out_;
  if (asked && lean::cold_lists(lists, address(pulled.tier)) > 0) {
    const double begun_s = steady_now_s();
    pulled.firsts = lean::first_neighbours(lists, address(pulled.tier), point_.compressed);
    counters_["firsts_s"] = steady_now_s() - begun_s;
  }
}

lean::LeanPlacement LeanLayout::placement() const {
  lean::LeanPlacement placement;
  placement.graph = &graph_.csr();
  placement.tier = address(out_.tier);
  placement.in_edges = directed_ ? &graph_.in_edges() : nullptr;
  placement.in_tier = address(in_.tier);
  placement.compressed = address(out_.compressed);
  placement.in_compressed = address(in_.compressed);
  placement.firsts = address((directed_ ? in_ : out_).firsts);
  placement.gpu = point_.gpu;
  placement.memory = point_.memory;
  placement.others = point_.others;
  placement.node = point_.node;
  placement.weights = point_.algorithm == graph::Algorithm::sssp;
  placement.apart = placement.weights && !point_.packed;
  return placement;
}

model::TieredLists LeanLayout::pushed() const {
  model::TieredLists lists = out_.of(graph_.csr());
  lists.apart = !point_.packed;
  return lists;
}

model::TieredLists LeanLayout::pulled() const {
  return directed_ ? in_.of(graph_.in_edges()) : pushed();
}

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

LeanModel model_of_bfs(const LeanLayout& layout, Vertex source, const lean::Turning& turning,
                       const std::vector<LinkReads>& reads) {
  const model::BfsPrediction search = model::replay_bfs(layout.pushed(), layout.pulled(), source, turning);
  if (reads.size() != search.levels.size()) {
    throw FailedError("a search did not have as many levels as its model");
  }
  LeanModel result{{}, 0, {}, kEqual, {}};
  for (std::size_t i = 0; i < reads.size(); ++i) {
    const model::LevelPrediction& level = search.levels[i];
    require_equal(reads[i], level.link, level.hot_reads, "level " + std::to_string(i) + " of a search");
    result.steps.push_back(level.link);
  }
  return result;
}

// What a run of sssp reads depends on which warp comes first, and in the model what a step changes shows in
// the next alone. So the two may differ, and modelled_edges_read tells by how much; further apart than this
// one of them reads lists that it should not, or leaves some out. `hybrid`: of a run by segments, else null.
LeanModel model_of_sssp(const LeanLayout& layout, Vertex source, std::uint32_t delta, const Hybrid* hybrid,
                        const std::vector<LinkReads>& reads) {
  constexpr double kApart = 0.3;
  constexpr double kFew = 1000;
  LeanModel result;
  const model::TieredLists lists = layout.pushed();
  const model::SsspPrediction paths =
      model::replay_sssp(lists, source, delta, [&](std::span<const Vertex> active) {
        if (hybrid != nullptr) {
          const model::HybridStep step = model::hybrid_step(lists, active, hybrid->costs);
          result.steps.push_back(step.read);
          result.hybrid_s += step.plan.seconds;
          result.copied_bytes += static_cast<double>(step.plan.copied_words * sizeof(std::uint32_t));
        }
      });
  double modelled = 0;
  for (const model::SsspStepPrediction& step : paths.steps) {
    modelled += static_cast<double>(step.edges);
    if (hybrid == nullptr) {
      result.steps.push_back(step.link);
    }
  }
  double read = 0;
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
  if (hybrid != nullptr && !paths.steps.empty()) {
    result.counters["modelled_copied_bytes"] = result.copied_bytes;
  }
  result.agreement = "the first read the edges that its model reads, within 30 %";
  return result;
}

LeanModel model_of_cc(const LeanLayout& layout, const std::vector<LinkReads>& reads) {
  const model::CcPrediction cc = model::replay_cc(layout.pushed());
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

LeanModel model_of_pr(const LeanLayout& layout, const Hybrid* hybrid, const std::vector<LinkReads>& reads) {
  const model::TieredLists lists = layout.pulled();
  const model::PrPrediction pr = model::replay_pr(lists, *layout.pushed().lists);
  LeanModel result{{}, 0, {{"modelled_sweeps", static_cast<double>(pr.sweeps)}}, kEqual, {}};
  if (hybrid == nullptr) {
    for (const LinkReads& sweep : reads) {
      require_equal(sweep, pr.sweep, pr.hot_reads, "a sweep of PageRank");
    }
    result.steps.assign(pr.sweeps, pr.sweep);
    return result;
  }
  const model::HybridStep sweep = model::hybrid_step(lists, hybrid->costs);
  const std::uint64_t copied_bytes = sweep.plan.copied_words * sizeof(std::uint32_t);
  for (const LinkReads& read : reads) {
    if (read.sectors != sweep.plan.read.sectors || read.elements != pr.sweep.elements ||
        read.hot != pr.hot_reads || read.copied_bytes != copied_bytes) {
      throw FailedError(
          "a sweep of PageRank did not read and copy what its model does: one of them is wrong");
    }
  }
  result.steps.assign(pr.sweeps, sweep.read);
  result.hybrid_s = pr.sweeps * sweep.plan.seconds;
  result.counters["modelled_copied_bytes"] = static_cast<double>(pr.sweeps * copied_bytes);
  return result;
}

LeanRun bfs_run(lean::LeanTeam lists, const LeanLayout& layout, bool parents) {
  const lean::Turning turning = model::turning_for(layout.pushed(), layout.pulled());
  auto search =
      parents ? lean::make_lean_bfs(*lists.front(), turning, true) : lean::make_lean_bfs(lists, turning);
  const auto pulls = [bfs = search.get()]() -> std::map<std::string, double> {
    const std::vector<bool> pulled = bfs->pulled();
    return {{"pulls", static_cast<double>(std::count(pulled.begin(), pulled.end(), true))}};
  };
  return {std::move(search), nullptr, pulls,
          [&layout, turning](Vertex source, const std::vector<LinkReads>& reads) {
            return model_of_bfs(layout, source, turning, reads);
          }};
}

LeanRun run_of(const LeanPoint& point, const LoadedGraph& graph, lean::LeanTeam lists,
               const LeanLayout& layout) {
  if (point.algorithm == Algorithm::bfs) {
    return bfs_run(lists, layout, point.answers == LeanAnswers::parents);
  }
  std::shared_ptr<const Hybrid> hybrid;
  std::map<std::string, double> counters;
  if (point.hybrid && point.algorithm != Algorithm::cc) {
    hybrid = std::make_shared<const Hybrid>(*lists.front());
    counters = hybrid->counters();
  }
  LeanRun run;
  if (point.algorithm == Algorithm::sssp) {
    const std::uint32_t delta = lean::usual_delta(graph.csr());
    run.traversal = hybrid ? lean::make_hybrid_sssp(*lists.front(), delta, hybrid->costs)
                           : lean::make_lean_sssp(lists, delta);
    counters["delta"] = delta;
    counters["packed"] = weights_apart(point, graph.csr()) ? 0 : 1;
    run.model = [&layout, delta, hybrid](Vertex source, const std::vector<LinkReads>& reads) {
      return model_of_sssp(layout, source, delta, hybrid.get(), reads);
    };
  } else if (point.algorithm == Algorithm::cc) {
    run.traversal = lean::make_lean_cc(lists);
    run.model = [&layout](Vertex /*source*/, const std::vector<LinkReads>& reads) {
      return model_of_cc(layout, reads);
    };
  } else {
    run.traversal = hybrid ? lean::make_hybrid_pr(*lists.front(), hybrid->costs) : lean::make_lean_pr(lists);
    run.model = [&layout, hybrid](Vertex /*source*/, const std::vector<LinkReads>& reads) {
      return model_of_pr(layout, hybrid.get(), reads);
    };
  }
  run.counters = [counters] { return counters; };
  return run;
}

}  // namespace

PlacedTeam::PlacedTeam(const LeanPoint& point, const LeanLayout& layout,
                       const cuda::Surroundings& surroundings) {
  lean::LeanPlacement placement = layout.placement();
  placed_.push_back(lean::place_lean(placement, surroundings));
  placement.beside = placed_.front().get();
  for (const int gpu : point.others) {
    placement.gpu = gpu;
    placed_.push_back(lean::place_lean(placement, surroundings));
  }
  for (const auto& lists : placed_) {
    team_.push_back(lists.get());
  }
}

PlacedTeam::~PlacedTeam() {
  while (!placed_.empty()) {
    placed_.pop_back();
  }
}

std::uint64_t PlacedTeam::hot_bytes() const {
  return std::accumulate(placed_.begin(), placed_.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const auto& lists) { return sum + lists->hot_bytes(); });
}

std::uint64_t PlacedTeam::gpu_bytes() const {
  return std::accumulate(placed_.begin(), placed_.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const auto& lists) { return sum + lists->gpu_bytes(); });
}

LeanRun make_lean_run(const LeanPoint& point, const LoadedGraph& graph, lean::LeanTeam lists,
                      const LeanLayout& layout) {
  LeanRun run = run_of(point, graph, lists, layout);
  if (point.answers == LeanAnswers::numbered) {
    return run;
  }
  const bool parents = point.answers == LeanAnswers::parents;
  auto callers =
      lean::with_callers_numbers(std::move(run.traversal), point.gpu,
                                 {graph.old_of_new(), parents || point.algorithm == Algorithm::cc}, parents);
  run.callers = callers.get();
  run.traversal = std::move(callers);
  return run;
}

}  // namespace grainscope::harness
