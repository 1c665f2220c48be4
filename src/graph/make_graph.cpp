// From a name to a graph: read, found among those kept, or made and kept.

#include <filesystem>
#include <optional>
#include <string>

#include "grainscope/core/error.hpp"
#include "grainscope/graph/generate.hpp"
#include "grainscope/graph/io.hpp"

namespace grainscope::graph {
namespace {

constexpr Weight kLowestWeight = 1;
constexpr Weight kHighestWeight = 255;
constexpr std::uint64_t kWeightSeed = 1;

Csr with_weights(Csr graph, bool weights) {
  if (weights && !graph.weighted()) {
    draw_weights(graph, kLowestWeight, kHighestWeight, kWeightSeed);
  }
  return graph;
}

Csr generated(const GraphSpec& spec, bool weights) {
  Csr graph = build_csr(generate_edges(spec, weights), {.symmetrise = !spec.directed()});
  graph.name = spec.name();
  return graph;
}

// The graph kept at `path`; nothing where there is none, or it is damaged or another one.
std::optional<Csr> kept(const GraphSpec& spec, bool weights, const std::string& path) {
  if (!std::filesystem::exists(path)) {
    return std::nullopt;
  }
  try {
    Csr graph = read_graph(path, {.directed = spec.directed(), .weights = weights});
    // Ids that nobody drew may be missing at the end: hardly half of them. A smaller scale has half at most.
    const bool fits = graph.directed == spec.directed() && graph.vertices() <= spec.vertices() &&
                      graph.vertices() > spec.vertices().value_or(0) / 2 &&
                      graph.edges() <= spec.most_entries();
    return fits ? std::optional(std::move(graph)) : std::nullopt;
  } catch (const UsageError&) {
    return std::nullopt;
  }
}

void keep(const Csr& graph, const std::string& cache_dir, const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(cache_dir, error);
  if (error) {
    throw EnvironmentError("keeping the graph " + graph.name + ": the folder " + cache_dir +
                           " cannot be made: " + error.message());
  }
  write_graph(graph, path);
}

}  // namespace

Csr make_graph(const GraphSpec& spec, bool weights, const std::string& cache_dir) {
  if (spec.kind == GraphSpec::Kind::builtin) {
    return with_weights(builtin_graph(spec.path), weights);
  }
  if (spec.kind == GraphSpec::Kind::file) {
    return with_weights(read_graph(spec.path, {.weights = weights && holds_weights(spec.path)}), weights);
  }
  if (cache_dir.empty()) {
    return generated(spec, weights);
  }
  const std::string path =
      (std::filesystem::path(cache_dir) / (spec.name() + (weights ? ".wsg" : ".sg"))).string();
  if (auto graph = kept(spec, weights, path)) {
    return std::move(*graph);
  }
  Csr graph = generated(spec, weights);
  keep(graph, cache_dir, path);
  return graph;
}

}  // namespace grainscope::graph
