// gather/bag

#include <algorithm>
#include <memory>
#include <utility>

#include "case.hpp"
#include "families.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/gnn/gather.hpp"
#include "grainscope/system/numa.hpp"

namespace grainscope::harness {
namespace {

constexpr About kAboutGatherBag{
    .question = "How fast are embedding bags looked up and pooled?",
    .measures =
        "The recommender's case: of each of several tables, every bag of a batch wants the sum of some rows, "
        "asked for by Zipf's law",
    .timed =
        "one kernel that reads all rows and adds them up, between two events behind a closed gate. Not "
        "timed: drawing the rows, overwriting output and L2 cache before, and checking every element after",
    .formula =
        "bytes = tables * bags * pooling * row; link_bytes_least = different rows that lie on the host * row",
    .source =
        "the dissertation names embedding tables as the next case for its gathers (chapters 3 and 5); bags "
        "as in PyTorch's EmbeddingBag and DLRM (Naumov et al., 2019), forward, sum",
    .limits =
        "elements are numbers of 1 to 2 made from the table's bits, so that sums are exact; bags of a batch "
        "have equally many rows; no backward pass; Zipf's law with exponent 1, no real trace",
};

using gnn::Indices;
using gnn::Store;

const char* const kFamily = "gather/bag";
constexpr std::uint32_t kLoad = 16;  // bytes of a lane
constexpr Store kStores[] = {Store::mapped, Store::device, Store::tiered, Store::multi_gpu};
constexpr Indices kLaws[] = {Indices::uniform, Indices::zipf};

struct Point {
  GatherPoint table;  // its rows are those of a batch
  gnn::BagRequest bags;
};

Measurement measure(Session& session, const Point& point, const GatherSite& site, SpanCache& cache,
                    SpanCache::Claim* claim) {
  const Topology& topology = session.machine().topology;
  const NodeBinding binding(topology, site.node);
  std::optional<SpanLease> lease;
  if (claim != nullptr) {
    lease.emplace(cache, *claim, session.surroundings());
  }
  const auto store = gnn::make_feature_store(
      store_request(point.table, site), lease ? &lease->memory() : nullptr, session.surroundings().managed);
  const gnn::RowLists lists =
      lists_in_turn(point.table, store->shape(), [&](std::uint32_t table_rows, int count) {
        gnn::RowLists drawn;
        for (int list = 0; list < count; ++list) {
          drawn.push_back(gnn::draw_bags(point.bags, point.table.indices, table_rows, 1, list));
        }
        return drawn;
      });
  const auto lookup = gnn::make_bag_lookup(*store, lists, point.bags);

  Measurement measurement = harness::measure(
      session, *lookup,
      {.gpu = site.gpu->ordinal, .residency = residency_of(lease ? &lease->memory() : nullptr)});
  measurement.bytes = point.table.asked_bytes();
  const gnn::UniqueRows unique = median_unique(lists, store->shape());
  measurement.link_bytes_least = unique.on_host * point.table.row_bytes;
  if (!has_hot_rows(point.table.store)) {
    measurement.link_bytes_asked = unique.on_host > 0 ? measurement.bytes : 0;
  }
  add_limits(session, site, measurement);
  add_unique(point.table, unique, measurement);
  measurement.counters["bags_per_s"] =
      static_cast<double>(point.bags.outputs()) / measurement.samples.summary.median;
  return measurement;
}

Explanation explain(const Point& point) {
  return {.measures = std::string("the rate at which rows of tables that are ") + name(point.table.store) +
                      " are looked up and added up, bag by bag"};
}

Point point_of(const Values& values) {
  Point point;
  point.bags.tables = values.number_as<std::uint32_t>("tables");
  point.bags.bags = values.number_as<std::uint32_t>("bags");
  point.bags.pooling = values.number_as<std::uint32_t>("pooling");
  point.table.store = enumerator(values.word("store"), kStores, [](Store each) { return name(each); });
  point.table.memory = shares_memory(point.table) ? memory_of(values) : cuda::MemoryKind::host_alloc;
  point.table.row_bytes = values.number_as<std::uint32_t>("row");
  point.table.rows = point.bags.lookups();
  point.table.span_bytes = values.number("span");
  point.table.indices = enumerator(values.word("indices"), kLaws, [](Indices each) { return name(each); });
  point.table.width = kLoad;
  point.table.hot = has_hot_rows(point.table.store) ? values.number_as<int>("hot") : 0;
  point.table.gpus = point.table.store == Store::multi_gpu ? values.number_as<int>("gpus") : 1;
  return point;
}

// Why it cannot be, whatever the machine; empty: it can.
std::string why_no_bags(const Point& point) {
  if (point.table.row_bytes % kLoad != 0) {
    return "rows of bags are read " + std::to_string(kLoad) + " bytes at once: row is a multiple of them";
  }
  return point.table.span_bytes / point.table.row_bytes < point.bags.tables
             ? "every table has a row at least: span is tables * row or more"
             : "";
}

class Lister {
 public:
  Lister(const Machine& machine, const Scope& scope, const Grids& grids, Spans spans)
      : machine_(machine), scope_(scope), grids_(grids), cache_(std::move(spans)) {}

