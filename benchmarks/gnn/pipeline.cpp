// pipeline/graphsage

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "families.hpp"
#include "gather/case.hpp"
#include "gnn/pipeline_case.hpp"
#include "gnn/sm_share_case.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/gnn/pipeline.hpp"
#include "grainscope/system/numa.hpp"

namespace grainscope::harness {
namespace {

constexpr About kAboutPipelineGraphsage{
    .question = "How fast does GraphSAGE train, by the way in which feature rows come to the GPU?",
    .measures =
        "A sampler draws mini-batch i + 2 on the GPU, a producer gathers the rows of mini-batch i + 1 into "
        "one of two buffers, and the consumer trains on mini-batch i: forward, backward and SGD, products by "
        "cuBLAS in float32. With `processes:mps` sampler and producer are one process and the consumer "
        "another, as in the dissertation's 3.3.2: clients of MPS of which the first has `percent` of the "
        "GPU, with rows and lists in memory that they share by CUDA IPC (figure 3.12). With "
        "`processes:per_gpu` each GPU has a process, with its part of the CPUs and a table of its own, and "
        "reads the others' rows and gradients by CUDA IPC (4.2). With `placement:host` the CPU samples and "
        "sends what it has drawn (figure 4.12); otherwise the graph lies in each GPU's memory, on the host, "
        "or interleaved over the GPUs (4.4.5). With `bounded:off` gather kernels share all of the GPU, as "
        "the dissertation's naive ones do (3.3)",
    .timed =
        "the time from the end of one step to the end of the next, in a run of a fixed number of "
        "mini-batches; with several GPUs a step is a mini-batch on each, gradients averaged. Not timed: "
        "making the graph, presampling and renumbering it so that hot rows come first, filling the table, "
        "the first step",
    .formula =
        "bytes: rows asked for × bytes of a row, in the mean over mini-batches; link bytes: those beyond the "
        "rows that the GPU keeps",
    .source = "dissertation 3.4, 4.2 and 4.4",
    .limits =
        "features and labels are synthetic, labelled vertices a tenth, or --train-ids; on the CPU alone "
        "products are our own, by tiles in registers or plain loops, not a tuned library's. See "
        "docs/pipeline.md",
};

using gnn::Mode;
using gnn::Store;
using graph::GraphSpec;

const char* const kOneProcess = "none";
const char* const kAllGpus = "all";
const char* const kProcesses[] = {"one", "per_gpu"};
constexpr Mode kModes[] = {Mode::cpu_gather,     Mode::cpu_gather_dma, Mode::naive,
                           Mode::circular_shift, Mode::masked,         Mode::address_ordered};
constexpr Store kStores[] = {Store::pageable, Store::pinned, Store::mapped,
                             Store::device,   Store::tiered, Store::multi_gpu};

std::string mode_name(Mode mode) {
  PipelinePoint point;
  point.mode = mode;
  return point.mode_name();
}

// Throws UsageError where it cannot be.
void require_possible(const PipelinePoint& point) {
  static_cast<void>(point.request());
  const auto least = std::uint64_t{3} * static_cast<std::uint64_t>(point.gpus * point.window);
  if (point.training.batches < least) {
    throw UsageError("a training pipeline of three stages needs " + std::to_string(least) +
                     " mini-batches at least: batches is " + std::to_string(point.training.batches));
  }
  if (point.mode == Mode::circular_shift && point.training.row_bytes % gnn::kLineBytes == 0) {
    throw UsageError("a circular shift leaves rows of whole lines as they are: mode is naive");
  }
}

std::string said_of_features(const gnn::NpyFile* own) {
  return own == nullptr ? "features and labels are synthetic"
                        : "features are those of " + own->path() + ", labels are synthetic";
}

std::string said_of_lists(const PipelinePoint& point) {
  if (!point.placement) {
    return "the CPU samples by all threads, and sends what it has drawn";
  }
  switch (*point.placement) {
    case gnn::ListPlacement::device:
      return "the graph lies in each GPU's memory";
    case gnn::ListPlacement::mapped:
      return "the graph's lists lie on the host, once for each GPU";
    case gnn::ListPlacement::interleaved:
      return "the graph's lists lie interleaved over the GPUs' memories";
  }
  return {};
}

Explanation explain(const PipelinePoint& point, const gnn::NpyFile* own) {
  if (point.mode == Mode::cpu_gather) {
    return {"the time of a mini-batch of GraphSAGE training on the CPU alone",
            "sampling, gathering and a training step, one after another, each by all threads",
            "bytes = rows of a mini-batch * row, in the mean", "dissertation 3.4",
            (point.products == gnn::Products::plain
                 ? "products are plain loops, not a tuned library; "
                 : "products are of our own tiles in registers, not of a tuned library; ") +
                said_of_features(own)};
  }
  return {
      std::string("the time of a mini-batch of GraphSAGE training whose rows come by ") + point.mode_name() +
          " from a table that is " + name(point.store) +
          (point.bounded ? "" : ", by as many blocks as the whole GPU has room for") +
          (point.percent > 0 ? ", in a process that has " + percent_text(point.percent) +
                                   " percent of the GPU while another trains on the rest"
                             : ""),
      "between the ends of two training steps, while later mini-batches are sampled and gathered; not the "
      "first, nor making graph and table",
      "bytes = rows of a mini-batch * row * gpus, in the mean; link_bytes_least = those beyond the rows that "
      "the GPU keeps, of a window each row once; overlap = (sum of stages - pipelined) / (sum - slowest)",
      point.percent > 0 ? "dissertation 3.3.2, figure 3.12"
      : point.bounded   ? "dissertation 3.4, 4.2 and 4.4"
                        : "dissertation 3.3",
      said_of_features(own) + ", a tenth of the vertices is trained on, or --train-ids; " +
          (point.percent > 0 ? "sampling has the gather's share of the GPU"
           : point.per_gpu   ? "each GPU has a process, with its part of the CPUs and a table of its own"
                             : "stages are streams of one process") +
          "; " + said_of_lists(point)};
}

// Each in a process of its own, where that is not this one.
bool fills_own_tables(const PipelinePoint& point) {
  return point.percent > 0 || point.per_gpu;
}

// Of a case that will run; of one that is skipped none.
struct Claims {
  std::shared_ptr<GnnGraphCache::Claim> graph;
  std::shared_ptr<TrainingCache::Claim> plan;
  std::shared_ptr<TableCache::Claim> table;  // processes fill their own
  std::shared_ptr<MpsCache::Claim> daemon;
};

class Lister {
 public:
  Lister(const Machine& machine, const Scope& scope, const Grids& grids, GnnGraphs graphs)
      : machine_(machine), scope_(scope), grids_(grids), graphs_(std::move(graphs)) {}

