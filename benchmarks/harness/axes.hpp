#ifndef GRAINSCOPE_BENCHMARKS_HARNESS_AXES_HPP
#define GRAINSCOPE_BENCHMARKS_HARNESS_AXES_HPP

// Parameter space: the axes that a family declares, and how values are written, in the table of presets and
// on the command line alike.
//
//   4KiB,64KiB     these values
//   4KiB..1GiB     every power of two times the first, up to the last, which is always among them
//   4KiB..x4..1GiB the same by factors of four
//   1..x4..all     the last may be a name that the family gives a meaning: all CPUs of a node

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "grainscope/core/case.hpp"
#include "grainscope/cuda/hint.hpp"
#include "grainscope/cuda/mapped.hpp"
#include "grainscope/graph/generate.hpp"
#include "machine.hpp"

namespace grainscope::harness {

// An axis as its family declares it. Every value that it can take can be asked for, also those that no preset
// takes.
struct DeclaredAxis {
  using Unit = AxisUnit;
  struct Range {
    std::uint64_t least = 1;
    std::uint64_t most = UINT64_MAX / 2;  // of what an axis of a case can hold
  };
  enum class Kind {
    chosen,   // a run takes any number of its values, and names of cases tell which
    untold,   // a run takes one value: no name of a case tells it
    places,   // a line and a run take one: it says of which places of the machine, or when, there are cases
    follows,  // from other axes or the graph: names of cases tell it, and nobody gives it a value
  };

  std::string key;    // as in names of cases
  std::string means;  // for a reader: "bytes of the copy"
  std::vector<std::string> words = {};
  std::optional<Range> numbers = {};     // absent: it takes words alone
  std::vector<std::uint64_t> only = {};  // of these numbers; empty: all of them
  std::vector<std::string> named = {};   // names of numbers that depend on the machine: "all"
  Unit unit = Unit::none;
  std::string otherwise = {};  // the value where nobody names one; empty: each preset does
  bool cut = false;            // --min-bytes and --max-bytes cut it
  Kind kind = Kind::chosen;
  // Of words that are not listed ("kron:20"): throws UsageError for one that is none. Absent: there are none.
  std::function<void(const std::string&)> check = {};
};

// Whether it has values that somebody gives it.
[[nodiscard]] inline bool is_given(const DeclaredAxis& axis) {
  return axis.kind != DeclaredAxis::Kind::follows;
}

[[nodiscard]] DeclaredAxis word_axis(std::string key, std::string means, std::vector<std::string> words,
                                     std::string otherwise = {});
[[nodiscard]] DeclaredAxis switch_axis(std::string key, std::string means, std::string otherwise = {});
[[nodiscard]] DeclaredAxis number_axis(std::string key, std::string means, DeclaredAxis::Range range,
                                       std::string otherwise = {}, std::vector<std::string> words = {},
                                       std::vector<std::string> named = {});
// In bytes; `cut` by --min-bytes and --max-bytes unless it is the size of something beside what is moved.
[[nodiscard]] DeclaredAxis size_axis(std::string key, std::string means, DeclaredAxis::Range range,
                                     bool cut = true, std::string otherwise = {},
                                     std::vector<std::string> words = {},
                                     std::vector<std::string> named = {});
// One of a few numbers.
[[nodiscard]] DeclaredAxis choice_axis(std::string key, std::string means, std::vector<std::uint64_t> only,
                                       std::string otherwise = {}, std::vector<std::string> words = {});
// Percent, also with decimals: a word in the form of %g.
[[nodiscard]] DeclaredAxis percent_axis(std::string key, std::string means, std::string otherwise = {});
// Whatever `check` takes.
[[nodiscard]] DeclaredAxis checked_axis(std::string key, std::string means,
                                        std::function<void(const std::string&)> check,
                                        std::string otherwise = {});

// The same axis, of which no name of a case tells the value.
[[nodiscard]] DeclaredAxis untold(DeclaredAxis axis);
// An axis of names of cases whose value follows from others.
[[nodiscard]] DeclaredAxis following_axis(std::string key, std::string means,
                                          DeclaredAxis::Unit unit = DeclaredAxis::Unit::none);
// A word by which a line says of which places there are cases, or when.
[[nodiscard]] DeclaredAxis place_axis(std::string key, std::string means, std::vector<std::string> words,
                                      std::string otherwise);
// Those by which Grids and gpu_pairs choose: what the user named by --gpu and --numa they choose from.
[[nodiscard]] DeclaredAxis gpu_axis();
[[nodiscard]] DeclaredAxis node_axis();
[[nodiscard]] DeclaredAxis pairs_axis(
    std::string means = "of which pairs of GPUs: one, each GPU with the next, or all");
[[nodiscard]] DeclaredAxis orders_axis();

// The sizes that --min-bytes and --max-bytes leave.
struct SizeRange {
  std::optional<std::uint64_t> least;
  std::optional<std::uint64_t> most;
  [[nodiscard]] bool has(std::uint64_t bytes) const {
    return bytes >= least.value_or(0) && bytes <= most.value_or(UINT64_MAX);
  }
};

// What names of numbers stand for: {"all", 16}.
using NamedNumbers = std::map<std::string, std::uint64_t>;

// The values that `text` gives an axis, each once, in the order written. Of an axis that is cut, those in
// `sizes`; a range goes on beyond its last value where `sizes` is asked to end later. Throws UsageError,
// saying what would be right, for what is no value of the axis; a name of a number that `names` lacks is no
// value.
[[nodiscard]] std::vector<AxisValue> values_of(const DeclaredAxis& axis, const std::string& text,
                                               const NamedNumbers& names, const SizeRange& sizes = {});

// "on or off", "a whole number from 1 to 1024 or all", "a size from 4 B to 8 GiB", "…; one value a run".
[[nodiscard]] std::string what_it_takes(const DeclaredAxis& axis);

// Throws UsageError unless `text` gives values of the axis, whatever its names of numbers mean on a machine.
void require_values(const DeclaredAxis& axis, const std::string& text);
// Throws UsageError where `text`, values of the axis, gives several to one of which a run takes one, or one
// value twice in other words (4KiB,4096).
void require_told_apart(const DeclaredAxis& axis, const std::string& text);

// The value of each axis at one point.
class Values {
 public:
  // Throws std::logic_error, naming it, for an axis that was not declared, or a value of the other kind.
  [[nodiscard]] const AxisValue& at(const std::string& key) const;
  [[nodiscard]] const std::string& word(const std::string& key) const;
  [[nodiscard]] std::uint64_t number(const std::string& key) const;
  template <class Integer>
  [[nodiscard]] Integer number_as(const std::string& key) const {
    return static_cast<Integer>(number(key));
  }
  [[nodiscard]] double decimal(const std::string& key) const;  // of a percent axis
  [[nodiscard]] bool is(const std::string& key, const std::string& word) const;
  [[nodiscard]] bool on(const std::string& key) const { return is(key, "on"); }

