#include "traversal/trials.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "grainscope/core/statistics.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/graph/answers.hpp"
#include "grainscope/system/limits.hpp"

namespace grainscope::harness {

using graph::Algorithm;
using graph::Csr;

namespace {

constexpr Algorithm kAlgorithms[] = {Algorithm::bfs, Algorithm::cc, Algorithm::pr, Algorithm::sssp};

}  // namespace

DeclaredAxis algorithm_axis() {
  return word_axis("algorithm", "what is computed",
                   names_of(kAlgorithms, [](Algorithm each) { return name(each); }));
}

Algorithm algorithm_of(const Values& values) {
  return enumerator(values.word("algorithm"), kAlgorithms, [](Algorithm each) { return name(each); });
}

DeclaredAxis edge_axis(std::string otherwise) {
  return word_axis("edge", "bytes of a neighbour in a list", {"8", "4"}, std::move(otherwise));
}

int edge_bytes_of(const Values& values) {
  return std::stoi(values.word("edge"));
}

bool starts_somewhere(Algorithm algorithm) {
  return algorithm == Algorithm::bfs || algorithm == Algorithm::sssp;
}

int trials_of(Algorithm algorithm, int asked) {
  constexpr int kLeastAlike = 4;
  constexpr int kMostAlike = 16;
  return starts_somewhere(algorithm) ? asked
                                     : std::clamp(asked / 2, std::min(asked, kLeastAlike), kMostAlike);
}

int trials_within(double seconds, double trial_s, int trials) {
  const double over = seconds / trial_s;
  return seconds == 0 || over >= trials ? trials
                                        : std::min(trials, std::max(kFewestTrials, static_cast<int>(over)));
}

namespace {

// How often all lists are read, and how many levels there are to a step from the source.
struct Passes {
  double lists;
  double levels;
};
constexpr Passes passes_of(Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::bfs:
      return {1, 1};
    case Algorithm::cc:
      return {1.6, 3.5};
    case Algorithm::pr:
      return {6, 0.5};
    case Algorithm::sssp:
      return {2.4, 1.8};
  }
  return {1, 1};
}

double steps_of(const graph::GraphSpec& spec) {
  return spec.kind == graph::GraphSpec::Kind::road
             ? 2 * std::sqrt(static_cast<double>(spec.vertices().value_or(0)))
             : 10;
}

}  // namespace

double trial_s(const graph::GraphSpec& spec, Algorithm algorithm, std::uint64_t edge_bytes, double gb_s,
               graph::Direction direction) {
  // To certify an entry.
  const double certificate_s = algorithm == Algorithm::pr ? 1e-10 : 8e-11;
  constexpr double kLevel_s = 40e-6;
  const auto [lists, levels] = passes_of(algorithm);
  const auto entries = static_cast<double>(spec.most_entries().value_or(0));
  const double steps = steps_of(spec);
  // A search by pull reads in each level what is not reached yet.
  const bool again = direction == graph::Direction::pull && algorithm == Algorithm::bfs;
  return (again ? steps / 2 : lists) * entries * static_cast<double>(edge_bytes) / (gb_s * 1e9) +
         entries * certificate_s + steps * levels * kLevel_s;
}

double followed_s(const graph::GraphSpec& spec, Algorithm algorithm) {
  constexpr double kFollowedLevel_s = 3e-4;
  return steps_of(spec) * passes_of(algorithm).levels * kFollowedLevel_s;
}

std::string trial_name(Algorithm algorithm, int trial, graph::Vertex source) {
  return starts_somewhere(algorithm) ? "source:" + std::to_string(source) : "trial:" + std::to_string(trial);
}

namespace {

Verdict certify_edge_by_edge(const LoadedGraph& graph, Algorithm algorithm, graph::Vertex source,
                             std::span<const std::uint32_t> answer) {
  const Csr& csr = graph.csr();
  if (algorithm == Algorithm::cc) {
    return {graph::certify_cc(csr, graph.components(), answer), csr.edges(), csr.vertices()};
  }
  const graph::Reached reached = graph::reached_by(csr, answer);
  return {algorithm == Algorithm::bfs ? graph::certify_bfs(csr, graph.in_edges(), source, answer)
                                      : graph::certify_sssp(csr, source, answer),
          reached.entries, reached.vertices};
}

}  // namespace