  std::vector<Benchmark> list() {
    struct Place {
      GraphSpec spec;
      PipelinePoint point;
      std::vector<GpuTarget> gpus;
    };
    std::vector<Place> places;
    grids_.each_graph(
        [&](const GraphSpec& spec, const Grid& grid) {
          const std::vector<GpuTarget> gpus = grids_.gpus(grid);
          for (const Values& values : grid.points({{kAllGpus, most_of(gpus)}})) {
            if (const auto point = point_of(spec, values)) {
              places.push_back({spec, *point, gpus});
            }
          }
        },
        sizeof(graph::Vertex));
    stand_together(places, [](const Place& place) { return place.point.training; });
    for (const Place& place : places) {
      add(place.spec, place.point, place.gpus);
    }
    return std::move(benchmarks_);
  }

 private:
  // Absent, with the reason, where it cannot be.
  [[nodiscard]] std::optional<PipelinePoint> point_of(const GraphSpec& spec, const Values& values) const {
    PipelinePoint point;
    point.training = {
        spec.name(),
        gnn::parse_fanouts(values.word("fanout")),
        values.number("batch"),
        values.number("batches"),
        scope_.features != nullptr ? scope_.features->row_bytes() : values.number_as<std::uint32_t>("row"),
        values.number_as<std::uint32_t>("hidden")};
    point.mode = enumerator(values.word("mode"), kModes, mode_name);
    point.store = enumerator(values.word("store"), kStores, [](Store each) { return name(each); });
    const bool has_hot = point.store == Store::tiered || point.store == Store::multi_gpu;
    const bool placed = point.store == Store::mapped || has_hot;
    point.memory = placed ? memory_of(values) : cuda::MemoryKind::host_alloc;
    point.hot = has_hot ? values.number_as<int>("hot") : 0;
    point.window = point.mode == Mode::address_ordered ? values.number_as<int>("window") : 1;
    point.gpus = values.number_as<int>("gpus");
    point.percent = values.is("percent", kOneProcess) ? 0 : values.decimal("percent");
    point.placement = placement_of(values);
    point.bounded = values.on("bounded");
    point.products = enumerator(values.word("products"), gnn::kProducts,
                                [](gnn::Products each) { return gnn::name(each); });
    point.per_gpu = values.is("processes", "per_gpu");
    if (fills_own_tables(point) && scope_.features != nullptr) {
      grids_.leave_out("several processes fill tables of their own, by the closed form: not by --features");
      return std::nullopt;
    }
    if (fills_own_tables(point) && point.memory != cuda::MemoryKind::host_alloc) {
      grids_.leave_out("processes that fill tables of their own have them in memory host_alloc");
      return std::nullopt;
    }
    if (const std::string why = why_not_by_several(point.memory); point.gpus > 1 && !why.empty()) {
      grids_.leave_out(why);
      return std::nullopt;
    }
    try {
      require_possible(point);
      if (scope_.features == nullptr) {
        static_cast<void>(point.training.request());
      }
    } catch (const UsageError& error) {
      grids_.leave_out(error.what());
      return std::nullopt;
    }
    return point;
  }

