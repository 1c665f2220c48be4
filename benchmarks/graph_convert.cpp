// `grainscope graph convert` and `cache`.

#include <charconv>
#include <filesystem>
#include <utility>

#include "grainscope/core/error.hpp"
#include "grainscope/core/sampler.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/graph/generate.hpp"
#include "grainscope/graph/io.hpp"
#include "graph_command.hpp"

namespace grainscope::harness {
namespace {

namespace fs = std::filesystem;
using graph::Csr;
using graph::Format;
using graph::GraphSpec;
using graph::Vertex;
using graph::Weight;

constexpr std::uint64_t kWeightSeed = 1;

// "8-72"
std::pair<Weight, Weight> parse_range(const std::string& text) {
  Weight low = 0;
  Weight high = 0;
  const char* const end = text.data() + text.size();
  const auto first = std::from_chars(text.data(), end, low);
  if (first.ec == std::errc{} && first.ptr != end && *first.ptr == '-') {
    const auto second = std::from_chars(first.ptr + 1, end, high);
    if (second.ec == std::errc{} && second.ptr == end && low <= high) {
      return {low, high};
    }
  }
  throw UsageError("--draw-weights " + text + " is no range: write LOW-HIGH, e.g. 8-72");
}

graph::Order parse_order(const std::string& text) {
  for (const graph::Order order : {graph::Order::original, graph::Order::degree, graph::Order::halo_like}) {
    if (text == graph::name(order)) {
      return order;
    }
  }
  throw UsageError("--order " + text + " is not known; there are original, degree and halo_like");
}

// Whether the file to come holds weights; what contradicts itself is refused before anything is read.
bool wants_weights(const ConvertOptions& options) {
  const Format format = graph::format_of(options.to);
  if (format != Format::sg && format != Format::wsg && format != Format::bel) {
    throw UsageError("could not write " + options.to + ": graphs are written as .sg, .wsg and .bel");
  }
  const bool asked = options.weights || !options.draw_weights.empty();
  if (asked && format == Format::sg) {
    throw UsageError(options.to + " cannot hold weights: write .wsg or .bel");
  }
  if (options.directed && options.symmetrise) {
    throw UsageError("--directed and --symmetrise exclude each other");
  }
  return asked || format == Format::wsg;
}

Csr symmetrised(Csr graph) {
  if (!graph.directed) {
    return graph;
  }
  std::string name = std::move(graph.name);
  Csr both = graph::build_csr(graph::edges_of(std::move(graph)), {.symmetrise = true});
  both.name = std::move(name);
  return both;
}

std::string summary(const Csr& graph) {
  return std::to_string(graph.vertices()) + " vertices, " + std::to_string(graph.edges()) + " entries" +
         (graph.directed ? ", directed" : "") + (graph.weighted() ? ", with weights" : "");
}

std::string cache_one(const GraphSpec& spec, const CacheOptions& options) {
  const std::string path =
      (fs::path(options.dir) / (spec.name() + (options.weights ? ".wsg" : ".sg"))).string();
  const auto changed = [&] {
    std::error_code none;
    return fs::last_write_time(path, none);
  };
  const auto before = changed();
  const double start_s = steady_now_s();
  const Csr graph = graph::make_graph(spec, options.weights, options.dir);
  const std::string took = format_seconds(steady_now_s() - start_s);
  return path + ": " + summary(graph) + ", " + format_bytes(fs::file_size(path)) +
         (before == changed() ? ", was there, read in " : ", made in ") + took + "\n";
}

}  // namespace

std::string convert_graph(const ConvertOptions& options) {
  const bool weights = wants_weights(options);
  const graph::Order order = parse_order(options.order);
  const bool draw = !options.draw_weights.empty();
  const auto range = draw ? parse_range(options.draw_weights) : std::pair<Weight, Weight>();
  Csr graph = graph_named(options.from, weights && !draw, options.directed);
  const std::string note = numbering_note(graph, options.from);
  if (options.symmetrise) {
    graph = symmetrised(std::move(graph));
  }
  if (draw) {
    graph::draw_weights(graph, range.first, range.second, kWeightSeed);
  }
  std::string ordered;
  if (order != graph::Order::original) {
    const double start_s = steady_now_s();
    const std::vector<Vertex> vertices = graph::order_of(graph, order);
    graph = graph::relabel(graph, vertices);
    ordered = ", " + options.order + " order in " + format_seconds(steady_now_s() - start_s);
  }
  graph::write_graph(graph, options.to);
  return options.to + ": " + summary(graph) + ordered + "\n" + note;
}

std::string cache_graphs(const CacheOptions& options) {
  std::vector<GraphSpec> specs;
  for (const std::string& word : options.graphs) {
    specs.push_back(graph::parse_graph_spec(word));
    if (specs.back().kind == GraphSpec::Kind::file || specs.back().kind == GraphSpec::Kind::builtin) {
      throw UsageError("there is nothing to keep of " + word +
                       ": only graphs that are made take time; to keep a file as .sg use convert");
    }
  }
  std::string text;
  for (const GraphSpec& spec : specs) {
    text += cache_one(spec, options);
  }
  return text;
}

}  // namespace grainscope::harness