  std::vector<Benchmark> list() {
    std::vector<std::pair<Point, GatherSite>> listed;
    grids_.each_gpu([&](const GpuTarget& gpu, const Grid& grid) {
      const std::vector<int> sharing = sharing_gpus(machine_, gpu.ordinal);
      for (const Values& values : grid.points(sharing_names(sharing))) {
        const Point point = point_of(values);
        const std::string why = why_no_bags(point);
        if (why.empty()) {
          listed.emplace_back(
              point, GatherSite{scope_.nearest_node(gpu), gpu, gpus_with_rows(point.table, sharing)});
        } else {
          grids_.leave_out(why);
        }
      }
    });
    // Memory grows with the spans.
    std::stable_sort(listed.begin(), listed.end(), [](const auto& a, const auto& b) {
      const auto order = [](const auto& each) {
        return std::tuple(each.second.ordinal(), each.first.table.memory, each.first.table.span_bytes);
      };
      return order(a) < order(b);
    });
    for (const auto& [point, site] : listed) {
      add(point, site);
    }
    return std::move(benchmarks_);
  }

 private:
  void add(const Point& point, const GatherSite& site) {
    Benchmark benchmark;
    benchmark.id = case_of(point, site);
    benchmark.skip = why_no_store(machine_, point.table, site);
    benchmark.other_gpus = site.gpus;
    benchmark.explanation = explain(point);
    std::shared_ptr<SpanCache::Claim> claim;
    if (benchmark.skip.empty()) {
      benchmark.needs = gather_needs(point.table, site);
      benchmark.skip_for_now(why_too_much(machine_, scope_, benchmark.needs.shared_host_bytes));
      if (benchmark.skip.empty() && shares_memory(point.table)) {
        claim =
            cache_->claim(span_key(point.table, site), scope_.visits_here, benchmark.needs.shared_host_bytes);
      }
    }
    benchmark.run = [point, site, cache = cache_, claim](Session& session) {
      return measure(session, point, site, *cache, claim.get());
    };
    benchmarks_.push_back(std::move(benchmark));
  }

  [[nodiscard]] static Case case_of(const Point& point, const GatherSite& site) {
    std::vector<Axis> axes{{"store", name(point.table.store), AxisStyle::bare},
                           {"locality", site.gpu->locality(site.node), AxisStyle::hidden},
                           {"row", static_cast<std::int64_t>(point.table.row_bytes)},
                           {"tables", std::int64_t{point.bags.tables}},
                           {"bags", std::int64_t{point.bags.bags}},
                           {"pooling", std::int64_t{point.bags.pooling}},
                           {"span", static_cast<std::int64_t>(point.table.span_bytes)},
                           {"indices", name(point.table.indices)}};
    add_memory(point.table.memory, axes);
    if (has_hot_rows(point.table.store)) {
      axes.push_back({"hot", std::int64_t{point.table.hot}});
    }
    if (point.table.store == Store::multi_gpu) {
      axes.push_back({"gpus", std::int64_t{point.table.gpus}});
    }
    return {kFamily, std::move(axes), {{"numa", site.node}, {"gpu", site.gpu->ordinal}}};
  }

  const Machine& machine_;
  const Scope& scope_;
  const Grids& grids_;
  Spans cache_;
  std::vector<Benchmark> benchmarks_;
};

}  // namespace

Family gather_bag(const Spans& spans) {
  return {kFamily,
          kAboutGatherBag,
          {word_axis("store", "where the tables are",
                     names_of(kStores, [](Store each) { return name(each); }), name(Store::mapped)),
           memory_axis("how the host memory came to be that has rows: of stores mapped, tiered, multi_gpu"),
           size_axis("row", "bytes of a row, a multiple of 16", {kLoad, 128 * kKiB}, false, "256"),
           number_axis("tables", "tables", {1, 4096}, "8"),
           number_axis("bags", "bags of each table in a batch", {1, 1 << 20}, "4096"),
           number_axis("pooling", "rows of a bag", {1, gnn::kMostPooled}, "20"),
           size_axis("span", "bytes of all tables", {kLoad, 1024 * kGiB}),
           word_axis("indices", "by which law rows are drawn",
                     names_of(kLaws, [](Indices each) { return name(each); }), name(Indices::zipf)),
           number_axis("hot", "percent of the rows that are on GPUs: of stores tiered and multi_gpu",
                       {1, 100}, "10"),
           sharing_axis(), gpu_axis()},
          [spans](const Machine& machine, const Scope& scope, const Grids& grids) {
            return Lister(machine, scope, grids, spans).list();
          }};
}

}  // namespace grainscope::harness
