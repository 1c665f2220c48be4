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

std::vector<std::string> fanouts_of(Preset preset) {
  switch (preset) {
    case Preset::smoke:
      return {"5x5"};
    case Preset::quick:
    case Preset::acceptance:
      return {"10x25"};
    case Preset::full:
    case Preset::paper:
      return {"10x25", "10x10x10", "12x12x12", "25x15", "10x10x10x10x10"};
  }
  return {};
}

std::vector<std::uint64_t> batches_of(Preset preset) {
  return preset == Preset::smoke ? std::vector<std::uint64_t>{1000} : std::vector<std::uint64_t>{1000, 8000};
}

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
  Lister(const Machine& machine, const Scope& scope, GnnGraphs graphs)
      : machine_(machine), scope_(scope), graphs_(std::move(graphs)) {}

  std::vector<Benchmark> list() {
    for (const GraphSpec& spec :
         gnn_graphs(scope_, {"power"}, {"kron:20"}, {"web:20", "urand:22", "kron:22", "pareto:22"},
                    {"kron:24", "urand:24", "pareto:24", "web:22"})) {
      for (const std::string& fanouts : fanouts_of(scope_.preset)) {
        for (const std::uint64_t batch : batches_of(scope_.preset)) {
          if (keeps(spec, fanouts, batch)) {
            add_all({spec, gnn::parse_fanouts(fanouts), batch, {}, 0});
          }
        }
      }
    }
    return std::move(benchmarks_);
  }

 private:
  // By the CPU, and by each GPU; then by the scope's first GPU from lists that lie on all GPUs that it
  // reaches. One after another, since all expect the same mini-batches.
  void add_all(SamplingPoint point) {
    add(point, nullptr);
    for (const GpuTarget& gpu : scope_.program_gpus()) {
      point.node = scope_.nearest_node(gpu);
      for (const ListPlacement placement : {ListPlacement::device, ListPlacement::mapped}) {
        point.lists = {placement, gpu.ordinal, {}};
        add(point, &gpu);
      }
    }
    if (!scope_.gpus.empty()) {
      const GpuTarget& gpu = scope_.gpus.front();
      point.node = scope_.nearest_node(gpu);
      point.lists = {ListPlacement::interleaved, gpu.ordinal, sharing_gpus(machine_, gpu.ordinal)};
      add(point, &gpu);
    }
  }

  // In full the other fan-outs are of one graph and the smaller batch.
  [[nodiscard]] bool keeps(const GraphSpec& spec, const std::string& fanouts, std::uint64_t batch) const {
    const bool all = scope_.preset != Preset::full || !scope_.graphs.empty();
    return all || fanouts == fanouts_of(Preset::quick).front() ||
           (spec.kind == GraphSpec::Kind::pareto && batch == batches_of(Preset::full).front());
  }

  void add(const SamplingPoint& point, const GpuTarget* gpu) {
    Benchmark benchmark;
    benchmark.id = case_of(point, gpu);
    benchmark.skip = gpu == nullptr ? "" : why_not(point, *gpu);
    benchmark.explanation = explain(point);
    benchmark.needs = needs_of(point);
    const auto graph_claim =
        benchmark.skip.empty() ? graphs_->claim(point.spec.name(), scope_.repetitions) : nullptr;
    const auto batches_claim =
        benchmark.skip.empty() ? expected_->claim(key_of(point), scope_.repetitions) : nullptr;
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
  GnnGraphs graphs_;
  std::shared_ptr<ExpectedBatchesCache> expected_ = std::make_shared<ExpectedBatchesCache>();
  std::vector<Benchmark> benchmarks_;
};

}  // namespace

Family sampling_neighbours(const GnnGraphs& graphs) {
  return {"sampling/neighbours",
          "How fast are mini-batches of neighbours sampled, by whom and from where?",
          {},
          [graphs](const Machine& machine, const Scope& scope, const Grids& /*grids*/) {
            return Lister(machine, scope, graphs).list();
          }};
}

}  // namespace grainscope::harness
