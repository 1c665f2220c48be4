// gather: its cases, of drawn and of sampled rows, and gathers from a feature table of one's own, a file.

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "case.hpp"
#include "claim_cache.hpp"
#include "families.hpp"
#include "gnn/case.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/gnn/features.hpp"
#include "grainscope/gnn/training.hpp"
#include "grainscope/system/numa.hpp"
#include "reach.hpp"

namespace grainscope::harness {

// The file's rows, page-locked on a node in the order of a trace.
struct OwnTable {
  gnn::Features features;
  std::unique_ptr<gnn::FeatureTable> table;
};
struct OwnTableKey {
  TraceKey trace;
  int node = 0;
  friend bool operator==(const OwnTableKey&, const OwnTableKey&) = default;
};
using OwnTableCache = ClaimCache<OwnTableKey, OwnTable>;

[[nodiscard]] FeatureFacts facts_of(const gnn::NpyFile& own);

// Why a case cannot be, and what it needs; a file that is only mapped needs no memory.
[[nodiscard]] std::string why_no_own_store(const Machine& machine, const GatherPoint& point,
                                           const GatherSite& site);
[[nodiscard]] Needs own_gather_needs(const SampledPoint& sampled, const GatherSite& site);

// The CPU gathers from the mapped file, where rows stand as they do there; all others from a page-locked copy
// whose first rows are those asked for most. Throws as measure_gather and make_mapped_table.
[[nodiscard]] Measurement measure_own_gather(Session& session, const SampledPoint& sampled,
                                             const GatherSite& site, const SampledTrace& trace,
                                             const std::shared_ptr<const gnn::NpyFile>& own,
                                             OwnTableCache& tables, OwnTableCache::Claim* claim);

FeatureFacts facts_of(const gnn::NpyFile& own) {
  return {own.rows(), own.columns(), own.element()};
}

std::string why_no_own_store(const Machine& machine, const GatherPoint& point, const GatherSite& site) {
  if (!site.gpu) {
    return {};
  }
  if (!site.gpu->unavailable.empty()) {
    return site.gpu->unavailable;
  }
  return shares_memory(point) ? why_no_mapping(machine, site.gpu->ordinal) : std::string();
}

Needs own_gather_needs(const SampledPoint& sampled, const GatherSite& site) {
  const GatherPoint& point = sampled.gather;
  Needs needs;
  needs.host_bytes = gnn_host_bytes(sampled.spec);
  if (!site.gpu) {
    needs.host_bytes += point.asked_bytes();
    return needs;
  }
  needs.host_bytes += point.span_bytes;
  needs.device_bytes = gnn::store_bytes(store_request(point, site), point.span_bytes).own +
                       gnn::gather_bytes(point.mode, point.asked_rows(), point.row_bytes, most_lists(point));
  return needs;
}

Measurement measure_own_gather(Session& session, const SampledPoint& sampled, const GatherSite& site,
                               const SampledTrace& trace, const std::shared_ptr<const gnn::NpyFile>& own,
                               OwnTableCache& tables, OwnTableCache::Claim* claim) {
  const NodeBinding binding(session.machine().topology, site.node);
  const GatherPoint& point = sampled.gather;
  std::optional<OwnTableCache::Lease> lease;
  std::unique_ptr<gnn::FeatureStore> store;
  if (claim == nullptr) {
    store = gnn::make_file_store(own);
  } else {
    lease.emplace(tables, *claim, [&](const OwnTableKey&) {
      auto made = std::make_unique<OwnTable>();
      made->features = gnn::Features(own, trace.vertex_of_row);
      made->table = gnn::make_mapped_table(own->rows(), made->features);
      return made;
    });
    store = gnn::make_table_store(store_request(point, site), *(*lease)->table, (*lease)->features);
  }
  gnn::RowLists lists = lists_in_turn(point, store->shape(), [&](std::uint32_t, int count) {
    return lists_of_trace(trace.trace, count, point.window);
  });
  if (claim == nullptr) {
    for (std::vector<std::uint32_t>& list : lists) {
      for (std::uint32_t& row : list) {
        row = trace.vertex_of_row[row];
      }
    }
  }
  Measurement measurement = measure_store(session, point, site, lists, *store);
  measurement.features = facts_of(*own);
  return measurement;
}

namespace {

// gather

constexpr About kAboutGather{
    .question =
        "How fast do rows of a feature table reach a GPU, by each way to gather them and place to keep them?",
    .measures =
        "A mini-batch of a graph neural network asks for rows at random places of a table that is larger "
        "than the GPU's memory. With `neighbours` each of so many other GPUs gathers a share of the rows "
        "over its own link and writes it into the memory of the GPU that asked",
    .timed =
        "all that the mode needs until the output lies in the asked order: sorting, threads that copy into "
        "staging buffers, copies, one kernel. Not timed: drawing lists, overwriting the output and the GPU's "
        "L2 cache before each sample, sending managed pages home, and checking the whole output after each "
        "sample. Four lists of rows or more take turns",
    .formula =
        "bytes = rows * window * row; link_bytes_least = different rows that lie on the host * row, of "
        "copies every row asked for, of a managed table what left the host (of one that stays there each "
        "different row); `traffic` is the "
        "model's count of requests for the first list, with no cache: one for each 128-byte line of a warp's "
        "load",
    .source =
        "dissertation chapters 3 and 4 (naive, circular_shift, tiers, listing 4.1), DGL GraphBolt (masked, "
        "graphbolt); address_ordered is ours, and docs/method.md tells of the translation wall that it is "
        "for",
    .limits =
        "rows are drawn from a law unless they are sampled; the table's memory is shared by cases, not new "
        "in each visit. See docs/gather.md",
};

// Time on an H100: 0.2 to 0.6 s a case, with drawing and counting; locking memory 0.3 to 0.7 s a GiB, for 8
// GiB in quick, and in full for nothing that reach/gather has not locked before. quick 13 s; full, estimated,
// 45 s.

using gnn::Indices;
using gnn::Mode;
using gnn::Store;

const char* const kUsual = "usual";
const char* const kGiven = "given";
const char* const kEither = "either";
const char* const kOfGraph = "graph";
const char* const kWidest = "widest";
const char* const kElement = "element";
constexpr Indices kIndices[] = {Indices::uniform, Indices::zipf, Indices::sampled};

const char* what_is_timed(Mode mode) {
  switch (mode) {
    case Mode::cpu_gather:
      return "threads that copy rows to another place of host memory, from their common start to the last "
             "one's end";
    case Mode::cpu_gather_dma:
      return "on the host's clock: threads that copy rows into four page-locked buffers in turn, and the "
             "copies of these to the GPU, until the last has ended";
    case Mode::row_dma:
      return "a copy for each row between two events, up to 512 behind a closed gate";
    case Mode::address_ordered:
    case Mode::graphbolt:
      return "a radix sort of rows and positions, and one kernel, between two events behind a closed gate";
    default:
      return "one kernel between two events behind a closed gate";
  }
}

Explanation explain(const GatherPoint& point) {
  const std::string hint =
      point.hint == cuda::Hint::none ? "" : std::string(", ") + meaning(point.hint) + ",";
  return {
      .measures = std::string("the rate at which rows of a table that is ") + name(point.store) + hint +
                  " are gathered by " + name(point.mode) +
                  (point.neighbours > 0 ? ", each GPU of several a share, into the memory of one" : "") +
                  ", in the order asked",
      .timed =
          std::string(point.hint == cuda::Hint::prefetch
                          ? "a prefetch of the whole table, in which the driver works, and the gather by one "
                            "kernel, sorted first where the mode sorts, between two events on an idle stream"
                          : what_is_timed(point.mode)) +
          "; not drawing the rows, nor overwriting output and cache before, nor checking after"};
}

Explanation explain_own(const GatherPoint& point, const gnn::NpyFile& own) {
  Explanation explanation = explain(point);
  explanation.measures += "; the table is " + own.path() + ", " + std::to_string(own.rows()) + " rows of " +
                          std::to_string(own.columns()) + " columns";
  explanation.limits =
      point.mode == Mode::cpu_gather
          ? "the file is mapped: its first reads come from the disk, later ones from the page cache"
          : "the file's rows are copied into page-locked memory before, those asked for most first";
  return explanation;
}

// The point of a line; of sampled rows the table's size and the number of rows come with the graph. `own`:
// the user's table, or null.
GatherPoint point_of(const Values& values, const gnn::NpyFile* own) {
  GatherPoint point;
  point.mode = enumerator(values.word("mode"), gnn::kAllModes, [](Mode each) { return name(each); });
  point.store = enumerator(values.word("store"), gnn::kAllStores, [](Store each) { return name(each); });
  point.memory = shares_memory(point) ? memory_of(values) : cuda::MemoryKind::host_alloc;
  point.hint = hint_of(values);
  point.indices = enumerator(values.word("indices"), kIndices, [](Indices each) { return name(each); });
  const bool of_file = own != nullptr && point.indices == Indices::sampled;
  point.row_bytes = of_file ? own->row_bytes() : values.number_as<std::uint32_t>("row");
  point.element = of_file ? own->element() : values.number_as<std::uint32_t>("element");
  const bool by_threads = point.mode == Mode::cpu_gather || point.mode == Mode::cpu_gather_dma;
  point.rows = values.is("rows", kUsual) ? usual_rows(point.row_bytes, (by_threads ? 64 : 256) * kMiB)
                                         : values.number("rows");
  point.span_bytes = values.is("span", kOfGraph) ? 0 : values.number("span");
  if (values.is("width", kWidest)) {
    const bool by_element = point.mode == Mode::naive || point.mode == Mode::circular_shift;
    point.width = by_element ? point.element : gnn::widest_load(point.mode, point.row_bytes);
  } else {
    point.width = values.is("width", kElement) ? point.element : values.number_as<std::uint32_t>("width");
  }
  // What a mode or a store does not have, nobody asks it for.
  point.width = point.mode == Mode::bulk ? gnn::kBulkUnitBytes : point.width;
  point.window = point.mode == Mode::address_ordered ? values.number_as<int>("window") : 1;
  point.hot = has_hot_rows(point.store) ? values.number_as<int>("hot") : 0;
  if (point.store == Store::multi_gpu) {
    point.replicated = values.number_as<int>("replicated");
    point.gpus = values.number_as<int>("gpus");
  }
  point.neighbours = values.number_as<int>("neighbours");
  return point;
}

// Why it cannot be, whatever the machine; empty: it can.
std::string why_no_gather(const GatherPoint& point, const gnn::NpyFile* own) {
  const std::string mode = name(point.mode);
  const std::string row = std::to_string(point.row_bytes);
  if (!gnn::can_read(point.mode, point.store)) {
    std::string stores;
    for (const Store store : gnn::kAllStores) {
      stores +=
          gnn::can_read(point.mode, store) ? (stores.empty() ? "" : ", ") + std::string(name(store)) : "";
    }
    return mode + " reads no table that is " + name(point.store) + ": store is " + stores;
  }
  if (point.element != 2 && point.element != 4) {
    return "an element has 2 or 4 bytes";
  }
  if (point.row_bytes % point.element != 0) {
    return "a row of " + row + " bytes is no whole number of elements of " + std::to_string(point.element);
  }
  if (point.mode == Mode::vector && point.width <= point.element) {
    return "vector loads more than an element at once, which divides the row: of " + row +
           " bytes nothing does";
  }
  if (point.mode == Mode::bulk && !gnn::may_load(point.mode, point.row_bytes, point.element, point.width)) {
    return "bulk copies rows of whole " + std::to_string(gnn::kBulkUnitBytes) + " bytes, " +
           std::to_string(gnn::kLeastBulkRow) + " at least; not of " + row;
  }
  if (gnn::is_kernel(point.mode) && !gnn::may_load(point.mode, point.row_bytes, point.element, point.width)) {
    return mode + " cannot load " + std::to_string(point.width) + " bytes at once of rows of " + row +
           ": width is widest" + (gnn::sorts(point.mode) ? "" : " or element");
  }
  if (point.hot + point.replicated > 100) {
    return "hot and replicated are 100 percent of the rows at most";
  }
  if (point.indices != Indices::sampled && point.row_bytes > std::min(point.span_bytes, kGiB)) {
    return "a row of " + row + " bytes does not fit: it is as large as the table at most, and as a GiB";
  }
  if (point.mode == Mode::row_dma && point.memory == cuda::MemoryKind::managed_host) {
    return "copies from managed memory wait for the stream that they stand in: row_dma reads none";
  }
  if (point.neighbours > 0 && !(gnn::is_kernel(point.mode) && point.store == Store::mapped)) {
    return "neighbours gather by kernels from a table that is mapped";
  }
  if (std::string why = why_not_by_several(point.memory); point.neighbours > 0 && !why.empty()) {
    return why;
  }
  if (point.hint != cuda::Hint::none && point.store != Store::managed) {
    return "hints are of managed memory: store is managed";
  }
  const bool from_file = own != nullptr && point.indices == Indices::sampled;
  if (from_file && point.neighbours > 0) {
    return "rows of --features are gathered by one GPU";
  }
  if (from_file && point.memory != cuda::MemoryKind::host_alloc) {
    return "a table of --features is of memory host_alloc";
  }
  if (from_file && (point.store == Store::managed || point.store == Store::multi_gpu ||
                    (point.store == Store::pageable && point.mode != Mode::cpu_gather))) {
    return std::string("a table of --features cannot be ") + name(point.store) + " for " + mode;
  }
  return {};
}

// A gather, over a trace where its rows are sampled, at its site. Sorted so that the CPU's come first, then
// GPU by GPU; a trace is sampled once, and memory grows with the spans.
struct Listed {
  SampledPoint point;
  GatherSite site;