  [[nodiscard]] std::size_t most_of(const std::vector<GpuTarget>& gpus) const {
    std::size_t most = 1;
    for (const GpuTarget& gpu : gpus) {
      most = std::max(most, team_of(machine_, gpu.ordinal).size());
    }
    return most;
  }

  void add(const GraphSpec& spec, const PipelinePoint& point, const std::vector<GpuTarget>& gpus) {
    if (point.mode == Mode::cpu_gather) {
      add(spec, point, PipelineSite{scope_.nodes.empty() ? 0 : scope_.nodes.front(), {}, {}});
      return;
    }
    for (const GpuTarget& gpu : gpus) {
      std::vector<int> team = team_of(machine_, gpu.ordinal);
      team.resize(std::min(team.size(), static_cast<std::size_t>(point.gpus)));
      add(spec, point, PipelineSite{scope_.nearest_node(gpu), gpu, std::move(team)});
    }
  }

  void add(const GraphSpec& spec, const PipelinePoint& point, const PipelineSite& site) {
    Benchmark benchmark;
    benchmark.id = case_of(point, site);
    benchmark.skip = why_not(spec, point, site);
    benchmark.explanation = explain(point, scope_.features.get());
    benchmark.other_gpus = site.gpus;
    Claims claims;
    if (benchmark.skip.empty()) {
      benchmark.needs = needs_of(spec, point);
      claims = claims_of(point, site);
    }
    benchmark.run = [spec, point, site, claims, graphs = graphs_, plans = plans_, tables = tables_,
                     daemons = daemons_, own = scope_.features, labels = scope_.labels,
                     cache_dir = scope_.graph_cache](Session& session) {
      const NodeBinding binding(session.machine().topology, site.node);
      const GnnGraphCache::Lease graph(*graphs, *claims.graph, [&](const std::string&) {
        return std::make_unique<GnnGraph>(spec, cache_dir, labels);
      });
      const TrainingCache::Lease work(*plans, *claims.plan, [&](const TrainingPoint& wanted) {
        const gnn::TrainingRequest request = wanted.request();
        return std::make_unique<TrainingWork>(TrainingWork{
            gnn::plan_training(graph->in_edges(), request, own, graph->trained_on(request.labelled_percent)),
            {},
            {},
            {}});
      });
      if (claims.daemon) {
        const MpsCache::Lease daemon(*daemons, *claims.daemon,
                                     [&](int gpu) { return start_mps(session.machine(), gpu); });
        return measure_processes(session, point, site, *work, *daemon);
      }
      if (!claims.table) {
        return measure_pipeline(session, point, site, *work, nullptr);
      }
      const TableCache::Lease table(*tables, *claims.table, [&](const TableKey& wanted) {
        const gnn::Features& features = work->plan.features;
        return wanted.mapped ? gnn::make_mapped_table(graph->vertices(), features, *wanted.mapped,
                                                      session.surroundings())
                             : gnn::make_pageable_table(graph->vertices(), features);
      });
      return measure_pipeline(session, point, site, *work, &*table);
    };
    benchmarks_.push_back(std::move(benchmark));
  }

  [[nodiscard]] Claims claims_of(const PipelinePoint& point, const PipelineSite& site) const {
    const TrainingPoint& training = point.training;
    TableKey key{training.graph, training.request().shape.features, {}, mapped_for(point, site), site.node};
    if (scope_.features != nullptr) {
      key.ordered_by = training;
    }
    return {graphs_->claim(training.graph, scope_.visits_here), plans_->claim(training, scope_.visits_here),
            fills_own_tables(point) ? nullptr : tables_->claim(key, scope_.visits_here),
            point.percent > 0 ? daemons_->claim(site.gpu->ordinal, scope_.visits_here) : nullptr};
  }

