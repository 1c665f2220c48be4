#ifndef GRAINSCOPE_BENCHMARKS_HARNESS_ROW_HPP
#define GRAINSCOPE_BENCHMARKS_HARNESS_ROW_HPP

// A measurement as a row of the result file, with what runs are known to differ by: a table by row,
// family and clock that is compiled in. The table comes from a study (scripts/study), whose runs it names;
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

  // A row as a table names it: its family, that one's version, its clock and axes_text of its axes.
  using Row = std::tuple<std::string, int, std::string, std::string>;

  // The variance between visits to the middle row of its family, and that to this row as a share of it. Of a
  // row that the table does not know, of rows of its family at large, and a share of 1; of a machine that it
  // does not know, as of its first. And what runs differ by in the row, else in its family, on a machine that
  // it knows. Nothing where it does not tell.
  [[nodiscard]] VariancePrior between_visits(const Row& row) const;
  [[nodiscard]] double visit_share(const Row& row) const;
  [[nodiscard]] std::optional<Uncertainty> between_runs(const Row& row) const;

  // As the result file names it; null where there is no table.
  [[nodiscard]] const nlohmann::json& told() const { return told_; }

 private:
  struct Spread {
    VariancePrior visits;
    double middle_visits = 0;  // what visits to the middle row of the family differ by
    double visit_share = 1;
    std::optional<Uncertainty> runs;
  };
  void add_rows(const nlohmann::json& rows, std::size_t machine);
  // A row that the table does not know is its family, with no axes.
  [[nodiscard]] const Spread* spread_of(const Row& row) const;
  std::map<Row, Spread> spreads_;
  bool knows_machine_ = false;
  nlohmann::json told_;
};

// How a table names the GPUs of a machine: "NVIDIA H200 ×2", without a number of one, empty of none.
[[nodiscard]] std::string gpus_of(const Environment& environment);

// How it names their CPU, with the sizes of its caches: "AMD EPYC 32/1024/32768 KiB". In a virtual machine
// CPUs of several generations may have one name.
[[nodiscard]] std::string cpu_of(const Environment& environment);

// The axes of a case as text that is equal where cases are: what is near is not known where a virtual machine
// hides its nodes, and older runs there say `local`.
[[nodiscard]] std::string axes_text(const nlohmann::json& axes);

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
