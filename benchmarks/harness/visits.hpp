#ifndef GRAINSCOPE_BENCHMARKS_HARNESS_VISITS_HPP
#define GRAINSCOPE_BENCHMARKS_HARNESS_VISITS_HPP

// A run comes to its cases several times: in which order, and from which process. The program starts itself
// once for each round of visits, and for each of several runs, so that whatever is decided when a process
// starts is decided anew.

#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "benchmark.hpp"
#include "screen.hpp"

namespace grainscope {
class ChildProcess;
}

namespace grainscope::harness {

// The word by which this program starts itself for a round.
inline constexpr const char* kVisitCommand = "visit";

// In which order a round comes to these cases, as indices: drawn from the run's seed. Families stand
// together, and in a family the cases that share a graph or a span of memory, which keep their order.
[[nodiscard]] std::vector<std::size_t> visit_order(const std::vector<Benchmark>& cases, std::uint64_t seed,
                                                   int round);

// What a process is told of its round. JSON: {"names": […], "links": […]}, names in their order; and
// "left_s" and "begun", what is left of --max-time and whether this part visited a case, where it is set.
using Round = nlohmann::json;

// The process of one round, as the run sees it. A line of its output is an object: {"starting": name};
// {"rows": […]}; {"link": …, "warnings": […]}; {"end": why it stopped, or "", "status": 0, or
// the exit status of that}.
class RoundProcess {
 public:
  // Starts this program with `flags`, which say what is run.
  RoundProcess(const std::vector<std::string>& flags, const Round& round);
  ~RoundProcess();
  RoundProcess(const RoundProcess&) = delete;
  RoundProcess& operator=(const RoundProcess&) = delete;

  // Gives each line but the last to `take`; returns why it stopped. The process waits until each line is
  // taken: nothing here runs beside a visit. A signal to this process is handed on. Throws FailedError,
  // naming the case, for a process that died.
  [[nodiscard]] Ending listen(const std::function<void(const nlohmann::json&)>& take);

 private:
  std::unique_ptr<ChildProcess> process_;
};

// `grainscope repeat N --out DIR FLAGS`: whole runs one after another, each a process of its own, in DIR/1 to
// DIR/N. What they differ by is the type B of this machine, and is shown at the end. Runs that are there are
// gone on with. Returns the exit status of the first run that could not be made, and then makes no other;
// else 1 where a row failed in any. Throws UsageError for words that make no sense, for runs that could be no
// type B (of one visit, or with all visits from one process) and for a run that is there by other flags;
// HelpRequested for --help.
inline constexpr const char* kRepeatCommand = "repeat";
[[nodiscard]] int repeat_command(const std::vector<std::string>& words);

// What results of the same cases differ by, family by family: of each row the largest median over the
// smallest. Empty where no case is in all of them.
[[nodiscard]] std::string spread_text(const std::vector<nlohmann::json>& results, const Screen& screen);

// Why grainscope-report would not take these results as type B, and what to do: one has no measured row, or
// fewer than two have a row of which two visits stand. Empty where it takes them.
[[nodiscard]] std::string why_no_type_b(const std::vector<nlohmann::json>& results);

// The other end: reads the round from standard input; says a line, and waits until it is taken.
[[nodiscard]] Round read_round();
void say(const nlohmann::json& line);

}  // namespace grainscope::harness

#endif