  // Of the table's memory. What the driver locks it maps for every GPU: one table serves all.
  [[nodiscard]] std::optional<cuda::MappedRequest> mapped_for(const PipelinePoint& point,
                                                              const PipelineSite& site) const {
    if (point.store == Store::pageable || !site.gpu) {
      return std::nullopt;
    }
    cuda::MappedRequest request{.kind = point.memory, .gpu = scope_.gpus.front().ordinal, .home = site.node};
    if (point.memory != cuda::MemoryKind::host_alloc) {
      request.gpu = site.gpu->ordinal;
      for (const int gpu : site.gpus) {
        request.others |= std::uint64_t{1} << gpu;
      }
    }
    return request;
  }

  [[nodiscard]] Case case_of(const PipelinePoint& point, const PipelineSite& site) const {
    const TrainingPoint& training = point.training;
    Case id{"pipeline/graphsage",
            {{"mode", point.mode_name(), AxisStyle::bare}, {"store", name(point.store), AxisStyle::bare}},
            {{"numa", site.node}}};
    id.axes.push_back({"locality", site.gpu ? site.gpu->locality(site.node) : "local", AxisStyle::hidden});
    id.axes.push_back({"graph", training.graph});
    id.axes.push_back({"fanout", gnn::fanout_text(training.fanouts)});
    id.axes.push_back({"batch", static_cast<std::int64_t>(training.batch)});
    id.axes.push_back({"row", std::int64_t{training.row_bytes}});
    id.axes.push_back({"hidden", std::int64_t{training.hidden}});
    if (point.mode == Mode::address_ordered) {
      id.axes.push_back({"window", std::int64_t{point.window}});
    }
    add_memory(point.memory, id.axes);
    if (point.store == Store::tiered || point.store == Store::multi_gpu) {
      id.axes.push_back({"hot", std::int64_t{point.hot}});
    }
    if (point.placement != gnn::ListPlacement::device) {
      id.axes.push_back({"placement", placement_name(point.placement)});
    }
    if (!point.bounded) {
      id.axes.push_back({"bounded", "off"});
    }
    if (point.products != gnn::Products::plain) {
      id.axes.push_back({"products", gnn::name(point.products)});
    }
    if (scope_.features != nullptr) {
      id.axes.push_back({"features", scope_.features->stem()});
    }
    name_labels(scope_.labels.get(), id);
    if (site.gpu) {
      id.axes.push_back({"gpus", std::int64_t{point.gpus}});
      id.site.push_back({"gpu", site.gpu->ordinal});
    }
    if (point.per_gpu) {
      id.axes.push_back({"processes", "per_gpu"});
    }
    if (point.percent > 0) {
      id.axes.push_back({"processes", "mps"});
      id.axes.push_back({"percent", percent_text(point.percent)});
    }
    return id;
  }

  [[nodiscard]] std::string why_not(const GraphSpec& spec, const PipelinePoint& point,
                                    const PipelineSite& site) const {
    if (scope_.features != nullptr && scope_.features->element() != sizeof(float)) {
      return "the feature table has float16 elements; training takes float32 (array.astype('<f4'))";
    }
    if (!site.gpu) {
      return {};
    }
    if (!site.gpu->unavailable.empty()) {
      return site.gpu->unavailable;
    }
    if (static_cast<int>(site.gpus.size()) < point.gpus) {
      return site.gpus.size() < 2
                 ? why_no_sharing(machine_, site.gpu->ordinal)
                 : "of the GPUs that GPU " + std::to_string(site.gpu->ordinal) + " reaches only " +
                       std::to_string(site.gpus.size()) + ", itself among them, reach each other";
    }
    if (point.percent > 0 && find_program(kMpsControl).empty()) {
      return std::string(kMpsControl) + " is not in PATH: it comes with the driver's utilities";
    }
    const bool reads_host =
        point.store == Store::mapped || point.store == Store::tiered || point.store == Store::multi_gpu;
    const std::uint64_t rows = spec.vertices().value_or(0) * point.training.row_bytes;
    std::string why;
    for (const int gpu : site.gpus) {
      why = reads_host && why.empty() ? why_no_memory(machine_, point.memory, gpu, rows) : why;
    }
    return why;
  }

