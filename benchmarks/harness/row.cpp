#include "row.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <set>
#include <stdexcept>
#include <utility>

#include "grainscope/core/units.hpp"
#include "type_b_table.hpp"

namespace grainscope::harness {
namespace {

using nlohmann::json;

Uncertainty uncertainty_of(const json& told) {
  return {told.at("standard"), told.value("freedom", std::numeric_limits<double>::infinity())};
}

}  // namespace

TypeB::TypeB(const std::string& text, const std::string& cpu, const std::string& gpu) {
  try {
    const json table = json::parse(text);
    const json& machines = table.at("machines");
    const auto known = std::find_if(machines.begin(), machines.end(), [&](const json& machine) {
      return machine.at("cpu") == cpu && machine.at("gpu") == gpu;
    });
    knows_machine_ = known != machines.end();
    const auto at = knows_machine_ ? known - machines.begin() : 0;
    for (const json& row : table.at("families")) {
      if (row.value("machine", 0) != at) {
        continue;
      }
      Spread spread;
      if (row.contains("visit")) {
        const Uncertainty visits = uncertainty_of(row["visit"]);
        spread.visits = {visits.standard * visits.standard, visits.freedom};
        spread.middle_visits = row["visit"].value("middle", 0.0);
      }
      if (row.contains("run")) {
        spread.runs = uncertainty_of(row["run"]);
      }
      spreads_[{row.at("family"), row.at("version"), row.at("clock"), ""}] = spread;
    }
    add_rows(table.value("rows", json::array()), static_cast<std::size_t>(at));
    told_ = {{"date", table.at("date")}, {"sha256", build::kTypeBSha256}, {"known", knows_machine_}};
  } catch (const json::exception& error) {
    throw std::logic_error(std::string("the table of type B cannot be read: ") + error.what());
  }
}

// Each has what its family has, where it has nothing of its own.
void TypeB::add_rows(const json& rows, std::size_t machine) {
  for (const json& row : rows) {
    const auto family = spreads_.find({row.at("family"), row.at("version"), row.at("clock"), ""});
    if (family == spreads_.end()) {
      continue;
    }
    Spread spread = family->second;
    const json& visits = row.at("visit").at(machine);
    const json& runs = row.at("run").at(machine);
    if (visits.is_number() && visits > 0 && spread.middle_visits > 0) {
      // What the row has is a share of what the middle row has: so that other rows tell of it in a run.
      spread.visits.variance = spread.middle_visits * spread.middle_visits;
      spread.visit_share = std::pow(visits.get<double>() / spread.middle_visits, 2);
    }
    if (runs.is_number() && runs > 0 && spread.runs) {
      spread.runs->standard = runs.get<double>();
    }
    spreads_[{row.at("family"), row.at("version"), row.at("clock"), axes_text(row.at("axes"))}] = spread;
  }
}

const TypeB::Spread* TypeB::spread_of(const Row& row) const {
  auto found = spreads_.find(row);
  if (found == spreads_.end()) {
    const auto& [family, version, clock, axes] = row;
    found = spreads_.find({family, version, clock, ""});
  }
  return found == spreads_.end() ? nullptr : &found->second;
}

VariancePrior TypeB::between_visits(const Row& row) const {
  const Spread* spread = spread_of(row);
  return spread == nullptr ? VariancePrior{} : spread->visits;
}

double TypeB::visit_share(const Row& row) const {
  const Spread* spread = spread_of(row);
  return spread == nullptr ? 1 : spread->visit_share;
}

std::optional<Uncertainty> TypeB::between_runs(const Row& row) const {
  const Spread* spread = spread_of(row);
  return spread == nullptr || !knows_machine_ ? std::nullopt : spread->runs;
}

std::string axes_text(const json& axes) {
  json comparable = axes;
  if (comparable.value("locality", "") == "unknown") {
    comparable["locality"] = "local";
  }
  return comparable.dump();
}

std::string gpus_of(const Environment& environment) {
  std::map<std::string, int> models;  // and how many, in whatever order the driver lists them
  for (const auto& gpu : environment.gpus) {
    ++models[gpu.name];
  }
  std::string text;
  for (const auto& [name, count] : models) {
    text += (text.empty() ? "" : ", ") + name + (count > 1 ? " ×" + std::to_string(count) : "");
  }
  return text;
}

std::string cpu_of(const Environment& environment) {
  std::set<std::pair<int, std::uint64_t>> caches;  // level, bytes
  for (const Cache& cache : environment.cpu.caches) {
    if (cache.type != "instruction" && cache.bytes > 0) {
      caches.emplace(cache.level, cache.bytes);
    }
  }
  std::string sizes;
  for (const auto& [level, bytes] : caches) {
    sizes += (sizes.empty() ? " " : "/") + std::to_string(bytes >> 10U);
  }
  return environment.cpu.model.value_or("") + sizes + (sizes.empty() ? "" : " KiB");
}

TypeB type_b_of(const Machine& machine) {
  return {build::kTypeBTable, cpu_of(machine.environment), gpus_of(machine.environment)};
}

namespace {

// A lane may seem faster beside another by this much: its time alone is of few samples.
constexpr double kSlowerAlone = 1.05;
// A number that is known no better than this is marked.
constexpr double kWide = 0.05;

json case_json(const Benchmark& benchmark) {
  const Case& id = benchmark.id;
  json axes = json::object();
  for (const Axis& axis : id.axes) {
    std::visit([&](const auto& value) { axes[axis.key] = value; }, axis.value);
  }
  json site = json::object();
  for (const Site& place : id.site) {
    site[place.key] = place.value;
  }
  return {{"family", id.family}, {"version", benchmark.version}, {"axes", axes}, {"site", site}};
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
    result["within_s"] = {summary.ci95->low, summary.ci95->high};
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

void add_timeline(json& row, const std::vector<TimelineLane>& timeline) {
  for (const TimelineLane& each : timeline) {
    json lane{{"lane", each.stage}, {"begin_s", each.begin_s}, {"end_s", each.end_s}};
    if (each.gpu >= 0) {
      lane["gpu"] = each.gpu;
    }
    row["timeline"].push_back(std::move(lane));
  }
}

void add_graph(json& row, const GraphFacts& graph) {
  row["graph"] = {{"vertices", graph.vertices}, {"entries", graph.entries}};
  if (!graph.edge_cdf.empty()) {
    row["graph"]["degree_cdf"] = graph.edge_cdf;
  }
}

// What setting values aside has moved by more than the interval tells.
bool has_moved(const Samples& samples) {
  if (samples.unsettled.empty() || !samples.summary.ci95) {
    return false;
  }
  std::vector<double> all = samples.unsettled;
  all.insert(all.end(), samples.seconds.begin(), samples.seconds.end());
  const double median = summarize(all).median;
  return median < samples.summary.ci95->low || median > samples.summary.ci95->high;
}

void add_statistics(json& row, const Samples& samples) {
  const Summary& summary = samples.summary;
  row["samples_s"] = samples.seconds;
  if (!samples.unsettled.empty()) {
    row["unsettled_s"] = samples.unsettled;
  }
  row["median_s"] = summary.median;
  row["mad_s"] = summary.mad;
  row["p5_s"] = summary.p5;
  row["p95_s"] = summary.p95;
  row["flags"] = json::array();
  if (summary.bimodal) {
    row["flags"].push_back("bimodal");
  }
  if (has_moved(samples)) {
    row["flags"].push_back("unsettled");
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
  if (measurement.link_bytes_asked) {
    row["link_bytes_asked"] = *measurement.link_bytes_asked;
  }
  if (measurement.link_bytes_least) {
    row["link_bytes_least"] = *measurement.link_bytes_least;
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

json outcome_row(const Benchmark& benchmark, Status status, const std::string& reason) {
  const std::string name_of_case = benchmark.id.name();
  json row{{"name", name_of_case},         {"run_name", name_of_case}, {"run_type", "iteration"},
           {"case", case_json(benchmark)}, {"status", name(status)},   {"label", "measured"}};
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
  // Of trials, which differ in what they are given, there is no interval.
  if (const auto& within = measurement.samples.summary.ci95; within && measurement.trials.empty()) {
    row["within_s"] = {within->low, within->high};
  }
  add_rates(row, measurement);
  add_lanes(row, measurement);
  add_trials(row, measurement.trials);
  add_levels(row, measurement.levels);
  add_timeline(row, measurement.timeline);
  if (measurement.graph) {
    add_graph(row, *measurement.graph);
  }
  if (const auto& own = measurement.features) {
    row["features"] = {{"rows", own->rows}, {"columns", own->columns}, {"element", own->element}};
  }
  if (const auto& library = measurement.library) {
    row["library"] = {{"name", library->name}, {"version", library->version}, {"path", library->path}};
    if (!library->connections.empty()) {
      row["library"]["connections"] = library->connections;
    }
    if (!library->variables.empty()) {
      row["library"]["variables"] = library->variables;
    }
    row["library"]["hosts"] = library->hosts;
  }
  if (!measurement.hit_curve.empty()) {
    row["hit_curve"] = measurement.hit_curve;
  }
  row["timing"] = {{"clock", measurement.timing.clock == Clock::event ? "event" : "steady"},
                   {"gated", measurement.timing.gated},
                   {"timed", measurement.timing.timed}};
  if (measurement.disturbed) {
    row["timing"]["quiet"] = true;
    row["disturbed"] = *measurement.disturbed;
  }
  if (measurement.limit) {
    if (measurement.limit->gb_s > 0) {
      row["limit_gb_s"] = measurement.limit->gb_s;
    }
    if (measurement.limit->operation_s > 0) {
      row["limit_operation_s"] = measurement.limit->operation_s;
    }
    row["limit"] = measurement.limit->source;
  }
  row["verified"] = !measurement.verification.empty();
  if (!measurement.verification.empty()) {
    row["verification"] = measurement.verification;
  }
  if (measurement.traffic) {
    row["traffic"] = traffic_json(*measurement.traffic);
  }
  if (measurement.around_s) {
    row["around_s"] = *measurement.around_s;
  }
  if (measurement.energy_j) {
    row["energy_j"] = *measurement.energy_j;
  }
  if (measurement.power_w) {
    row["power_w"] = *measurement.power_w;
  }
  if (!measurement.counters.empty()) {
    row["counters"] = measurement.counters;
  }
}

namespace {

// What is told of a visit and not of the case: of these a merged row has each visit's.
constexpr const char* kOfAVisit[] = {"round",    "samples_s", "unsettled_s", "within_s",
                                     "visit_s",  "around_s",  "cpu_s",       "preemptions",
                                     "stolen_s", "disturbed", "state",       "died"};

// Whether most of its samples found no quiet CPU: what such a visit takes, another does not.
bool is_busy(const json& visit) {
  const auto disturbed = visit.find("disturbed");
  return disturbed != visit.end() && 2 * disturbed->get<std::size_t>() > visit.at("samples_s").size();
}

json visit_of(const json& row) {
  json visit;
  for (const char* field : kOfAVisit) {
    if (const auto found = row.find(field); found != row.end()) {
      visit[field] = *found;
    }
  }
  visit["median_s"] = row.at("median_s");
  if (is_busy(row)) {
    visit["busy"] = true;
  }
  return visit;
}

// Marks the visits whose CPUs lay far from each other, beside that of these in which they lay nearest. Two
// halves of one core are no nearness that others are held to: they take a line from one to the other in less.
void mark_far(json& visits) {
  constexpr double kFar = 2.5;  // times as long: less is clocks and neighbours, another cache is more
  constexpr double kTwoCores_ns = 20;
  const auto line_ns = [](const json& visit) {
    return visit.value("/state/cache_line_ns"_json_pointer, 0.0);
  };
  double nearest_ns = std::numeric_limits<double>::infinity();
  for (const json& visit : visits) {
    nearest_ns = line_ns(visit) >= kTwoCores_ns ? std::min(nearest_ns, line_ns(visit)) : nearest_ns;
  }
  for (json& visit : visits) {
    if (line_ns(visit) > kFar * nearest_ns) {
      visit["far"] = true;
    }
  }
}

bool has_status(const json& row, Status status) {
  return row.at("status") == name(status);
}

// "in visit 2 of 3: …".
std::string reason_in(const json& row, int planned) {
  const std::string reason = row.value("reason", "");
  return planned == 1 ? reason
                      : "in visit " + std::to_string(row.value("round", 1)) + " of " +
                            std::to_string(planned) + ": " + reason;
}

bool has_flag(const json& row, const char* flag) {
  const auto flags = row.find("flags");
  return flags != row.end() && std::find(flags->begin(), flags->end(), flag) != flags->end();
}

// The visits that say what becomes of a case: the first that failed, else those that are ok, else the first.
std::vector<const json*> telling(const std::vector<json>& visits) {
  std::vector<const json*> fine;
  for (const json& visit : visits) {
    if (has_status(visit, Status::failed)) {
      return {&visit};
    }
    if (has_status(visit, Status::ok)) {
      fine.push_back(&visit);
    }
  }
  return fine.empty() ? std::vector{&visits.front()} : fine;
}

std::string clock_of(const json& row) {
  const json& timing = row.at("timing");
  if (timing.at("clock") != "event") {
    return timing.value("quiet", false) ? "quiet" : "host";
  }
  return timing.at("gated") ? "gated" : "open";
}

TypeB::Row key_of(const json& row) {
  const json& id = row.at("case");
  return {id.at("family"), id.at("version"), clock_of(row), axes_text(id.at("axes"))};
}

json uncertainty_json(const Uncertainty& uncertainty) {
  json told{{"standard", uncertainty.standard}};
  if (std::isfinite(uncertainty.freedom)) {
    told["freedom"] = uncertainty.freedom;
  }
  return told;
}

bool is_measured(const json& row) {
  return has_status(row, Status::ok) && row.at("label") == "measured" && row.contains("visits");
}

// The medians of the visits that stand for their row.
std::vector<double> medians_of(const json& visits) {
  const std::vector<std::size_t> which = standing(visits);
  std::vector<double> medians(which.size());
  std::transform(which.begin(), which.end(), medians.begin(),
                 [&](std::size_t i) { return visits[i].at("median_s").get<double>(); });
  return medians;
}

// What a row's interval says of it: the combined one, or that within the visit where no other is known.
std::optional<Interval> stated_interval(const json& row) {
  const json& middle = row.at("visits").at(row.at("middle").get<std::size_t>());
  const json ends = row.value("interval_s", middle.value("within_s", json()));
  return ends.is_null() ? std::nullopt : std::optional(Interval{ends.at(0), ends.at(1)});
}

}  // namespace

std::vector<std::size_t> standing(const json& visits) {
  std::vector<std::size_t> all(visits.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  std::vector<std::size_t> found;
  std::copy_if(all.begin(), all.end(), std::back_inserter(found),
               [&](std::size_t i) { return !visits[i].contains("busy") && !visits[i].contains("far"); });
  return found.empty() ? all : found;
}

json merged_row(const std::vector<json>& visits, int planned) {
  const std::vector<const json*> told = telling(visits);
  const bool sampled =
      std::all_of(told.begin(), told.end(), [](const json* visit) { return visit->contains("median_s"); });
  json each = json::array();
  std::size_t middle = 0;
  if (sampled) {
    std::transform(told.begin(), told.end(), std::back_inserter(each),
                   [](const json* visit) { return visit_of(*visit); });
    mark_far(each);
    middle = standing(each)[middle_visit(medians_of(each))];
  }
  json row = *told[middle];
  if (!has_status(row, Status::ok)) {
    row["reason"] = reason_in(row, planned);
    row["error_message"] = row["status"].get<std::string>() + ": " + row["reason"].get<std::string>();
  }
  if (sampled && row["label"] != "modelled") {
    if (each[middle].contains("busy")) {
      row["timing"]["quiet"] = false;
    }
    row["visits"] = std::move(each);
    row["middle"] = middle;
    const bool moved = std::any_of(told.begin(), told.end(),
                                   [](const json* visit) { return has_flag(*visit, "unsettled"); });
    if (moved && !has_flag(row, "unsettled")) {
      row["flags"].push_back("unsettled");
    }
  }
  for (const char* field : kOfAVisit) {
    row.erase(field);
  }
  return row;
}

void add_uncertainties(std::vector<json>& rows, const TypeB& type_b) {
  std::vector<json*> measured;
  std::vector<VisitMedians> cases;
  std::vector<TypeB::Row> keys;
  for (json& row : rows) {
    if (is_measured(row)) {
      measured.push_back(&row);
      keys.push_back(key_of(row));
      cases.push_back({row["case"]["family"], clock_of(row), medians_of(row["visits"]),
                       type_b.between_visits(keys.back()), type_b.visit_share(keys.back())});
    }
  }
  const std::vector<TypeA> type_a_of = type_a(cases);
  for (std::size_t i = 0; i < measured.size(); ++i) {
    json& row = *measured[i];
    const auto& a = type_a_of[i].uncertainty;
    const auto b = type_b.between_runs(keys[i]);
    if (a) {
      row["uncertainty"]["a"] = uncertainty_json(*a);
    }
    if (b) {
      row["uncertainty"]["b"] = uncertainty_json(*b);
    }
    if (a && b) {
      row["uncertainty"]["combined"] = uncertainty_json(combined(*a, *b));
    }
    if (a) {
      const Interval interval = interval_around(row["median_s"], b ? combined(*a, *b) : *a);
      row["interval_s"] = {interval.low, interval.high};
    }
    const auto stated = stated_interval(row);
    if (!stated || relative_half_width(*stated, row["median_s"]) > kWide) {
      row["flags"].push_back("wide_interval");
    }
    if (type_a_of[i].visits_differ) {
      row["flags"].push_back("visits_differ");
    }
  }
}

}  // namespace grainscope::harness
