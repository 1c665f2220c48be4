#include "plan.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "machine.hpp"
#include "presets.hpp"
#include "selection.hpp"

namespace grainscope::harness {
namespace {

// What a visit costs at least, as a rule.
constexpr double kVisit_s = 0.05;
// The part of the sampling budget that a case uses on average: most reach their target early, or cannot.
constexpr double kBudgetShare = 0.2;
// What a visit goes on for so that the board's power can be read.
constexpr double kPower_s = 0.4;
// Locking memory that cases share, and giving it back.
constexpr double kShared_s_per_byte = 0.45e-9;

bool uses_gpu(const Benchmark& benchmark) {
  return std::any_of(benchmark.id.site.begin(), benchmark.id.site.end(), is_gpu);
}

VisitCost cost_of(const Benchmark& benchmark) {
  const auto& costs = visit_costs();
  const std::string& family = benchmark.id.family;
  const auto alone = uses_gpu(benchmark) ? costs.end() : costs.find(family + " without a GPU");
  const auto known = alone != costs.end() ? alone : costs.find(family);
  return known != costs.end() ? known->second : VisitCost{};
}

// How many planned seconds have to be over until what they took weighs as much as the plan: of a family; of
// the run, and beside these a part of it.
constexpr double kPlanOfFamily_s = 1;
constexpr double kPlanOfRun_s = 20;
constexpr double kPlanOfRunShare = 0.1;

}  // namespace

int visits_to(const Benchmark& benchmark, const Scope& scope) {
  return benchmark.modelled ? 1 : scope.visits;
}

double visit_estimate_s(const Benchmark& benchmark, const Scope& scope) {
  const auto [factor, ns_per_byte] = cost_of(benchmark);
  const double power_s = scope.sampling.power && benchmark.gpus().size() == 1 ? kPower_s : 0;
  if (benchmark.about_s) {
    return factor * *benchmark.about_s;
  }
  const double sampling_s = kBudgetShare * scope.sampling.budget_s / scope.visits;
  return factor * (kVisit_s + (benchmark.samples_s ? 0 : sampling_s)) + benchmark.samples_s.value_or(0) +
         static_cast<double>(benchmark.needs.host_bytes) * ns_per_byte * 1e-9 + power_s;
}

namespace {

double locking_s(const Benchmark& benchmark) {
  return static_cast<double>(benchmark.needs.shared_host_bytes) * kShared_s_per_byte;
}

// What cases that share memory have in common.
std::string shared_by(const Benchmark& benchmark) {
  std::string shared = group_of(benchmark.id.family);
  for (const Axis& axis : benchmark.id.axes) {
    if (axis.key == "memory") {
      shared += " " + to_string(axis.value);
    }
  }
  return shared;
}

}  // namespace

double visit_at_most_s(const Benchmark& benchmark, const Scope& scope) {
  return visit_estimate_s(benchmark, scope) + locking_s(benchmark);
}

double PlannedTime::locked_s(const std::string& shared) const {
  const auto known = locked_s_.find(shared);
  return known != locked_s_.end() ? known->second : 0;
}

double PlannedTime::with(const Benchmark& benchmark) const {
  const int visits = visits_to(benchmark, *scope_);
  const double more_s = visits * locking_s(benchmark) - locked_s(shared_by(benchmark));
  return seconds_ + visits * visit_estimate_s(benchmark, *scope_) + std::max(0.0, more_s);
}

void PlannedTime::add(const Benchmark& benchmark) {
  seconds_ = with(benchmark);
  double& locked_s = locked_s_[shared_by(benchmark)];
  locked_s = std::max(locked_s, visits_to(benchmark, *scope_) * locking_s(benchmark));
}

double plan_estimate_s(const std::vector<Benchmark>& cases, const Scope& scope) {
  PlannedTime planned(scope);
  for (const Benchmark& benchmark : cases) {
    planned.add(benchmark);
  }
  return planned.seconds();
}

void TimeLeft::count(const Visited& visited, double sign) {
  Family& family = families_[visited.family];
  if (visited.done == 0) {
    family.plan_left_s += sign * visited.left * visited.plan_s;
  } else {
    family.again_left_s += sign * visited.left * visited.took_s / visited.done;
  }
}

void TimeLeft::expect(const std::string& name, const std::string& family, double visit_s, int visits) {
  Visited& visited = cases_[name] = {family, visit_s, visits};
  count(visited, 1);
  planned_s_ += visits * visit_s;
  visits_ += static_cast<std::size_t>(visits);
}

void TimeLeft::finished(const std::string& name, double took_s) {
  const auto known = cases_.find(name);
  if (known == cases_.end() || known->second.left == 0) {
    return;
  }
  Visited& visited = known->second;
  count(visited, -1);
  Family& family = families_[visited.family];
  family.plan_done_s += visited.plan_s;
  family.took_s += took_s;
  visited.took_s += took_s;
  ++visited.done;
  --visited.left;
  --visits_;
  count(visited, 1);
}

void TimeLeft::drop(const std::string& name) {
  if (const auto known = cases_.find(name); known != cases_.end()) {
    count(known->second, -1);
    visits_ -= static_cast<std::size_t>(known->second.left);
    known->second.left = 0;
  }
}

double TimeLeft::seconds() const {
  double plan_s = kPlanOfRun_s + kPlanOfRunShare * planned_s_;
  double took_s = plan_s;
  for (const auto& [name, family] : families_) {
    plan_s += family.plan_done_s;
    took_s += family.took_s;
  }
  const double of_run = took_s / plan_s;
  double left_s = 0;
  for (const auto& [name, family] : families_) {
    const double of_family =
        (family.took_s + kPlanOfFamily_s * of_run) / (family.plan_done_s + kPlanOfFamily_s);
    left_s += family.plan_left_s * of_family + family.again_left_s;
  }
  return std::max(left_s, 0.0);
}

}  // namespace grainscope::harness
