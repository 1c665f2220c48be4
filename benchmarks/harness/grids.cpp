#include "grids.hpp"

#include <algorithm>
#include <stdexcept>

#include "presets.hpp"

namespace grainscope::harness {
namespace {

const char* const kGraph = "graph";
// Of a line for graphs that the user names: in place of the lines that name some themselves.
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

std::string graph_names(const std::vector<graph::GraphSpec>& graphs) {
  std::string names;
  for (const graph::GraphSpec& graph : graphs) {
    names += (names.empty() ? "" : ",") + graph.name();
  }
  return names;
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

Grids::Grids(const std::vector<DeclaredAxis>& axes, const std::string& family, const Scope& scope)
    : scope_(scope) {
  const std::vector<const PresetLine*> lines = preset_lines(family, scope.preset);
  const auto names = [](const PresetLine& line, const std::string& key, const std::string& text) {
    return std::any_of(line.axes.begin(), line.axes.end(), [&](const auto& each) {
      return each.first == key && (text.empty() || each.second == text);
    });
  };
  const bool has_given = std::any_of(lines.begin(), lines.end(),
                                     [&](const PresetLine* line) { return names(*line, kGraph, kGiven); });
  for (const PresetLine* line : lines) {
    const bool for_given = names(*line, kGraph, kGiven);
    if (has_given && names(*line, kGraph, "") && for_given == scope.graphs.empty()) {
      continue;
    }
    Grid::Written written = line->axes;
    if (!scope.graphs.empty() && names(*line, kGraph, "")) {
      write(written, kGraph, graph_names(scope.graphs));
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
  if (!scope_.graphs.empty()) {
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

}  // namespace grainscope::harness
