#include "case.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "gnn/case.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/gnn/sampling.hpp"
#include "grainscope/gnn/scores.hpp"
#include "grainscope/model/link.hpp"
#include "grainscope/system/numa.hpp"
#include "traffic.hpp"

namespace grainscope::harness {
namespace {

using gnn::Mode;
using gnn::Store;

constexpr std::uint64_t kMostReplayed = 4 << 20;  // rows whose requests are counted beside a measurement
constexpr std::size_t kMostThreads = 32;          // that gather: more do not help one link

// What the first list asks of the link, where kernels read it.
void add_traffic(const GatherPoint& point, const gnn::TableShape& table,
                 const std::vector<std::uint32_t>& rows, Measurement& measurement) {
  const bool modelled = gnn::is_modelled(point.mode) && point.store != Store::managed;
  const auto cold = static_cast<std::uint64_t>(
      std::count_if(rows.begin(), rows.end(), [&](std::uint32_t row) { return table.on_host(row); }));
  if (!modelled || cold == 0 || rows.size() > kMostReplayed) {
    return;
  }
  const model::Requests requests = model::gather_requests(point.mode, point.width, table, rows);
  measurement.traffic = traffic_of(requests, cold * point.row_bytes);
  measurement.counters["requests_per_row"] =
      static_cast<double>(requests.count()) / static_cast<double>(cold);
}

}  // namespace

int gathering_threads() {
  return static_cast<int>(std::clamp<std::size_t>(current_affinity().size(), 1, kMostThreads));
}

int gather_lists(std::uint64_t places) {
  constexpr std::uint64_t kPlacesInTurn = 64 << 10;
  constexpr std::uint64_t kFewest = 4;
  constexpr std::uint64_t kMost = 64;
  return static_cast<int>(std::clamp(kPlacesInTurn / std::max<std::uint64_t>(places, 1), kFewest, kMost));
}

namespace {

// Whether fewer rows than a point asks for may be read from the host.
bool asks_host_for_fewer(const GatherPoint& point) {
  return point.indices == gnn::Indices::sampled || has_hot_rows(point.store);
}

}  // namespace

gnn::RowLists drawn_lists(const GatherPoint& point, std::uint32_t table_rows, int count) {
  gnn::RowLists lists;
  for (int list = 0; list < count; ++list) {
    lists.push_back(gnn::draw_rows(point.indices, point.asked_rows(), table_rows, 1, list));
  }
  return lists;
}
gnn::RowLists drawn_lists(const GatherPoint& point, std::uint32_t table_rows) {
  return drawn_lists(point, table_rows, gather_lists(point.asked_rows()));
}

int most_lists(const GatherPoint& point) {
  return gather_lists(asks_host_for_fewer(point) ? 1 : point.asked_rows());
}

gnn::RowLists lists_in_turn(const GatherPoint& point, const gnn::TableShape& table, const ListsOf& lists_of) {
  gnn::RowLists lists = lists_of(table.rows, gather_lists(point.asked_rows()));
  if (asks_host_for_fewer(point)) {
    const gnn::UniqueRows unique = median_unique(lists, table);
    const int wanted = gather_lists(unique.on_host > 0 ? unique.on_host : unique.all);
    if (static_cast<std::size_t>(wanted) > lists.size()) {
      lists = lists_of(table.rows, wanted);
    }
  }
  return lists;
}

gnn::UniqueRows median_unique(const gnn::RowLists& lists, const gnn::TableShape& table, std::size_t gpus) {
  std::vector<gnn::UniqueRows> found;
  found.reserve(lists.size());
  for (const std::vector<std::uint32_t>& list : lists) {
    gnn::UniqueRows& of_list = found.emplace_back();
    for (std::size_t gpu = 0; gpu < gpus; ++gpu) {
      const Share share = gnn::share_of_gpu(list.size(), gpu, gpus);
      const gnn::UniqueRows own =
          gnn::unique_rows(std::span(list).subspan(share.first, share.last - share.first), table);
      of_list.all += own.all;
      of_list.on_host += own.on_host;
    }
  }
  const auto middle = found.begin() + static_cast<std::ptrdiff_t>((found.size() - 1) / 2);
  std::nth_element(found.begin(), middle, found.end(),
                   [](const gnn::UniqueRows& one, const gnn::UniqueRows& two) {
                     return std::pair(one.on_host, one.all) < std::pair(two.on_host, two.all);
                   });
  return *middle;
}

void add_unique(const GatherPoint& point, const gnn::UniqueRows& unique, Measurement& measurement) {
  const double median_s = measurement.samples.summary.median;
  const auto unique_bytes = static_cast<double>(unique.all * point.row_bytes);
  auto& counters = measurement.counters;
  counters["unique_rows"] = static_cast<double>(unique.all);
  counters["unique_bytes"] = unique_bytes;
  counters["unique_gb_s"] = gb_per_s(unique_bytes, median_s);
  counters["rows_per_s"] =
      static_cast<double>(measurement.bytes) / static_cast<double>(point.row_bytes) / median_s;
  if (measurement.link_bytes_least.value_or(0) > 0) {
    counters["link_gb_s"] = gb_per_s(static_cast<double>(*measurement.link_bytes_least), median_s);
  }
  if (has_hot_rows(point.store)) {
    counters["host_share"] = static_cast<double>(unique.on_host) / static_cast<double>(unique.all);
  }
}

void add_limits(const Session& session, const GatherSite& site, Measurement& measurement) {
  if (!site.gpu) {
    measurement.limit = cpu_limit(gathering_threads());
  } else if (measurement.link_bytes_least.value_or(0) > 0) {
    std::vector<int> gpus{site.gpu->ordinal};
    gpus.insert(gpus.end(), site.neighbours.begin(), site.neighbours.end());
    measurement.limit = host_link_limit(session.machine(), gpus);
    double peak_gb_s = session.link_peak_gb_s(LinkPath::host_to_gpu(site.node, site.gpu->ordinal));
    for (const int neighbour : site.neighbours) {
      peak_gb_s += session.link_peak_gb_s(LinkPath::host_to_gpu(site.node, neighbour));
    }
    measurement.link_peak_gb_s = peak_gb_s;
  } else {
    measurement.limit = gpu_memory_limit(session.machine(), site.gpu->ordinal, 0);
  }
}

std::vector<Axis> gather_axes(const GatherPoint& point) {
  std::vector<Axis> axes{{"row", static_cast<std::int64_t>(point.row_bytes)}};
  if (point.indices !=
      gnn::Indices::sampled) {  // how many a sampled batch asks for is seen when it is sampled
    axes.push_back({"rows", static_cast<std::int64_t>(point.rows)});
  }
  axes.push_back({"span", static_cast<std::int64_t>(point.span_bytes)});
  axes.push_back({"indices", name(point.indices)});
  axes.push_back({"element", std::int64_t{point.element}});
  if (gnn::is_kernel(point.mode) && point.mode != Mode::bulk) {
    axes.push_back({"width", std::int64_t{point.width}});
  }
  add_memory(point.memory, axes);
  add_hint(point.hint, cuda::Hint::none, axes);
  if (point.mode == Mode::address_ordered) {
    axes.push_back({"window", std::int64_t{point.window}});
  }
  if (has_hot_rows(point.store)) {
    axes.push_back({"hot", std::int64_t{point.hot}});
  }
  if (point.store == Store::multi_gpu) {
    axes.push_back({"replicated", std::int64_t{point.replicated}});
    axes.push_back({"gpus", std::int64_t{point.gpus}});
  }
  if (point.neighbours > 0) {
    axes.push_back({"neighbours", std::int64_t{point.neighbours}});
  }
  return axes;
}

SpanKey span_key(const GatherPoint& point, const GatherSite& site) {
  SpanKey key{.kind = point.memory, .gpu = site.gpu ? site.gpu->ordinal : 0, .home = site.node};
  // What the driver locked it has mapped for every GPU.
  if (point.memory == cuda::MemoryKind::managed_host) {
    for (const int neighbour : site.neighbours) {
      key.others |= std::uint64_t{1} << neighbour;
    }
  }
  return key;
}

Case gather_id(const GatherPoint& point, const GatherSite& site) {
  std::vector<Axis> axes{{"mode", name(point.mode), AxisStyle::bare},
                         {"store", name(point.store), AxisStyle::bare}};
  axes.push_back({"locality", site.gpu ? site.gpu->locality(site.node) : "local", AxisStyle::hidden});
  const std::vector<Axis> asked = gather_axes(point);
  axes.insert(axes.end(), asked.begin(), asked.end());
  std::vector<Site> places{{"numa", site.node}};
  if (site.gpu) {
    places.push_back({"gpu", site.gpu->ordinal});
  }
  return {"gather", std::move(axes), std::move(places)};
}

gnn::StoreRequest store_request(const GatherPoint& point, const GatherSite& site) {
  gnn::StoreRequest request;
  request.store = point.store;
  request.row_bytes = point.row_bytes;
  request.span_bytes = point.span_bytes;
  request.gpu = site.gpu ? site.gpu->ordinal : 0;
  request.hot_percent = point.hot;
  request.replicated_percent = point.replicated;
  request.gpus = site.gpus;
  request.hint = point.hint;
  return request;
}

Needs gather_needs(const GatherPoint& point, const GatherSite& site) {
  Needs needs;
  const gnn::StoreBytes bytes = gnn::store_bytes(store_request(point, site), kGiB);
  needs.device_bytes = bytes.own;
  if (point.mode == Mode::cpu_gather) {
    needs.host_bytes = point.span_bytes + point.asked_bytes();
    return needs;
  }
  needs.device_bytes += gnn::gather_bytes(point.mode, point.asked_rows(), point.row_bytes, most_lists(point));
  if (shares_memory(point)) {
    needs.shared_host_bytes = bytes.host;
  } else if (point.store == Store::pageable) {
    needs.host_bytes = bytes.host;
  } else if (point.store == Store::managed) {
    needs.managed_bytes = point.span_bytes;
    needs.host_bytes = point.span_bytes;
  }
  return needs;
}

Measurement measure_gather(Session& session, const GatherPoint& point, const GatherSite& site,
                           const ListsOf& lists_of, SpanCache& cache, SpanCache::Claim* claim) {
  const Topology& topology = session.machine().topology;
  const NodeBinding binding(topology, site.node);
  std::optional<SpanLease> lease;
  if (claim != nullptr) {
    lease.emplace(cache, *claim, session.surroundings());
  }
  const auto store = gnn::make_feature_store(store_request(point, site), lease ? &lease->memory() : nullptr,
                                             session.surroundings().managed);
  return measure_store(session, point, site, lists_in_turn(point, store->shape(), lists_of), *store,
                       lease ? &lease->memory() : nullptr);
}

Measurement measure_store(Session& session, const GatherPoint& point, const GatherSite& site,
                          const gnn::RowLists& lists, gnn::FeatureStore& store,
                          const reach::SpanMemory* host) {
  const gnn::TableShape& table = store.shape();
  const auto gather =
      gnn::make_gather(store, lists, {point.mode, point.width, 0, gathering_threads(), site.neighbours});

  MeasureOptions options;
  if (site.gpu) {
    options.gpu = site.gpu->ordinal;
  }
  options.residency = residency_of(host);
  Measurement measurement = measure(session, *gather, options);
  const std::uint64_t asked = lists.front().size();
  measurement.bytes = asked * point.row_bytes;
  const gnn::UniqueRows unique = median_unique(lists, table, 1 + site.neighbours.size());
  if (site.gpu && point.store != Store::managed) {
    // A kernel may find a row that comes twice in a cache, a copy never.
    const bool copied = !gnn::is_kernel(point.mode) && !has_hot_rows(point.store);
    measurement.link_bytes_least = copied ? measurement.bytes : unique.on_host * point.row_bytes;
    if (!has_hot_rows(point.store)) {
      measurement.link_bytes_asked = unique.on_host > 0 ? measurement.bytes : 0;
    }
  }
  if (point.store == Store::managed && !cuda::migrates(point.hint)) {
    // No page left the host, and each different row crossed all the same: where it lies, or with a copy of
    // its page.
    measurement.link_bytes_least =
        std::max(measurement.link_bytes_least.value_or(0), unique.all * point.row_bytes);
  }
  add_limits(session, site, measurement);
  add_unique(point, unique, measurement);
  if (point.window > 1) {
    measurement.counters["batch_s"] = measurement.samples.summary.median / point.window;
  }
  if (point.indices == gnn::Indices::sampled) {
    measurement.counters["rows"] = static_cast<double>(asked) / point.window;
  }
  if (const auto fill_s = store.fill_s()) {
    measurement.counters["fill_s"] = *fill_s;
  }
  if (site.neighbours.empty()) {
    add_traffic(point, table, lists.front(), measurement);
  }
  return measurement;
}

// Whether a feature table can be where a case wants it, before anything is tried.

std::uint64_t most_by_default(const Machine& machine) {
  return reach::can_take(machine.environment.memory.available) / 100 * kLargestShare;
}

std::string why_too_much(const Machine& machine, const Scope& scope, std::uint64_t bytes) {
  const std::uint64_t most = scope.max_bytes
                                 ? machine.environment.memory.available.cgroup_bytes.value_or(UINT64_MAX)
                                 : most_by_default(machine);
  return bytes <= most ? std::string()
                       : "needs " + format_bytes(bytes) + " of host memory; " + format_bytes(most) +
                             (scope.max_bytes ? " are available"
                                              : " are taken at most unless --max-bytes asks for more");
}

DeclaredAxis sharing_axis() {
  return number_axis("gpus", "GPUs that share the hot rows of a store multi_gpu; all: that can, at least 2",
                     {2, gnn::kMostGpus}, "all", {}, {"all"});
}

NamedNumbers sharing_names(const std::vector<int>& gpus) {
  return {{"all", std::max<std::size_t>(2, gpus.size())}};
}

std::vector<int> gpus_with_rows(const GatherPoint& point, std::vector<int> sharing) {
  const std::size_t asked = point.store == Store::multi_gpu ? static_cast<std::size_t>(point.gpus) : 0;
  sharing.resize(std::min(sharing.size(), asked));
  return sharing;
}

std::vector<int> gpus_that_help(const Machine& machine, const GatherPoint& point,
                                const std::vector<int>& sharing) {
  std::vector<int> help;
  for (std::size_t i = 1; i < sharing.size() && static_cast<int>(help.size()) < point.neighbours; ++i) {
    const std::vector<int> reached = sharing_gpus(machine, sharing[i]);
    if (std::find(reached.begin(), reached.end(), sharing.front()) != reached.end()) {
      help.push_back(sharing[i]);
    }
  }
  return help;
}

bool shares_memory(const GatherPoint& point) {
  return point.store == Store::mapped || point.store == Store::pinned || has_hot_rows(point.store);
}

std::string why_no_store(const Machine& machine, const GatherPoint& point, const GatherSite& site) {
  if (point.span_bytes / point.row_bytes > UINT32_MAX) {
    return "a table has 2^32 - 1 rows at most";
  }
  if (!site.gpu) {
    return {};
  }
  const GpuTarget& gpu = *site.gpu;
  if (!gpu.unavailable.empty()) {
    return gpu.unavailable;
  }
  if (const std::string why = why_no_bulk(machine, gpu.ordinal); point.mode == Mode::bulk && !why.empty()) {
    return why;
  }
  if (point.store == Store::multi_gpu && static_cast<int>(site.gpus.size()) < point.gpus) {
    return site.gpus.size() < 2 ? why_no_sharing(machine, gpu.ordinal)
                                : "GPU " + std::to_string(gpu.ordinal) + " shares rows with " +
                                      std::to_string(site.gpus.size() - 1) + " others at most";
  }
  if (point.store == Store::managed) {
    return why_no_migration(machine, gpu.ordinal);
  }
  if (static_cast<int>(site.neighbours.size()) < point.neighbours) {
    return site.neighbours.empty()
               ? why_no_sharing(machine, gpu.ordinal)
               : "of the other GPUs " + std::to_string(site.neighbours.size()) + " reach GPU " +
                     std::to_string(gpu.ordinal) + ", not " + std::to_string(point.neighbours);
  }
  if (!shares_memory(point)) {
    return {};
  }
  const std::uint64_t on_host = gather_needs(point, site).shared_host_bytes;
  if (on_host > reach::kMostChunks * kGiB) {
    return "a span is " + format_bytes(reach::kMostChunks * kGiB) + " at most";
  }
  std::string why = why_no_memory(machine, point.memory, gpu.ordinal, on_host);
  for (const int neighbour : site.neighbours) {
    why = why.empty() ? why_no_memory(machine, point.memory, neighbour, on_host) : why;
  }
  return why;
}

namespace {

constexpr std::uint64_t kPresampledFrom = 0;  // epochs
constexpr std::uint64_t kTraced = 1;

// A table with a row for every vertex. Rows cross no chunk, so that up to one more a chunk is needed.
std::uint64_t span_of(std::uint64_t vertices, std::uint32_t row_bytes) {
  const std::uint64_t bytes = vertices * row_bytes;
  return (bytes + bytes / kGiB * row_bytes) / kMiB * kMiB + kMiB;
}

}  // namespace

std::unique_ptr<SampledTrace> make_trace(const graph::GraphSpec& spec, const TraceKey& key,
                                         const std::string& cache_dir,
                                         const std::shared_ptr<const gnn::OwnLabels>& labels,
                                         const gnn::NpyFile* own) {
  const GnnGraph graph(spec, cache_dir, labels);
  if (own != nullptr) {
    require_row_for_each(*own, graph.vertices(), key.graph);
  }
  const std::vector<graph::Vertex> labelled = graph.trained_on(kTracedLabels);
  const auto trace_of = [&](std::uint64_t epoch) {
    return gnn::sampled_trace(graph.in_edges(), labelled,
                              {{gnn::parse_fanouts(key.fanout), kGnnSeed}, key.seeds, epoch, 1, key.batches});
  };
  const auto counts = gnn::access_counts(trace_of(kPresampledFrom), graph.vertices());
  const auto by_degree = gnn::ranking(gnn::degree_scores(graph.out_edges()).span());
  auto result = std::make_unique<SampledTrace>();
  result->vertex_of_row = gnn::ranking(counts.span(), by_degree);
  const auto row_of = gnn::old_to_new(result->vertex_of_row);
  result->trace = trace_of(kTraced);
  for (std::uint32_t& row : result->trace.rows) {
    row = row_of[row];
  }
  return result;
}

gnn::RowLists lists_of_trace(const gnn::Trace& trace, int lists, int window) {
  if (trace.batches() == 0) {
    throw UsageError("a trace without mini-batches asks for no rows");
  }
  if (trace.batches() < static_cast<std::uint64_t>(window)) {
    throw SkipError("a window of " + std::to_string(window) + " mini-batches, and the trace has " +
                    std::to_string(trace.batches()) + ": the same rows would stand in it again");
  }
  gnn::RowLists result(static_cast<std::size_t>(lists));
  std::size_t next = 0;
  std::size_t shortest = SIZE_MAX;
  for (std::vector<std::uint32_t>& list : result) {
    for (int batch = 0; batch < window; ++batch) {
      const auto rows = trace.batch(next++ % trace.batches());
      list.insert(list.end(), rows.begin(), rows.end());
    }
    shortest = std::min(shortest, list.size());
  }
  for (std::vector<std::uint32_t>& list : result) {
    list.resize(shortest);
  }
  return result;
}

SampledPoint sampled_point(GatherPoint gather, const graph::GraphSpec& spec, const TraceKey& trace,
                           std::uint64_t vertices, const gnn::NpyFile* own) {
  gather.span_bytes = own != nullptr ? own->bytes() : span_of(vertices, gather.row_bytes);
  gather.rows =
      gnn::most_of(gnn::parse_fanouts(trace.fanout), trace.seeds, static_cast<graph::Vertex>(vertices))
          .nodes.back();
  return {gather, spec, trace};
}

}  // namespace grainscope::harness
