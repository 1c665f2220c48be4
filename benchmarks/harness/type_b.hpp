#ifndef GRAINSCOPE_BENCHMARKS_HARNESS_TYPE_B_HPP
#define GRAINSCOPE_BENCHMARKS_HARNESS_TYPE_B_HPP

// What runs are known to differ by, by family and clock: a table that is compiled in. It comes from a study
// (scripts/study), whose runs it names; docs/uncertainty.md describes it.

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <tuple>

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

// The table that is compiled in, for this machine.
[[nodiscard]] TypeB type_b_of(const Machine& machine);

}  // namespace grainscope::harness

#endif
