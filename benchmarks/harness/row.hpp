#ifndef GRAINSCOPE_BENCHMARKS_HARNESS_ROW_HPP
#define GRAINSCOPE_BENCHMARKS_HARNESS_ROW_HPP

// A measurement as a row of the result file, with what runs are known to differ by: a table by family and
// clock that is compiled in. The table comes from a study (scripts/study), whose runs it names;
// docs/uncertainty.md describes it.

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "benchmark.hpp"
#include "grainscope/core/case.hpp"
#include "grainscope/core/operation.hpp"
#include "grainscope/core/statistics.hpp"
#include "machine.hpp"

namespace grainscope::harness {

class TypeB {
 public:
  // Knows nothing.
  TypeB() = default;
  // A table's text, for rows of a machine with this CPU and this GPU; the name is empty where there is none.
  // Throws std::logic_error for a text that is no table.
  TypeB(const std::string& text, const std::string& cpu, const std::string& gpu);

  // Of a row's family, its version and its clock: what visits of one run differ by, of a machine that the
  // table does not know those of its first; and what runs do, of one that it knows. Nothing where it does not
  // tell.
  [[nodiscard]] VariancePrior between_visits(const std::string& family, int version,
                                             const std::string& clock) const;
  [[nodiscard]] std::optional<Uncertainty> between_runs(const std::string& family, int version,
                                                        const std::string& clock) const;

  // As the result file names it; null where there is no table.
  [[nodiscard]] const nlohmann::json& told() const { return told_; }

 private:
  struct Spread {
    VariancePrior visits;
    std::optional<Uncertainty> runs;
  };
  using Key = std::tuple<std::string, int, std::string>;
  std::map<Key, Spread> spreads_;
  bool knows_machine_ = false;
  nlohmann::json told_;
};

// How a table names the GPUs of a machine: "NVIDIA H200 ×2", without a number of one, empty of none.
[[nodiscard]] std::string gpus_of(const Environment& environment);

// How it names their CPU, with the sizes of its caches: "AMD EPYC 32/1024/32768 KiB". In a virtual machine
// CPUs of several generations may have one name.
[[nodiscard]] std::string cpu_of(const Environment& environment);

// The table that is compiled in, for this machine.
[[nodiscard]] TypeB type_b_of(const Machine& machine);

// What a case's outcome looks like in the result file; docs/result-format.md describes it.

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

// Which of the visits of a row stand for it, from 0: those that are neither busy nor far, or all where all
// are.
[[nodiscard]] std::vector<std::size_t> standing(const nlohmann::json& visits);

// Gives measured rows their uncertainties, the interval that follows, and the flags that need it. Spread is
// pooled over all of these rows.
void add_uncertainties(std::vector<nlohmann::json>& rows, const TypeB& type_b);

}  // namespace grainscope::harness

#endif
