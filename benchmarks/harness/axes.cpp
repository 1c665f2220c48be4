#include "axes.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <optional>
#include <stdexcept>

#include "grainscope/core/error.hpp"
#include "grainscope/core/units.hpp"
#include "options.hpp"
#include "presets.hpp"

namespace grainscope::harness {
namespace {

// Beyond any memory, and still a number after two more octaves or with two such buffers.
constexpr std::uint64_t kLargestSize = std::uint64_t{1} << 61;

const char* const kDots = "..";
const char* const kFirst = "first";
const char* const kEach = "each";
const char* const kNearest = "nearest";
const char* const kNearAndFar = "near_and_far";

bool takes_one(const DeclaredAxis& axis) {
  return axis.kind == DeclaredAxis::Kind::untold || axis.kind == DeclaredAxis::Kind::places;
}

bool has_axes(const std::vector<std::string>& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

std::vector<std::string> words_and_names(const DeclaredAxis& axis) {
  std::vector<std::string> all = axis.named;
  all.insert(all.end(), axis.words.begin(), axis.words.end());
  return all;
}

std::string number_text(const DeclaredAxis& axis, std::uint64_t number) {
  return axis.unit == DeclaredAxis::Unit::bytes ? format_bytes(number) : std::to_string(number);
}

[[noreturn]] void refuse(const DeclaredAxis& axis, const std::string& value, const std::string& why = {}) {
  const std::string near = nearest(value, words_and_names(axis));
  throw UsageError("axis " + axis.key + " (" + axis.means + ") cannot be '" + value +
                   "': " + (why.empty() ? "it is " + what_it_takes(axis) : why) +
                   (near.empty() ? "" : "; did you mean " + near + "?"));
}

std::uint64_t number_of(const DeclaredAxis& axis, const std::string& text, const NamedNumbers& names) {
  if (const auto named = names.find(text); named != names.end() && has_axes(axis.named, text)) {
    return named->second;
  }
  std::uint64_t number = 0;
  if (axis.unit == DeclaredAxis::Unit::bytes) {
    try {
      number = parse_bytes(text);
    } catch (const UsageError& error) {
      refuse(axis, text, error.what());
    }
  } else {
    const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || rest != text.data() + text.size()) {
      refuse(axis, text);
    }
  }
  const bool listed =
      axis.only.empty() || std::find(axis.only.begin(), axis.only.end(), number) != axis.only.end();
  if (!listed || number < axis.numbers->least || number > axis.numbers->most) {
    refuse(axis, text);
  }
  return number;
}

std::string percentage_of(const DeclaredAxis& axis, const std::string& text) {
  double percent = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), percent);
  if (error != std::errc{} || rest != text.data() + text.size() || !(percent > 0 && percent <= 100)) {
    refuse(axis, text);
  }
  std::array<char, 32> shortest{};
  std::snprintf(shortest.data(), shortest.size(), "%g", percent);
  return shortest.data();
}

// A value by itself.
AxisValue value_of(const DeclaredAxis& axis, const std::string& text, const NamedNumbers& names) {
  if (text.empty()) {
    refuse(axis, text);
  }
  if (has_axes(axis.words, text)) {
    return text;
  }
  if (axis.numbers) {
    return static_cast<std::int64_t>(number_of(axis, text, names));
  }
  if (axis.unit == DeclaredAxis::Unit::percent) {
    return percentage_of(axis, text);
  }
  if (!axis.check) {
    refuse(axis, text);
  }
  axis.check(text);
  return text;
}

// "first..last" or "first..xN..last".
struct WrittenRange {
  std::string first;
  std::uint64_t factor = 2;
  std::string last;
};

std::optional<WrittenRange> range_of(const DeclaredAxis& axis, const std::string& text) {
  const std::size_t dots = text.find(kDots);
  if (dots == std::string::npos || !axis.numbers) {
    return std::nullopt;
  }
  WrittenRange range{text.substr(0, dots), 2, text.substr(dots + 2)};
  if (const std::size_t more = range.last.find(kDots); more != std::string::npos) {
    const std::string factor = range.last.substr(0, more);
    range.last = range.last.substr(more + 2);
    const char* const end = factor.data() + factor.size();
    const auto [rest, error] =
        std::from_chars(factor.data() + std::min<std::size_t>(1, factor.size()), end, range.factor);
    if (!factor.starts_with('x') || error != std::errc{} || rest != end || range.factor < 2) {
      refuse(axis, text, "between its ends a range has x and a whole number from 2 on, e.g. 4KiB..x4..1GiB");
    }
  }
  return range;
}

