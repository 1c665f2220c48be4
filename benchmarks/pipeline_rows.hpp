#ifndef GRAINSCOPE_BENCHMARKS_PIPELINE_ROWS_HPP
#define GRAINSCOPE_BENCHMARKS_PIPELINE_ROWS_HPP

// What the rows of training runs say, however they are fed, and what their losses are held against.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "pipeline_case.hpp"

namespace grainscope::harness {

// That a GPU trains with.
enum class Multiprocessors : std::uint8_t { some, all };

// Throws FailedError where losses differ from those stage by stage (`apart`), from the reference in double
// precision, or from those of the run that came first on that GPU, or more than rounding makes of it from
// those of the run that came first on another device, or do not fall. Says what was checked. With
// `some` of the multiprocessors a GPU rounds as another device does.
[[nodiscard]] std::string verify_losses(const std::vector<double>& losses, const std::vector<double>& apart,
                                        TrainingWork& work, const PipelineSite& site,
                                        Multiprocessors sms = Multiprocessors::all);

// A run that took `wall_s`, its steps being its trials.
[[nodiscard]] Measurement measure_steps(const Session& session, const gnn::PipelineRun& run, double wall_s,
                                        const Timing& timing, const std::function<std::string()>& verify);

// Stages alone, single steps, losses, CPU time.
void add_stages(const gnn::PipelineRun& run, const gnn::StageTimes& stages, Measurement& measurement);
// (sum of the stages − pipelined) / (sum − slowest), 1 where only the slowest shows; nothing where the
// intervals of the slowest and of the pipeline leave it unknown by more than a quarter: beside one stage that
// takes nearly all there is little to hide. Nor where the pipeline is faster than the slowest stage alone by
// more than is known.
void add_overlap(const gnn::StageTimes& stages, Measurement& measurement);
// Rows asked for and those that crossed the link.
void add_bytes(const PipelinePoint& point, const gnn::TrainingPlan& plan, Measurement& measurement);

}  // namespace grainscope::harness

#endif
