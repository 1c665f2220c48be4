// The families of modelled traversals: model/bfs, cc, pr, sssp and uvm. Each part opens with its question.

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

#include "case.hpp"
#include "families.hpp"
#include "grainscope/core/units.hpp"
#include "harness/link_peaks.hpp"
#include "traversal/trials.hpp"

namespace grainscope::harness {
namespace {

using graph::Algorithm;

const char* const kMeasured = "measured";

// Seconds that a row adds to the pass over the levels of all trials, roughly, on two cores.
double about_s(const std::string& family, const ModelPoint& point) {
  const double edges_per_s = family == "model/uvm" ? 1.6e10 : 1.6e9;
  const bool has_source = point.algorithm == Algorithm::bfs || point.algorithm == Algorithm::sssp;
  const double passes = point.algorithm == Algorithm::bfs ? 1 : point.algorithm == Algorithm::pr ? 30 : 5;
  const auto entries = static_cast<double>(point.graph.most_entries().value_or(0));
  return 0.002 + entries * passes * (has_source ? point.sources : 1) / edges_per_s;
}

}  // namespace

model::Link ModelLink::get(const Session& session) const {
  if (!gpu) {
    return model::link_named(name);
  }
  return model::link_measured(session.link_peak_gb_s(LinkPath::host_to_gpu(node, gpu->ordinal)));
}

DeclaredAxis link_axis() {
  std::vector<std::string> names(model::link_names().begin(), model::link_names().end());
  names.emplace_back(kMeasured);
  return word_axis("link", "the link: a named one, or this machine's, whose copies the run measures",
                   std::move(names));
}

std::vector<ModelLink> links_of(const Values& values, const Grid& grid, const Grids& grids,
                                const Scope& scope) {
  if (!values.is("link", kMeasured)) {
    return {{values.word("link"), {}, 0}};
  }
  std::vector<ModelLink> links;
  for (const GpuTarget& gpu : grids.gpus(grid)) {
    links.push_back({kMeasured, gpu, scope.nearest_node(gpu)});
  }
  return links;
}

std::vector<DeclaredAxis> model_axes(std::vector<DeclaredAxis> more) {
  std::vector<DeclaredAxis> axes{
      algorithm_axis(), graph_axis(), edge_axis("8"), link_axis(),
      // What one source asks for differs little from what another does; a measured time needs 64 for other
      // reasons.
      untold(number_axis("sources_at_most", "of --trials, how many sources are modelled", {1, kMostSources},
                         "8")),
      following_axis("weights", "least and greatest of the graph's, of sssp"), gpu_axis()};
  axes.insert(axes.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  return axes;
}

std::vector<std::pair<ModelPoint, Values>> model_points(const Scope& scope, const Grids& grids) {
  std::vector<std::pair<ModelPoint, Values>> points;
  grids.each_graph(
      [&](const graph::GraphSpec& graph, const Grid& grid) {
        for (const Values& values : grid.points()) {
          if (const std::string why = why_no_case(graph, algorithm_of(values)); !why.empty()) {
            grids.leave_out(why);
            continue;
          }
          const int sources = std::min(scope.trials, values.number_as<int>("sources_at_most"));
          for (const ModelLink& link : links_of(values, grid, grids, scope)) {
            points.emplace_back(ModelPoint{graph, algorithm_of(values), edge_bytes_of(values), link, sources},
                                values);
          }
        }
      },
      sizeof(std::uint64_t));
  stand_together(points,
                 [](const auto& each) { return std::pair(each.first.graph.name(), each.first.algorithm); });
  return points;
}

Benchmark model_benchmark(const std::string& family, std::vector<Axis> before, const ModelPoint& point,
                          std::vector<Axis> behind) {
  std::vector<Axis> axes = std::move(before);
  axes.push_back({"graph", point.graph.name()});
  axes.push_back({"edge", static_cast<std::int64_t>(point.edge_bytes)});
  if (reads_weights(point.algorithm)) {
    axes.push_back({"weights", weights_of(point.graph)});
  }
  axes.insert(axes.end(), behind.begin(), behind.end());
  axes.push_back({"link", point.link.name});
  std::vector<Site> site;
  if (point.link.gpu) {
    axes.push_back({"locality", point.link.gpu->locality(point.link.node), AxisStyle::hidden});
    site = {{"numa", point.link.node}, {"gpu", point.link.gpu->ordinal}};
  }
  Benchmark benchmark;
  benchmark.id = {family, std::move(axes), std::move(site)};
  benchmark.skip = point.link.gpu ? point.link.gpu->unavailable : "";
  benchmark.about_s = about_s(family, point);
  benchmark.modelled = true;
  benchmark.needs.host_bytes = host_bytes(point.graph, graph::Order::original, 0);
  return benchmark;
}

namespace {

// model/traversal

constexpr About kAboutModelTraversal{
    .question =
        "What does a traversal of an edge list in host memory ask of the link, and how long does that take "
        "at least?",
    .timed =
        "nothing: the walk of each access over the real sequence of frontiers is replayed on the CPU, and "
        "its requests of 32 to 128 bytes are counted exactly",
    .formula =
        "a request for each 128-byte line of a warp's load, of 32 bytes times the sectors that it touches; "
        "bytes = (data + header * requests) / wire rate, at which whole lines reach what copies reach; "
        "requests = requests * round trip / in flight; translations = misses / misses a second; time = the "
        "sum over levels, since each ends before the next begins, of whichever takes longest, a round trip "
        "at least",
    .source =
        "EMOGI (VLDB 2020) 3.3, 4 and 5.3, figures 5, 7, 10 and 12; edge_gather after GraphPEG (TACO 2021)",
    .limits =
        "no cache but in cached_amplification (every sector once in the whole run): what a GPU asks for lies "
        "between; no launches and no work on the GPU; frontiers are level by level, where a GPU's sssp and "
        "cc see changes at once and need fewer levels. See docs/model.md",
};

using graph::Access;

Measurement measure_traversal(const Session& session, ModelRuns& runs, ModelRuns::Claim& claim,
                              const ModelPoint& point, const WalkRequest& walk) {
  const auto model = runs.get(claim);
  return walk_row(*model, walk, point.link.get(session));
}

Explanation explain_traversal(const ModelPoint& point) {
  const std::string where = point.link.gpu ? "this run's copy peak; the rest of the named link nearest to it"
                                           : model::link_named(point.link.name).source;
  return {.measures = std::string("what ") + name(point.algorithm) +
                      " asks of the link, by an access, and an estimate of the time that the link needs",
          .source = "EMOGI (VLDB 2020) 3.3 and 5.3; the link: " + where};
}

class TraversalLister {
 public:
  TraversalLister(const Scope& scope, std::shared_ptr<ModelRuns> runs)
      : scope_(scope), runs_(std::move(runs)) {}

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
    benchmark.explanation = explain_traversal(point);
    const WalkRequest walk{access, point.edge_bytes};
    const auto claim = benchmark.skip.empty() ? claim_of(point, walk) : nullptr;
    benchmark.run = [point, walk, runs = runs_, claim](Session& session) {
      return measure_traversal(session, *runs, *claim, point, walk);
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
  return {"model/traversal", kAboutModelTraversal,
          model_axes({word_axis("access", "how warps walk lists of neighbours",
                                names_of(graph::kAllAccess, [](Access each) { return name(each); }),
                                name(Access::merged_aligned))}),
          [runs](const Machine& /*machine*/, const Scope& scope, const Grids& grids) {
            return TraversalLister(scope, runs).list(grids);
          }};
}

namespace {

// model/uvm

constexpr About kAboutModelUvm{
    .question = "How much would managed memory move if the card held only a part of the edge list?",
    .measures =
        "Oversubscribing managed memory can hang a GPU that others share, so the suite never does it unless "
        "told to: this says what it would move",
    .timed =
        "nothing: pages are brought when a frontier's lists touch them, and the page that was used the "
        "longest ago goes",
    .formula =
        "moved = pages brought * their size; seconds = moved / the copies' rate + pages * what the driver "
        "takes for a group of faults; amplification_data_set = moved / the data set",
    .source = "EMOGI (VLDB 2020) 5.3.4, figures 9, 10 and 12: managed memory on graphs larger than the card",
    .limits =
        "not validated under pressure: no shared card may be oversubscribed. The driver groups faults by "
        "their arrival, fills blocks of 2 MiB that are half resident and evicts whole ones; none of that is "
        "here. See docs/model.md",
};

const char* const kFamily = "model/uvm";

Measurement measure_uvm(const Session& session, ModelRuns& runs, ModelRuns::Claim& claim,
                        const ModelPoint& point, const CardRequest& card) {
  const auto model = runs.get(claim);
  return card_row(*model, card, point.link.get(session));
}

Explanation explain_uvm(const ModelPoint& point) {
  const std::string where =
      point.link.gpu ? "this run's copy peak" : model::link_named(point.link.name).source;
  const std::string faults =
      model::fault_cost(point.link.gpu ? model::link_measured(1) : model::link_named(point.link.name)).source;
  return {
      .measures = std::string("what managed memory moves in ") + name(point.algorithm) +
                  " where the card holds a part of the edge list (and of the weights where they are read); "
                  "modelled, not validated on hardware",
      .source = "EMOGI (VLDB 2020) 5.3.4; the link: " + where + "; faults: " + faults};
}

class UvmLister {
 public:
  UvmLister(const Scope& scope, std::shared_ptr<ModelRuns> runs) : scope_(scope), runs_(std::move(runs)) {}

  std::vector<Benchmark> list(const Grids& grids) {
    for (const auto& [point, values] : model_points(scope_, grids)) {
      const CardRequest card{point.edge_bytes, values.number_as<int>("card"), values.number("page")};
      const auto entries = point.graph.most_entries();
      if (entries &&
          data_pages({card.edge_bytes, 100, card.page_bytes}, point.algorithm, *entries) < kFewestPages) {
        grids.leave_out("the edges of " + point.graph.name() + " are on fewer than " +
                        std::to_string(kFewestPages) + " pages of " + format_bytes(card.page_bytes));
      } else {
        add(point, card);
      }
    }
    return std::move(benchmarks_);
  }

 private:
  void add(const ModelPoint& point, const CardRequest& card) {
    Benchmark benchmark =
        model_benchmark(kFamily, {{"algorithm", name(point.algorithm), AxisStyle::bare}}, point,
                        {{"card", static_cast<std::int64_t>(card.percent)},
                         {"page", static_cast<std::int64_t>(card.page_bytes)}});
    benchmark.explanation = explain_uvm(point);
    const auto claim = benchmark.skip.empty() ? claim_of(point, card) : nullptr;
    benchmark.run = [point, card, runs = runs_, claim](Session& session) {
      return measure_uvm(session, *runs, *claim, point, card);
    };
    benchmarks_.push_back(std::move(benchmark));
  }

  std::shared_ptr<ModelRuns::Claim> claim_of(const ModelPoint& point, const CardRequest& card) {
    ModelRuns::Claim claim{point.graph, point.algorithm, point.sources, scope_.graph_cache, {}, 0};
    claim.requests.cards.insert(card);
    return runs_->add(std::move(claim), 1);
  }

  const Scope& scope_;
  std::shared_ptr<ModelRuns> runs_;
  std::vector<Benchmark> benchmarks_;
};

}  // namespace

Family model_uvm(const std::shared_ptr<ModelRuns>& runs) {
  return {kFamily, kAboutModelUvm,
          model_axes({number_axis("card", "percent of the data's pages that the card holds", {1, 1000}),
                      size_axis("page", "bytes that are brought at once", {64, kGiB}, false, "64KiB")}),
          [runs](const Machine& /*machine*/, const Scope& scope, const Grids& grids) {
            return UvmLister(scope, runs).list(grids);
          }};
}

}  // namespace grainscope::harness
