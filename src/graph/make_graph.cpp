// From a name to a graph: read, found among those kept, or made and kept.

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "grainscope/core/error.hpp"
#include "grainscope/graph/generate.hpp"
#include "grainscope/graph/io.hpp"
#include "new_file.hpp"
#include "threads.hpp"

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

template <class T>
std::uint64_t mixed(std::uint64_t sum, const HostArray<T>& array) {
  constexpr std::uint64_t kPiece = std::uint64_t{1} << 18;
  constexpr std::uint64_t kPrime = 0x9E3779B97F4A7C15;  // odd: nothing is lost by multiplying
  const std::uint64_t pieces = (array.size() + kPiece - 1) / kPiece;
  std::vector<std::uint64_t> sums(pieces);
#pragma omp parallel for schedule(static) num_threads(threads_for(array.size()))
  for (std::uint64_t piece = 0; piece < pieces; ++piece) {
    std::uint64_t own = piece;
    for (std::uint64_t i = piece * kPiece; i < std::min(array.size(), (piece + 1) * kPiece); ++i) {
      own = (own ^ array[i]) * kPrime;
      own ^= own >> 29U;
    }
    sums[piece] = own;
  }
  for (const std::uint64_t own : sums) {
    sum = (sum ^ own) * kPrime;
    sum ^= sum >> 31U;
  }
  return (sum ^ array.size()) * kPrime;
}

// What tells this graph from any other, whatever its file is called, on one line.
std::string finger_print(const Csr& graph, const GraphSpec& spec) {
  const std::uint64_t sum =
      mixed(mixed(mixed(graph.directed ? 1 : 0, graph.offsets), graph.targets), graph.weights);
  std::ostringstream line;
  line << spec.name() << ' ' << std::hex << std::setfill('0') << std::setw(16) << sum << '\n';
  return line.str();
}

std::string print_path(const std::string& path) {
  return path + ".made";
}

std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string line(64, '\0');
  file.read(line.data(), static_cast<std::streamsize>(line.size()));
  line.resize(static_cast<std::size_t>(file.gcount()));
  return line;
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
                      graph.edges() <= spec.most_entries() &&
                      text_of(print_path(path)) == finger_print(graph, spec);
    return fits ? std::optional(std::move(graph)) : std::nullopt;
  } catch (const UsageError&) {
    return std::nullopt;
  }
}

void keep(const Csr& graph, const GraphSpec& spec, const std::string& cache_dir, const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(cache_dir, error);
  if (error) {
    throw EnvironmentError("keeping the graph " + graph.name + ": the folder " + cache_dir +
                           " cannot be made: " + error.message());
  }
  write_graph(graph, path);
  const std::string line = finger_print(graph, spec);
  NewFile print(print_path(path), line.size());
  print.write(line.data(), line.size());
  print.finish();
  print.put_in_place();
}

}  // namespace

Csr make_graph(const GraphSpec& spec, bool weights, const std::string& cache_dir, std::string& not_kept) {
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
  try {
    keep(graph, spec, cache_dir, path);
  } catch (const EnvironmentError& error) {
    not_kept = error.what();
  }
  return graph;
}

Csr make_graph(const GraphSpec& spec, bool weights, const std::string& cache_dir) {
  std::string not_kept;
  Csr graph = make_graph(spec, weights, cache_dir, not_kept);
  if (!not_kept.empty()) {
    throw EnvironmentError(not_kept);
  }
  return graph;
}

}  // namespace grainscope::graph
