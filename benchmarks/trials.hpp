#ifndef GRAINSCOPE_BENCHMARKS_TRIALS_HPP
#define GRAINSCOPE_BENCHMARKS_TRIALS_HPP

// What trials of a graph algorithm have in common, whoever runs it: axes, names, verdicts, means.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "grainscope/core/measurement.hpp"
#include "grainscope/graph/frontiers.hpp"
#include "harness/axes.hpp"
#include "loaded_graph.hpp"

namespace grainscope::harness {

// What families that run or model such algorithms let a user choose.
[[nodiscard]] DeclaredAxis algorithm_axis();
[[nodiscard]] graph::Algorithm algorithm_of(const Values& values);
[[nodiscard]] DeclaredAxis edge_axis(std::string otherwise = {});
[[nodiscard]] int edge_bytes_of(const Values& values);

// GAP asks for 64 trials of algorithms that start somewhere, 16 of others.
[[nodiscard]] bool starts_somewhere(graph::Algorithm algorithm);
[[nodiscard]] int trials_of(graph::Algorithm algorithm, int asked);
// "source:17" of an algorithm that starts somewhere, else "trial:2".
[[nodiscard]] std::string trial_name(graph::Algorithm algorithm, int trial, graph::Vertex source);

// What a row's `verification` says of such trials.
[[nodiscard]] std::string of_every_trial(const Verdict& verdict);
// Depths, distances or labels, or ranks: [V]. Throws FailedError for a wrong answer.
[[nodiscard]] Verdict certify(const LoadedGraph& graph, graph::Algorithm algorithm, graph::Vertex source,
                              std::span<const std::uint32_t> answer);
[[nodiscard]] Verdict certify_ranks(const LoadedGraph& graph, std::span<const float> ranks);

// Of the trials' counter.
[[nodiscard]] double median_of(const std::vector<Trial>& trials, const std::string& counter);
[[nodiscard]] double harmonic_mean(const std::vector<Trial>& trials, const std::string& counter);

}  // namespace grainscope::harness

#endif