Verdict certify(const LoadedGraph& graph, Algorithm algorithm, graph::Vertex source,
                std::span<const std::uint32_t> answer) {
  const graph::Vertex asked = starts_somewhere(algorithm) ? source : 0;
  const graph::Digest digest = graph::digest_of(answer);
  if (const Verdict* known = graph.certified().find(algorithm, asked, digest); known != nullptr) {
    return *known;
  }
  const Verdict verdict = certify_edge_by_edge(graph, algorithm, source, answer);
  graph.certified().keep(algorithm, asked, digest, verdict);
  return verdict;
}

std::string of_every_trial(const Verdict& verdict) {
  return verdict.sentence + "; every trial, by itself or as equal to an answer so certified";
}

namespace {

graph::Digest digest_of_ranks(std::span<const float> ranks) {
  return graph::digest_of({reinterpret_cast<const std::uint32_t*>(ranks.data()), ranks.size()});
}

}  // namespace

Verdict certify_ranks(const LoadedGraph& graph, std::span<const float> ranks) {
  const graph::Digest digest = digest_of_ranks(ranks);
  if (const Verdict* known = graph.certified().find(Algorithm::pr, 0, digest); known != nullptr) {
    return *known;
  }
  const Verdict verdict{graph::certify_pr(graph.csr(), graph.in_edges(), ranks), graph.csr().edges(),
                        graph.csr().vertices()};
  graph.certified().keep(Algorithm::pr, 0, digest, verdict);
  return verdict;
}

Trials::Trials(graph::Traversal& traversal, const LoadedGraph& graph, TrialParts parts)
    : traversal_(traversal), graph_(graph), parts_(std::move(parts)) {
  traversal_.run(parts_.sources.front());
}

double Trials::run() {
  const std::size_t number = trials_.size();
  const graph::Vertex source = parts_.sources[number];
  traversal_.spoil();
  const double begun_s = raw_now_s();
  const double seconds = traversal_.run(source);
  around_s_ = raw_now_s() - begun_s;
  trials_.push_back({trial_name(parts_.algorithm, static_cast<int>(number), source), {seconds}, {}, 0});
  hold_to_account(number, source);
  std::vector<LevelResult> levels = traversal_.levels();
  parts_.complete(levels, trials_.back());
  if (number == 0) {
    first_levels_ = std::move(levels);
  }
  return seconds;
}

void Trials::hold_to_account(std::size_t number, graph::Vertex source) {
  if (parts_.algorithm == Algorithm::pr) {
    hold_ranks_to_account(number);
    return;
  }
  const std::vector<std::uint32_t> answer = traversal_.answer();
  if (!batches()) {
    settle(number, certify(graph_, parts_.algorithm, source, answer));
    return;
  }
  const graph::Digest digest = graph::digest_of(answer);
  if (const Verdict* known = graph_.certified().find(parts_.algorithm, source, digest); known != nullptr) {
    settle(number, *known);
    return;
  }
  for (std::size_t lane = 0; lane < waiting_.size(); ++lane) {
    if (batch_->sources()[lane] == source && waiting_[lane].digest == digest) {
      waiting_[lane].trials.push_back(number);
      return;
    }
  }
  if (!batch_) {
    batch_.emplace(graph_.csr().vertices());
  }
  if (!batch_->add(source, answer)) {
    settle(number, certify(graph_, parts_.algorithm, source, answer));
    return;
  }
  waiting_.push_back({{number}, digest, graph::reached_by(graph_.csr(), answer)});
  if (batch_->full()) {
    certify_waiting();
  }
}

// Of pulls every trial ends with the same ranks; of pushes, whose atomics come in any order, hardly ever.
void Trials::hold_ranks_to_account(std::size_t number) {
  std::vector<float> ranks = traversal_.ranks();
  const graph::Digest digest = digest_of_ranks(ranks);
  if (const Verdict* known = graph_.certified().find(Algorithm::pr, 0, digest); known != nullptr) {
    verdict_ = *known;
    return;
  }
  for (Waiting& each : waiting_) {
    if (each.digest == digest) {
      each.trials.push_back(number);
      return;
    }
  }
  ranks_.push_back(std::move(ranks));
  waiting_.push_back({{number}, digest, {}});
  if (ranks_.size() == graph::kRankLanes || !batches()) {
    certify_waiting();
  }
}

bool Trials::batches() const {
  const graph::Vertex vertices = graph_.csr().vertices();
  const bool pr = parts_.algorithm == Algorithm::pr;
  const std::uint64_t bytes =
      pr ? graph::kRankLanes * vertices * sizeof(float) + graph::rank_lanes_bytes(vertices)
         : graph::AnswerBatch::bytes(vertices);
  const bool gains = pr || parts_.algorithm == Algorithm::bfs ||
                     (parts_.algorithm == Algorithm::sssp && !graph_.csr().directed);
  return batch_ || (gains && bytes <= available_memory().bytes().value_or(UINT64_MAX) / 4);
}