std::vector<std::uint64_t> numbers_of(const DeclaredAxis& axis, const WrittenRange& range,
                                      const NamedNumbers& names, std::uint64_t most_asked) {
  const std::uint64_t first = number_of(axis, range.first, names);
  const std::uint64_t last = number_of(axis, range.last, names);
  if (first == 0) {
    refuse(axis, range.first, "a range begins above 0");
  }
  const std::uint64_t most = std::max(last, std::min({most_asked, kLargestSize, axis.numbers->most}));
  std::vector<std::uint64_t> numbers;
  for (std::uint64_t number = first; number <= most; number *= range.factor) {
    numbers.push_back(number);
    if (number > most / range.factor) {
      break;
    }
  }
  if (numbers.empty() || numbers.back() < last) {
    numbers.push_back(last);
  }
  return numbers;
}

void add_once(std::vector<AxisValue>& values, AxisValue value) {
  if (std::find(values.begin(), values.end(), value) == values.end()) {
    values.push_back(std::move(value));
  }
}

}  // namespace

std::string what_it_takes(const DeclaredAxis& axis) {
  if (!is_given(axis)) {
    return "follows from others";
  }
  std::string text;
  if (!axis.only.empty()) {
    for (const std::uint64_t number : axis.only) {
      text += (text.empty() ? "" : ", ") + std::to_string(number);
    }
    text = "one of " + text;
  } else if (axis.numbers) {
    text = (axis.unit == DeclaredAxis::Unit::bytes ? "a size from " : "a whole number from ") +
           number_text(axis, axis.numbers->least) + " to " + number_text(axis, axis.numbers->most);
  }
  if (axis.unit == DeclaredAxis::Unit::percent) {
    text = "a percentage above 0, up to 100";
  }
  const std::vector<std::string> words = words_and_names(axis);
  for (std::size_t i = 0; i < words.size(); ++i) {
    const bool last = i + 1 == words.size();
    text += (text.empty() ? "" : last ? " or " : ", ") + words[i];
  }
  return text + (takes_one(axis) ? "; one value a run" : "");
}

DeclaredAxis word_axis(std::string key, std::string means, std::vector<std::string> words,
                       std::string otherwise) {
  return {.key = std::move(key),
          .means = std::move(means),
          .words = std::move(words),
          .otherwise = std::move(otherwise)};
}

DeclaredAxis memory_axis(std::string means) {
  std::vector<std::string> kinds =
      names_of(cuda::kMemoryKinds, [](cuda::MemoryKind each) { return cuda::name(each); });
  std::erase(kinds, cuda::name(cuda::MemoryKind::peer));
  return word_axis("memory", std::move(means), std::move(kinds), cuda::name(cuda::MemoryKind::host_alloc));
}

cuda::MemoryKind memory_of(const Values& values) {
  return enumerator(values.word("memory"), cuda::kMemoryKinds,
                    [](cuda::MemoryKind each) { return cuda::name(each); });
}

void add_memory(cuda::MemoryKind memory, std::vector<Axis>& axes) {
  if (memory != cuda::MemoryKind::host_alloc) {
    axes.push_back({"memory", cuda::name(memory)});
  }
}

DeclaredAxis hint_axis(std::string means, cuda::Hint usual) {
  return word_axis("hint", std::move(means),
                   names_of(cuda::kHints, [](cuda::Hint each) { return cuda::name(each); }),
                   cuda::name(usual));
}

cuda::Hint hint_of(const Values& values) {
  return enumerator(values.word("hint"), cuda::kHints, [](cuda::Hint each) { return cuda::name(each); });
}

void add_hint(cuda::Hint hint, cuda::Hint usual, std::vector<Axis>& axes) {
  if (hint != usual) {
    axes.push_back({"hint", cuda::name(hint)});
  }
}