  [[nodiscard]] bool is_sampled() const { return point.gather.indices == Indices::sampled; }
  [[nodiscard]] auto order() const {
    return std::tuple(site.ordinal(), site.node, is_sampled(), point.trace.graph, point.trace.fanout,
                      point.trace.seeds, point.gather.memory, span_key(point.gather, site).others,
                      point.gather.span_bytes);
  }
};

class Lister {
 public:
  Lister(const Machine& machine, const Scope& scope, const Grids& grids, Spans spans)
      : machine_(machine),
        scope_(scope),
        grids_(grids),
        own_(scope.features.get()),
        cache_(std::move(spans)) {}

  std::vector<Benchmark> list() {
    for (const Grid& grid : grids_) {
      collect_line(grid.with("graph", "given"), nullptr);
    }
    grids_.each_graph([&](const graph::GraphSpec& spec, const Grid& grid) { collect_line(grid, &spec); },
                      sizeof(graph::Vertex));
    std::stable_sort(listed_.begin(), listed_.end(),
                     [](const Listed& a, const Listed& b) { return a.order() < b.order(); });
    for (const Listed& listed : listed_) {
      if (listed.is_sampled()) {
        add_sampled(listed.point, listed.site);
      } else {
        add(listed.point.gather, listed.site);
      }
    }
    return std::move(benchmarks_);
  }

