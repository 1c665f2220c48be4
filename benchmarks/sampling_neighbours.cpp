// sampling/neighbours: how fast are mini-batches of neighbours sampled, by the CPU or by a GPU, and what does
// it cost that the graph lies elsewhere?
//
// Timed: one mini-batch, from the seeds to numbered layers; on a GPU between two events, with the copy of the
// seeds to it; on the CPU by all threads. Not timed: making and placing the graph, drawing the seeds, copying
// the mini-batch back, checking it. Operations: sampled edges, in the mean over the four mini-batches that
// take turns. Every mini-batch of every sample must be, bit for bit, the one expected.
// Source: GraphSAGE (NeurIPS 2017); dissertation 3.2.2 and 4.4.5, whose fan-outs these are.
// Limits: seeds are drawn from all vertices; one sampler works at a time.

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "families.hpp"
#include "gather_case.hpp"
#include "gnn_case.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/gnn/gpu_sampling.hpp"
#include "grainscope/system/numa.hpp"
#include "sampling_case.hpp"

namespace grainscope::harness {
namespace {

using gnn::ListPlacement;
using graph::GraphSpec;

const char* const kHost = "host";  // sampled by the CPU
constexpr ListPlacement kPlacements[] = {ListPlacement::device, ListPlacement::mapped,
                                         ListPlacement::interleaved};

Explanation explain(const SamplingPoint& point) {
  std::string where = "on the CPU by all threads, the graph in the host's memory";
  if (point.lists) {
    switch (point.lists->placement) {
      case ListPlacement::device:
        where = "on a GPU, the graph in its own memory";
        break;
      case ListPlacement::mapped:
        where = "on a GPU, offsets in its own memory, lists in page-locked host memory";
        break;
      case ListPlacement::interleaved:
        where = "on a GPU, offsets in its own memory, lists in turn over the memories of several GPUs";
        break;
    }
  }
  return {"the time of sampling one mini-batch of neighbours without replacement " + where,
          "from the seeds to numbered layers: drawing, marking what is new, numbering; on a GPU between two "
          "events, the copy of the seeds included",
          "operation time = median time / sampled edges, in the mean over the four mini-batches in turn",
          "GraphSAGE (NeurIPS 2017); Floyd's method (CACM 30(9), 1987); dissertation 3.2.2 and 4.4.5",
          "seeds are drawn from all vertices; the mini-batch stays where it was sampled"};
}

class Lister {
 public:
  Lister(const Machine& machine, const Scope& scope, const Grids& grids, GnnGraphs graphs)
      : machine_(machine), scope_(scope), grids_(grids), graphs_(std::move(graphs)) {}

  std::vector<Benchmark> list() {
    grids_.each_graph(
        [&](const GraphSpec& spec, const Grid& grid) {
          for (const Values& values : grid.points()) {
            add_all({spec, gnn::parse_fanouts(values.word("fanout")), values.number("batch"), {}, 0},
                    values.word("placement"), grids_.gpus(grid));
          }
        },
        sizeof(graph::Vertex));
    return std::move(benchmarks_);
  }

 private:
  void add_all(SamplingPoint point, const std::string& placement, const std::vector<GpuTarget>& gpus) {
    if (placement == kHost) {
      add(point, nullptr);
      return;
    }
    const ListPlacement lists =
        enumerator(placement, kPlacements, [](ListPlacement each) { return name(each); });
    for (const GpuTarget& gpu : gpus) {
      point.node = scope_.nearest_node(gpu);
      point.lists = {lists, gpu.ordinal, {}};
      if (lists == ListPlacement::interleaved) {
        point.lists->gpus = sharing_gpus(machine_, gpu.ordinal);
      }
      add(point, &gpu);
      if (lists == ListPlacement::interleaved) {
        break;  // lists that lie on all GPUs are much the same to each of them
      }
    }
  }

