// The words of `grainscope graph`, and which of its commands they ask for.

#include "graph_command.hpp"

#include <CLI/CLI.hpp>
#include <array>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "grainscope/core/error.hpp"
#include "grainscope/core/sampler.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/gnn/labels.hpp"
#include "grainscope/graph/generate.hpp"
#include "grainscope/graph/io.hpp"
#include "harness/options.hpp"

namespace grainscope::harness {
namespace {

constexpr const char* kIntroduction =
    "Describes, converts and keeps graphs.\n\n"
    "A graph is a name or a file. Names: kron:SCALE, urand:SCALE (GAP's, 2^SCALE vertices), dense:SCALE,\n"
    "web:SCALE, pareto:SCALE, citation:SCALE, papers:SCALE, each with :DEGREE behind it where wished,\n"
    "road:SCALE, and the small real graphs power and pgp.\n"
    "Files, by their ending: .sg .wsg .el .wel (GAP), .txt .snap (SNAP), .mtx (MatrixMarket), .graph "
    "(METIS,\n"
    "or WebGraph with its .properties beside it), .bel (EMOGI).\n\n"
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
  command
      ->add_option("--labels", options.labels,
                   "A label for each vertex, as a run takes it: how many edges stay within one")
      ->check(is_given);
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

namespace {

// `grainscope graph convert` and `cache`.

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
  if (options.weights && !options.draw_weights.empty()) {
    throw UsageError("--weights and --draw-weights exclude each other: the file's own, or others");
  }
  const bool onto_itself = fs::weakly_canonical(options.from) == fs::weakly_canonical(options.to);
  if (format == Format::bel && !asked && onto_itself && fs::exists(options.from + ".val")) {
    throw UsageError("the weights in " + options.from +
                     ".val would be lost: keep them by --weights, or write a file of another name");
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

namespace {

// `grainscope graph describe`.

using graph::Description;
using nlohmann::json;

// What the arrays of a graph take where a GPU reads them.
struct Memory {
  std::uint64_t offsets;
  std::uint64_t edges_4;
  std::uint64_t edges_8;
  std::uint64_t weights;
};
Memory memory_of(const Csr& csr) {
  return {8 * (csr.vertices() + std::uint64_t{1}), 4 * csr.edges(), 8 * csr.edges(), 4 * csr.edges()};
}

// How the vertices of a graph are labelled, and how far edges stay within a label.
struct Labelling {
  std::uint64_t labels = 0;    // different ones
  std::uint64_t labelled = 0;  // vertices
  std::uint64_t entries = 0;   // of which both ends have one
  std::uint64_t within = 0;    // of these, of which it is the same
};

std::optional<Labelling> labelling_of(const Csr& csr, const DescribeOptions& options) {
  std::vector<std::int32_t> label;
  if (!options.labels.empty()) {
    label = gnn::read_labels(options.labels);
    gnn::require_label_for_each(options.labels, label.size(), csr.vertices(), csr.name);
  } else if (!looks_like_a_file(options.graph)) {
    const GraphSpec spec = graph::parse_graph_spec(options.graph);
    if (spec.has_topics()) {
      const std::vector<std::uint16_t> topics = graph::topic_labels(spec);
      label.assign(topics.begin(), topics.end());
    }
  }
  if (label.empty()) {
    return std::nullopt;
  }
  Labelling labelling;
  std::set<std::int32_t> known;
  for (Vertex v = 0; v < csr.vertices(); ++v) {
    if (label[v] == gnn::kNoLabel) {
      continue;
    }
    known.insert(label[v]);
    ++labelling.labelled;
    for (const Vertex u : csr.neighbours(v)) {
      labelling.entries += label[u] != gnn::kNoLabel ? 1 : 0;
      labelling.within += label[u] == label[v] ? 1 : 0;
    }
  }
  labelling.labels = known.size();
  return labelling;
}

std::string number(double value, const char* format) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), format, value);
  return text.data();
}

std::string percent(double part, double whole) {
  return number(whole == 0 ? 0 : 100 * part / whole, "%.1f %%");
}

// "16777216" as "16,777,216"
std::string grouped(std::uint64_t value) {
  std::string text = std::to_string(value);
  for (std::size_t place = text.size(); place > 3;) {
    place -= 3;
    text.insert(place, ",");
  }
  return text;
}

std::string line(const std::string& label, const std::string& value) {
  return "  " + label + std::string(label.size() < 22 ? 22 - label.size() : 1, ' ') + value + "\n";
}

std::string edges_text(const Csr& csr) {
  return csr.directed ? grouped(csr.edges()) + ", directed"
                      : grouped(csr.edges() / 2) + ", undirected: " + grouped(csr.edges()) + " entries";
}

std::string lengths_text(const Csr& csr, const Description& description) {
  std::string text = "\n  entries in lists of at most\n";
  for (std::size_t i = 0; i < description.entries_up_to.size(); ++i) {
    const std::string length = grouped(std::uint64_t{1} << i);
    text += std::string(length.size() < 20 ? 20 - length.size() : 1, ' ') + length + "  " +
            percent(static_cast<double>(description.entries_up_to[i]), static_cast<double>(csr.edges())) +
            "\n";
  }
  return text;
}

std::string labels_text(const Labelling& labelling, double vertices) {
  return line("labels",
              grouped(labelling.labels) + ", of " +
                  percent(static_cast<double>(labelling.labelled), vertices) + " of the vertices; " +
                  percent(static_cast<double>(labelling.within), static_cast<double>(labelling.entries)) +
                  " of the entries between these within one");
}

std::string as_text(const Csr& csr, const Description& description,
                    const std::optional<Labelling>& labelling) {
  const graph::Degrees& degrees = description.degrees;
  const auto entries = static_cast<double>(csr.edges());
  const auto vertices = static_cast<double>(csr.vertices());
  const Memory memory = memory_of(csr);
  std::string text = csr.name + "\n";
  text += line("vertices", grouped(csr.vertices()));
  text += line("edges", edges_text(csr));
  text += line("without an edge",
               grouped(degrees.zero) + " vertices, " + percent(static_cast<double>(degrees.zero), vertices));
  text += line("degree", "mean " + number(degrees.mean, "%.2f") + ", least " + grouped(degrees.least) +
                             ", median " + grouped(degrees.median) + ", 99th percentile " +
                             grouped(degrees.p99) + ", most " + grouped(degrees.most));
  text += line("components", description.components ? grouped(*description.components)
                                                    : "not counted: the graph is directed");
  if (labelling) {
    text += labels_text(*labelling, vertices);
  }
  text += line("mean |u - v|", number(description.mean_distance, "%.1f") + ", " +
                                   percent(description.mean_distance, vertices) + " of the vertices");
  text += line(
      "in lists below 128 B",
      percent(static_cast<double>(description.entries_below_line_4), entries) + " of 4-byte entries, " +
          percent(static_cast<double>(description.entries_below_line_8), entries) + " of 8-byte entries");
  text += line("memory", "offsets " + format_bytes(memory.offsets) + ", 4-byte edges " +
                             format_bytes(memory.edges_4) + ", 8-byte edges " + format_bytes(memory.edges_8) +
                             ", weights " + format_bytes(memory.weights));
  return text + lengths_text(csr, description);
}

std::string as_json(const Csr& csr, const Description& description,
                    const std::optional<Labelling>& labelling) {
  const graph::Degrees& degrees = description.degrees;
  const Memory memory = memory_of(csr);
  json lengths = json::array();
  for (std::size_t i = 0; i < description.entries_up_to.size(); ++i) {
    lengths.push_back({{"at_most", std::uint64_t{1} << i}, {"entries", description.entries_up_to[i]}});
  }
  json result{
      {"graph", csr.name},
      {"vertices", csr.vertices()},
      {"entries", csr.edges()},
      {"directed", csr.directed},
      {"degree",
       {{"mean", degrees.mean},
        {"least", degrees.least},
        {"median", degrees.median},
        {"p99", degrees.p99},
        {"most", degrees.most},
        {"zero", degrees.zero}}},
      {"components", description.components ? json(*description.components) : json()},
      {"mean_distance", description.mean_distance},
      {"entries_in_lists", lengths},
      {"entries_in_lists_below_128_bytes",
       {{"4", description.entries_below_line_4}, {"8", description.entries_below_line_8}}},
      {"bytes",
       {{"offsets", memory.offsets},
        {"edges_4", memory.edges_4},
        {"edges_8", memory.edges_8},
        {"weights", memory.weights}}},
  };
  if (labelling) {
    result["labels"] = {{"different", labelling->labels},
                        {"vertices", labelling->labelled},
                        {"entries", labelling->entries},
                        {"entries_within", labelling->within}};
  }
  return result.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string describe_graph(const DescribeOptions& options) {
  const Csr csr = graph_named(options.graph, false, options.directed);
  const Description description = graph::describe(csr);
  const std::optional<Labelling> labelling = labelling_of(csr, options);
  return options.json ? as_json(csr, description, labelling)
                      : as_text(csr, description, labelling) + numbering_note(csr, options.graph);
}

}  // namespace grainscope::harness