DeclaredAxis switch_axis(std::string key, std::string means, std::string otherwise) {
  return word_axis(std::move(key), std::move(means), {"on", "off"}, std::move(otherwise));
}

DeclaredAxis number_axis(std::string key, std::string means, DeclaredAxis::Range range, std::string otherwise,
                         std::vector<std::string> words, std::vector<std::string> named) {
  return {.key = std::move(key),
          .means = std::move(means),
          .words = std::move(words),
          .numbers = range,
          .named = std::move(named),
          .otherwise = std::move(otherwise)};
}

DeclaredAxis size_axis(std::string key, std::string means, DeclaredAxis::Range range, bool cut,
                       std::string otherwise, std::vector<std::string> words,
                       std::vector<std::string> named) {
  return {.key = std::move(key),
          .means = std::move(means),
          .words = std::move(words),
          .numbers = range,
          .named = std::move(named),
          .unit = DeclaredAxis::Unit::bytes,
          .otherwise = std::move(otherwise),
          .cut = cut};
}

DeclaredAxis choice_axis(std::string key, std::string means, std::vector<std::uint64_t> only,
                         std::string otherwise, std::vector<std::string> words) {
  DeclaredAxis axis = size_axis(std::move(key), std::move(means), {only.front(), only.back()}, false,
                                std::move(otherwise), std::move(words));
  axis.unit = DeclaredAxis::Unit::none;
  axis.only = std::move(only);
  return axis;
}

DeclaredAxis percent_axis(std::string key, std::string means, std::string otherwise) {
  return {.key = std::move(key),
          .means = std::move(means),
          .unit = DeclaredAxis::Unit::percent,
          .otherwise = std::move(otherwise)};
}

DeclaredAxis checked_axis(std::string key, std::string means, std::function<void(const std::string&)> check,
                          std::string otherwise) {
  return {.key = std::move(key),
          .means = std::move(means),
          .otherwise = std::move(otherwise),
          .check = std::move(check)};
}

DeclaredAxis untold(DeclaredAxis axis) {
  axis.kind = DeclaredAxis::Kind::untold;
  return axis;
}

DeclaredAxis following_axis(std::string key, std::string means, DeclaredAxis::Unit unit) {
  return {
      .key = std::move(key), .means = std::move(means), .unit = unit, .kind = DeclaredAxis::Kind::follows};
}

DeclaredAxis place_axis(std::string key, std::string means, std::vector<std::string> words,
                        std::string otherwise) {
  DeclaredAxis axis = word_axis(std::move(key), std::move(means), std::move(words), std::move(otherwise));
  axis.kind = DeclaredAxis::Kind::places;
  return axis;
}

DeclaredAxis gpu_axis() {
  return place_axis("gpu", "of which GPUs there are cases; --gpu names some", {kFirst, kEach}, kEach);
}

DeclaredAxis node_axis() {
  return place_axis(
      "node",
      "of which NUMA nodes: that nearest to a GPU, it and one that is remote, or each; --numa names some",
      {kNearest, kNearAndFar, kEach}, kEach);
}

DeclaredAxis pairs_axis(std::string means) {
  return place_axis("pairs", std::move(means), {kFirst, "neighbours", "all"}, "all");
}

DeclaredAxis orders_axis() {
  return place_axis("orders", "whether a pair of GPUs is taken in one order or in both", {"one", "both"},
                    "both");
}

std::vector<AxisValue> values_of(const DeclaredAxis& axis, const std::string& text, const NamedNumbers& names,
                                 const SizeRange& sizes) {
  std::vector<AxisValue> values;
  const std::vector<std::string> words = by_commas(text);
  for (const std::string& word : words) {
    const auto range = range_of(axis, word);
    if (!range) {
      add_once(values, value_of(axis, word, names));
      continue;
    }
    // Whoever asks for larger sizes than a preset has gets them by the steps that it ends with.
    const bool goes_on = axis.cut && &word == &words.back();
    for (const std::uint64_t number : numbers_of(axis, *range, names, goes_on ? sizes.most.value_or(0) : 0)) {
      add_once(values, static_cast<std::int64_t>(number));
    }
  }
  if (axis.cut) {
    std::erase_if(values, [&](const AxisValue& value) {
      const auto* number = std::get_if<std::int64_t>(&value);
      return number != nullptr && !sizes.has(static_cast<std::uint64_t>(*number));
    });
  }
  return values;
}

