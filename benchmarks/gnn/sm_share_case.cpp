#include "gnn/sm_share_case.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <string>
#include <tuple>
#include <utility>

#include "grainscope/core/error.hpp"
#include "grainscope/core/units.hpp"

namespace grainscope::harness {
namespace {

using cuda::ShareBy;

const char* const kNone = "none";  // of a share that the other of `sms` and `percent` says
constexpr ShareBy kWays[] = {ShareBy::unlimited, ShareBy::grid_cap, ShareBy::green_context,
                             ShareBy::mps_percentage, ShareBy::exec_affinity};
constexpr gnn::Mode kModes[] = {gnn::Mode::masked, gnn::Mode::bulk};
constexpr int kGreenContexts = 12040;  // the CUDA version of the first driver that has them

std::string why_no_way(const Machine& machine, ShareBy by) {
  if (by == ShareBy::green_context && machine.runtime.driver_version.value_or(0) < kGreenContexts) {
    return "green contexts need a driver for CUDA 12.4 or newer";
  }
  if (cuda::needs_mps(by) && find_program(kMpsControl).empty()) {
    return std::string(kMpsControl) + " is not in PATH: it comes with the driver's utilities";
  }
  return {};
}

// The point of a line; `consumer`: whether the family has that axis.
SharePoint point_of(const Values& values, bool has_consumer) {
  SharePoint point;
  point.by = enumerator(values.word("by"), kWays, [](ShareBy each) { return name(each); });
  point.sms = values.is("sms", kNone) ? 0 : values.number_as<int>("sms");
  point.percent = point.by == ShareBy::unlimited ? 100
                  : values.is("percent", kNone)  ? 0
                                                 : values.decimal("percent");
  point.gather.mode = enumerator(values.word("mode"), kModes, [](gnn::Mode each) { return name(each); });
  point.gather.store = gnn::Store::mapped;
  point.gather.row_bytes = values.number_as<std::uint32_t>("row");
  point.gather.rows = values.number("rows");
  point.gather.span_bytes = values.number("span");
  point.gather.width = values.number_as<std::uint32_t>("width");
  if (has_consumer) {
    point.consumer =
        enumerator(values.word("consumer"), kConsumers, [](Consumer each) { return name(each); });
  }
  return point;
}

// Why a share cannot be, whatever the machine; empty: it can.
std::string why_impossible(const Values& values, const SharePoint& point) {
  const bool in_sms = !values.is("sms", kNone);
  const bool in_percent = !values.is("percent", kNone);
  if (point.by == ShareBy::unlimited && (in_sms || in_percent)) {
    return "by unlimited nothing is parted: sms and percent are none";
  }
  if (point.by != ShareBy::unlimited && in_sms == in_percent) {
    return std::string("by ") + name(point.by) + " a share is in sms or in percent: one of them is none";
  }
  const GatherPoint& gather = point.gather;
  if (gather.row_bytes > gather.span_bytes ||
      !gnn::may_load(gather.mode, gather.row_bytes, gather.element, gather.width)) {
    return std::string("a ") + name(gather.mode) + " gather cannot load " + std::to_string(gather.width) +
           " bytes at once of rows of " + std::to_string(gather.row_bytes) + " in a table of " +
           format_bytes(gather.span_bytes);
  }
  return {};
}

}  // namespace

int SharePoint::sms_of(int available) const {
  if (sms > 0) {
    return sms;
  }
  // A percentage that is a whole number of multiprocessors but for rounding is that number.
  const double exact = percent / 100 * available;
  return std::clamp(static_cast<int>(std::ceil(exact - 1e-9)), 1, std::max(1, available));
}

std::vector<DeclaredAxis> share_axes(const std::string& width, const std::string& rows) {
  DeclaredAxis percent = percent_axis(
      "percent", "the gather's share of the multiprocessors in percent; none: `sms` says it", kNone);
  percent.words = {kNone};
  return {word_axis("by", "how multiprocessors are parted",
                    names_of(kWays, [](ShareBy each) { return name(each); })),
          number_axis("sms", "multiprocessors that the gather gets; none: `percent` says it", {1, 1024},
                      kNone, {kNone}),
          std::move(percent),
          number_axis("width", "bytes that a lane loads at once: 4, 8 or 16", {4, 16}, width),
          word_axis("mode", "how rows are gathered",
                    names_of(kModes, [](gnn::Mode each) { return name(each); }), name(gnn::Mode::masked)),
          size_axis("row", "bytes of a row", {4, kMiB}, false, "1KiB"),
          number_axis("rows", "rows of a gather", {1, 1 << 30}, rows),
          size_axis("span", "bytes of the table", {4, 256 * kGiB}),
          gpu_axis()};
}

std::string percent_text(double percent) {
  std::array<char, 16> text{};
  std::snprintf(text.data(), text.size(), "%g", percent);
  return text.data();
}

Case share_case(const std::string& family, const SharePoint& point, const GatherSite& site) {
  std::vector<Axis> axes{{"by", name(point.by), AxisStyle::bare},
                         {"locality", site.gpu->locality(site.node), AxisStyle::hidden}};
  if (point.consumer != Consumer::products) {
    axes.push_back({"consumer", name(point.consumer)});
  }
  if (point.sms > 0) {
    axes.push_back({"sms", std::int64_t{point.sms}});
  } else if (point.by != ShareBy::unlimited) {
    axes.push_back({"percent", percent_text(point.percent)});
  }
  if (point.gather.mode != gnn::Mode::masked) {
    axes.push_back({"mode", name(point.gather.mode)});
  }
  axes.push_back({"width", std::int64_t{point.gather.width}});
  axes.push_back({"row", static_cast<std::int64_t>(point.gather.row_bytes)});
  axes.push_back({"rows", static_cast<std::int64_t>(point.gather.rows)});
  axes.push_back({"span", static_cast<std::int64_t>(point.gather.span_bytes)});
  return {family, std::move(axes), {{"numa", site.node}, {"gpu", site.gpu->ordinal}}};
}

std::string why_no_share(const Machine& machine, const SharePoint& point, const GatherSite& site) {
  std::string why = why_no_store(machine, point.gather, site);
  const GpuReport* const report = machine.find_gpu(site.gpu->ordinal);
  const int available = report != nullptr && report->cuda ? report->cuda->sm_count : 0;
  if (why.empty() && available > 0 && point.sms > available) {
    why =
        "GPU " + std::to_string(site.gpu->ordinal) + " has " + std::to_string(available) + " multiprocessors";
  }
  return why.empty() ? why_no_way(machine, point.by) : why;
}

int available_sms(const Session& session, const GatherSite& site) {
  return session.machine().find_gpu(site.gpu->ordinal)->cuda->sm_count;
}

std::unique_ptr<MpsDaemon> start_mps(const Machine& machine, int gpu) {
  MpsRequest request;
  request.gpu = machine.find_gpu(gpu)->cuda->uuid;
  return std::make_unique<MpsDaemon>(request);
}

ShareClaims claim_share(Benchmark& benchmark, const SharePoint& point, const GatherSite& site,
                        const ShareCaches& caches, const Scope& scope, bool here_too) {
  ShareClaims claims;
  // A case that is skipped will not ask for anything: nobody should keep it for one.
  if (!benchmark.skip.empty()) {
    return claims;
  }
  Needs& needs = benchmark.needs;
  needs = gather_needs(point.gather, site);
  if (cuda::needs_mps(point.by)) {
    needs.host_bytes += point.gather.span_bytes;
    needs.device_bytes *= here_too ? 2 : 1;
    claims.daemon = caches.daemons->claim(site.gpu->ordinal, scope.visits_here);
  }
  if (point.consumer == Consumer::graphsage) {
    needs.host_bytes += kShareBatchBytes;
    needs.device_bytes += kShareBatchBytes;
    claims.batch = caches.batches->claim(0, scope.visits_here);
  }
  if (here_too || !cuda::needs_mps(point.by)) {
    claims.span =
        caches.spans->claim(span_key(point.gather, site), scope.visits_here, needs.shared_host_bytes);
  } else {
    needs.shared_host_bytes = 0;
  }
  return claims;
}

ShareJob gather_job(const SharePoint& point, const GatherSite& site, int available) {
  ShareJob job;
  job.by = point.by;
  job.sms = point.sms_of(available);
  job.percent = point.sms > 0 ? 100.0 * point.sms / available : point.percent;
  job.node = site.node;
  job.mode = point.gather.mode;
  job.width = point.gather.width;
  job.row_bytes = point.gather.row_bytes;
  job.rows = point.gather.rows;
  job.span_bytes = point.gather.span_bytes;
  return job;
}

ShareJob consumer_job(const SharePoint& point, const GatherSite& site, int available, int count) {
  const ShareJob gather = gather_job(point, site, available);
  ShareJob job;
  job.by = point.by;
  job.sms = std::max(1, available - gather.sms);
  job.percent = 100 - gather.percent;
  job.node = site.node;
  (point.consumer == Consumer::products ? job.products : job.steps) = count;
  return job;
}

void require_client(int asked, int told, int seen, int available) {
  const bool less = 2 * asked <= available || asked + kSmsTogether <= available;
  if (less && std::min(told, seen) >= available) {
    throw SkipError("the process that gathers has all " + std::to_string(available) +
                    " multiprocessors: it did not become a client of MPS");
  }
}

GatherSide::GatherSide(Session& session, const SharePoint& point, const GatherSite& site, SpanCache& cache,
                       SpanCache::Claim& claim)
    : mode_(point.gather.mode),
      width_(point.gather.width),
      lease_(cache, claim, session.surroundings()),
      store_(gnn::make_feature_store(store_request(point.gather, site), &lease_.memory(), nullptr)),
      lists_(drawn_lists(point.gather, store_->shape().rows)) {}

std::unique_ptr<gnn::ShareWork> GatherSide::on(const cuda::SmPartition& part) const {
  return gnn::make_gather_work(*store_, lists_, mode_, width_, part);
}

std::vector<Benchmark> list_shares(const std::string& family, const Machine& machine, const Scope& scope,
                                   const Grids& grids,
                                   const std::function<Explanation(const SharePoint&)>& explain,
                                   const MeasureShare& measure, bool here_too, const Spans& spans) {
  std::vector<std::pair<SharePoint, GatherSite>> listed;
  grids.each_gpu([&](const GpuTarget& gpu, const Grid& grid) {
    for (const Values& values : grid.points()) {
      const SharePoint point = point_of(values, here_too);
      const std::string why = why_impossible(values, point);
      if (why.empty()) {
        listed.emplace_back(point, GatherSite{scope.nearest_node(gpu), gpu, {}});
      } else {
        grids.leave_out(why);
      }
    }
  });
  std::stable_sort(listed.begin(), listed.end(), [](const auto& a, const auto& b) {
    const auto order = [](const auto& each) {
      return std::tuple(each.second.ordinal(), each.first.consumer, each.first.gather.span_bytes);
    };
    return order(a) < order(b);
  });
  std::vector<Benchmark> benchmarks;
  ShareCaches caches;
  caches.spans = spans;
  for (const auto& [point, site] : listed) {
    Benchmark benchmark;
    benchmark.id = share_case(family, point, site);
    benchmark.skip = why_no_share(machine, point, site);
    if (benchmark.skip.empty()) {
      benchmark.skip_for_now(
          why_too_much(machine, scope, gather_needs(point.gather, site).shared_host_bytes));
    }
    benchmark.explanation = explain(point);
    const ShareClaims claims = claim_share(benchmark, point, site, caches, scope, here_too);
    benchmark.run = [point = point, site = site, caches, claims, measure](Session& session) {
      return measure(session, point, site, caches, claims);
    };
    benchmarks.push_back(std::move(benchmark));
  }
  return benchmarks;
}

void add_share(const Session& session, const SharePoint& point, const GatherSite& site,
               const gnn::UniqueRows& unique, int given_sms, Measurement& measurement) {
  measurement.bytes = point.gather.asked_bytes();
  measurement.link_bytes_least = unique.on_host * point.gather.row_bytes;
  add_limits(session, site, measurement);
  const int available = available_sms(session, site);
  auto& counters = measurement.counters;
  if (point.by != ShareBy::unlimited) {
    counters["asked_sms"] = point.sms_of(available);
  }
  counters["given_sms"] = given_sms;
  counters["available_sms"] = available;
  counters["given_share"] = static_cast<double>(given_sms) / available;
}

}  // namespace grainscope::harness