  void set(const std::string& key, AxisValue value);
  friend bool operator==(const Values&, const Values&) = default;

 private:
  std::vector<std::pair<std::string, AxisValue>> values_;
};

// The enumerator of `all` that `to_name` names `value`. Throws std::logic_error where there is none.
template <class All, class ToName>
[[nodiscard]] auto enumerator(const std::string& value, const All& all, ToName to_name) {
  for (const auto each : all) {
    if (to_name(each) == value) {
      return each;
    }
  }
  throw std::logic_error("'" + value + "' names no enumerator");
}
template <class All, class ToName>
[[nodiscard]] std::vector<std::string> names_of(const All& all, ToName to_name) {
  std::vector<std::string> names;
  names.reserve(std::size(all));
  for (const auto each : all) {
    names.emplace_back(to_name(each));
  }
  return names;
}

// The axis `memory`: how host memory came to be that a GPU reads in place; host_alloc unless a line says
// otherwise, and then names of cases do not tell it.
[[nodiscard]] DeclaredAxis memory_axis(std::string means);
[[nodiscard]] cuda::MemoryKind memory_of(const Values& values);
void add_memory(cuda::MemoryKind memory, std::vector<Axis>& axes);

// The axis `hint`: what the driver is told of managed memory that the GPU reads; `usual` is what the family
// does where no line says otherwise, and then names of cases do not tell it.
[[nodiscard]] DeclaredAxis hint_axis(std::string means, cuda::Hint usual);
[[nodiscard]] cuda::Hint hint_of(const Values& values);
void add_hint(cuda::Hint hint, cuda::Hint usual, std::vector<Axis>& axes);

// The points of parameter space that a run takes of one family: the lines of the table of presets, with what
// the user put in place of their values.

// One line of the table: for each axis the values to take.
class Grid {
 public:
  using Written = std::vector<std::pair<std::string, std::string>>;