void require_values(const DeclaredAxis& axis, const std::string& text) {
  NamedNumbers least;  // what they are, a machine tells: any number of the axis
  NamedNumbers any;
  for (const std::string& name : axis.named) {
    least[name] = axis.numbers->least;
    any[name] = axis.numbers->most;
  }
  for (const std::string& word : by_commas(text)) {
    if (const auto range = range_of(axis, word)) {
      if (number_of(axis, range->first, least) > number_of(axis, range->last, any)) {
        refuse(axis, word, "it ends before it begins");
      }
      static_cast<void>(numbers_of(axis, *range, any, 0));
    } else {
      static_cast<void>(value_of(axis, word, any));
    }
  }
}

void require_told_apart(const DeclaredAxis& axis, const std::string& text) {
  if (takes_one(axis) && (text.find(',') != std::string::npos || range_of(axis, text))) {
    const bool untold = axis.kind == DeclaredAxis::Kind::untold;
    throw UsageError("--axis " + axis.key + "=" + text + ": " +
                     (untold ? "no name of a case tells " + axis.key + ", so results could not be told apart"
                             : axis.key + " takes one value in a run") +
                     ": give one value, and each other in a run of its own");
  }
  std::vector<std::pair<AxisValue, std::string>> seen;
  for (const std::string& word : by_commas(text)) {
    if (word.empty() || range_of(axis, word) ||
        std::find(axis.named.begin(), axis.named.end(), word) != axis.named.end()) {
      continue;
    }
    const AxisValue value = value_of(axis, word, {});
    for (const auto& [before, written] : seen) {
      if (before == value) {
        std::string message = "--axis ";
        message.append(axis.key).append("=").append(text).append(": ").append(word).append(" is ");
        throw UsageError(message.append(written).append(" again: name each value once"));
      }
    }
    seen.emplace_back(value, word);
  }
}

const AxisValue& Values::at(const std::string& key) const {
  for (const auto& [candidate, value] : values_) {
    if (candidate == key) {
      return value;
    }
  }
  throw std::logic_error("no axis is declared as '" + key + "'");
}

const std::string& Values::word(const std::string& key) const {
  const auto* word = std::get_if<std::string>(&at(key));
  if (word == nullptr) {
    throw std::logic_error("axis " + key + " is a number here, not a word");
  }
  return *word;
}

std::uint64_t Values::number(const std::string& key) const {
  const auto* number = std::get_if<std::int64_t>(&at(key));
  if (number == nullptr) {
    throw std::logic_error("axis " + key + " is a word here, not a number");
  }
  return static_cast<std::uint64_t>(*number);
}

double Values::decimal(const std::string& key) const {
  return std::stod(word(key));
}

bool Values::is(const std::string& key, const std::string& word) const {
  const auto* value = std::get_if<std::string>(&at(key));
  return value != nullptr && *value == word;
}

void Values::set(const std::string& key, AxisValue value) {
  for (auto& [candidate, old] : values_) {
    if (candidate == key) {
      old = std::move(value);
      return;
    }
  }
  values_.emplace_back(key, std::move(value));
}

