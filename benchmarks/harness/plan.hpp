#ifndef GRAINSCOPE_BENCHMARKS_HARNESS_PLAN_HPP
#define GRAINSCOPE_BENCHMARKS_HARNESS_PLAN_HPP

// How long a run takes: the plan's estimates, and the time left by them and by what visits have taken.

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "benchmark.hpp"

namespace grainscope::harness {

// What a visit to a case takes, and how many it gets: a model says the same at each.
[[nodiscard]] double visit_estimate_s(const Benchmark& benchmark, const Scope& scope);
[[nodiscard]] int visits_to(const Benchmark& benchmark, const Scope& scope);
// The same where it is the first of its process to need the memory that it shares, which is locked then.
[[nodiscard]] double visit_at_most_s(const Benchmark& benchmark, const Scope& scope);

// What all visits to some cases take. Memory that cases of a group share is locked once at each visit, as
// much as the largest of them needs.
class PlannedTime {
 public:
  explicit PlannedTime(const Scope& scope) : scope_(&scope) {}
  void add(const Benchmark& benchmark);
  [[nodiscard]] double seconds() const { return seconds_; }
  [[nodiscard]] double with(const Benchmark& benchmark) const;

 private:
  [[nodiscard]] double locked_s(const std::string& shared) const;

  const Scope* scope_;  // outlives it
  double seconds_ = 0;
  std::map<std::string, double> locked_s_;  // by what is shared
};
[[nodiscard]] double plan_estimate_s(const std::vector<Benchmark>& cases, const Scope& scope);

// The time that visits still take. A case that was visited takes as long again; one that was not takes what
// the plan says, times what the plan was wrong by in its family and in the run so far.
class TimeLeft {
 public:
  void expect(const std::string& name, const std::string& family, double visit_s, int visits);
  // A visit has ended. Visits that were not expected count for nothing.
  void finished(const std::string& name, double took_s);
  // No visit to it is to come.
  void drop(const std::string& name);
  [[nodiscard]] double seconds() const;
  [[nodiscard]] std::size_t visits() const { return visits_; }  // to come

 private:
  struct Visited {
    std::string family;
    double plan_s = 0;
    int left = 0;
    int done = 0;
    double took_s = 0;  // of those that are done
  };
  struct Family {
    double plan_done_s = 0;
    double took_s = 0;
    double plan_left_s = 0;   // of cases that were not visited
    double again_left_s = 0;  // of those that were
  };
  // What a case adds to the time left of its family, times `sign`.
  void count(const Visited& visited, double sign);

  std::map<std::string, Visited> cases_;
  std::map<std::string, Family> families_;
  std::size_t visits_ = 0;
  double planned_s_ = 0;  // of all that was expected
};

}  // namespace grainscope::harness

#endif
