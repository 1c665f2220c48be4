// model/gather: what does each way to gather rows from host memory ask of the link, and how long does that
// take at least?
//
// Nothing is timed: the walk of each mode over a list of rows is replayed lane by lane on the CPU, its
// requests of 32 to 128 bytes are counted exactly, and the time is bound by the link's bytes, its requests in
// flight and its address translations, whichever takes longest. Source: dissertation section 3.3 and
// figures 3.4 to 3.10; docs/gather.md has the requests worked out by hand. Limits: no cache between the walk
// and the link, so that a sector which two warps ask for counts twice; no sorting time; no work on the GPU.
// docs/model.md has the links.

#include <algorithm>
#include <memory>
#include <utility>

#include "families.hpp"
#include "gather_case.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/model/gather.hpp"
#include "model_case.hpp"
#include "traffic.hpp"

namespace grainscope::harness {
namespace {

using gnn::Mode;

const char* const kFamily = "model/gather";

constexpr std::uint64_t kRows = 1 << 16;      // of a list: what more rows ask for is the same
constexpr std::uint64_t kWallRows = 1 << 20;  // where translations matter, which the batch decides

struct Point {
  GatherPoint gather;
  ModelLink link;
};

void require(bool right, const std::string& what) {
  if (!right) {
    throw FailedError("the model of a gather contradicts itself: " + what);
  }
}

// What a gather asks for is the same over every link, and its misses over each of one reach: each is counted
// once in a run.
class Replays {
 public:
  struct Replay {
    model::Requests requests;
    std::uint64_t misses = 0;
  };

  Replay get(const GatherPoint& gather, const model::Link& link) {
    const auto missed = [&](const Missed& each) {
      return each.gather == gather && each.reach_bytes == link.reach_bytes &&
             each.granule_bytes == link.granule_bytes;
    };
    const auto asked =
        std::find_if(asked_.begin(), asked_.end(), [&](const Asked& each) { return each.gather == gather; });
    const auto known = std::find_if(missed_.begin(), missed_.end(), missed);
    if (asked != asked_.end() && known != missed_.end()) {
      return {asked->requests, known->misses};
    }
    gnn::StoreRequest request;
    request.row_bytes = gather.row_bytes;
    request.span_bytes = gather.span_bytes;
    const gnn::TableShape table = gnn::table_shape(request, kGiB);
    const auto rows = gnn::draw_rows(gather.indices, gather.asked_rows(), table.rows, 1, 0);
    Replay replay;
    replay.requests = asked != asked_.end() ? asked->requests
                                            : model::gather_requests(gather.mode, gather.width, table, rows);
    replay.misses = model::gather_misses(gather.mode, link, table, rows);
    if (asked == asked_.end()) {
      asked_.push_back({gather, replay.requests});
    }
    missed_.push_back({gather, link.reach_bytes, link.granule_bytes, replay.misses});
    return replay;
  }

 private:
  struct Asked {
    GatherPoint gather;
    model::Requests requests;
  };
  struct Missed {
    GatherPoint gather;
    std::uint64_t reach_bytes;
    std::uint64_t granule_bytes;
    std::uint64_t misses;
  };
  std::vector<Asked> asked_;
  std::vector<Missed> missed_;
};

Measurement measure(const Session& session, const Point& point, Replays& replays) {
  const GatherPoint& gather = point.gather;
  const model::Link link = point.link.get(session);
  const auto [requests, misses] = replays.get(gather, link);
  const model::TimeBound bound = model::bound(link, requests, misses);
  const std::uint64_t asked = gather.asked_bytes();
  // What sticks out of rows that the width does not divide is loaded, too.
  const bool straddles = gather.row_bytes % gather.width != 0;
  const std::uint64_t loaded = requests.elements * gather.width;
  require(straddles ? loaded > asked : loaded == asked, "it loads other bytes than were asked for");
  require(requests.lanes <= requests.loads * graph::kWarpLanes, "loads have more lanes than a warp");

  Measurement measurement;
  measurement.modelled = true;
  measurement.samples.seconds = {bound.seconds()};
  measurement.samples.summary = summarize(measurement.samples.seconds);
  measurement.samples.reached_target = true;  // a model has no noise to average out
  measurement.timing.timed = "nothing: the link's bound";
  measurement.verification =
      "units loaded are those of the rows asked for, each once; no load has more than 32";
  measurement.bytes = asked;
  measurement.link_bytes = requests.bytes();
  measurement.traffic = traffic_of(requests, asked);
  const auto count = static_cast<double>(gather.asked_rows());
  measurement.counters = {{"requests_per_row", static_cast<double>(requests.count()) / count},
                          {"lane_use", requests.lane_use()},
                          {"warp_loads", static_cast<double>(requests.loads)},
                          {"split_requests", static_cast<double>(requests.split)},
                          {"translation_misses", static_cast<double>(misses)},
                          {"bytes_s", bound.bytes_s},
                          {"requests_s", bound.requests_s},
                          {"translations_s", bound.translations_s}};
  return measurement;
}

Explanation explain(const Point& point) {
  const std::string where = point.link.gpu ? "this run's copy peak; the rest of the named link nearest to it"
                                           : model::link_named(point.link.name).source;
  return {
      std::string("what gathering rows by ") + name(point.gather.mode) +
          " asks of the link, and an estimate of the time that the link needs",
      "nothing: the walk is replayed on the CPU. The time is the longest of its bytes, its requests and its "
      "translation misses",
      "a request for each 128-byte line of a warp's load, of 32 bytes times the sectors that it touches; "
      "misses: an LRU of the link's reach over the rows in the order in which they are read",
      "dissertation section 3.3, listing 3.2, figure 3.10; GraphBolt; the link: " + where,
      "no cache: a sector that two warps ask for crosses twice; no sorting, no work on the GPU"};
}

GatherPoint point_of(Mode mode, std::uint32_t row, std::uint64_t span, std::uint64_t rows, bool wide) {
  GatherPoint point;
  point.mode = mode;
  point.row_bytes = row;
  point.span_bytes = span;
  point.rows = rows;
  point.width = wide ? gnn::widest_load(mode, row) : point.element;
  return point;
}

class Lister {
 public:
  explicit Lister(const Scope& scope) : scope_(scope) {}

