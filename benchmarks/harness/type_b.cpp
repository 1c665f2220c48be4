#include "type_b.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "type_b_table.hpp"

namespace grainscope::harness {
namespace {

using nlohmann::json;

Uncertainty uncertainty_of(const json& told) {
  return {told.at("standard"), told.value("freedom", std::numeric_limits<double>::infinity())};
}

}  // namespace

std::string gpus_of(const Environment& environment) {
  const auto& gpus = environment.gpus;
  if (gpus.empty()) {
    return "";
  }
  const std::string& name = gpus.front().name;
  const auto alike =
      std::count_if(gpus.begin(), gpus.end(), [&](const auto& gpu) { return gpu.name == name; });
  return alike > 1 ? name + " ×" + std::to_string(alike) : name;
}

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
      }
      if (row.contains("run")) {
        spread.runs = uncertainty_of(row["run"]);
      }
      spreads_[{row.at("family"), row.at("version"), row.at("clock")}] = spread;
    }
    told_ = {{"date", table.at("date")}, {"sha256", build::kTypeBSha256}, {"known", knows_machine_}};
  } catch (const json::exception& error) {
    throw std::logic_error(std::string("the table of type B cannot be read: ") + error.what());
  }
}

VariancePrior TypeB::between_visits(const std::string& family, int version, const std::string& clock) const {
  const auto found = spreads_.find({family, version, clock});
  return found == spreads_.end() ? VariancePrior{} : found->second.visits;
}

std::optional<Uncertainty> TypeB::between_runs(const std::string& family, int version,
                                               const std::string& clock) const {
  const auto found = spreads_.find({family, version, clock});
  return found == spreads_.end() || !knows_machine_ ? std::nullopt : found->second.runs;
}

TypeB type_b_of(const Machine& machine) {
  return {build::kTypeBTable, machine.environment.cpu.model.value_or(""), gpus_of(machine.environment)};
}

}  // namespace grainscope::harness
