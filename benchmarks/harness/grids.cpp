#include "grids.hpp"

#include <algorithm>
#include <optional>
#include <stdexcept>

#include "option_values.hpp"
#include "presets.hpp"

namespace grainscope::harness {
namespace {

const char* const kGraph = "graph";
const char* const kGiven = "given";

template <class T>
bool has(const std::vector<T>& all, const T& one) {
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

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    text += (text.empty() ? "" : ",") + word;
  }
  return text;
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
    if (written(axis.key).empty()) {
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
    return graphs && has<std::string>(*graphs, kGiven);
  });
  for (const PresetLine* line : lines) {
    Grid::Written written = line->axes;
    if (auto graphs = graphs_of(*line)) {
      const bool for_given = std::erase(*graphs, kGiven) > 0;
      if (named ? has_given && !for_given : graphs->empty()) {
        continue;
      }
      write(written, kGraph, named ? kGiven : joined(*graphs));
    }
    for (const auto& [key, values] : scope.axes) {
      if (std::any_of(axes.begin(), axes.end(),
                      [&key = key](const DeclaredAxis& axis) { return axis.key == key; })) {
        write(written, key, values);
      }
    }
    grids_.emplace_back(axes, std::move(written), SizeRange{scope.min_bytes, scope.max_bytes});
  }
}

std::vector<GpuTarget> Grids::gpus(const Grid& grid) const {
  const bool first = grid.written("gpu") == "first" && !scope_.gpus_asked_for;
  return {scope_.gpus.begin(), first && !scope_.gpus.empty() ? scope_.gpus.begin() + 1 : scope_.gpus.end()};
}

std::vector<int> Grids::nodes(const Grid& grid, const GpuTarget& gpu) const {
  const std::string& asked = grid.written("node");
  if (asked == "nearest") {
    return scope_.nodes.empty() ? std::vector<int>{} : std::vector{scope_.nearest_node(gpu)};
  }
  if (asked == "near_and_far") {
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
        if (!has(all, node)) {
          all.push_back(node);
        }
      }
    }
    for (const int node : all) {
      for (const auto& [on, grid] : taken) {
        if (has(on, node)) {
          visit(gpu, node, *grid);
        }
      }
    }
  }
}

std::vector<graph::GraphSpec> Grids::graphs(const Grid& grid, std::uint64_t entry_bytes) const {
  if (grid.written(kGraph) == kGiven) {
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
      if (has(of_grid[i], spec.name())) {
        visit(spec, grids_[i].with(kGraph, kGiven));
      }
    }
  }
}

}  // namespace grainscope::harness