namespace {

const char* const kGraph = "graph";
const char* const kGiven = "given";

template <class T>
bool has_grids(const std::vector<T>& all, const T& one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

void write(Grid::Written& written, const std::string& key, const std::string& values) {
  const auto place =
      std::find_if(written.begin(), written.end(), [&](const auto& each) { return each.first == key; });
  if (place == written.end()) {
    written.emplace_back(key, values);
  } else {
    place->second = values;
  }
}

// The line's graphs where it has some: `given` among them stands for those that the user names.
std::optional<std::vector<std::string>> graphs_of(const PresetLine& line) {
  for (const auto& [key, values] : line.axes) {
    if (key == kGraph) {
      return by_commas(values);
    }
  }
  return std::nullopt;
}

}  // namespace

Grid::Grid(const std::vector<DeclaredAxis>& axes, Written written, const SizeRange& sizes)
    : axes_(&axes), written_(std::move(written)), sizes_(sizes) {}

const DeclaredAxis* Grid::declared(const std::string& key) const {
  const auto place =
      std::find_if(axes_->begin(), axes_->end(), [&](const DeclaredAxis& axis) { return axis.key == key; });
  return place == axes_->end() ? nullptr : &*place;
}

const std::string& Grid::written(const std::string& axis) const {
  static const std::string nothing;
  const auto place =
      std::find_if(written_.begin(), written_.end(), [&](const auto& each) { return each.first == axis; });
  return place == written_.end() ? nothing : place->second;
}

std::vector<AxisValue> Grid::values(const std::string& axis, const NamedNumbers& names) const {
  const DeclaredAxis* const declaration = declared(axis);
  if (declaration == nullptr) {
    throw std::logic_error("no axis is declared as '" + axis + "'");
  }
  const std::string& text = written(axis);
  if (text.empty() && declaration->otherwise.empty()) {
    throw std::logic_error("a line of the presets gives axis " + axis + " no value");
  }
  return values_of(*declaration, text.empty() ? declaration->otherwise : text, names, sizes_);
}

std::string Grid::word(const std::string& axis) const {
  const std::vector<AxisValue> all = values(axis);
  if (all.size() != 1) {
    throw std::logic_error("a line of the presets gives axis " + axis + " several values");
  }
  return to_string(all.front());
}

std::uint64_t Grid::number(const std::string& axis) const {
  return std::stoull(word(axis));
}

bool Grid::is_of_given_graphs() const {
  return written(kGraph) == kGiven;
}

std::vector<std::string> Grid::words(const std::string& axis) const {
  std::vector<std::string> words;
  for (const AxisValue& value : values(axis)) {
    words.push_back(to_string(value));
  }
  return words;
}

std::vector<Values> Grid::points(const NamedNumbers& names) const {
  std::vector<Values> points(1);
  const auto cross = [&](const std::string& key) {
    const std::vector<AxisValue> all = values(key, names);
    std::vector<Values> crossed;
    crossed.reserve(points.size() * all.size());
    for (const Values& point : points) {
      for (const AxisValue& value : all) {
        crossed.push_back(point);
        crossed.back().set(key, value);
      }
    }
    points = std::move(crossed);
  };
  for (const auto& [key, text] : written_) {
    if (declared(key) != nullptr) {
      cross(key);
    }
  }
  for (const DeclaredAxis& axis : *axes_) {
    if (written(axis.key).empty() && is_given(axis)) {
      cross(axis.key);
    }
  }
  return points;
}

Grid Grid::with(const std::string& axis, const std::string& values) const {
  Grid grid = *this;
  write(grid.written_, axis, values);
  return grid;
}

DeclaredAxis graph_axis() {
  DeclaredAxis axis = checked_axis(kGraph, "the graph, as --graph names it", [](const std::string& text) {
    static_cast<void>(graph::parse_graph_spec(text));
  });
  axis.words = {kGiven};
  return axis;
}

Grids::Grids(const std::vector<DeclaredAxis>& axes, const std::string& family, const Scope& scope)
    : scope_(scope) {
  const std::vector<const PresetLine*> lines = preset_lines(family, scope.preset);
  const bool named =
      !scope.graphs.empty() || std::any_of(scope.axes.begin(), scope.axes.end(),
                                           [](const auto& axis) { return axis.first == kGraph; });
  const bool has_given = std::any_of(lines.begin(), lines.end(), [](const PresetLine* line) {
    const auto graphs = graphs_of(*line);
    return graphs && has_grids<std::string>(*graphs, kGiven);
  });
  for (const PresetLine* line : lines) {
    Grid::Written written = line->axes;
    if (auto graphs = graphs_of(*line)) {
      const bool for_given = std::erase(*graphs, kGiven) > 0;
      if (named ? has_given && !for_given : graphs->empty()) {
        continue;
      }
      write(written, kGraph, named ? kGiven : joined(*graphs, ","));
    }
    for (const auto& [key, values] : scope.axes) {
      if (std::any_of(axes.begin(), axes.end(),
                      [&key = key](const DeclaredAxis& axis) { return axis.key == key && is_given(axis); })) {
        write(written, key, values);
      }
    }
    grids_.emplace_back(axes, std::move(written), SizeRange{scope.min_bytes, scope.max_bytes});
  }
}

std::vector<GpuTarget> Grids::gpus(const Grid& grid) const {
  const bool first = grid.word("gpu") == kFirst && !scope_.gpus_asked_for;
  return {scope_.gpus.begin(), first && !scope_.gpus.empty() ? scope_.gpus.begin() + 1 : scope_.gpus.end()};
}

std::vector<int> Grids::nodes(const Grid& grid, const GpuTarget& gpu) const {
  const std::string asked = grid.word("node");
  if (asked == kNearest) {
    return scope_.nodes.empty() ? std::vector<int>{} : std::vector{scope_.nearest_node(gpu)};
  }
  if (asked == kNearAndFar) {
    return scope_.near_and_far(gpu);
  }
  return scope_.nodes;
}

void Grids::each_gpu(const std::function<void(const GpuTarget&, const Grid&)>& visit) const {
  for (const GpuTarget& gpu : scope_.gpus) {
    for (const Grid& grid : grids_) {
      const std::vector<GpuTarget> taken = gpus(grid);
      if (std::any_of(taken.begin(), taken.end(),
                      [&](const GpuTarget& each) { return each.ordinal == gpu.ordinal; })) {
        visit(gpu, grid);
      }
    }
  }
}

void Grids::each_gpu_and_node(
    const std::function<void(const GpuTarget&, int node, const Grid&)>& visit) const {
  for (const GpuTarget& gpu : scope_.gpus) {
    std::vector<std::pair<std::vector<int>, const Grid*>> taken;
    std::vector<int> all;
    for (const Grid& grid : grids_) {
      const std::vector<GpuTarget> chosen = gpus(grid);
      if (std::none_of(chosen.begin(), chosen.end(),
                       [&](const GpuTarget& each) { return each.ordinal == gpu.ordinal; })) {
        continue;
      }
      taken.emplace_back(nodes(grid, gpu), &grid);
      for (const int node : taken.back().first) {
        if (!has_grids(all, node)) {
          all.push_back(node);
        }
      }
    }
    for (const int node : all) {
      for (const auto& [on, grid] : taken) {
        if (has_grids(on, node)) {
          visit(gpu, node, *grid);
        }
      }
    }
  }
}

std::vector<graph::GraphSpec> Grids::graphs(const Grid& grid, std::uint64_t entry_bytes) const {
  if (grid.is_of_given_graphs()) {
    return scope_.graphs;
  }
  std::vector<graph::GraphSpec> graphs;
  for (const std::string& text : grid.words(kGraph)) {
    graph::GraphSpec spec = graph::parse_graph_spec(text);
    if (scope_.in_range(spec.most_entries().value_or(0) * entry_bytes) || entry_bytes == 0) {
      graphs.push_back(std::move(spec));
    }
  }
  return graphs;
}

void Grids::each_graph(const std::function<void(const graph::GraphSpec&, const Grid&)>& visit,
                       std::uint64_t entry_bytes) const {
  std::vector<graph::GraphSpec> all;
  std::vector<std::vector<std::string>> of_grid;
  for (const Grid& grid : grids_) {
    of_grid.emplace_back();
    for (graph::GraphSpec& spec : graphs(grid, entry_bytes)) {
      of_grid.back().push_back(spec.name());
      if (std::none_of(all.begin(), all.end(),
                       [&](const auto& known) { return known.name() == spec.name(); })) {
        all.push_back(std::move(spec));
      }
    }
  }
  for (const graph::GraphSpec& spec : all) {
    for (std::size_t i = 0; i < grids_.size(); ++i) {
      if (has_grids(of_grid[i], spec.name())) {
        visit(spec, grids_[i].with(kGraph, kGiven));
      }
    }
  }
}

}  // namespace grainscope::harness