 private:
  // The points of a line that sample rows from a graph, or those that draw them by a law.
  void collect_line(const Grid& grid, const graph::GraphSpec* spec) {
    const std::string features = grid.word("features");
    if (features != kEither && (features == kGiven) != (own_ != nullptr)) {
      return;
    }
    // The CPU alone gathers on each node, or the first.
    const std::size_t nodes =
        std::min<std::size_t>(grid.word("node") == "each" ? SIZE_MAX : 1, scope_.nodes.size());
    for (std::size_t i = 0; i < nodes; ++i) {
      collect_site(grid, spec, {scope_.nodes[i], {}, {}});
    }
    for (const GpuTarget& gpu : grids_.gpus(grid)) {
      collect_site(grid, spec, {scope_.nearest_node(gpu), gpu, sharing_gpus(machine_, gpu.ordinal)});
    }
  }

  void collect_site(const Grid& grid, const graph::GraphSpec* spec, const GatherSite& site) {
    for (const Values& values : grid.points(sharing_names(site.gpus))) {
      if (values.is("mode", name(Mode::cpu_gather)) != site.gpu.has_value() &&
          values.is("indices", name(Indices::sampled)) == (spec != nullptr)) {
        collect_point(values, spec, site);
      }
    }
  }

  void collect_point(const Values& values, const graph::GraphSpec* spec, GatherSite site) {
    const GatherPoint point = point_of(values, own_);
    const bool sampled = spec != nullptr;
    site.neighbours = gpus_that_help(machine_, point, site.gpus);
    site.gpus = gpus_with_rows(point, std::move(site.gpus));
    std::string why = why_no_gather(point, own_);
    if (values.is("span", kOfGraph) != sampled) {
      why = sampled ? "sampled rows are of a table with one for each vertex: span is graph"
                    : "rows that are drawn are of a table of some size: span cannot be graph";
    }
    const auto vertices = !sampled          ? std::uint64_t{0}
                          : own_ != nullptr ? std::uint64_t{own_->rows()}
                                            : spec->vertices();
    if (why.empty() && !vertices) {
      why = "how many vertices a file has is known when it is read: rows of one need --features";
    }
    if (!why.empty()) {
      grids_.leave_out(why);
    } else if (sampled) {
      const TraceKey trace{spec->name(), values.word("fanout"), values.number("batch"),
                           values.number("batches")};
      listed_.push_back({sampled_point(point, *spec, trace, *vertices, own_), std::move(site)});
    } else {
      listed_.push_back({{point, {}, {}}, std::move(site)});
    }
  }