  [[nodiscard]] Needs needs_of(const GraphSpec& spec, const PipelinePoint& point) const {
    const gnn::NpyFile* const own = scope_.features.get();
    const std::uint64_t vertices = own != nullptr ? own->rows() : spec.vertices().value_or(0);
    const std::uint64_t entries = spec.most_entries().value_or(0);
    // A file that the CPU reads is mapped, and takes nothing.
    const bool mapped = own != nullptr && point.store == Store::pageable;
    const std::uint64_t table = mapped ? 0 : vertices * point.training.row_bytes;
    Needs needs;
    // Beside making the graph: the same renumbered, counts and labels.
    needs.host_bytes = gnn_host_bytes(spec) + entries * sizeof(graph::Vertex) + vertices * 32 + table;
    if (point.mode != Mode::cpu_gather) {
      const gnn::TrainingRequest training = point.training.request();
      const gnn::PipelineRequest request = point.request();
      const auto known = static_cast<graph::Vertex>(vertices);
      const std::uint64_t hot =
          gnn::hot_rows(known, point.store, point.hot) * std::uint64_t{point.training.row_bytes};
      const auto gpus = static_cast<std::uint64_t>(point.gpus);
      needs.device_bytes = gnn::pipeline_gpu_bytes(training, request, known, entries) +
                           (point.store == Store::multi_gpu ? hot / gpus : hot);
      needs.host_bytes += gnn::pipeline_host_bytes(training, request, known, entries);
    }
    if (point.per_gpu) {
      // The plan once more, and of what each process has those of the others.
      const auto others = static_cast<std::uint64_t>(point.gpus) - 1;
      needs.host_bytes += entries * sizeof(graph::Vertex) + vertices * 16 + others * table;
      needs.device_bytes += kGiB;
    }
    if (point.percent > 0) {
      // The plan once more, for the processes, which have contexts of their own.
      needs.host_bytes += entries * sizeof(graph::Vertex) + vertices * 16;
      needs.device_bytes += kGiB;
    }
    return needs;
  }

  const Machine& machine_;
  const Scope& scope_;
  const Grids& grids_;
  GnnGraphs graphs_;
  std::shared_ptr<TrainingCache> plans_ = std::make_shared<TrainingCache>();
  std::shared_ptr<TableCache> tables_ = std::make_shared<TableCache>();
  std::shared_ptr<MpsCache> daemons_ = std::make_shared<MpsCache>();
  std::vector<Benchmark> benchmarks_;
};

}  // namespace

Family pipeline_graphsage(const GnnGraphs& graphs) {
  DeclaredAxis percent = percent_axis(
      "percent", "of the GPU for a process that samples and gathers, while another trains", kOneProcess);
  percent.words = {kOneProcess};
  return {
      "pipeline/graphsage",
      kAboutPipelineGraphsage,
      {graph_axis(), word_axis("mode", "how rows come to the GPU", names_of(kModes, mode_name)),
       word_axis("store", "where the feature table lies",
                 names_of(kStores, [](Store each) { return name(each); })),
       memory_axis("how the host memory came to be that has rows: of stores mapped, tiered and multi_gpu"),
       fanout_axis("10x25"), number_axis("batch", "seeds of a mini-batch", {1, 1 << 30}, "1000"),
       untold(number_axis("batches", "mini-batches of a run", {1, 1 << 20}, "24")),
       size_axis("row", "bytes of a row; those of --features where given", {4, kGiB}, false, "512"),
       number_axis("hidden", "features of a hidden layer", {1, 1 << 16}, "128"),
       number_axis("hot", "percent of the rows on GPUs: on each, of store tiered, or on all, of multi_gpu",
                   {0, 100}, "10"),
       placement_axis("device"),
       switch_axis("bounded",
                   "whether gathers over the link have few multiprocessors, of their own, and few blocks",
                   "on"),
       word_axis("products", "how the CPU multiplies matrices, of mode cpu_only",
                 names_of(gnn::kProducts, [](gnn::Products each) { return gnn::name(each); }),
                 gnn::name(gnn::Products::plain)),
       number_axis("window", "mini-batches gathered together, of mode address_ordered", {1, 1024}, "1"),
       number_axis("gpus", "that train together; all: as many as reach each other", {1, gnn::kMostGpus}, "1",
                   {}, {kAllGpus}),
       word_axis("processes", "of a training: one, or one for each GPU",
                 {std::begin(kProcesses), std::end(kProcesses)}, kProcesses[0]),
       std::move(percent), gpu_axis()},
      [graphs](const Machine& machine, const Scope& scope, const Grids& grids) {
        return Lister(machine, scope, grids, graphs).list();
      }};
}

}  // namespace grainscope::harness
