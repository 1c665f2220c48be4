// Which reader a file is for, and how the binary formats are written; their layouts are described in
// read_binary.cpp.

#include "grainscope/graph/io.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <utility>

#include "files.hpp"
#include "grainscope/core/error.hpp"
#include "readers.hpp"

namespace grainscope::graph {
namespace {

constexpr std::array<std::pair<const char*, Format>, 13> kEndings{{
    {".sg", Format::sg},
    {".wsg", Format::wsg},
    {".el", Format::el},
    {".wel", Format::wel},
    {".txt", Format::snap},
    {".snap", Format::snap},
    {".mtx", Format::matrix_market},
    {".graph", Format::metis},
    {".properties", Format::webgraph},
    {".bel", Format::bel},
    {".bel.col", Format::bel},
    {".bel.dst", Format::bel},
    {".bel.val", Format::bel},
}};

std::string file_name(const std::string& path) {
  return std::filesystem::path(path).filename().string();
}

std::string without_ending(const std::string& path) {
  return path.substr(0, path.rfind('.'));
}

// A text file in memory.
class TextFile {
 public:
  explicit TextFile(const std::string& path) {
    const BinaryFile file(path);
    bytes_ = HostBytes::map_file(path, 0, file.bytes());
    text_ = {path, {reinterpret_cast<const char*>(bytes_.data()), bytes_.bytes()}};
  }
  [[nodiscard]] const Text& text() const { return text_; }