  [[nodiscard]] Benchmark benchmark_of(const GatherPoint& point, const GatherSite& site) const {
    Benchmark benchmark;
    benchmark.id = gather_id(point, site);
    benchmark.skip = why_no_store(machine_, point, site);
    if (benchmark.skip.empty()) {
      benchmark.needs = gather_needs(point, site);
      benchmark.skip_for_now(why_too_much(machine_, scope_, benchmark.needs.shared_host_bytes));
    }
    benchmark.explanation = explain(point);
    benchmark.other_gpus = site.gpus;
    benchmark.other_gpus.insert(benchmark.other_gpus.end(), site.neighbours.begin(), site.neighbours.end());
    return benchmark;
  }

  // A case that is skipped will not ask for memory: nobody should keep it for one.
  [[nodiscard]] std::shared_ptr<SpanCache::Claim> claim_for(const Benchmark& benchmark,
                                                            const GatherPoint& point,
                                                            const GatherSite& site) const {
    return benchmark.skip.empty() && shares_memory(point)
               ? cache_->claim(span_key(point, site), scope_.visits_here, benchmark.needs.shared_host_bytes)
               : nullptr;
  }

  void add(const GatherPoint& point, const GatherSite& site) {
    Benchmark benchmark = benchmark_of(point, site);
    const auto claim = claim_for(benchmark, point, site);
    benchmark.run = [point, site, cache = cache_, claim](Session& session) {
      return measure_gather(
          session, point, site,
          [&](std::uint32_t table_rows, int count) { return drawn_lists(point, table_rows, count); }, *cache,
          claim.get());
    };
    benchmarks_.push_back(std::move(benchmark));
  }