void Trials::certify_waiting() {
  if (waiting_.empty()) {
    return;
  }
  if (parts_.algorithm == Algorithm::pr) {
    verdict_ = certify_waiting_ranks();
    return;
  }
  const Csr& csr = graph_.csr();
  const bool bfs = parts_.algorithm == Algorithm::bfs;
  std::string sentence;
  if (waiting_.size() == 1) {  // reads fewer edges
    const HostArray<std::uint32_t> answer = batch_->answer(0);
    const graph::Vertex source = batch_->sources()[0];
    sentence = bfs ? graph::certify_bfs(csr, graph_.in_edges(), source, answer.span())
                   : graph::certify_sssp(csr, source, answer.span());
  } else {
    sentence = bfs ? graph::certify_bfs(csr, graph_.in_edges(), *batch_) : graph::certify_sssp(csr, *batch_);
  }
  for (std::size_t lane = 0; lane < waiting_.size(); ++lane) {
    const Waiting& each = waiting_[lane];
    const Verdict verdict{sentence, each.reached.entries, each.reached.vertices};
    graph_.certified().keep(parts_.algorithm, batch_->sources()[lane], each.digest, verdict);
    for (const std::size_t trial : each.trials) {
      settle(trial, verdict);
    }
  }
  waiting_.clear();
  batch_->clear();
}

Verdict Trials::certify_waiting_ranks() {
  const Csr& csr = graph_.csr();
  const Verdict verdict{graph::certify_pr(csr, graph_.in_edges(), ranks_), csr.edges(), csr.vertices()};
  graph_.certified().keep(Algorithm::pr, 0, waiting_.back().digest, verdict);
  waiting_.clear();
  ranks_.clear();
  return verdict;
}

void Trials::settle(std::size_t number, const Verdict& verdict) {
  Trial& trial = trials_[number];
  const double counted = static_cast<double>(verdict.entries) / (graph_.csr().directed ? 1 : 2);
  trial.counters["teps"] = counted / trial.samples_s.front();
  if (starts_somewhere(parts_.algorithm)) {
    trial.counters["reached"] = static_cast<double>(verdict.reached);
  }
  verdict_ = verdict;
}

std::string Trials::verify() {
  certify_waiting();
  return of_every_trial(verdict_);
}

void Trials::run_counted() {
  if (parts_.counted || parts_.managed) {
    traversal_.run(parts_.sources.front());
  }
}

bool Trials::rehearse() {
  prepare();
  traversal_.spoil();
  traversal_.run(parts_.sources.front());
  return true;
}

void Trials::describe(Measurement& measurement) {
  measurement.trials = trials_;
  measurement.levels = first_levels_;
}

void hold_against_one_gpu(graph::Traversal& alone, const LoadedGraph& graph, Algorithm algorithm,
                          std::span<const graph::Vertex> sources, int gpus, Measurement& measurement) {
  constexpr std::size_t kRuns = 3;
  alone.run(sources.front());  // loads kernels
  std::vector<double> alone_s;
  std::vector<double> together_s;
  for (std::size_t trial = 0; trial < std::min(kRuns, measurement.trials.size()); ++trial) {
    alone.spoil();
    alone_s.push_back(alone.run(sources[trial]));
    together_s.push_back(measurement.trials[trial].samples_s.front());
    static_cast<void>(algorithm == Algorithm::pr ? certify_ranks(graph, alone.ranks())
                                                 : certify(graph, algorithm, sources[trial], alone.answer()));
  }
  const double one_s = summarize(alone_s).median;
  measurement.counters["alone_s"] = one_s;
  measurement.counters["scaling"] = one_s / (summarize(together_s).median * gpus);
}

double median_of(const std::vector<Trial>& trials, const std::string& counter) {
  std::vector<double> values;
  values.reserve(trials.size());
  for (const Trial& trial : trials) {
    values.push_back(trial.counters.at(counter));
  }
  return summarize(values).median;
}

double harmonic_mean(const std::vector<Trial>& trials, const std::string& counter) {
  double sum = 0;
  for (const Trial& trial : trials) {
    sum += 1 / trial.counters.at(counter);
  }
  return static_cast<double>(trials.size()) / sum;
}

}  // namespace grainscope::harness
