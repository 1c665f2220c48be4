// sampling/neighbours: the bodies that measure it, and its cases.

#include <omp.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "case.hpp"
#include "families.hpp"
#include "gather/case.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/core/sampler.hpp"
#include "grainscope/gnn/gpu_sampling.hpp"
#include "grainscope/gnn/sampling.hpp"
#include "grainscope/system/numa.hpp"

namespace grainscope::harness {

struct SamplingPoint {
  graph::GraphSpec spec;
  std::vector<int> fanouts;
  std::uint64_t batch = 1000;             // seeds
  std::optional<gnn::ListRequest> lists;  // on a GPU
  int node = 0;                           // where page-locked lists lie
};

// Seeds, and the mini-batches that must come of them, by whomever they are sampled.
struct ExpectedBatches {
  std::vector<std::vector<graph::Vertex>> seeds;
  std::vector<gnn::MiniBatch> batches;
  std::string verification;  // how these were checked
};
// By graph, fan-outs and seeds: cases that differ in who samples share one.
using ExpectedBatchesCache = ClaimCache<std::string, ExpectedBatches>;

// What the CPU samples, certified; the first, if it is not too large, also held against the serial oracle.
// Throws SkipError where the graph has fewer vertices than a mini-batch has seeds, FailedError where what was
// sampled is wrong.
[[nodiscard]] ExpectedBatches expect_batches(const SamplingPoint& point, const GnnGraph& graph);

[[nodiscard]] Measurement measure_cpu_sampling(Session& session, const SamplingPoint& point,
                                               const GnnGraph& graph, const ExpectedBatches& expected);
[[nodiscard]] Measurement measure_gpu_sampling(Session& session, const SamplingPoint& point,
                                               const GnnGraph& graph, const ExpectedBatches& expected);

namespace {

using gnn::MiniBatch;
using graph::Vertex;

// Consecutive samples draw different mini-batches, in turn: this many.
constexpr std::uint64_t kTurns = 4;
// What the serial oracle takes a second or two for; larger mini-batches are certified alone.
constexpr std::uint64_t kMostSerialEdges = std::uint64_t{1} << 22;

std::vector<Vertex> seeds_of(Vertex vertices, std::uint64_t batch, std::uint64_t turn) {
  const gnn::Permutation places(vertices, kGnnSeed);
  std::vector<Vertex> seeds(batch);
  for (std::uint64_t i = 0; i < batch; ++i) {
    seeds[i] = static_cast<Vertex>(places((turn * batch + i) % vertices));
  }
  return seeds;
}

void require_equal(const MiniBatch& expected, const MiniBatch& sampled, std::uint64_t turn) {
  if (!(expected == sampled)) {
    throw FailedError(
        "wrong result: mini-batch " + std::to_string(turn) + " has " + std::to_string(sampled.nodes.size()) +
        " nodes and " + std::to_string(sampled.sampled_edges) + " edges where " +
        std::to_string(expected.nodes.size()) + " and " + std::to_string(expected.sampled_edges) +
        " are expected, or others: it is not the one that its seeds lead to");
  }
}

// `run`: seconds of a mini-batch, which it samples and holds against the expected one.
Measurement measure_batches(
    Session& session, const ExpectedBatches& expected, const GnnGraph& graph, const Timing& timing,
    const std::function<double(std::uint64_t batch)>& run, const MeasureOptions& options = {},
    const std::function<std::optional<double>(double)>& around_s = [](double) { return std::nullopt; }) {
  std::uint64_t turn = 0;
  const auto verify = [&] {
    return "every mini-batch of every sample equals, bit for bit, the CPU's of the same seeds, drawn "
           "before: " +
           expected.verification;
  };
  LocalOperation sampling({.run = [&] { return run(turn++ % kTurns); },
                           .verify = verify,
                           .timing = timing,
                           .around_s = around_s});
  Measurement measurement = measure(session, sampling, options);
  double edges = 0;
  double nodes = 0;
  for (const MiniBatch& batch : expected.batches) {
    edges += static_cast<double>(batch.sampled_edges) / kTurns;
    nodes += static_cast<double>(batch.nodes.size()) / kTurns;
  }
  measurement.operations = static_cast<std::uint64_t>(edges);
  measurement.counters["sampled_edges"] = edges;
  measurement.counters["nodes"] = nodes;
  measurement.counters["edges_per_s"] = edges / measurement.samples.summary.median;
  measurement.graph = graph.facts();
  return measurement;
}

}  // namespace

ExpectedBatches expect_batches(const SamplingPoint& point, const GnnGraph& graph) {
  if (point.batch > graph.vertices()) {
    throw SkipError("the graph has " + std::to_string(graph.vertices()) +
                    " vertices, fewer than a mini-batch of " + std::to_string(point.batch) + " seeds");
  }
  gnn::CpuSampler sampler(graph.in_edges(), {point.fanouts, kGnnSeed});
  ExpectedBatches expected;
  expected.seeds.reserve(kTurns);
  expected.batches.reserve(kTurns);
  for (std::uint64_t turn = 0; turn < kTurns; ++turn) {
    expected.seeds.push_back(seeds_of(graph.vertices(), point.batch, turn));
    const auto& seeds = expected.seeds.back();
    expected.batches.push_back(sampler.sample(seeds, turn));
    expected.verification =
        gnn::certify_sample(graph.in_edges(), point.fanouts, seeds, expected.batches.back());
  }
  const MiniBatch& first = expected.batches.front();
  if (first.sampled_edges <= kMostSerialEdges) {
    if (gnn::serial_sample(graph.in_edges(), {point.fanouts, kGnnSeed}, expected.seeds.front(), 0) != first) {
      throw FailedError("wrong result: the CPU's mini-batch differs from that of the serial oracle");
    }
    expected.verification += "; the first equals the serial oracle's";
  }
  return expected;
}

Measurement measure_cpu_sampling(Session& session, const SamplingPoint& point, const GnnGraph& graph,
                                 const ExpectedBatches& expected) {
  gnn::CpuSampler sampler(graph.in_edges(), {point.fanouts, kGnnSeed});
  MiniBatch sampled;
  double around_s = 0;
  const auto run = [&](std::uint64_t batch) {
    const double outside_s = raw_now_s();
    const double start_s = steady_now_s();
    sampler.sample(expected.seeds[batch], batch, sampled);
    const double seconds = steady_now_s() - start_s;
    around_s = raw_now_s() - outside_s;
    require_equal(expected.batches[batch], sampled, batch);
    return seconds;
  };
  Measurement measurement = measure_batches(
      session, expected, graph, {Clock::steady, false, "the sampling of one mini-batch by all threads"}, run,
      {}, [&](double /*run_s*/) { return around_s; });
  measurement.counters["threads"] = omp_get_max_threads();
  measurement.limit = cpu_limit(omp_get_max_threads(), sizeof(Vertex));
  return measurement;
}

Measurement measure_gpu_sampling(Session& session, const SamplingPoint& point, const GnnGraph& graph,
                                 const ExpectedBatches& expected) {
  const NodeBinding binding(session.machine().topology, point.node);
  const auto lists = gnn::place_lists(graph.in_edges(), *point.lists, session.surroundings());
  const auto sampler = gnn::make_gpu_sampler(*lists, {point.fanouts, kGnnSeed}, point.batch);
  const auto batch_memory = sampler->make_batch();
  MiniBatch sampled;
  const auto run = [&](std::uint64_t batch) {
    const double seconds = sampler->run(expected.seeds[batch], batch, *batch_memory);
    batch_memory->copy(sampled);
    require_equal(expected.batches[batch], sampled, batch);
    return seconds;
  };
  Measurement measurement = measure_batches(
      session, expected, graph,
      {Clock::event, false, "the copy of the seeds and all kernels of one mini-batch"}, run,
      {.gpu = point.lists->gpu,
       .residency = residency_of(point.lists->memory, [&lists] { lists->expect_on_host(); })});
  measurement.counters["gpu_bytes"] =
      static_cast<double>(lists->gpu_bytes() + sampler->gpu_bytes() + batch_memory->gpu_bytes());
  // Every edge is read, wherever it lies.
  if (const auto loads = gpu_memory_limit(session.machine(), point.lists->gpu, 0)) {
    measurement.limit =
        PhysicalLimit{0, loads->source + ", 4 bytes at least", sizeof(Vertex) / (loads->gb_s * 1e9)};
  }
  return measurement;
}

namespace {

// sampling/neighbours

constexpr About kAboutSamplingNeighbours{
    .question = "How fast are mini-batches of neighbours sampled, by whom and from where?",
    .timed =
        "one mini-batch, from the seeds to numbered layers; on a GPU between two events, with the copy of "
        "the seeds to it; on the CPU by all threads. Not timed: making and placing the graph, drawing the "
        "seeds, overwriting the GPU's cache, copying the mini-batch back, checking it",
    .formula =
        "operations: sampled edges, in the mean over the four mini-batches that take turns. Every mini-batch "
        "of every sample must be, bit for bit, the one expected",
    .source = "GraphSAGE (NeurIPS 2017); dissertation 3.2.2 and 4.4.5, whose fan-outs these are",
    .limits = "seeds are drawn from all vertices; one sampler works at a time",
};

using gnn::ListPlacement;
using graph::GraphSpec;

Explanation explain(const SamplingPoint& point) {
  std::string where = "on the CPU by all threads, the graph in the host's memory";
  if (point.lists) {
    switch (point.lists->placement) {
      case ListPlacement::device:
        where = "on a GPU, the graph in its own memory";
        break;
      case ListPlacement::mapped:
        where = "on a GPU, offsets in its own memory, lists in host memory that it reads over the link";
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
            add_all({spec, gnn::parse_fanouts(values.word("fanout")), values.number("batch"), {}, 0}, values,
                    grids_.gpus(grid));
          }
        },
        sizeof(graph::Vertex));
    return std::move(benchmarks_);
  }

