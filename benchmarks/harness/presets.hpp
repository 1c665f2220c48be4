#ifndef GRAINSCOPE_BENCHMARKS_HARNESS_PRESETS_HPP
#define GRAINSCOPE_BENCHMARKS_HARNESS_PRESETS_HPP

// The table of presets (benchmarks/presets.cpp), read: what each takes of each family's axes, and how it
// samples.

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "grainscope/core/sampler.hpp"

namespace grainscope::harness {

enum class Preset {
  smoke,       // does everything work? a size or two, a wide interval
  quick,       // four minutes: what a look at a machine needs
  full,        // every method, octave and node
  paper,       // the points of the papers' figures
  acceptance,  // a fixed set of cases, visited often, for accepting a machine
};
inline constexpr Preset kAllPresets[] = {Preset::smoke, Preset::quick, Preset::full, Preset::paper,
                                         Preset::acceptance};

// Throws UsageError, naming the presets, for another name.
[[nodiscard]] Preset parse_preset(std::string_view name);
[[nodiscard]] const char* name(Preset preset);

// How a preset samples.
struct PresetSampling {
  SamplingPlan plan;
  int visits = 1;       // to every case
  int trials = 8;       // sources of a traversal
  double trials_s = 0;  // that they are to take, by the plan, where kFewestTrials do not take longer; 0: all
};
[[nodiscard]] const PresetSampling& sampling_of(Preset preset);

// The table as it is written.
extern const char* const kPresetTable;

// What a visit takes to a case of a family: so many times what the plan reckons for a case of any family that
// has no memory, and so much for each byte of host memory that it sets up for itself.
struct VisitCost {
  double factor = 1;
  double ns_per_byte = 0.3;
};
// By the family's name, or by it and " without a GPU" for those of its cases that use none.
[[nodiscard]] const std::map<std::string, VisitCost>& visit_costs();

// A line of the table: one family, the presets that take it, and values of axes as they are written.
struct PresetLine {
  std::string family;
  std::vector<Preset> presets;
  std::vector<std::pair<std::string, std::string>> axes;
};

// The lines of a family that a preset takes, in the order of the table, each with what the table says of all
// families where the line does not say otherwise. Throws std::logic_error, with the line, for a table that
// cannot be read.
[[nodiscard]] std::vector<const PresetLine*> preset_lines(const std::string& family, Preset preset);
[[nodiscard]] const std::vector<PresetLine>& preset_lines();

// Reads a table; see the text itself for how it is written.
[[nodiscard]] std::vector<PresetLine> read_presets(const std::string& text);

}  // namespace grainscope::harness

#endif