  std::vector<Benchmark> list() {
    if (scope_.preset == Preset::acceptance) {
      return {};  // what is modelled says nothing of a machine
    }
    for (const std::uint32_t row : rows()) {
      add_modes(row, named_link("pcie4x16"));
      if (scope_.preset != Preset::smoke) {
        add_modes(row, named_link("pcie5x16"));
      }
      for (const ModelLink& link : measured_links(scope_)) {
        add_modes(row, link);
      }
    }
    if (scope_.preset != Preset::smoke) {
      add_wall(named_link("pcie5x16"));
      for (const ModelLink& link : measured_links(scope_)) {
        add_wall(link);
      }
    }
    return std::move(benchmarks_);
  }

 private:
  [[nodiscard]] std::vector<std::uint32_t> rows() const {
    if (scope_.preset == Preset::smoke) {
      return {1028};
    }
    if (!scope_.dense()) {
      return {480, 1024, 1028, 1040, 1260, 2312};  // those that were worked out by hand
    }
    return {64,   128,  188,  256,  400,  480,  512,  1024, 1028, 1032,
            1036, 1040, 1044, 1260, 1536, 2312, 3072, 4096, 16384};
  }

  void add_modes(std::uint32_t row, const ModelLink& link) {
    constexpr std::uint64_t kSpan = 512 * kMiB;  // within reach
    for (const Mode mode : {Mode::naive, Mode::circular_shift, Mode::masked}) {
      add({point_of(mode, row, kSpan, kRows, false), link});
    }
    if (gnn::widest_load(row) > GatherPoint{}.element && scope_.dense()) {
      add({point_of(Mode::vector, row, kSpan, kRows, true), link});
      add({point_of(Mode::masked, row, kSpan, kRows, true), link});
    }
    if (scope_.dense()) {
      add({point_of(Mode::graphbolt, row, kSpan, kRows, true), link});
    }
  }

  // As asked against in order: beyond reach.
  void add_wall(const ModelLink& link) {
    for (const std::uint64_t span : {kGiB, 4 * kGiB, 8 * kGiB, 32 * kGiB}) {
      add({point_of(Mode::masked, 128, span, kWallRows, true), link});
      add({point_of(Mode::address_ordered, 128, span, kWallRows, true), link});
      if (scope_.dense() && span == 32 * kGiB) {
        GatherPoint window = point_of(Mode::address_ordered, 128, span, kWallRows, true);
        window.window = 16;
        add({window, link});
      }
    }
  }

  void add(const Point& point) {
    if (!scope_.in_range(point.gather.span_bytes)) {
      return;
    }
    std::vector<Axis> axes{{"mode", name(point.gather.mode), AxisStyle::bare}};
    const std::vector<Axis> asked = gather_axes(point.gather);
    axes.insert(axes.end(), asked.begin(), asked.end());
    axes.push_back({"link", point.link.name});
    Benchmark benchmark;
    std::vector<Site> site;
    if (point.link.gpu) {
      axes.push_back({"locality", point.link.gpu->locality(point.link.node), AxisStyle::hidden});
      site = {{"numa", point.link.node}, {"gpu", point.link.gpu->ordinal}};
      benchmark.skip = point.link.gpu->unavailable;
    }
    benchmark.id = {kFamily, std::move(axes), std::move(site)};
    benchmark.about_s = 0.01 + static_cast<double>(point.gather.asked_bytes()) / 5e9;
    benchmark.needs.host_bytes = 3 * point.gather.asked_rows() * sizeof(std::uint32_t);
    benchmark.explanation = explain(point);
    benchmark.run = [point, replays = replays_](Session& session) {
      return measure(session, point, *replays);
    };
    benchmarks_.push_back(std::move(benchmark));
  }

  const Scope& scope_;
  std::shared_ptr<Replays> replays_ = std::make_shared<Replays>();
  std::vector<Benchmark> benchmarks_;
};

}  // namespace

Family model_gather() {
  return {
      kFamily,
      "What does each way to gather rows from host memory ask of the link, and how long does that take at "
      "least?",
      {},
      [](const Machine& /*machine*/, const Scope& scope, const Grids& /*grids*/) {
        return Lister(scope).list();
      }};
}

}  // namespace grainscope::harness
