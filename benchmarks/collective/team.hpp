#ifndef GRAINSCOPE_BENCHMARKS_COLLECTIVE_TEAM_HPP
#define GRAINSCOPE_BENCHMARKS_COLLECTIVE_TEAM_HPP

// Who carries out a collective operation together: GPUs of this process, or a process for each GPU of which
// this one, rank 0, leads the others; and the others' end, which does what it says.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "grainscope/collective/part.hpp"
#include "grainscope/core/operation.hpp"
#include "grainscope/system/ranks.hpp"
#include "harness/machine.hpp"
#include "harness/options.hpp"

namespace grainscope::harness {

// The processes of a launch, one a GPU.
struct Launch {
  RankPlace place;
  int gpu = 0;                       // of this process
  std::unique_ptr<RankGroup> group;  // of rank 0, once all are there; null: nothing is run
};

// Of --ranks; null where there is one process. Throws UsageError where the launcher tells no rank,
// EnvironmentError where this one has no GPU.
[[nodiscard]] std::shared_ptr<Launch> ranks_of(const Options& options, const Machine& machine);

// Rank 0: waits for the others, runs, and has them end as `run` does, whose status it returns.
[[nodiscard]] int lead_ranks(Launch& ranks, const Options& options, const Machine& machine,
                             const std::function<int()>& run);
// Any other: does what rank 0 says; the exit status.
[[nodiscard]] int follow_ranks(const Launch& ranks, const Options& options, const Machine& machine);

class Team {
 public:
  // GPUs of this process.
  explicit Team(const std::vector<int>& gpus);
  // Some of the ranks, of which the first is 0. All of them join. Throws as Communicators and RankGroup do.
  Team(std::shared_ptr<Launch> ranks, std::vector<int> members);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  [[nodiscard]] int size() const noexcept;
  // On how many machines.
  [[nodiscard]] int hosts() const;
  // Why its gates cannot open at one moment; empty: they can.
  [[nodiscard]] std::string why_no_gates() const;
  // Of NCCL, as the row has it.
  [[nodiscard]] LibraryFacts library() const;

  // One operation: buffers are made, and given back by finish().
  void begin(const collective::Work& work, bool gated);
  void finish() noexcept;
  // The slowest rank's time of one of so many operations; of one behind gates.
  [[nodiscard]] double loop_s(int launches);
  [[nodiscard]] double call_s();
  // How often a rank came late to such gates, and they were closed once more.
  [[nodiscard]] int late() const noexcept { return late_; }
  // Of the last sample, the fastest rank's.
  [[nodiscard]] double fastest_s() const noexcept { return fastest_s_; }
  // Throws FailedError unless every element of every output is right.
  void verify();

 private:
  // The others are told a line, this process works meanwhile, and the others' numbers come back.
  std::vector<std::string> together(const std::string& line, const std::string& word,
                                    const std::function<void()>& own);
  // What the others say, behind that word of theirs. Where one is gone, the communicators are aborted first.
  std::vector<std::string> answers(const std::string& word);
  double slowest(double own_s, const std::vector<std::string>& others);

  std::shared_ptr<Launch> ranks_;  // null: this process is alone
  std::vector<int> others_;
  std::unique_ptr<collective::Communicators> communicators_;
  std::unique_ptr<collective::Part> part_;
  int late_ = 0;
  double fastest_s_ = 0;
};

}  // namespace grainscope::harness

#endif
