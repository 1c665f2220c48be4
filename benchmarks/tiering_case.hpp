#ifndef GRAINSCOPE_BENCHMARKS_TIERING_CASE_HPP
#define GRAINSCOPE_BENCHMARKS_TIERING_CASE_HPP

// The body of tiering/score, and the run that scores are judged by.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "gnn_case.hpp"
#include "grainscope/gnn/scores.hpp"

namespace grainscope::harness {

// A training run of an epoch, or of as much of one as the preset has time for.
struct TrainingRun {
  std::string graph;  // name of the spec
  std::vector<int> fanouts;
  std::uint64_t batch = 1000;
  int labelled = 10;  // percent
  std::uint64_t most_batches = 0;
  friend bool operator==(const TrainingRun&, const TrainingRun&) = default;
};

// How often a run's mini-batches ask for each row. Scores are judged by those of another epoch than the one
// that is presampled.
struct Accesses {
  HostArray<std::uint32_t> counts;  // [V]
  std::uint64_t batches = 0;
  std::uint64_t rows = 0;                 // asked for, over all mini-batches
  std::vector<graph::Vertex> labelled;    // of the run
  std::vector<double> optimal_hit_rates;  // at hit_shares()
};
inline constexpr std::uint64_t kPresampledEpoch = 0;
inline constexpr std::uint64_t kJudgedEpoch = 1;

// Throws UsageError where nothing is labelled.
[[nodiscard]] std::unique_ptr<Accesses> accesses_of(const GnnGraph& graph, const TrainingRun& run);

using AccessCache = ClaimCache<TrainingRun, Accesses>;

// Shares of rows at which hit rates are told, ascending to 1.
[[nodiscard]] const std::vector<double>& hit_shares();

[[nodiscard]] Measurement measure_score(Session& session, const GnnGraph& graph, const TrainingRun& run,
                                        gnn::Score score, const Accesses& judged);

}  // namespace grainscope::harness

#endif