  void name_trace(Case& id, const TraceKey& trace) const {
    id.axes.push_back({"graph", trace.graph});
    id.axes.push_back({"fanout", trace.fanout});
    id.axes.push_back({"batch", static_cast<std::int64_t>(trace.seeds)});
    name_labels(scope_.labels.get(), id);
  }

  void add_sampled(const SampledPoint& sampled, const GatherSite& site) {
    if (own_ != nullptr) {
      add_own(sampled, site);
      return;
    }
    const GatherPoint& point = sampled.gather;
    Benchmark benchmark = benchmark_of(point, site);
    name_trace(benchmark.id, sampled.trace);
    benchmark.needs.host_bytes += benchmark.skip.empty() ? gnn_host_bytes(sampled.spec) : 0;
    const auto claim = claim_for(benchmark, point, site);
    const auto trace_claim =
        benchmark.skip.empty() ? traces_->claim(sampled.trace, scope_.visits_here) : nullptr;
    benchmark.run = [sampled, site, cache = cache_, claim, traces = traces_, trace_claim,
                     labels = scope_.labels, cache_dir = scope_.graph_cache](Session& session) {
      const TraceCache::Lease sample(*traces, *trace_claim, [&](const TraceKey& key) {
        return make_trace(sampled.spec, key, cache_dir, labels);
      });
      return measure_gather(
          session, sampled.gather, site,
          [&](std::uint32_t, int count) {
            return lists_of_trace(sample->trace, count, sampled.gather.window);
          },
          *cache, claim.get());
    };
    benchmarks_.push_back(std::move(benchmark));
  }

