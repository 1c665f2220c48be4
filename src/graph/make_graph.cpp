// What --graph names, and how it becomes a graph: generated, read, or taken from the cache.

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "files.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/graph/generate.hpp"
#include "grainscope/graph/io.hpp"
#include "parallel.hpp"

namespace grainscope::graph {
namespace {

using Kind = GraphSpec::Kind;

constexpr int kLargestScale = 31;
constexpr int kLargestDegree = 4096;

struct Generated {
  Kind kind;
  const char* name;
  int degree;                   // where none is named
  bool has_one_degree = false;  // and none may be
};
constexpr std::array<Generated, 8> kGenerated{{{Kind::kron, "kron", 16},
                                               {Kind::urand, "urand", 16},
                                               {Kind::dense, "dense", 128},
                                               {Kind::web, "web", 16},
                                               {Kind::pareto, "pareto", 16},
                                               {Kind::citation, "citation", 16},
                                               {Kind::papers, "papers", 16},
                                               {Kind::road, "road", 2, true}}};

struct Builtin {
  const char* name;
  std::uint64_t vertices;
  std::uint64_t entries;
};
constexpr std::array<Builtin, 2> kBuiltin{{{"power", 4941, 13188}, {"pgp", 10680, 48632}}};

const Generated* generated(const GraphSpec& spec) {
  for (const Generated& one : kGenerated) {
    if (one.kind == spec.kind) {
      return &one;
    }
  }
  return nullptr;
}

const Builtin* builtin(const std::string& name) {
  for (const Builtin& one : kBuiltin) {
    if (name == one.name) {
      return &one;
    }
  }
  return nullptr;
}

[[noreturn]] void refuse(const std::string& text, const std::string& why) {
  throw UsageError("'" + text + "' is no graph: " + why +
                   "; there are kron:SCALE, urand:SCALE, dense:SCALE, web:SCALE, pareto:SCALE, "
                   "citation:SCALE and papers:SCALE (2^SCALE vertices, SCALE 1 to " +
                   std::to_string(kLargestScale) + "), each with :DEGREE behind it where wished (1 to " +
                   std::to_string(kLargestDegree) + "), road:SCALE, power, pgp and file:PATH");
}

int number(const std::string& text, const std::string& word, int most, const char* what) {
  int value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc{} || end != word.data() + word.size() || value < 1 || value > most) {
    refuse(text, std::string(what) + " '" + word + "' is not a number from 1 to " + std::to_string(most));
  }
  return value;
}

GraphSpec parse_generated(const std::string& text, const Generated& kind, const std::string& numbers) {
  const std::size_t colon = numbers.find(':');
  GraphSpec spec;
  spec.kind = kind.kind;
  spec.scale = number(text, numbers.substr(0, colon), kLargestScale, "the scale");
  spec.degree = colon == std::string::npos
                    ? kind.degree
                    : number(text, numbers.substr(colon + 1), kLargestDegree, "the degree");
  if (kind.has_one_degree && spec.degree != kind.degree) {
    refuse(text, std::string(kind.name) + " has one degree, " + std::to_string(kind.degree));
  }
  return spec;
}

}  // namespace

GraphSpec parse_graph_spec(const std::string& text) {
  const std::size_t colon = text.find(':');
  const std::string first = text.substr(0, colon);
  if (colon == std::string::npos) {
    if (builtin(text) == nullptr) {
      std::error_code error;
      if (std::filesystem::is_regular_file(text, error)) {
        throw UsageError("'" + text + "' is no graph by name: to read that file write file:" + text);
      }
      refuse(text, "no graph of that name is inside the program");
    }
    return {Kind::builtin, 0, 0, text};
  }
  const std::string rest = text.substr(colon + 1);
  if (first == "file") {
    if (rest.empty()) {
      refuse(text, "the path is missing");
    }
    return {Kind::file, 0, 0, rest};
  }
  for (const Generated& one : kGenerated) {
    if (first == one.name) {
      return parse_generated(text, one, rest);
    }
  }
  std::vector<std::string> kinds{"file"};
  for (const Generated& one : kGenerated) {
    kinds.emplace_back(one.name);
  }
  const std::string near = nearest(first, kinds);
  refuse(text, "the kind '" + first + "' is unknown" + (near.empty() ? "" : ": did you mean " + near + "?"));
}

std::string GraphSpec::name() const {
  if (kind == Kind::builtin) {
    return path;
  }
  if (kind == Kind::file) {
    return graph_stem(path);
  }
  const Generated* const one = generated(*this);
  return one->name + std::to_string(scale) + (degree == one->degree ? "" : "_" + std::to_string(degree));
}

std::optional<std::uint64_t> GraphSpec::vertices() const {
  if (kind == Kind::file) {
    return std::nullopt;
  }
  const Builtin* const inside = kind == Kind::builtin ? builtin(path) : nullptr;
  return inside != nullptr ? inside->vertices : std::uint64_t{1} << scale;
}

std::optional<std::uint64_t> GraphSpec::most_entries() const {
  if (kind == Kind::file) {
    return std::nullopt;
  }
  const Builtin* const inside = kind == Kind::builtin ? builtin(path) : nullptr;
  const std::uint64_t drawn = static_cast<std::uint64_t>(degree) << scale;
  return inside != nullptr ? inside->entries : directed() ? drawn : 2 * drawn;
}

// From a name to a graph: read, found among those kept, or made and kept.
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
