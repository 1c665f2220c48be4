// The words of `grainscope graph`, and which of its commands they ask for.

#include "graph_command.hpp"

#include <CLI/CLI.hpp>
#include <filesystem>
#include <optional>
#include <utility>

#include "grainscope/core/error.hpp"
#include "grainscope/graph/generate.hpp"
#include "grainscope/graph/io.hpp"
#include "harness/options.hpp"

namespace grainscope::harness {
namespace {

constexpr const char* kIntroduction =
    "Describes, converts and keeps graphs.\n\n"
    "A graph is a name or a file. Names: kron:SCALE, urand:SCALE (GAP's, 2^SCALE vertices), dense:SCALE,\n"
    "web:SCALE, pareto:SCALE, each with :DEGREE behind it where wished, and the small real graphs power\n"
    "and pgp.\n"
    "Files, by their ending: .sg .wsg .el .wel (GAP), .txt .snap (SNAP), .mtx (MatrixMarket), .graph "
    "(METIS),\n"
    ".bel (EMOGI).\n\n"
    "Exit status: 0 done, 1 something failed, 2 usage or a file that is not as it should be, 3 the machine\n"
    "forbids what was asked.";

// A word of a variable that is not set.
std::string is_given(const std::string& word) {
  return word.empty() ? "is empty: is it of a variable that is not set?" : "";
}

CLI::App* add_describe(CLI::App& app, DescribeOptions& options) {
  CLI::App* command = app.add_subcommand(
      "describe",
      "Print how many vertices and edges, how long the lists, how far the edges, how much memory");
  command->add_option("GRAPH", options.graph, "A name or a file")->required();
  command->add_flag("--directed", options.directed, "Edges of a file that does not say run one way only");
  command->add_flag("--json", options.json, "As JSON");
  return command;
}

CLI::App* add_convert(CLI::App& app, ConvertOptions& options) {
  CLI::App* command = app.add_subcommand(
      "convert", "Write a graph as another file: .sg, .wsg or .bel, by its ending; whole or not at all");
  command->add_option("GRAPH", options.from, "A name or a file")->required();
  command->add_option("OUT", options.to, "The file to write; of EMOGI's three NAME.bel")->required();
  command->add_flag("--weights", options.weights,
                    "Keep the weights: the file's own, or GAP's of a name (1 to 255); .wsg always does");
  command
      ->add_option("--draw-weights", options.draw_weights,
                   "Draw new weights, e.g. 8-72, the same for both directions of an edge")
      ->check(is_given);
  command->add_flag("--directed", options.directed, "Edges of a file that does not say run one way only");
  command->add_flag("--symmetrise", options.symmetrise,
                    "Add every edge's opposite, whatever the file says; the lower weight stays");
  command->add_option(
      "--order", options.order,
      "Number the vertices anew: degree (falling), or halo_like (by nearness to sampled sources)");
  return command;
}

CLI::App* add_cache(CLI::App& app, CacheOptions& options) {
  CLI::App* command =
      app.add_subcommand("cache", "Make graphs by name and keep them where --graph-cache finds them");
  command->add_option("NAME", options.graphs, "kron:24, urand:24, …")->required();
  command->add_option("--dir", options.dir, "The folder to keep them in; made where missing")
      ->required()
      ->check(is_given);
  command->add_flag("--weights", options.weights,
                    "With GAP's weights, for sssp: NAME.wsg instead of NAME.sg");
  return command;
}

// By its ending.
std::optional<graph::Format> format_told(const std::string& word) {
  try {
    return graph::format_of(word);
  } catch (const UsageError&) {
    return std::nullopt;
  }
}

// A path may hold anything, also a colon.
bool looks_like_a_file(const std::string& word) {
  return format_told(word) || std::filesystem::exists(word);
}

}  // namespace

std::string graph_command(const std::vector<std::string>& arguments) {
  CLI::App app{kIntroduction, "grainscope graph"};
  app.set_help_flag("-h,--help", "Print this and exit");
  app.require_subcommand(1);
  DescribeOptions describe;
  ConvertOptions convert;
  CacheOptions cache;
  const CLI::App* describing = add_describe(app, describe);
  const CLI::App* converting = add_convert(app, convert);
  add_cache(app, cache);
  try {
    // CLI11 takes the words from the back.
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
  } catch (const CLI::CallForHelp&) {
    throw HelpRequested{app.help()};
  } catch (const CLI::ParseError& error) {
    throw UsageError(std::string(error.what()) + "; see `grainscope graph --help`");
  }
  if (describing->parsed()) {
    return describe_graph(describe);
  }
  return converting->parsed() ? convert_graph(convert) : cache_graphs(cache);
}

graph::Csr graph_named(const std::string& word, bool weights, bool directed) {
  const auto spec = [&]() -> std::optional<graph::GraphSpec> {
    try {
      return graph::parse_graph_spec(word);
    } catch (const UsageError&) {
      if (looks_like_a_file(word)) {
        return std::nullopt;
      }
      throw;
    }
  }();
  const bool of_file = !spec || spec->kind == graph::GraphSpec::Kind::file;
  graph::Csr graph =
      of_file ? graph::read_graph(spec ? spec->path : word, {.directed = directed, .weights = weights})
              : graph::make_graph(*spec, weights);
  if (directed && !graph.directed) {
    throw UsageError("--directed: edges of " + word + " run both ways by its own word");
  }
  return graph;
}

std::string numbering_note(const graph::Csr& graph, const std::string& name) {
  const std::optional<graph::Format> format = format_told(name);
  const bool from_0 =
      format == graph::Format::el || format == graph::Format::wel || format == graph::Format::snap;
  if (!from_0 || graph.vertices() < 2 || graph.degree(0) > 0) {
    return {};
  }
  // Lists are ascending.
  bool names_1 = graph.degree(1) > 0;
  for (graph::Vertex v = 0; v < graph.vertices(); ++v) {
    const auto list = graph.neighbours(v);
    if (!list.empty() && list.front() == 0) {
      return {};
    }
    names_1 |= !list.empty() && list.front() == 1;
  }
  return names_1 ? "note: " + name +
                       " has no edge at vertex 0: if it counts from 1, each vertex is now one too high, "
                       "and there is one too many; write its numbers one lower\n"
                 : "";
}

}  // namespace grainscope::harness