 private:
  void add_all(SamplingPoint point, const Values& values, const std::vector<GpuTarget>& gpus) {
    const std::optional<ListPlacement> lists = placement_of(values);
    if (!lists) {
      add(point, nullptr);
      return;
    }
    for (const GpuTarget& gpu : gpus) {
      point.node = scope_.nearest_node(gpu);
      point.lists = {*lists, gpu.ordinal, {}};
      if (lists == ListPlacement::mapped) {
        point.lists->memory = memory_of(values);
        point.lists->node = point.node;
      }
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
    if (point.lists) {
      benchmark.other_gpus = point.lists->gpus;
    }
    const auto graph_claim =
        benchmark.skip.empty() ? graphs_->claim(point.spec.name(), scope_.visits_here) : nullptr;
    const auto batches_claim =
        benchmark.skip.empty() ? expected_->claim(key_of(point), scope_.visits_here) : nullptr;
    benchmark.run = [point, graphs = graphs_, graph_claim, expected = expected_, batches_claim,
                     own = scope_.labels, cache_dir = scope_.graph_cache](Session& session) {
      const GnnGraphCache::Lease graph(*graphs, *graph_claim, [&](const std::string&) {
        return std::make_unique<GnnGraph>(point.spec, cache_dir, own);
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
    if (point.lists) {
      add_memory(point.lists->memory, id.axes);
    }
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
    const std::uint64_t lists = point.spec.most_entries().value_or(0) * sizeof(graph::Vertex);
    return point.lists->placement == ListPlacement::mapped
               ? why_no_memory(machine_, point.lists->memory, gpu.ordinal, lists)
               : "";
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
      constexpr std::uint64_t kEvictor = 256 * kMiB;  // twice the L2 cache of any GPU
      needs.device_bytes = vertices * 13 + sources + kEvictor;
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
  return {"sampling/neighbours",
          kAboutSamplingNeighbours,
          {graph_axis(), fanout_axis(), number_axis("batch", "seeds of a mini-batch", {1, 1 << 30}),
           placement_axis(), memory_axis("how the host memory came to be in which lists are mapped"),
           following_axis("by", "who samples: the CPU where the lists are on the host, else a GPU"),
           following_axis("gpus", "over whose memories lists are interleaved"), gpu_axis()},
          [graphs](const Machine& machine, const Scope& scope, const Grids& grids) {
            return Lister(machine, scope, grids, graphs).list();
          },
          false,
          2};  // a GPU's cache holds nothing of the lists before
}

}  // namespace grainscope::harness