 private:
  HostBytes bytes_;
  Text text_;
};

Csr read_text(const Text& text, Format format, const ReadOptions& options) {
  switch (format) {
    case Format::matrix_market:
      return read_matrix_market(text, options);
    case Format::metis:
      return read_metis(text, options);
    default:
      return read_edge_lines(text, format, options);
  }
}

Csr read_any(const std::string& path, Format format, const ReadOptions& options) {
  switch (format) {
    case Format::sg:
    case Format::wsg:
      return read_serialised(path, format == Format::wsg, options);
    case Format::bel:
      return read_bel(bel_stem(path), options);
    case Format::webgraph:
      return read_webgraph(without_ending(path), options);
    default:
      return read_text(TextFile(path).text(), format, options);
  }
}

}  // namespace

void throw_no_weights(const std::string& path) {
  throw UsageError("the graph " + path + " has no weights; draw them, or read it without");
}

Format format_of(const std::string& path) {
  const std::string name = file_name(path);
  for (const auto& [ending, format] : kEndings) {
    if (name.size() > std::string_view(ending).size() && name.ends_with(ending)) {
      const bool compressed =
          format == Format::metis && std::filesystem::exists(without_ending(path) + ".properties");
      return compressed ? Format::webgraph : format;
    }
  }
  throw UsageError(
      "the name " + path +
      " does not tell a graph's format; names end in .sg, .wsg, .el, .wel, .txt or .snap (SNAP), "
      ".mtx, .graph (METIS, or WebGraph with its .properties beside it) or .bel (EMOGI)");
}

std::string graph_stem(const std::string& path) {
  const std::string name = file_name(path);
  std::size_t longest = 0;
  for (const auto& [ending, format] : kEndings) {
    if (name.ends_with(ending)) {
      longest = std::max(longest, std::string_view(ending).size());
    }
  }
  return name.substr(0, name.size() - longest);
}

std::string bel_stem(const std::string& path) {
  const std::size_t without = path.size() - 4;  // of ".col", ".dst" and ".val" as of ".bel"
  return path.ends_with(".bel") ? path : path.substr(0, without);
}

bool holds_weights(const std::string& path) {
  const Format format = format_of(path);
  switch (format) {
    case Format::sg:
    case Format::el:
    case Format::webgraph:
      return false;
    case Format::wsg:
    case Format::wel:
      return true;
    case Format::bel:
      return std::filesystem::exists(bel_stem(path) + ".val");
    case Format::snap:
      return snap_has_weights(TextFile(path).text());
    case Format::matrix_market:
      return matrix_market_has_weights(TextFile(path).text());
    case Format::metis:
      return metis_has_weights(TextFile(path).text());
  }
  return false;
}

std::uint64_t vertices_in(const std::string& path) {
  const Format format = format_of(path);
  switch (format) {
    case Format::sg:
    case Format::wsg:
      return serialised_vertices(path, format == Format::wsg);
    case Format::webgraph:
      return webgraph_vertices(without_ending(path));
    case Format::matrix_market:
      return matrix_market_vertices(TextFile(path).text());
    case Format::metis:
      return metis_vertices(TextFile(path).text());
    case Format::el:
    case Format::wel:
    case Format::snap:
    case Format::bel:
      return read_graph(path).vertices();  // only its edges tell
  }
  return 0;
}

Csr read_graph(const std::string& path, const ReadOptions& options) {
  Csr graph = read_any(path, format_of(path), options);
  graph.name = graph_stem(path);
  return graph;
}

// .sg, .wsg and .bel; their layouts are described where they are read.
namespace {

constexpr std::uint64_t kMostSigned = std::uint64_t{1} << 31;  // what an i32 can number

void write_one_way(NewFile& file, const Csr& graph, bool wide) {
  file.write_array(graph.offsets);
  if (!wide) {
    file.write_array(graph.targets);
    return;
  }
  file.write_elements(graph.edges(), [&](std::uint64_t i) {
    return std::array<std::uint32_t, 2>{graph.targets[i], graph.weights[i]};
  });
}

void require_signed_weights(const Csr& graph, const std::string& path) {
  for (const Weight& weight : graph.weights) {
    if (weight >= kMostSigned) {
      throw UsageError("could not write " + path + ": the weight " + std::to_string(weight) +
                       " is above 2147483647, the most that .wsg holds; write .bel");
    }
  }
}

void write_serialised(const Csr& graph, const std::string& path, bool wide) {
  if (graph.vertices() > kMostSigned) {
    throw UsageError("could not write " + path + ": " + std::to_string(graph.vertices()) +
                     " vertices are more than .sg and .wsg can number, 2147483648; write .bel");
  }
  if (wide) {
    require_signed_weights(graph, path);
  }
  const std::uint64_t way = graph.offsets.bytes() + graph.edges() * (wide ? 8 : 4);
  NewFile file(path, 17 + way * (graph.directed ? 2 : 1));
  file.write_value(static_cast<std::uint8_t>(graph.directed ? 1 : 0));
  file.write_value(static_cast<std::int64_t>(graph.edges()));
  file.write_value(static_cast<std::int64_t>(graph.vertices()));
  write_one_way(file, graph, wide);
  if (graph.directed) {
    write_one_way(file, transpose(graph), wide);
  }
  file.finish();
  file.put_in_place();
}

std::unique_ptr<NewFile> begin_bel(const std::string& path, std::uint64_t count, std::uint64_t bytes) {
  auto file = std::make_unique<NewFile>(path, 16 + count * bytes);
  file->write_value(count);
  file->write_value(std::uint64_t{0});
  return file;
}

void write_bel(const Csr& graph, const std::string& stem) {
  const auto offsets = begin_bel(stem + ".col", graph.offsets.size(), 8);
  offsets->write_array(graph.offsets);
  const auto targets = begin_bel(stem + ".dst", graph.edges(), 8);
  targets->write_elements(graph.edges(), [&](std::uint64_t i) { return std::uint64_t{graph.targets[i]}; });
  std::unique_ptr<NewFile> weights;
  if (graph.weighted() || graph.edges() == 0) {  // without edges no weight is missing
    weights = begin_bel(stem + ".val", graph.edges(), 4);
    weights->write_array(graph.weights);
  }
  offsets->finish();
  targets->finish();
  if (weights) {
    weights->finish();
  }
  // Weights of another graph must not stay beside this one's edges.
  const std::string old_weights = stem + ".val";
  if (::unlink(old_weights.c_str()) != 0 && errno != ENOENT) {
    throw EnvironmentError("could not replace " + old_weights + ": " + std::system_category().message(errno));
  }
  offsets->put_in_place();
  targets->put_in_place();
  if (weights) {
    weights->put_in_place();
  }
}

}  // namespace

void write_graph(const Csr& graph, const std::string& path) {
  const Format format = format_of(path);
  if (graph.vertices() == 0) {
    throw UsageError("could not write " + path + ": the graph has no vertices");
  }
  switch (format) {
    case Format::sg:
      write_serialised(graph, path, false);
      return;
    case Format::wsg:
      if (!graph.weighted() && graph.edges() != 0) {
        throw UsageError("could not write " + path +
                         ": the graph has no weights; write .sg, or draw them by --draw-weights");
      }
      write_serialised(graph, path, true);
      return;
    case Format::bel:
      write_bel(graph, bel_stem(path));
      return;
    default:
      throw UsageError("could not write " + path + ": graphs are written as .sg, .wsg and .bel");
  }
}

}  // namespace grainscope::graph
