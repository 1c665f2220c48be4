#ifndef GRAINSCOPE_BENCHMARKS_HARNESS_ROW_HPP
#define GRAINSCOPE_BENCHMARKS_HARNESS_ROW_HPP

// What a case's outcome looks like in the result file; docs/result-format.md describes it.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "benchmark.hpp"
#include "grainscope/core/case.hpp"
#include "grainscope/core/operation.hpp"
#include "type_b.hpp"

namespace grainscope::harness {

enum class Status { ok, skipped, failed };
[[nodiscard]] const char* name(Status status);

// The case as data, with its name and status: what every row holds.
[[nodiscard]] nlohmann::json outcome_row(const Benchmark& benchmark, Status status,
                                         const std::string& reason);

// Everything that was measured in a visit, added to its row. Until a case's visits are made one row, samples
// and what is told of the visit stand beside the rest.
void add_measurement(nlohmann::json& row, const Measurement& measurement);

// One row of the visits to a case, in the order of rounds; at least one, of `planned`. It is of the visit
// with the middle median and has the samples of all in `visits`. It is failed where one is, and otherwise of
// those that are ok, skipped where none is.
[[nodiscard]] nlohmann::json merged_row(const std::vector<nlohmann::json>& visits, int planned);

// Gives measured rows their uncertainties, the interval that follows, and the flags that need it. Spread is
// pooled over all of these rows.
void add_uncertainties(std::vector<nlohmann::json>& rows, const TypeB& type_b);

}  // namespace grainscope::harness

#endif