  // `axes` outlives it; `written` are the values, in the order of the line, where not what an axis has
  // otherwise.
  Grid(const std::vector<DeclaredAxis>& axes, Written written, const SizeRange& sizes);

  // Every combination of the values: axes in the order of the line, the last one changing fastest.
  [[nodiscard]] std::vector<Values> points(const NamedNumbers& names = {}) const;
  // The values of one axis. Throws std::logic_error for one that is not declared.
  [[nodiscard]] std::vector<AxisValue> values(const std::string& axis, const NamedNumbers& names = {}) const;
  [[nodiscard]] std::vector<std::string> words(const std::string& axis) const;
  // The value of an axis that takes one in a line.
  [[nodiscard]] std::string word(const std::string& axis) const;
  [[nodiscard]] std::uint64_t number(const std::string& axis) const;
  // Whether the line is of the graphs that the user names.
  [[nodiscard]] bool is_of_given_graphs() const;
  // The same line with other values of one axis.
  [[nodiscard]] Grid with(const std::string& axis, const std::string& values) const;

 private:
  [[nodiscard]] const DeclaredAxis* declared(const std::string& key) const;
  // As the line has it; empty where it does not.
  [[nodiscard]] const std::string& written(const std::string& axis) const;

  const std::vector<DeclaredAxis>* axes_;
  Written written_;
  SizeRange sizes_;
};

// The axis `graph`: names of graphs, and `given` for those that the user names by --graph. Where a family has
// a line for these, lines without `given` are not taken of them; else they replace the graphs of every line.
[[nodiscard]] DeclaredAxis graph_axis();

// What a run takes of one family.
class Grids {
 public:
  Grids(const std::vector<DeclaredAxis>& axes, const std::string& family, const Scope& scope);

  [[nodiscard]] const std::vector<Grid>& all() const noexcept { return grids_; }
  [[nodiscard]] auto begin() const noexcept { return grids_.begin(); }
  [[nodiscard]] auto end() const noexcept { return grids_.end(); }

  // By the axes `gpu` and `node`, among what the user named by --gpu and --numa; all GPUs that were named are
  // taken.
  [[nodiscard]] std::vector<GpuTarget> gpus(const Grid& grid) const;
  [[nodiscard]] std::vector<int> nodes(const Grid& grid, const GpuTarget& gpu) const;

  // GPU by GPU, and node by node, each line that takes them, in the order of the table.
  void each_gpu(const std::function<void(const GpuTarget&, const Grid&)>& visit) const;
  void each_gpu_and_node(const std::function<void(const GpuTarget&, int node, const Grid&)>& visit) const;

  // The user's graphs, else those of a line's axis `graph`, as far as their lists of `entry_bytes` an entry
  // are within the user's range of sizes; 0: whatever their size.
  [[nodiscard]] std::vector<graph::GraphSpec> graphs(const Grid& grid, std::uint64_t entry_bytes = 0) const;
  // Graph by graph, in the order of the table, each line that takes it; points of the line are of that graph.
  void each_graph(const std::function<void(const graph::GraphSpec&, const Grid&)>& visit,
                  std::uint64_t entry_bytes = 0) const;

  // A combination that cannot be is left out; the reason is told where nothing else is left.
  void leave_out(const std::string& why) const { left_out_.insert(why); }
  [[nodiscard]] const std::set<std::string>& left_out() const noexcept { return left_out_; }

 private:
  const Scope& scope_;
  std::vector<Grid> grids_;
  mutable std::set<std::string> left_out_;
};

// Puts together what has equal keys, in the order in which keys come first: for cases that share what is
// costly to make and held one at a time.
template <class T, class KeyOf>
void stand_together(std::vector<T>& all, KeyOf key_of) {
  for (auto group = all.begin(); group != all.end();) {
    const auto key = key_of(*group);
    group = std::stable_partition(group, all.end(), [&](const T& each) { return key_of(each) == key; });
  }
}

}  // namespace grainscope::harness

#endif
