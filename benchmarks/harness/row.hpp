#ifndef GRAINSCOPE_BENCHMARKS_HARNESS_ROW_HPP
#define GRAINSCOPE_BENCHMARKS_HARNESS_ROW_HPP

// What a case's outcome looks like in the result file; docs/result-format.md describes it.

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "grainscope/core/case.hpp"
#include "grainscope/core/measurement.hpp"

namespace grainscope::harness {

enum class Status { ok, skipped, failed };
[[nodiscard]] const char* name(Status status);

// The case as data, with its name and status: what every row holds.
[[nodiscard]] nlohmann::json outcome_row(const Case& id, Status status, const std::string& reason);

// Everything that was measured, added to a row.
void add_measurement(nlohmann::json& row, const Measurement& measurement);

}  // namespace grainscope::harness

#endif
