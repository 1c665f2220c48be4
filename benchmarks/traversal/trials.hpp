#ifndef GRAINSCOPE_BENCHMARKS_TRAVERSAL_TRIALS_HPP
#define GRAINSCOPE_BENCHMARKS_TRAVERSAL_TRIALS_HPP

// What trials of a graph algorithm have in common, whoever runs it: axes, names, verdicts, means.

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "grainscope/core/operation.hpp"
#include "grainscope/graph/answers.hpp"
#include "grainscope/graph/traversal.hpp"
#include "harness/axes.hpp"
#include "traversal/loaded_graph.hpp"

namespace grainscope::harness {

// What families that run or model such algorithms let a user choose.
[[nodiscard]] DeclaredAxis algorithm_axis();
[[nodiscard]] graph::Algorithm algorithm_of(const Values& values);
[[nodiscard]] DeclaredAxis edge_axis(std::string otherwise = {});
[[nodiscard]] int edge_bytes_of(const Values& values);

// GAP asks for 64 trials of algorithms that start somewhere, 16 of others.
[[nodiscard]] bool starts_somewhere(graph::Algorithm algorithm);
[[nodiscard]] int trials_of(graph::Algorithm algorithm, int asked);
// Of so many trials, as many as are over in `seconds` where each takes `trial_s`, but kFewestTrials; all
// where `seconds` is 0. By the plan, not by the clock: a case starts from the same sources on every machine.
inline constexpr int kFewestTrials = 8;
[[nodiscard]] int trials_within(double seconds, double trial_s, int trials);
// About how long a trial takes, with its certificate, where lists are read at `gb_s` and an edge has so many
// bytes: by H100s, an H200 and hosts of 16 and 32 CPUs.
[[nodiscard]] double trial_s(const graph::GraphSpec& spec, graph::Algorithm algorithm,
                             std::uint64_t edge_bytes, double gb_s,
                             graph::Direction direction = graph::Direction::push);
// And one that is followed level by level on the host.
[[nodiscard]] double followed_s(const graph::GraphSpec& spec, graph::Algorithm algorithm);
// "source:17" of an algorithm that starts somewhere, else "trial:2".
[[nodiscard]] std::string trial_name(graph::Algorithm algorithm, int trial, graph::Vertex source);

// What a row's `verification` says of such trials.
[[nodiscard]] std::string of_every_trial(const Verdict& verdict);
// Depths, distances or labels, or ranks: [V]. Throws FailedError for a wrong answer.
[[nodiscard]] Verdict certify(const LoadedGraph& graph, graph::Algorithm algorithm, graph::Vertex source,
                              std::span<const std::uint32_t> answer);
[[nodiscard]] Verdict certify_ranks(const LoadedGraph& graph, std::span<const float> ranks);

// A graph algorithm as an operation: one run from each source, verified.
struct TrialParts {
  graph::Algorithm algorithm = graph::Algorithm::bfs;
  std::vector<graph::Vertex> sources;  // one a trial
  Timing timing;
  std::function<void()> prepare = [] {};
  bool counted = false;  // by a run of its own
  bool managed = false;  // edges on the host, whose pages the driver counts
  // Completes a trial that ran, and has its levels; what it reached is added once it is verified.
  std::function<void(std::vector<LevelResult>& levels, Trial& trial)> complete;
};
class Trials final : public Operation {
 public:
  // Everything outlives it. Runs once: the first run loads kernels and finds nothing ready, and is nobody's
  // trial.
  Trials(graph::Traversal& traversal, const LoadedGraph& graph, TrialParts parts);

  void prepare() override { parts_.prepare(); }
  double run() override;
  std::string verify() override;
  [[nodiscard]] Timing timing() const override { return parts_.timing; }
  [[nodiscard]] int trials() const override { return static_cast<int>(parts_.sources.size()); }
  void run_counted() override;
  [[nodiscard]] bool rehearse() override;
  [[nodiscard]] std::optional<double> around_s(double /*run_s*/) const override { return around_s_; }
  [[nodiscard]] bool reads_managed() const override { return parts_.managed; }
  // Trials, and the levels of the first.
  void describe(Measurement& measurement) override;

 private:
  // An answer that nobody certified yet, in its lane of the batch, and the trials that had it.
  struct Waiting {
    std::vector<std::size_t> trials;
    graph::Digest digest;
    graph::Reached reached;
  };

  // Answers that are new wait for others: a pass over the edges proves several.
  void hold_to_account(std::size_t number, graph::Vertex source);
  void hold_ranks_to_account(std::size_t number);
  [[nodiscard]] bool batches() const;  // whether that is worth while, and there is room for them
  void certify_waiting();
  [[nodiscard]] Verdict certify_waiting_ranks();
  void settle(std::size_t number, const Verdict& verdict);

  graph::Traversal& traversal_;
  const LoadedGraph& graph_;
  TrialParts parts_;
  Verdict verdict_;  // of the last that was settled
  std::optional<graph::AnswerBatch> batch_;
  std::vector<Waiting> waiting_;
  std::vector<std::vector<float>> ranks_;  // of each that waits, where they are pr's
  double around_s_ = 0;
  std::vector<Trial> trials_;
  std::vector<LevelResult> first_levels_;
};

// How well `gpus` GPUs divide the work of these trials, of which there are some: counter alone_s is the time
// of one GPU from the first sources, and scaling is alone_s / (their time from these sources * gpus). Its
// runs are verified, too.
void hold_against_one_gpu(graph::Traversal& alone, const LoadedGraph& graph, graph::Algorithm algorithm,
                          std::span<const graph::Vertex> sources, int gpus, Measurement& measurement);

// Of the trials' counter.
[[nodiscard]] double median_of(const std::vector<Trial>& trials, const std::string& counter);
[[nodiscard]] double harmonic_mean(const std::vector<Trial>& trials, const std::string& counter);

}  // namespace grainscope::harness

#endif