  // From the user's file.
  void add_own(const SampledPoint& sampled, const GatherSite& site) {
    Benchmark benchmark;
    benchmark.id = gather_id(sampled.gather, site);
    name_trace(benchmark.id, sampled.trace);
    benchmark.id.axes.push_back({"features", own_->stem()});
    benchmark.skip = why_no_own_store(machine_, sampled.gather, site);
    benchmark.needs = own_gather_needs(sampled, site);
    benchmark.explanation = explain_own(sampled.gather, *own_);
    std::shared_ptr<TraceCache::Claim> trace_claim;
    std::shared_ptr<OwnTableCache::Claim> claim;
    if (benchmark.skip.empty()) {
      trace_claim = traces_->claim(sampled.trace, scope_.visits_here);
      claim = site.gpu ? own_tables_->claim({sampled.trace, site.node}, scope_.visits_here) : nullptr;
    }
    benchmark.run = [sampled, site, own = scope_.features, tables = own_tables_, claim, traces = traces_,
                     trace_claim, labels = scope_.labels, cache_dir = scope_.graph_cache](Session& session) {
      const TraceCache::Lease sample(*traces, *trace_claim, [&](const TraceKey& key) {
        return make_trace(sampled.spec, key, cache_dir, labels, own.get());
      });
      return measure_own_gather(session, sampled, site, *sample, own, *tables, claim.get());
    };
    benchmarks_.push_back(std::move(benchmark));
  }

  const Machine& machine_;
  const Scope& scope_;
  const Grids& grids_;
  const gnn::NpyFile* own_;
  Spans cache_;
  std::shared_ptr<TraceCache> traces_ = std::make_shared<TraceCache>();
  std::shared_ptr<OwnTableCache> own_tables_ = std::make_shared<OwnTableCache>();
  std::vector<Listed> listed_;
  std::vector<Benchmark> benchmarks_;
};

}  // namespace

Family gather(const Spans& spans) {
  DeclaredAxis graph = graph_axis();
  graph.means += "; of sampled rows";
  graph.otherwise = "pareto:20";
  return {
      "gather",
      kAboutGather,
      {word_axis("mode", "how rows are gathered",
                 names_of(gnn::kAllModes, [](Mode each) { return name(each); })),
       word_axis("store", "where the table is",
                 names_of(gnn::kAllStores, [](Store each) { return name(each); }), name(Store::mapped)),
       memory_axis(
           "how the host memory came to be that has rows: of stores pinned, mapped, tiered, multi_gpu"),
       hint_axis("what the driver is told of a table that is managed", cuda::Hint::none),
       word_axis("indices", "which rows are asked for: drawn by a law, or sampled from a graph",
                 names_of(kIndices, [](Indices each) { return name(each); }), name(Indices::uniform)),
       size_axis("row", "bytes of a row; of sampled ones those of --features where given", {2, kGiB}, false,
                 "512"),
       number_axis(
           "rows",
           "rows of a mini-batch where they are drawn; usual: 1 Mi, or as many as make 256 MiB, where "
           "threads copy them 64 MiB",
           {1, 1 << 30}, kUsual, {kUsual}),
       size_axis("span", "bytes of the table; graph: a row for each vertex, where rows are sampled",
                 {2, 1024 * kGiB}, true, kOfGraph, {kOfGraph}),
       number_axis("element", "bytes of an element: 4 or 2", {2, 4}, "4"),
       number_axis("width", "bytes that a lane of a kernel loads at once; widest: as the mode can", {2, 16},
                   kWidest, {kWidest, kElement}),
       number_axis("window", "mini-batches that address_ordered gathers together", {1, 1024}, "1"),
       number_axis("hot", "percent of the rows that are on GPUs: of stores tiered and multi_gpu", {1, 100},
                   "10"),
       number_axis("replicated", "percent of the rows that each GPU has: of a store multi_gpu", {0, 100},
                   "0"),
       sharing_axis(),
       number_axis("neighbours",
                   "GPUs that each gather a share over their own links, into the memory of the one that asks",
                   {0, gnn::kMostGpus - 1}, "0"),
       std::move(graph),
       checked_axis(
           "fanout", "neighbours that are sampled in each hop, as 10x25",
           [](const std::string& text) { static_cast<void>(gnn::parse_fanouts(text)); }, "10x25"),
       number_axis("batch", "seeds of a mini-batch of which rows are sampled", {1, 1 << 30}, "1000"),
       untold(number_axis("batches", "mini-batches whose rows a case asks for in turn, of sampled rows",
                          {1, 1024}, std::to_string(TraceKey{}.batches))),
       place_axis(
           "features",
           "when there are cases: where --features names a file, where it names none, or in either case",
           {kGiven, "none", kEither}, kEither),
       gpu_axis(),
       node_axis()},
      [spans](const Machine& machine, const Scope& scope, const Grids& grids) {
        return Lister(machine, scope, grids, spans).list();
      }};
}

}  // namespace grainscope::harness
