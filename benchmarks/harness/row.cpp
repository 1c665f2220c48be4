#include "row.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "grainscope/core/units.hpp"

namespace grainscope::harness {
namespace {

using nlohmann::json;

// A lane may seem faster beside another by this much: its time alone is of few samples.
constexpr double kSlowerAlone = 1.05;

json case_json(const Case& id) {
  json axes = json::object();
  for (const Axis& axis : id.axes) {
    std::visit([&](const auto& value) { axes[axis.key] = value; }, axis.value);
  }
  json site = json::object();
  for (const Site& place : id.site) {
    site[place.key] = place.value;
  }
  return {{"family", id.family}, {"axes", axes}, {"site", site}};
}

json traffic_json(const Traffic& traffic) {
  json by_size = json::object();
  for (const auto& [size, count] : traffic.requests_by_size) {
    by_size[std::to_string(size)] = count;
  }
  json result{{"label", traffic.counted ? "counted" : "modelled"},
              {"requests", traffic.requests},
              {"requests_by_size", by_size},
              {"bytes", traffic.bytes}};
  if (traffic.amplification > 0) {
    result["amplification"] = traffic.amplification;
  }
  return result;
}

json lane_json(const LaneResult& lane) {
  const Summary summary = summarize(lane.seconds);
  json result{{"name", lane.name},   {"from", lane.from},          {"to", lane.to},
              {"bytes", lane.bytes}, {"median_s", summary.median}, {"background", lane.background}};
  if (summary.ci95) {
    result["ci95_s"] = {summary.ci95->low, summary.ci95->high};
  }
  const auto bytes = static_cast<double>(lane.bytes);
  if (lane.bytes > 0) {
    result["bandwidth_gb_s"] = gb_per_s(bytes, summary.median);
  }
  if (lane.alone_s) {
    result["alone_s"] = *lane.alone_s;
    if (lane.bytes > 0) {
      result["alone_gb_s"] = gb_per_s(bytes, *lane.alone_s);
    }
  }
  return result;
}

// Company makes nothing faster: what such a lane took alone was disturbed, or measures something else.
bool is_slower_alone(const LaneResult& lane) {
  if (lane.background || !lane.alone_s) {
    return false;
  }
  const Summary together = summarize(lane.seconds);
  return *lane.alone_s > kSlowerAlone * (together.ci95 ? together.ci95->high : together.median);
}

void add_lanes(json& row, const Measurement& measurement) {
  if (measurement.lanes.empty()) {
    return;
  }
  row["lanes"] = json::array();
  for (const LaneResult& lane : measurement.lanes) {
    row["lanes"].push_back(lane_json(lane));
  }
  if (std::any_of(measurement.lanes.begin(), measurement.lanes.end(), is_slower_alone)) {
    row["flags"].push_back("slower_alone");
  }
  if (measurement.overlap) {
    row["overlap"] = *measurement.overlap;
  }
}

void add_trials(json& row, const std::vector<Trial>& trials) {
  for (const Trial& trial : trials) {
    json result{{"label", trial.label}, {"samples_s", trial.samples_s}};
    if (!trial.counters.empty()) {
      result["counters"] = trial.counters;
    }
    row["trials"].push_back(std::move(result));
  }
}

void add_levels(json& row, const std::vector<LevelResult>& levels) {
  for (std::size_t i = 0; i < levels.size(); ++i) {
    const LevelResult& level = levels[i];
    json result{{"level", i}, {"active", level.active}, {"edges", level.edges}};
    if (level.seconds > 0) {
      result["seconds"] = level.seconds;
    }
    if (level.requests > 0) {
      result["requests"] = level.requests;
      result["link_bytes"] = level.link_bytes;
    }
    row["levels"].push_back(std::move(result));
  }
}

void add_graph(json& row, const GraphFacts& graph) {
  row["graph"] = {{"vertices", graph.vertices}, {"entries", graph.entries}};
  if (!graph.edge_cdf.empty()) {
    row["graph"]["degree_cdf"] = graph.edge_cdf;
  }
}

void add_statistics(json& row, const Samples& samples) {
  const Summary& summary = samples.summary;
  row["samples_s"] = samples.seconds;
  if (!samples.dropped.empty()) {
    row["dropped_samples"] = samples.dropped.size();
    row["dropped_median_s"] = summarize(samples.dropped).median;
  }
  row["median_s"] = summary.median;
  if (summary.ci95) {
    row["ci95_s"] = {summary.ci95->low, summary.ci95->high};
  }
  row["mad_s"] = summary.mad;
  row["p5_s"] = summary.p5;
  row["p95_s"] = summary.p95;
  row["flags"] = json::array();
  if (!samples.reached_target) {
    row["flags"].push_back("wide_interval");
  }
  if (summary.bimodal) {
    row["flags"].push_back("bimodal");
  }
}

void add_rates(json& row, const Measurement& measurement) {
  const double median_s = measurement.samples.summary.median;
  if (measurement.bytes > 0) {
    const double rate = gb_per_s(static_cast<double>(measurement.bytes), median_s);
    row["bytes"] = measurement.bytes;
    row["bandwidth_gb_s"] = rate;
    // What crossed the link, where that was told apart from what was asked for: it may be nothing.
    const auto link = measurement.counters.find("link_gb_s");
    const double crossed = link != measurement.counters.end() ? link->second : rate;
    if (measurement.link_peak_gb_s && crossed > 0) {
      row["link_fraction"] = crossed / *measurement.link_peak_gb_s;
    }
  }
  if (measurement.link_bytes) {
    row["link_bytes"] = *measurement.link_bytes;
  }
  if (measurement.operations > 0) {
    row["operations"] = measurement.operations;
    row["operation_s"] = median_s / static_cast<double>(measurement.operations);
  }
}

}  // namespace

const char* name(Status status) {
  switch (status) {
    case Status::ok:
      return "ok";
    case Status::skipped:
      return "skipped";
    case Status::failed:
      return "failed";
  }
  return "failed";
}

json outcome_row(const Case& id, Status status, const std::string& reason) {
  json row{{"name", id.name()},     {"run_name", id.name()},  {"run_type", "iteration"},
           {"case", case_json(id)}, {"status", name(status)}, {"label", "measured"}};
  if (status != Status::ok) {
    row["reason"] = reason;
    // As Google Benchmark marks a row that has no time.
    row["error_occurred"] = true;
    row["error_message"] = std::string(name(status)) + ": " + reason;
  }
  return row;
}

void add_measurement(json& row, const Measurement& measurement) {
  if (measurement.samples.seconds.empty()) {
    return;
  }
  if (measurement.modelled) {
    row["label"] = "modelled";
  }
  add_statistics(row, measurement.samples);
  add_rates(row, measurement);
  add_lanes(row, measurement);
  add_trials(row, measurement.trials);
  add_levels(row, measurement.levels);
  if (measurement.graph) {
    add_graph(row, *measurement.graph);
  }
  if (const auto& own = measurement.features) {
    row["features"] = {{"rows", own->rows}, {"columns", own->columns}, {"element", own->element}};
  }
  if (!measurement.hit_curve.empty()) {
    row["hit_curve"] = measurement.hit_curve;
  }
  row["timing"] = {{"clock", measurement.timing.clock == Clock::event ? "event" : "steady"},
                   {"gated", measurement.timing.gated},
                   {"timed", measurement.timing.timed}};
  if (measurement.limit) {
    row["limit_gb_s"] = measurement.limit->gb_s;
    row["limit"] = measurement.limit->source;
  }
  row["verified"] = !measurement.verification.empty();
  if (!measurement.verification.empty()) {
    row["verification"] = measurement.verification;
  }
  if (measurement.traffic) {
    row["traffic"] = traffic_json(*measurement.traffic);
  }
  if (measurement.energy_j) {
    row["energy_j"] = *measurement.energy_j;
  }
  if (!measurement.counters.empty()) {
    row["counters"] = measurement.counters;
  }
}

}  // namespace grainscope::harness
