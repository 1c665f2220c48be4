// gather/bag: how fast are embedding bags looked up and pooled?
//
// The recommender's case: of each of several tables, every bag of a batch wants the sum of some rows, asked
// for by Zipf's law. Timed: one kernel that reads all rows and adds them up, between two events behind a
// closed gate. Not timed: drawing the rows, overwriting output and L2 cache before, and checking every
// element after. Bytes: rows looked up × bytes of a row; link bytes: each different row that lies on the host
// once. Source: the dissertation names embedding tables as the next case for its gathers (chapters 3 and 5);
// bags as in PyTorch's EmbeddingBag and DLRM (Naumov et al., 2019), forward, sum. Limits: elements are
// numbers of 1 to 2 made from the table's bits, so that sums are exact; bags of a batch have equally many
// rows; no backward pass.

#include <algorithm>
#include <memory>
#include <utility>

#include "families.hpp"
#include "gather_case.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/gnn/bag.hpp"
#include "grainscope/system/numa.hpp"

namespace grainscope::harness {
namespace {

using gnn::Indices;
using gnn::Store;

const char* const kFamily = "gather/bag";

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
    lease.emplace(cache, *claim, topology);
  }
  const auto store = gnn::make_feature_store(
      store_request(point.table, site), lease ? &lease->memory() : nullptr, session.surroundings().managed);
  gnn::RowLists lists;
  for (int list = 0; list < gather_lists(point.table.asked_rows()); ++list) {
    lists.push_back(gnn::draw_bags(point.bags, point.table.indices, store->shape().rows, 1, list));
  }
  const auto lookup = gnn::make_bag_lookup(*store, lists, point.bags);

  Measurement measurement = harness::measure(session, *lookup, {.gpu = site.gpu->ordinal});
  measurement.bytes = point.table.asked_bytes();
  const gnn::UniqueRows unique = median_unique(lists, store->shape());
  measurement.link_bytes = unique.on_host * point.table.row_bytes;
  add_limits(session, site, measurement);
  add_unique(point.table, unique, measurement);
  measurement.counters["bags_per_s"] =
      static_cast<double>(point.bags.outputs()) / measurement.samples.summary.median;
  return measurement;
}

Explanation explain(const Point& point) {
  return {
      std::string("the rate at which rows of tables that are ") + name(point.table.store) +
          " are looked up and added up, bag by bag",
      "one kernel between two events behind a closed gate; not drawing the rows, nor overwriting output and "
      "cache before, nor checking after",
      "bytes = tables * bags * pooling * row; link_bytes = different rows that lie on the host * row",
      "dissertation chapters 3 and 5; EmbeddingBag as in DLRM (Naumov et al., 2019)",
      "forward and sum alone; as many rows in each bag; Zipf's law with exponent 1, no real trace"};
}

Point point_of(Store store, std::uint32_t row_bytes, std::uint32_t pooling, Indices indices, int hot,
               const Scope& scope) {
  Point point;
  point.bags.pooling = pooling;
  point.bags.bags = scope.preset == Preset::smoke ? 256 : pooling >= 40 ? 1024 : 4096;
  point.table.store = store;
  point.table.row_bytes = row_bytes;
  point.table.rows = point.bags.lookups();
  point.table.span_bytes = scope.preset == Preset::smoke   ? 64 * kMiB
                           : scope.preset == Preset::quick ? kGiB
                                                           : 4 * kGiB;
  point.table.indices = indices;
  point.table.width = 16;
  point.table.hot = hot;
  return point;
}

std::vector<Point> points_of(const Scope& scope, int most_gpus) {
  std::vector<Point> points;
  if (scope.preset == Preset::smoke) {
    return {point_of(Store::mapped, 256, 20, Indices::zipf, 0, scope)};
  }
  for (const Indices indices : {Indices::uniform, Indices::zipf}) {
    points.push_back(point_of(Store::mapped, 256, 20, indices, 0, scope));
  }
  points.push_back(point_of(Store::tiered, 256, 20, Indices::zipf, 10, scope));
  if (scope.dense()) {
    for (const std::uint32_t row_bytes : {64U, 128U, 512U}) {
      points.push_back(point_of(Store::mapped, row_bytes, 20, Indices::zipf, 0, scope));
      points.push_back(point_of(Store::tiered, row_bytes, 20, Indices::zipf, 10, scope));
    }
    for (const std::uint32_t pooling : {1U, 80U}) {
      points.push_back(point_of(Store::mapped, 256, pooling, Indices::zipf, 0, scope));
    }
    for (const int hot : {1, 25}) {
      points.push_back(point_of(Store::tiered, 256, 20, Indices::zipf, hot, scope));
    }
    points.push_back(point_of(Store::device, 256, 20, Indices::zipf, 0, scope));
    points.push_back(point_of(Store::multi_gpu, 256, 20, Indices::zipf, 10, scope));
    points.back().table.gpus = most_gpus;
  }
  std::erase_if(points, [&](const Point& point) {
    return scope.preset == Preset::acceptance || !scope.in_range(point.table.span_bytes);
  });
  return points;
}

class Lister {
 public:
  Lister(const Machine& machine, const Scope& scope, Spans spans)
      : machine_(machine), scope_(scope), cache_(std::move(spans)) {}

  std::vector<Benchmark> list() {
    for (const GpuTarget& gpu : scope_.program_gpus()) {
      const std::vector<int> gpus = sharing_gpus(machine_, gpu.ordinal);
      for (const Point& point : points_of(scope_, std::max(2, static_cast<int>(gpus.size())))) {
        GatherSite site{scope_.nearest_node(gpu), gpu, {}};
        if (point.table.store == Store::multi_gpu) {
          site.gpus = gpus;
        }
        add(point, site);
      }
    }
    return std::move(benchmarks_);
  }

 private:
  void add(const Point& point, const GatherSite& site) {
    Benchmark benchmark;
    benchmark.id = case_of(point, site);
    benchmark.skip = why_no_store(machine_, scope_, point.table, site);
    benchmark.explanation = explain(point);
    std::shared_ptr<SpanCache::Claim> claim;
    if (benchmark.skip.empty()) {
      benchmark.needs = gather_needs(point.table, site);
      if (shares_memory(point.table)) {
        claim = cache_->claim(span_key(site), scope_.repetitions, benchmark.needs.shared_host_bytes);
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
    if (point.table.store == Store::tiered || point.table.store == Store::multi_gpu) {
      axes.push_back({"hot", std::int64_t{point.table.hot}});
    }
    if (point.table.store == Store::multi_gpu) {
      axes.push_back({"gpus", std::int64_t{point.table.gpus}});
    }
    return {kFamily, std::move(axes), {{"numa", site.node}, {"gpu", site.gpu->ordinal}}};
  }

  const Machine& machine_;
  const Scope& scope_;
  Spans cache_;
  std::vector<Benchmark> benchmarks_;
};

}  // namespace

Family gather_bag(const Spans& spans) {
  return {
      kFamily, "How fast are embedding bags looked up and pooled?",
      [spans](const Machine& machine, const Scope& scope) { return Lister(machine, scope, spans).list(); }};
}

}  // namespace grainscope::harness
