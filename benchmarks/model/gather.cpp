// model/gather

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "case.hpp"
#include "families.hpp"
#include "gather/case.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/model/link.hpp"
#include "traffic.hpp"

namespace grainscope::harness {
namespace {

constexpr About kAboutModelGather{
    .question =
        "What does each way to gather rows from host memory ask of the link, and how long does that take at "
        "least?",
    .timed =
        "nothing: the walk of each mode over a list of rows is replayed lane by lane on the CPU, and its "
        "requests of 32 to 128 bytes are counted exactly",
    .formula =
        "a request for each 128-byte line of a warp's load, of 32 bytes times the sectors that it touches; "
        "misses: an LRU of the link's reach over the rows in the order in which they are read; time = that "
        "of the bytes, the requests in flight or the translations, whichever takes longest",
    .source =
        "dissertation section 3.3 and figures 3.4 to 3.10; docs/gather.md has the requests worked out by "
        "hand",
    .limits =
        "no cache between the walk and the link, so that a sector which two warps ask for counts twice; no "
        "sorting time; no work on the GPU. docs/model.md has the links",
};

using gnn::Mode;

const char* const kFamily = "model/gather";

const char* const kElement = "element";
const char* const kWidest = "widest";
constexpr gnn::Indices kDrawn[] = {gnn::Indices::uniform, gnn::Indices::zipf};

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
  measurement.timing.timed = "nothing: the link's bound";
  measurement.verification =
      "units loaded are those of the rows asked for, each once; no load has more than 32";
  measurement.bytes = asked;
  measurement.link_bytes_asked = measurement.bytes;
  measurement.link_bytes_least = requests.bytes();
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
  return {.measures = std::string("what gathering rows by ") + name(point.gather.mode) +
                      " asks of the link, and an estimate of the time that the link needs",
          .source = "dissertation section 3.3, listing 3.2, figure 3.10; GraphBolt; the link: " + where};
}

class Lister {
 public:
  Lister(const Scope& scope, const Grids& grids) : scope_(scope), grids_(grids) {}

  std::vector<Benchmark> list() {
    for (const Grid& grid : grids_) {
      for (const Values& values : grid.points()) {
        if (const auto gather = point_of(values)) {
          for (const ModelLink& link : links_of(values, grid, grids_, scope_)) {
            add({*gather, link});
          }
        }
      }
    }
    return std::move(benchmarks_);
  }

 private:
  // Absent, with the reason, where it cannot be.
  [[nodiscard]] std::optional<GatherPoint> point_of(const Values& values) const {
    GatherPoint point;
    point.mode = enumerator(values.word("mode"), gnn::kAllModes, [](Mode each) { return name(each); });
    point.row_bytes = values.number_as<std::uint32_t>("row");
    point.span_bytes = values.number("span");
    point.rows = values.number("rows");
    point.indices = enumerator(values.word("indices"), kDrawn, [](gnn::Indices each) { return name(each); });
    point.element = values.number_as<std::uint32_t>("element");
    point.width = values.is("width", kElement)  ? point.element
                  : values.is("width", kWidest) ? gnn::widest_load(point.mode, point.row_bytes)
                                                : values.number_as<std::uint32_t>("width");
    point.window = values.number_as<int>("window");
    const std::string what =
        std::string(name(point.mode)) + " of rows of " + std::to_string(point.row_bytes) + " bytes";
    if (!gnn::may_load(point.mode, point.row_bytes, point.element, point.width) ||
        (point.mode == Mode::vector && point.width <= point.element)) {
      grids_.leave_out(
          what + " cannot load " + std::to_string(point.width) + " bytes at once: width is " +
          (point.mode == Mode::naive || point.mode == Mode::circular_shift ? kElement : kWidest));
    } else if (point.window > 1 && point.mode != Mode::address_ordered) {
      grids_.leave_out("only address_ordered gathers several mini-batches together: of " + what +
                       " window is 1");
    } else {
      return point;
    }
    return std::nullopt;
  }

  void add(const Point& point) {
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
    benchmark.modelled = true;
    benchmark.about_s = 0.01 + static_cast<double>(point.gather.asked_bytes()) / 5e9;
    benchmark.needs.host_bytes = 3 * point.gather.asked_rows() * sizeof(std::uint32_t);
    benchmark.explanation = explain(point);
    benchmark.run = [point, replays = replays_](Session& session) {
      return measure(session, point, *replays);
    };
    benchmarks_.push_back(std::move(benchmark));
  }

  const Scope& scope_;
  const Grids& grids_;
  std::shared_ptr<Replays> replays_ = std::make_shared<Replays>();
  std::vector<Benchmark> benchmarks_;
};

}  // namespace

Family model_gather() {
  std::vector<std::string> modes;
  for (const Mode mode : gnn::kAllModes) {
    if (gnn::is_modelled(mode)) {
      modes.emplace_back(name(mode));
    }
  }
  return {
      kFamily,
      kAboutModelGather,
      {word_axis("mode", "how a kernel walks rows", std::move(modes)),
       size_axis("row", "bytes of a row", {2, kGiB}, false),
       number_axis("rows", "rows of a mini-batch", {1, 1 << 24}, "65536"),
       size_axis("span", "bytes of the table", {kMiB, 1024 * kGiB}),
       word_axis("indices", "the law by which rows are drawn",
                 names_of(kDrawn, [](gnn::Indices each) { return name(each); }), name(gnn::Indices::uniform)),
       number_axis("element", "bytes of an element: 2 or 4", {2, 4}, "4"),
       number_axis("width", "bytes of a load: those of an element, or the most that mode and row allow",
                   {2, 16}, kElement, {kElement, kWidest}),
       number_axis("window", "mini-batches that address_ordered gathers together", {1, 1024}, "1"),
       link_axis(), gpu_axis()},
      [](const Machine& /*machine*/, const Scope& scope, const Grids& grids) {
        return Lister(scope, grids).list();
      }};
}

}  // namespace grainscope::harness
