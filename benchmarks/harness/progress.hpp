#ifndef GRAINSCOPE_BENCHMARKS_HARNESS_PROGRESS_HPP
#define GRAINSCOPE_BENCHMARKS_HARNESS_PROGRESS_HPP

// How long a run takes, and how far it is: the plan's estimates, the time left by them and by what visits
// have taken, and the line at the bottom of a terminal that tells it.

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "benchmark.hpp"
#include "screen.hpp"

namespace grainscope::harness {

// What a visit to a case takes, and how many it gets: a model says the same at each.
[[nodiscard]] double visit_estimate_s(const Benchmark& benchmark, const Scope& scope);
[[nodiscard]] int visits_to(const Benchmark& benchmark, const Scope& scope);
// What all visits to these cases take, with the memory that is locked for all of them.
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

class Progress {
 public:
  Progress();
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  [[nodiscard]] TimeLeft& time_left() { return time_left_; }
  // The visits to come are all that were expected.
  void begin();
  void start_case(const std::string& name);
  void finish_case(const std::string& name);
  // Wipes the line so that something else can be written; `draw` brings it back.
  void wipe() const;
  void draw() const;

 private:
  Screen screen_;
  TimeLeft time_left_;
  std::size_t all_ = 0;
  double begun_s_;
  double latest_s_;
  std::string name_;
};

}  // namespace grainscope::harness

#endif