  void add(const SamplingPoint& point, const GpuTarget* gpu) {
    Benchmark benchmark;
    benchmark.id = case_of(point, gpu);
    benchmark.skip = gpu == nullptr ? "" : why_not(point, *gpu);
    benchmark.explanation = explain(point);
    benchmark.needs = needs_of(point);
    const auto graph_claim =
        benchmark.skip.empty() ? graphs_->claim(point.spec.name(), scope_.visits_here) : nullptr;
    const auto batches_claim =
        benchmark.skip.empty() ? expected_->claim(key_of(point), scope_.visits_here) : nullptr;
    benchmark.run = [point, graphs = graphs_, graph_claim, expected = expected_, batches_claim,
                     cache_dir = scope_.graph_cache](Session& session) {
      const GnnGraphCache::Lease graph(*graphs, *graph_claim, [&](const std::string&) {
        return std::make_unique<GnnGraph>(point.spec, cache_dir);
      });
      const ExpectedBatchesCache::Lease batches(*expected, *batches_claim, [&](const std::string&) {
        return std::make_unique<ExpectedBatches>(expect_batches(point, *graph));
      });
      return point.lists ? measure_gpu_sampling(session, point, *graph, *batches)
                         : measure_cpu_sampling(session, point, *graph, *batches);
    };
    benchmarks_.push_back(std::move(benchmark));
  }

  [[nodiscard]] static std::string key_of(const SamplingPoint& point) {
    return point.spec.name() + " " + gnn::fanout_text(point.fanouts) + " " + std::to_string(point.batch);
  }

  [[nodiscard]] static Case case_of(const SamplingPoint& point, const GpuTarget* gpu) {
    Case id{"sampling/neighbours",
            {{"by", gpu == nullptr ? "cpu" : "gpu", AxisStyle::bare},
             {"placement", point.lists ? name(point.lists->placement) : "host", AxisStyle::bare}},
            {}};
    if (gpu != nullptr) {
      id.axes.push_back({"locality", gpu->locality(point.node), AxisStyle::hidden});
      id.site = {{"numa", point.node}, {"gpu", gpu->ordinal}};
    }
    id.axes.push_back({"graph", point.spec.name()});
    id.axes.push_back({"fanout", gnn::fanout_text(point.fanouts)});
    id.axes.push_back({"batch", static_cast<std::int64_t>(point.batch)});
    if (point.lists && point.lists->placement == ListPlacement::interleaved) {
      id.axes.push_back(
          {"gpus", static_cast<std::int64_t>(std::max<std::size_t>(point.lists->gpus.size(), 2))});
    }
    return id;
  }

  [[nodiscard]] std::string why_not(const SamplingPoint& point, const GpuTarget& gpu) const {
    if (gpu.unavailable.empty() && point.lists->placement == ListPlacement::interleaved &&
        point.lists->gpus.size() < 2) {
      return why_no_sharing(machine_, gpu.ordinal);
    }
    if (!gpu.unavailable.empty()) {
      return gpu.unavailable;
    }
    return point.lists->placement == ListPlacement::mapped ? why_no_mapping(machine_, gpu.ordinal) : "";
  }

  [[nodiscard]] static Needs needs_of(const SamplingPoint& point) {
    const std::uint64_t vertices = point.spec.vertices().value_or(0);
    const std::uint64_t lists = point.spec.most_entries().value_or(0) * sizeof(graph::Vertex);
    const gnn::MostOf most = gnn::most_of(point.fanouts, point.batch, static_cast<graph::Vertex>(vertices));
    std::uint64_t sources = 0;
    for (const std::uint64_t edges : most.edges) {
      sources += std::min(edges * sizeof(std::uint32_t), lists);
    }
    // Four mini-batches that are expected, and one that was sampled.
    Needs needs{gnn_host_bytes(point.spec) + vertices * 5 + 5 * sources, 0, 0};
    if (point.lists) {
      needs.device_bytes = vertices * 13 + sources;
      (point.lists->placement == ListPlacement::mapped ? needs.host_bytes : needs.device_bytes) += lists;
    }
    return needs;
  }

  const Machine& machine_;
  const Scope& scope_;
  const Grids& grids_;
  GnnGraphs graphs_;
  std::shared_ptr<ExpectedBatchesCache> expected_ = std::make_shared<ExpectedBatchesCache>();
  std::vector<Benchmark> benchmarks_;
};

}  // namespace

Family sampling_neighbours(const GnnGraphs& graphs) {
  std::vector<std::string> placements = names_of(kPlacements, [](ListPlacement each) { return name(each); });
  placements.insert(placements.begin(), kHost);
  return {"sampling/neighbours",
          "How fast are mini-batches of neighbours sampled, by whom and from where?",
          {graph_axis(), fanout_axis(), number_axis("batch", "seeds of a mini-batch", {1, 1 << 30}),
           word_axis("placement", "where lists lie: host, the CPU samples; else a GPU does",
                     std::move(placements))},
          [graphs](const Machine& machine, const Scope& scope, const Grids& grids) {
            return Lister(machine, scope, grids, graphs).list();
          }};
}

}  // namespace grainscope::harness
